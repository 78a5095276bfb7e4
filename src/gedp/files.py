"""Writing files so that a reader never sees half of one, and their checksums."""

import ctypes
import errno
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from gedp.errors import GedpError

LEDGER_MARK = 0x67656470  # "gedp": the application id of the SQLite files that are ledgers


class WriteError(GedpError):
    """A file could not be written; nothing of it is left behind."""


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """What the file system rejects while `target` is written, as one of our errors."""
    try:
        yield
    except OSError as error:
        raise WriteError(f"cannot write {target}: {reason(error)}") from None


@contextmanager
def replacing(path: Path, *, mode: int | None = None) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place at the end, or is removed if anything goes wrong.

    It is its owner's alone until then. Without a `mode` it gets that of the file before, or the usual one.
    """
    if path.exists() and not path.is_file():
        raise WriteError(f"cannot write {path}: it is not a regular file")
    if is_ledger(path):
        raise WriteError(f"cannot write {path}: it is a ledger, and what was spent is never replaced")
    with writing(path):
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        os.close(descriptor)
        temporary = Path(name)
        try:
            temporary.chmod(0o600)  # a umask may have taken more than it should
            yield temporary
            temporary.chmod(mode or (path.stat().st_mode if path.exists() else 0o666 & ~_umask()))
            temporary.replace(path)
        finally:
            with suppress(OSError):
                temporary.unlink()


@contextmanager
def private_file(path: Path) -> Iterator[IO[bytes]]:
    """A file for its owner alone, that gets its name when all of it is written, or is removed."""
    with replacing(path, mode=0o600) as temporary, temporary.open("wb") as file:
        yield file


def require_writable(path: Path) -> None:
    """Raises WriteError now if a file could not be made at `path`: better before long work than after it."""
    if path.is_dir():
        raise WriteError(f"cannot write {path}: it is a folder")
    with writing(path), tempfile.TemporaryFile(dir=path.parent):
        pass


def write_text(path: Path, text: str) -> None:
    """Writes `text` to `path`, all of it or nothing."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def real(path: Path) -> Path:
    """Where a path leads, links followed; one that leads in circles stays as it is."""
    return Path(os.path.realpath(path))


def is_same(a: Path, b: Path) -> bool:
    """Whether both are one file, or would be one."""
    try:
        return a.samefile(b)
    except OSError:
        return real(a) == real(b)


def is_mount_point(path: Path) -> bool:
    """Whether a file is mounted at its place (Linux): somewhere else the same file has another path."""
    try:
        lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except OSError:
        return False
    escaped = re.compile(rb"\\([0-7]{3})")  # blanks and the like, in octal digits
    places = {escaped.sub(lambda found: bytes([int(found[1], 8)]), line.split()[4]) for line in lines}
    return os.fsencode(real(path)) in places


def require_space(folder: Path, needed: int) -> None:
    """Rejects a disk that has less room than that, while nothing is spent yet."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise WriteError(
            f"cannot write to {folder.parent}: it may take {needed / 1e9:,.1f} GB, and {free / 1e9:,.1f} GB are free. "
            "Nothing was spent. Make room, or choose a folder on another disk"
        )


def is_ledger(path: Path) -> bool:
    """Whether a file is a SQLite database with the mark of our ledgers."""
    try:
        with regular(path).open("rb") as file:
            start = file.read(72)
    except OSError:
        return False
    return start.startswith(b"SQLite format 3\0") and start[68:72] == LEDGER_MARK.to_bytes(4, "big")


def regular(path: Path) -> Path:
    """The path of a regular file, or of a link to one. Anything else, such as a device, may never end."""
    if not path.is_file():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    return path


def sha256(path: Path) -> str:
    """The SHA-256 checksum of a file, in hexadecimal."""
    with regular(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def swap(new: Path, old: Path) -> None:
    """Exchanges two folders: in one step where the system can (Linux), else in three, undone if one fails."""
    if sys.platform == "linux":
        renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
        here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
        if renameat2 and not renameat2(here, os.fsencode(new), here, os.fsencode(old), exchange):
            return
    aside = new.with_name(f"{new.name}.old")
    old.rename(aside)
    try:
        new.rename(old)
    except BaseException:
        aside.rename(old)
        raise
    aside.rename(new)


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask


def reason(error: OSError) -> str:
    """Why the file system rejected, in a word or two."""
    return (os.strerror(error.errno) if error.errno else "the file system refused").lower()
