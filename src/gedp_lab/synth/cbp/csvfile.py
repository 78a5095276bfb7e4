"""Reading CSV files so that every fault is found in one pass, with flat memory and codes kept as text."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from gedp.errors import Fault


@dataclass(frozen=True)
class CsvSource:
    """A CSV file and the columns wanted from it, in any order and case; further columns are left alone."""

    path: Path
    required: Sequence[str]
    optional: Sequence[str] = ()


def header_of(path: Path) -> list[str]:
    """The column names of a plain or gzipped CSV file."""
    with pa.input_stream(str(path), compression="gzip" if path.suffix == ".gz" else None) as stream:
        line: bytes = io.BufferedReader(stream).readline()
    return [name.strip().strip('"') for name in line.decode("utf-8-sig").strip().split(",")]


def read_batches(source: CsvSource, faults: list[Fault]) -> Iterator[pa.RecordBatch]:
    """Batches of the wanted columns as text, named as asked for. Faults are appended; a file that cannot be
    read, or lacks a column, yields nothing; rows with too few or too many fields are skipped and counted."""
    path = source.path
    try:
        present = {name.lower(): name for name in header_of(path)}
    except (OSError, EOFError, UnicodeDecodeError) as error:
        faults.append(Fault(str(path), f"cannot be read ({reason(error)})", "Check the path or download it again"))
        return
    missing = [name for name in source.required if name.lower() not in present]
    if missing:
        faults.append(
            Fault(
                str(path),
                f"lacks the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
                "Its first line must name the columns",
            )
        )
        return
    wanted = [name for name in (*source.required, *source.optional) if name.lower() in present]
    in_file = [present[name.lower()] for name in wanted]
    if not _ends_with_a_line(path):
        faults.append(
            Fault(str(path), "its last line has no end", "It may be cut off: download it again, or end the line")
        )
    broken: list[int | None] = []
    yield from _batches(path, wanted, in_file, broken, faults)
    if broken:
        lines = ", ".join(str(row) for row in broken[:3]) + (", ..." if len(broken) > 3 else "")
        faults.append(
            Fault(
                str(path),
                f"{len(broken)} line{'s have' if len(broken) > 1 else ' has'} the wrong number of fields "
                f"(line {lines})",
                "The file is cut off or damaged: download it again",
            )
        )


def _ends_with_a_line(path: Path) -> bool:
    """Whether a plain file ends in a line break; a gzipped one has its own check against truncation."""
    if path.suffix == ".gz":
        return True
    with path.open("rb") as stream:
        stream.seek(-1, io.SEEK_END)
        return stream.read() == b"\n"


def _batches(
    path: Path, wanted: list[str], in_file: list[str], broken: list[int | None], faults: list[Fault]
) -> Iterator[pa.RecordBatch]:
    def skip(row: pacsv.InvalidRow) -> Literal["skip"]:
        broken.append(row.number)
        return "skip"

    try:
        with pa.input_stream(str(path), compression="gzip" if path.suffix == ".gz" else None) as stream:
            reader = pacsv.open_csv(
                stream,
                read_options=pacsv.ReadOptions(use_threads=False, block_size=1 << 23),
                parse_options=pacsv.ParseOptions(invalid_row_handler=skip),
                convert_options=pacsv.ConvertOptions(
                    include_columns=in_file, column_types=dict.fromkeys(in_file, pa.string())
                ),
            )
            for batch in reader:
                yield batch.rename_columns(wanted)
    except (pa.ArrowInvalid, OSError, EOFError) as error:
        faults.append(Fault(str(path), f"cannot be read to its end ({reason(error)})", "Download the file again"))


def whole_numbers(
    table: pa.Table, column: str, path: Path, faults: list[Fault], *, blank_is_null: bool = False
) -> pa.ChunkedArray:
    """A text column as float64 with nulls where it is blank; anything but whole numbers >= 0 is a fault."""
    text = pc.utf8_trim_whitespace(table[column])
    good = pc.match_substring_regex(text, r"^\d{1,15}(\.0*)?$")
    blank = pc.equal(text, "")
    bad = pc.invert(pc.or_(good, blank) if blank_is_null else good)
    count = pc.sum(bad).as_py() or 0
    if count:
        first = pc.index(bad, True).as_py()
        faults.append(
            Fault(
                str(path),
                f"column {column}: {count} value{'s are' if count > 1 else ' is'} not a whole number "
                f"(first in row {first + 1} of those read)",
                "The column may be shifted or damaged",
            )
        )
    return pc.cast(pc.if_else(good, text, pa.scalar(None, pa.string())), pa.float64())


def reason(error: Exception) -> str:
    """The first line of an error's message, without its file names."""
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, IsADirectoryError):
        return "it is a folder"
    if isinstance(error, PermissionError):
        return "permission denied"
    return str(error).splitlines()[0] if str(error) else type(error).__name__
