"""Places for output files, looked at before the long work rather than after it."""

import tempfile
from pathlib import Path

from gedp.files import WriteError


def check_writable(path: Path) -> None:
    """Raises WriteError now if a file could not be made at `path`."""
    if path.is_dir():
        raise WriteError(f"cannot write {path}: it is a folder")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise WriteError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from None


def make_folder(path: Path) -> None:
    """Makes a folder unless it is there; raises WriteError if that fails."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"cannot make the folder {path}: {(error.strerror or str(error)).lower()}") from None
