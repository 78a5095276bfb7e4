"""The ledger's part in a release: the price on disk before noise is drawn, and afterwards what became of it."""

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from gedp.confidential.content import content_of
from gedp.confidential.engines import Engine
from gedp.confidential.engines.sources.files import files_at
from gedp.errors import GedpError, Refused
from gedp.folders import Hold
from gedp.ledger import (
    DecidedBy,
    Decision,
    Entry,
    KnownBy,
    Ledger,
    LedgerState,
    Permit,
    PreparedReservation,
    Request,
    Reservation,
    spec_digest,
)
from gedp.ledger.amounts import mu_up
from gedp.ledger.finding import doubts_about, leave_pointer
from gedp.ledger.finishing import release_in, seal, unfinished
from gedp.ledger.running import hold_place
from gedp.noise.entropy import Entropy, PaidEntropy
from gedp.policy import Spec
from gedp.release import CumulativePromise, DecisionMade


class Record:
    """A release and its ledger, which sets its price aside once, before the first word of randomness is given out.

    Whatever ends before that costs nothing. From then on the price counts, and the release is finished or abandoned.
    """

    def __init__(self, prepared: PreparedReservation, place: Path, point: Callable[[], None]) -> None:
        self.ledger, self.release = prepared.ledger, prepared.event.release
        self._prepared, self._place, self._point = prepared, place, point
        self._lock = threading.Lock()
        self._paid: Reservation | None = None
        self._refused: BaseException | None = None  # why nothing is drawn
        self._doubtful = False
        self._hold: Hold | None = None

    def pay(self) -> Reservation:
        """The price is on disk when this returns, whichever thread was first; what is rejected once stays rejected."""
        with self._lock:
            if self._refused is not None:
                raise self._refused
            if self._paid is None:
                try:
                    self._paid = self._set_aside()
                except BaseException as failure:
                    self._refused = failure
                    raise
            return self._paid

    def _set_aside(self) -> Reservation:
        self._point()
        self._hold = hold_place(self.ledger, self.release, self._place)
        try:
            return self._prepared.reserve()
        except BaseException as failure:
            self._take_back(self._hold, failure)
            raise

    def _take_back(self, hold: Hold, failure: BaseException) -> None:
        """Gives the price back if it came to the disk all the same: no word was given out, and none will be."""
        with suppress(GedpError):
            if not isinstance(failure, Refused) and self._is_open():
                self.ledger.abandon(self.release, type(failure).__name__, before_noise=True)
            hold.remove()
            return
        self._doubtful = True
        failure.add_note(f"Its price may be set aside already: gedp ledger show {self.ledger.path}")
        hold.leave()

    def _is_open(self) -> bool:
        """Whether the ledger has it, and not its end."""
        return any(each.id == self.release for each in unfinished(self.ledger))

    @property
    def together(self) -> CumulativePromise:
        """What holds for all releases up to this one."""
        return _together(self.pay().state)

    def finish(self, out: Path) -> None:
        """Records that it is whole."""
        seal(self.ledger, self.release, out)
        self._let_go(forget=True)

    def fail(self, out: Path, failure: BaseException, left: Path | None = None) -> bool:
        """Something went wrong: says what counts, and tells the ledger. Returns whether it is whole all the same.

        It may be whole in its place `out`, or be `left` in its private folder.
        """
        with self._lock:  # a thread may still be at it; none begins any more
            if self._paid is None and self._refused is None:
                self._refused = Refused("the release has ended, so nothing is drawn")
        if self._paid is None:
            if not self._doubtful and not isinstance(failure, Refused):
                failure.add_note("No noise was drawn, so nothing was spent")
            return False
        how = f"Finish it with: gedp ledger finish {self.ledger.path}"
        if release_in(out) == self.release:
            what = f"The {'release' if out.is_dir() else 'answer'} in {out} is whole and paid for"
            if not isinstance(failure, GedpError):  # an interrupt, and not the ledger's own refusal
                with suppress(GedpError):
                    if self._is_open():
                        seal(self.ledger, self.release, out)
                    failure.add_note(what)
                    self._let_go(forget=True)
                    return True
            failure.add_note(f"{what}; the ledger does not show it as finished. {how}")
        elif left is not None:
            failure.add_note(f"The release is whole and paid for, and only lacks its name. {how}")
        else:
            return self._abandon(failure)
        self._let_go(forget=False)
        return True

    def _abandon(self, failure: BaseException) -> bool:
        """What was drawn is gone. It stays a reservation, which counts as well, where the ledger cannot be written."""
        spent, done = mu_up(self.pay().loss), False
        failure.add_note(
            f"Noise was drawn and the release is not whole, so it is lost and mu = {spent} counts as spent (release "
            f"{self.release})"
        )
        with suppress(GedpError):
            self.ledger.abandon(self.release, type(failure).__name__)
            done = True
        self._let_go(forget=done)
        return False

    def _let_go(self, *, forget: bool) -> None:
        if self._hold is not None:
            self._hold.remove() if forget else self._hold.leave()


def paid_by(recorded: Record | None, entropy: Entropy) -> Entropy:
    """The source of randomness of a release: not a word of it before the price is on disk. None needs no ledger."""
    return entropy if recorded is None else PaidEntropy(entropy, recorded.pay)


def files_meant(engine: Engine, spec: Spec) -> list[Path]:
    """The files by which a ledger is found: for a table in memory also those of the spec, whose rows it may hold."""
    named = [] if engine.files() or spec.data.source is None else files_at(spec.source_path())
    return list(dict.fromkeys([*engine.origins(), *named]))


def known_by(engine: Engine, spec: Spec) -> KnownBy:
    """By what a ledger knows a sound table again. One in memory also takes the name of the spec's file."""
    return KnownBy(files_meant(engine, spec), engine.identities(), lambda: content_of(engine, spec))


def record(
    ledger: Ledger,
    engine: Engine,
    request: Request,
    spec: Spec,
    place: Path,
    decided_by: DecidedBy | None = None,
    note: str = "",
) -> Record:
    """What records the price of a release that goes to `place`, or a refusal. Nothing is set aside yet."""
    data = known_by(engine, spec)

    def point() -> None:
        # Beside the files of a DataFrame nothing is left: Spark would take it for a part of the table.
        if engine.files() or (data.files and not engine.origins()):
            leave_pointer(ledger, data.files)

    doubts, digest = doubts_about(ledger.path, request, data), spec_digest(spec)
    prepared = ledger.prepare(request, data, spec_digest=digest, note=note, decided_by=decided_by, doubts=doubts)
    return Record(prepared, place, point)


def released_at() -> datetime:
    """The time as it is published. Finer than minutes, it could tell how long the table took."""
    return datetime.now(UTC).replace(second=0, microsecond=0)


def _together(state: LedgerState) -> CumulativePromise:
    """What holds for all releases up to this one."""
    combined = state.combined
    return CumulativePromise(
        combined.releases,
        mu_up(combined.promise.loss),
        {name: str(protection) for name, protection in combined.promise.protections.items()},
        tuple(map(_made, (e for e in state.verification.entries if isinstance(e.event, Permit | Decision)))),
        state.series,
        state.unit,
    )


def _made(entry: Entry) -> DecisionMade:
    """A decision as it is published: to promise less, or to go on with a ledger that was damaged or lacks releases."""
    if isinstance(entry.event, Permit):
        return DecisionMade(entry.time[:10], entry.event.by, entry.event.reason, entry.event.what)
    assert isinstance(entry.event, Decision)
    broken = [f"the ledger was damaged: {found}" for found in entry.event.breaks]
    return DecisionMade(entry.time[:10], entry.who, entry.event.note, tuple(broken) or ("budget counted in addition",))
