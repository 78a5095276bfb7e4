"""Releases that are being made: beside the ledger a file for each, which says where it goes.

Its process holds the file while it lives, and removes it once the ledger has the end of the release. A file that nobody
holds is of a process that was killed, or that could not write the last entry: `finishing` reads it. The ledger counts
without these files; whoever removes one only loses the hint.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from glob import escape
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


def forget_places(ledger: Ledger, still: Iterable[str] = ()) -> None:
    """Removes every note that nobody holds, but for those of releases that `still` have no end."""
    kept = {_note_of(ledger, release) for release in still}
    path = real(ledger.path)
    for note in path.parent.glob(f".{escape(path.name)}.????????.open"):
        if note not in kept and not is_held(note):
            with suppress(OSError):
                note.unlink()


def _note_of(ledger: Ledger, release: str) -> Path:
    path = real(ledger.path)
    return path.with_name(f".{path.name}.{release[:8]}.open")
