"""Output files that are whole or absent: written under a temporary name beside their place, then renamed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gedp.errors import GedpError


class OutputError(GedpError):
    """A file could not be written."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path}: cannot be written ({reason}). Nothing was left behind; name another --out."
        )


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path in the same folder; renamed to `path` at the end, removed on error or interrupt."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise OutputError(path, error.strerror or str(error).splitlines()[0]) from error
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Raises OutputError now, before the long work, if `path` cannot be written."""
    if path.is_dir():
        raise OutputError(path, "it is a folder")
    with_name = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with_name.touch(exist_ok=False)
        with_name.unlink()
    except OSError as error:
        raise OutputError(path, error.strerror or str(error)) from error


def make_folder(path: Path) -> None:
    """Makes a folder unless it is there; raises OutputError if that fails."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(path, error.strerror or str(error)) from error
