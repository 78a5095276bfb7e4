"""Files that hold a table: which they are, whether they are still the same, and what is wrong with them as a whole."""

import glob
import gzip
import os
import zlib
from collections.abc import Sequence
from pathlib import Path

from gedp.errors import Fault, FaultsError

PARQUET, GZIP = b"PAR1", b"\x1f\x8b"  # how such files begin
GZIP_CHUNK = 2**20
DELIMITERS = ",;\t|"

Stamp = tuple[int, int, int]  # inode, size, time of the last change


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
    except (OSError, ValueError):
        pass
    return Fault("the file", "there is no such file", "Check the path; data.source in a spec is relative to the spec")


def is_csv(path: Path) -> bool:
    """Whether the name of a file says that it is a CSV file."""
    return path.name.lower().endswith((".csv", ".csv.gz"))


def require_readable(name: str, files: Sequence[Path]) -> None:
    """Refuses files that are not of the kind their names say, damaged ones where that shows, and files of two kinds."""
    faults = []
    for path in files:
        place = "the file" if len(files) == 1 else f"the file {path.name}"
        if fault := _fault_of(place, path):
            faults.append(fault)
        elif is_csv(path) != is_csv(files[0]):
            faults.append(Fault(place, "it is not of the same kind as the first", "Name files of one kind"))
    if faults:
        raise FaultsError(name, faults)


def _fault_of(place: str, path: Path) -> Fault | None:
    """What is wrong with one file as a whole."""
    try:
        with path.open("rb") as file:
            start = file.read(len(PARQUET))
        if not start:
            return Fault(place, "it is empty", "Check the file")
        if not is_csv(path):
            kinds = "Tables are Parquet files, or CSV files named .csv or .csv.gz"
            return None if start == PARQUET else Fault(place, "it is not a Parquet file", kinds)
        if start == PARQUET:
            return Fault(place, "it is a Parquet file", "Name it .parquet")
        if start.startswith(GZIP) != (path.suffix.lower() == ".gz"):
            found, suffix = ("it is", ".csv.gz") if start.startswith(GZIP) else ("it is not", ".csv")
            return Fault(place, f"{found} compressed with gzip", f"Name it {suffix}")
        return _gzip_fault(place, path) if start.startswith(GZIP) else None
    except OSError as error:
        return Fault(place, f"it cannot be read ({(error.strerror or 'the system refused').lower()})", "Check the file")


def _gzip_fault(place: str, path: Path) -> Fault | None:
    """Reads all of it once: DuckDB does not look at the checksum."""
    try:
        with gzip.open(path) as file:
            if not file.read(GZIP_CHUNK):
                return Fault(place, "it is empty", "Check the file")
            while file.read(GZIP_CHUNK):
                pass
    except (gzip.BadGzipFile, zlib.error, EOFError):
        return Fault(place, "it is damaged or incomplete (gzip)", "Get a complete copy")
    return None


def delimiter_of(path: Path) -> str:
    """The one of the usual delimiters that the first line has most of."""
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
        line = file.readline(1_000_000)
    return max(DELIMITERS, key=lambda delimiter: line.count(delimiter.encode()))
