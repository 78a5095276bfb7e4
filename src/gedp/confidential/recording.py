"""The ledger's part in a release: the price on disk before noise is drawn, and afterwards what became of it."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from gedp.accounting.composition import exact
from gedp.confidential.engines import Engine
from gedp.confidential.engines.sources.files import files_at
from gedp.errors import GedpError
from gedp.files import sha256
from gedp.ledger import (
    DecidedBy,
    Decision,
    Entry,
    Ledger,
    LedgerState,
    Permit,
    Request,
    Reservation,
    spec_digest,
)
from gedp.ledger.amounts import mu_up
from gedp.ledger.finding import leave_pointer
from gedp.policy import Spec
from gedp.release import MANIFEST, DecisionMade, Together, read_release


@dataclass(frozen=True)
class Record:
    """A release that the ledger knows of."""

    ledger: Ledger
    reservation: Reservation
    together: Together

    def finish(self, folder: Path) -> None:
        """Records that the release is in its folder, with the digest of its manifest."""
        self.ledger.commit(self.reservation.release_id, sha256(folder / MANIFEST))

    def fail(self, folder: Path, failure: BaseException) -> None:
        """Something went wrong: says what counts, and tells the ledger whether the release got its name before."""
        release = self.reservation.release_id
        if _release_in(folder) == release:
            failure.add_note(f"The release in {folder} is whole and paid for; the ledger may not show it as finished")
            if not isinstance(failure, GedpError):  # an interrupt, and not the ledger's own refusal
                with suppress(GedpError):
                    self.finish(folder)
            return
        spent = mu_up(self.reservation.loss)
        failure.add_note(f"Noise may have been drawn, so mu = {spent} counts as spent (release {release})")
        with suppress(GedpError):  # then it stays a reservation, which counts as well
            self.ledger.abandon(release, type(failure).__name__)


def files_meant(engine: Engine, spec: Spec) -> list[Path]:
    """The files by which a ledger is found: for a table in memory also those of the spec, whose rows it may hold."""
    named = [] if engine.files() or spec.data.source is None else files_at(spec.source_path())
    return list(dict.fromkeys([*engine.origins(), *named]))


class KnownBy(TypedDict):
    """What the table of a release is known again by."""

    files: list[Path]
    tables: list[str]
    content: Callable[[bytes], str | None]


def known_by(engine: Engine, spec: Spec) -> KnownBy:
    """By what a ledger knows the table again. One of a series in memory also takes the name of the spec's file."""
    files = engine.origins() if spec.data.period is None else files_meant(engine, spec)
    attributes = spec.policy.attributes.values()
    texts = sorted({*spec.data.public, *([spec.data.id] if spec.data.id else [])})
    amounts = dict(sorted({(a.column, exact(a.unit)) for a in attributes}))

    def content(key: bytes) -> str | None:
        return engine.content_digest(key, texts, amounts)

    return KnownBy(files=files, tables=engine.identities(), content=content)


def record(
    ledger: Ledger,
    engine: Engine,
    request: Request,
    spec: Spec,
    decided_by: DecidedBy | None = None,
    note: str = "",
) -> Record:
    """Sets the price aside, on disk when this returns, or refuses."""
    if engine.files():
        leave_pointer(ledger, engine.files())
    known = known_by(engine, spec)
    try:
        reservation = ledger.reserve(request, **known, spec_digest=spec_digest(spec), note=note, decided_by=decided_by)
        return Record(ledger, reservation, _together(reservation.state))
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(f"Its price may be set aside already: gedp ledger show {ledger.path}")
        raise


def _together(state: LedgerState) -> Together:
    """What holds for all releases up to this one."""
    combined = state.combined
    return Together(
        combined.releases,
        mu_up(combined.promise.loss),
        {name: str(protection) for name, protection in combined.promise.protections.items()},
        tuple(map(_made, (e for e in state.verification.entries if isinstance(e.event, Permit | Decision)))),
        state.series,
    )


def _made(entry: Entry) -> DecisionMade:
    """A decision as it is published: to promise less, or to go on with a ledger that was damaged or lacks releases."""
    if isinstance(entry.event, Permit):
        return DecisionMade(entry.time[:10], entry.event.by, entry.event.reason, entry.event.what)
    assert isinstance(entry.event, Decision)
    broken = [f"the ledger was damaged: {found}" for found in entry.event.breaks]
    return DecisionMade(entry.time[:10], entry.who, entry.event.note, tuple(broken) or ("budget counted in addition",))


def _release_in(folder: Path) -> str | None:
    with suppress(GedpError):
        return read_release(folder, check=False).manifest.release
    return None
