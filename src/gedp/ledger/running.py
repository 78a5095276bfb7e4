"""Releases that are being made: beside the ledger a file for each, which says where it goes.

Its process holds the file while it lives, and removes it once the ledger has the end of the release. A file that nobody
holds is of a process that was killed, or that could not write the last entry: `finishing` reads it. The ledger counts
without these files; whoever removes one only loses the hint.
"""

import os
from pathlib import Path

from gedp.files import real
from gedp.folders import Hold, is_held
from gedp.ledger.ledger import Ledger, seen_from


def hold_place(ledger: Ledger, release: str, place: Path) -> Hold:
    """Notes where a release goes, seen from the ledger, before its price is recorded."""
    return Hold(_note_of(ledger, release), seen_from(real(ledger.path).parent, place))


def place_of(ledger: Ledger, release: str) -> Path | None:
    """Where a release was to go, if that is noted."""
    try:
        text = os.fsdecode(_note_of(ledger, release).read_bytes())
    except OSError:
        return None
    return real(real(ledger.path).parent / text) if text else None


def is_running(ledger: Ledger, release: str) -> bool:
    """Whether the process that makes a release is seen to live."""
    return is_held(_note_of(ledger, release))


def forget_place(ledger: Ledger, release: str) -> None:
    """Removes the note of a release that has come to its end."""
    _note_of(ledger, release).unlink(missing_ok=True)


def _note_of(ledger: Ledger, release: str) -> Path:
    path = real(ledger.path)
    return path.with_name(f".{path.name}.{release[:8]}.open")
