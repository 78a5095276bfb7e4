"""The ledger's part in a release: the price on disk before noise is drawn, and afterwards what became of it."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gedp.accounting.ledger import Ledger, Reservation, spec_digest
from gedp.accounting.ledger.amounts import mu_up
from gedp.errors import GedpError
from gedp.policy import PriceList, Spec
from gedp.release import MANIFEST, read_release


@dataclass(frozen=True)
class Record:
    """A release that the ledger knows of."""

    ledger: Ledger
    reservation: Reservation

    def finish(self, folder: Path) -> None:
        """The release is in its folder."""
        digest = hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
        self.ledger.commit(self.reservation.release_id, digest)

    def fail(self, folder: Path, failure: BaseException) -> None:
        """Something went wrong: says what counts, and tells the ledger whether the release got its name before."""
        release = self.reservation.release_id
        if _release_in(folder) == release:
            failure.add_note(f"The release in {folder} is whole and paid for; the ledger may not call it finished")
            if not isinstance(failure, GedpError):  # an interrupt, and not the ledger's own refusal
                with suppress(GedpError):
                    self.finish(folder)
            return
        spent = mu_up(self.reservation.loss)
        failure.add_note(f"Noise may have been drawn, so mu = {spent} counts as spent (release {release})")
        with suppress(GedpError):  # then it stays a reservation, which counts as well
            self.ledger.abandon(release, type(failure).__name__)


def record(ledger: Ledger, files: Sequence[Path], spec: Spec, prices: PriceList) -> Record:
    """Sets the price aside, on disk when this returns, or refuses."""
    fingerprint = ledger.fingerprint(files)
    try:
        reservation = ledger.reserve(
            prices, spec.policy.attributes, fingerprint=fingerprint, spec_digest=spec_digest(spec)
        )
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(f"Its price may be set aside already: gedp ledger show {ledger.path}")
        raise
    return Record(ledger, reservation)


def _release_in(folder: Path) -> str | None:
    with suppress(GedpError):
        return str(read_release(folder, check=False).manifest.get("release"))
    return None
