"""The ledger's part in a release: the price on disk before noise is drawn, and afterwards what became of it."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

from gedp.confidential.content import content_of
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
from gedp.ledger.contents import Contents
from gedp.ledger.finding import doubts_about, leave_pointer
from gedp.policy import Spec
from gedp.release import MANIFEST, DecisionMade, Together, read_release
from gedp.release.answer import read_answer


@dataclass(frozen=True)
class Record:
    """A release that the ledger knows of."""

    ledger: Ledger
    reservation: Reservation
    together: Together

    def finish(self, out: Path) -> None:
        """Records that it is whole, by the digest of a release's manifest or of an answer's file."""
        self.ledger.commit(self.reservation.release_id, sha256(out / MANIFEST if out.is_dir() else out))

    def fail(self, out: Path, failure: BaseException) -> bool:
        """Something went wrong: says what counts, and tells the ledger. Returns whether it is whole all the same."""
        release = self.reservation.release_id
        if _release_in(out) == release:
            what = f"The release in {out}" if out.is_dir() else f"The answer in {out}"
            failure.add_note(f"{what} is whole and paid for; the ledger may not show it as finished")
            if not isinstance(failure, GedpError):  # an interrupt, and not the ledger's own refusal
                with suppress(GedpError):
                    self.finish(out)
            return True
        spent = mu_up(self.reservation.loss)
        failure.add_note(f"Noise may have been drawn, so mu = {spent} counts as spent (release {release})")
        with suppress(GedpError):  # then it stays a reservation, which counts as well
            self.ledger.abandon(release, type(failure).__name__)
        return False


def files_meant(engine: Engine, spec: Spec) -> list[Path]:
    """The files by which a ledger is found: for a table in memory also those of the spec, whose rows it may hold."""
    named = [] if engine.files() or spec.data.source is None else files_at(spec.source_path())
    return list(dict.fromkeys([*engine.origins(), *named]))


class KnownBy(TypedDict):
    """What the table of a release is known again by."""

    files: list[Path]
    tables: list[str]
    content: Contents


def known_by(engine: Engine, spec: Spec) -> KnownBy:
    """By what a ledger knows a sound table again. One in memory also takes the name of the spec's file."""
    files, tables = files_meant(engine, spec), engine.identities()
    return KnownBy(files=files, tables=tables, content=lambda: content_of(engine, spec))


def record(
    ledger: Ledger,
    engine: Engine,
    request: Request,
    spec: Spec,
    decided_by: DecidedBy | None = None,
    note: str = "",
) -> Record:
    """Sets the price aside, on disk when this returns, or refuses."""
    known = known_by(engine, spec)
    # Beside the files of a DataFrame nothing is left: Spark would take it for a part of the table.
    if engine.files() or (known["files"] and not engine.origins()):
        leave_pointer(ledger, known["files"])
    doubts = doubts_about(ledger.path, request, **known)
    try:
        reservation = ledger.reserve(
            request, **known, spec_digest=spec_digest(spec), note=note, decided_by=decided_by, doubts=doubts
        )
        return Record(ledger, reservation, _together(reservation.state))
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(f"Its price may be set aside already: gedp ledger show {ledger.path}")
        raise


def released_at() -> datetime:
    """The time as it is published. Finer than minutes, it could tell how long the table took."""
    return datetime.now(UTC).replace(second=0, microsecond=0)


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


def _release_in(out: Path) -> str | None:
    """Under which name the ledger knows what is in a folder or file."""
    with suppress(GedpError):
        return read_release(out, check=False).manifest.release if out.is_dir() else read_answer(out).release
    return None
