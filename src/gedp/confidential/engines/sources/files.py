"""Files that hold a table: which they are, and whether they are still the same."""

import glob
import os
from pathlib import Path

from gedp.errors import Fault

Stamp = tuple[int, int, int]  # inode, size, time of the last change
#: What SQLite and DuckDB keep beside a file while somebody writes to it: newer rows.
JOURNALS = ("-wal", ".wal", "-journal")


def files_at(path: Path) -> list[Path]:
    """The files of a path or glob."""
    return list(stamps_of(str(path)))


def stamps_of(source: str) -> dict[Path, Stamp]:
    """The files of a path or glob, and what tells whether they are still the same. Pipes and devices are not files."""
    try:
        names = [source] if Path(source).is_file() else sorted(glob.glob(source))  # noqa: PTH207 - a pattern
        stamps = {}
        for path in filter(Path.is_file, map(Path, names)):
            status = path.stat()
            stamps[path] = (status.st_ino, status.st_size, status.st_mtime_ns)
    except (OSError, ValueError):  # no permission to look, or no possible name
        return {}
    return stamps


def unread(source: str) -> Fault:
    """Why there is no file to read."""
    try:
        if Path(source).is_dir():
            return Fault("the file", "it is a folder", 'Name its files, like "folder/*.parquet"')
        if os.path.lexists(source):
            return Fault("the file", "it is not a regular file, or leads nowhere", "Check the path")
        os.stat(source)  # noqa: PTH116 - tells why, where others say that there is none
    except PermissionError:
        return Fault("the file", "you may not look into its folder (permission denied)", "Ask for the right to read it")
    except (OSError, ValueError):
        pass
    return Fault("the file", "there is no such file", "Check the path; data.source in a spec is relative to the spec")
