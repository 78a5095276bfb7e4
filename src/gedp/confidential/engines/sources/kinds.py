"""What kind of file holds a table: by its name, by its first bytes, and what is wrong where the two disagree."""

import gzip
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from gedp.errors import Fault, FaultsError

CHUNK = 2**20
START = 64  # bytes, by which most kinds are known
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


@dataclass(frozen=True)
class Kind:
    """A kind of file: what people call it, and how its name ends."""

    name: str
    suffixes: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


PARQUET = Kind("a Parquet file", (".parquet",))
TEXT = Kind("a text", (".csv", ".tsv", ".txt"))
ARROW = Kind("an Arrow file", (".arrow", ".feather", ".ipc"))
WORKBOOK = Kind("an Excel or OpenDocument workbook", (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"))
SAS = Kind("a SAS file", (".sas7bdat",))
SAS_TRANSPORT = Kind("a SAS transport file", (".xpt",))
SPSS = Kind("an SPSS file", (".sav", ".zsav"))
SPSS_PORTABLE = Kind("an SPSS portable file", (".por",))
STATA = Kind("a Stata file", (".dta",))
DUCKDB = Kind("a DuckDB file", (".duckdb", ".ddb", ".db"))
SQLITE = Kind("a SQLite file", (".sqlite", ".sqlite3", ".db"))
STATISTICAL = (SAS, SAS_TRANSPORT, SPSS, SPSS_PORTABLE, STATA)
KINDS = (PARQUET, TEXT, ARROW, WORKBOOK, *STATISTICAL, DUCKDB, SQLITE)
ALL_NAMES = "Tables are Parquet files, or files named " + ", ".join(
    dict.fromkeys(suffix for kind in KINDS[1:] for suffix in kind.suffixes)
)

_SAS_MARK = bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011")
_MARKS = (  # how files begin, and where
    (0, b"PAR1", PARQUET),
    (0, b"ARROW1", ARROW),
    (12, _SAS_MARK, SAS),
    (0, b"HEADER RECORD*******LIB", SAS_TRANSPORT),
    (0, b"$FL2", SPSS),
    (0, b"$FL3", SPSS),
    (0, b"<stata_dta>", STATA),
    (0, b"SQLite format 3\0", SQLITE),
    (8, b"DUCK", DUCKDB),
    (0, b"PK\x03\x04", WORKBOOK),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", WORKBOOK),
)
_COMPRESSED = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
_UNMARKED = (TEXT, SPSS_PORTABLE, STATA)  # texts, portable files and old Stata files begin with anything
_ENDED = {PARQUET: b"PAR1", ARROW: b"ARROW1"}


def kind_by_name(path: Path) -> Kind:
    """What the name of a file says that it is; Parquet, where it says nothing."""
    name = path.name.lower()
    for suffix in COMPRESSIONS:
        if name.removesuffix(suffix).endswith(TEXT.suffixes):
            return TEXT
    return next((kind for kind in KINDS if name.endswith(kind.suffixes)), PARQUET)


def kind_of(path: Path) -> Kind:
    """The same, where the name may stand for two kinds as its first bytes say."""
    named = kind_by_name(path)
    found = kind_by_start(_start(path)) if named is DUCKDB else None
    return found if found and path.name.lower().endswith(found.suffixes) else named


def is_csv(path: Path) -> bool:
    """Whether the name of a file says that it is a text."""
    return kind_by_name(path) is TEXT


def compression_of(path: Path) -> str | None:
    """How a text is compressed, by its name."""
    return COMPRESSIONS.get(path.suffix.lower())


def kind_by_start(start: bytes) -> Kind | None:
    """What the first bytes of a file say that it is."""
    return next((kind for at, mark, kind in _MARKS if start[at:].startswith(mark)), None)


def require_readable(name: str, files: Sequence[Path]) -> None:
    """Rejects files that are not of the kind their names say, damaged ones where that shows, and files of two kinds."""
    faults = []
    for path in files:
        place = "the file" if len(files) == 1 else f"the file {path.name}"
        if fault := _fault_of(place, path):
            faults.append(fault)
        elif kind_of(path) is not kind_of(files[0]):
            faults.append(Fault(place, "it is not of the same kind as the first", "Name files of one kind"))
    if faults:
        raise FaultsError(name, faults)


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(START)


def _fault_of(place: str, path: Path) -> Fault | None:
    """What is wrong with one file as a whole."""
    try:
        start = _start(path)
        if not start:
            return Fault(place, "it is empty", "Check the file")
        kind, found = kind_of(path), kind_by_start(start)
        if found is not kind and not (found is None and kind in _UNMARKED):
            return _misnamed(place, kind, found, path, start)
        if kind is TEXT:
            return _compression_fault(place, path, start)
        return _cut_off(place, path, kind)
    except OSError as error:
        return Fault(place, f"it cannot be read ({(error.strerror or 'the system refused').lower()})", "Check the file")


def _misnamed(place: str, kind: Kind, found: Kind | None, path: Path, start: bytes) -> Fault:
    if found is WORKBOOK and _is_archive(path):
        return Fault(place, "it is a ZIP archive", "Unpack it")
    if found is not None:
        return Fault(place, f"it is {found}", f"Name it {_or(found.suffixes)}")
    by = next((by for by, mark in _COMPRESSED.items() if start.startswith(mark)), None)
    if by:
        return Fault(place, f"it is not {kind}, but compressed with {by}", "Decompress it; texts alone are read so")
    return Fault(place, f"it is not {kind}", ALL_NAMES if kind is PARQUET else "Get a complete copy, or save it again")


def _is_archive(path: Path) -> bool:
    """Whether it is a ZIP file that holds anything but a workbook."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return not {"[Content_Types].xml", "content.xml"} & set(archive.namelist())


def _cut_off(place: str, path: Path, kind: Kind) -> Fault | None:
    if kind in _ENDED:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - len(_ENDED[kind])))
            if file.read() != _ENDED[kind]:
                return Fault(place, "it cannot be read: it is damaged or incomplete", "Get a complete copy")
    return None


def _compression_fault(place: str, path: Path, start: bytes) -> Fault | None:
    named = compression_of(path)
    found = next((by for by, mark in _COMPRESSED.items() if start.startswith(mark)), None)
    suffix = path.name[: -len(path.suffix)].lower() if named else path.name.lower()
    plain = next(end for end in TEXT.suffixes if suffix.endswith(end))
    if found != named and found:
        ending = next(end for end, by in COMPRESSIONS.items() if by == found)
        return Fault(place, f"it is compressed with {found}", f"Name it {plain}{ending}")
    if found != named:
        return Fault(place, f"it is not compressed with {named}", f"Name it {plain}")
    return _damaged(place, path, named) if named else None


def _damaged(place: str, path: Path, by: str) -> Fault | None:
    """Reads all of it once: DuckDB does not look at checksums, and takes half a file for a whole one."""
    try:
        with gzip.open(path) if by == "gzip" else pa.input_stream(str(path), compression=by) as file:
            if not file.read(CHUNK):
                return Fault(place, "it is empty", "Check the file")
            while file.read(CHUNK):
                pass
    except (gzip.BadGzipFile, zlib.error, EOFError, OSError, pa.ArrowException):
        return Fault(place, f"it is damaged or incomplete ({by})", "Get a complete copy")
    return None


def _or(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
