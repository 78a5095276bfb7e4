"""The engine for one machine: DuckDB over Parquet or CSV files or an Arrow table, in batches of bounded size."""

import glob
import gzip
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np
import pyarrow as pa

from gedp.confidential.engines import ArrowStream, Batch, ColumnCounts, numbers
from gedp.errors import Fault, FaultsError, TableChangedError
from gedp.sql import quoted_name, quoted_text

BATCH_ROWS = 1_000_000
#: A set of ids takes about 50 bytes each; larger tables are searched for repeated ids part by part.
IDS_AT_ONCE = 2**24

#: Larger magnitudes count as this in a total, which then fits into 128 bits, and is far beyond MOST_UNITS.
LARGEST_TOLD = 10**28
_TIMES = {"DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}  # those without a time zone
_LABELS = {"VARCHAR", "UUID", "BOOLEAN"}
_NOTHING = '"NULL"'  # of a column without a value: its rows are counted as null, whatever it should hold
_PUBLIC_TYPES = {*numbers.INTEGERS, *numbers.FLOATS, "UBIGINT", "DECIMAL", *_LABELS, *_TIMES, _NOTHING}
_AMOUNT_TYPES = {*numbers.INTEGERS, *numbers.FLOATS, *numbers.OTHER_NUMBERS, "VARCHAR", _NOTHING}
PARQUET, GZIP = b"PAR1", b"\x1f\x8b"  # how such files begin
GZIP_CHUNK = 2**20
DELIMITERS = ",;\t|"

IN_MEMORY = "a table in memory"

T = TypeVar("T")
Stamp = tuple[int, int, int]  # inode, size, time of the last change


class LocalEngine:
    """A table that DuckDB can read. Its repr names the source and no content.

    DuckDB gets no folder for temporary files: a query too large for memory fails rather than leave confidential columns
    on disk. None grows with the table: rows are streamed, and sums and sets of ids are bounded.
    """

    def __init__(self, source: str | Path | ArrowStream) -> None:
        self._connection = duckdb.connect(config={"preserve_insertion_order": "true", "temp_directory": ""})
        self._connection.execute("SET enable_progress_bar = false")
        self._codes: set[str] = set()
        self._stamps: dict[Path, Stamp] | None = None
        if isinstance(source, str | Path):
            self.name = str(source)
            self._stamps = _stamps(self.name)
            if not self._stamps:
                raise FaultsError(self.name, [_unread(self.name)])
            _require_readable(self.name, self.files())
            view = self._censored(lambda: _reader(self.files()))
            self._execute(f"CREATE VIEW source AS SELECT * FROM {view}")
        else:
            self.name = IN_MEMORY
            in_memory = _arrow_table(source)
            self._censored(lambda: self._connection.register("source", in_memory))
        self._types = {str(row[0]): str(row[1]) for row in self._execute("DESCRIBE source")}
        self._has_own_names = all(map(self._are_own, self._headers() if self.files() else [in_memory.column_names]))

    def __repr__(self) -> str:
        return f"LocalEngine({self.name})"

    def files(self) -> list[Path]:
        """The files that are read; none for a table in memory."""
        return list(self._stamps or ())

    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._types)

    @property
    def has_schema(self) -> bool:
        """Whether names of columns come from a schema: of Parquet files. A DataFrame may have been read from a text."""
        return bool(self.files()) and not any(map(_is_csv, self.files()))

    @property
    def has_own_names(self) -> bool:
        """Whether no column got a name from DuckDB that may be another's.

        It renames one whose name, but for case, was there before: of x, X and x_1 it makes x, X_1 and x_1_1. And it
        gives a name to a column without one.
        """
        return self._has_own_names

    def can_be_public(self, column: str) -> bool:
        """Whether a column of this type is written to a release and read back as the same text on every machine."""
        return self._kind(column) in _PUBLIC_TYPES

    def can_be_amount(self, column: str) -> bool:
        """Whether the type of a column is one of numbers or of texts."""
        return self._kind(column) in _AMOUNT_TYPES

    def rows(self) -> int:
        """The number of rows."""
        return self._numbers(["count(*)"])[0]

    def blanks(self, columns: Sequence[str]) -> dict[str, int]:
        """The number of nulls and empty texts in each column, in one pass."""
        counts = [f"count(*) FILTER ({quoted_name(c)} IS NULL OR {quoted_name(c)}::VARCHAR = '')" for c in columns]
        return dict(zip(columns, self._numbers(counts), strict=True))

    def duplicates(self, column: str) -> int:
        """Rows beyond the first of each value."""
        name, parts = quoted_name(column), 1 + self.rows() // IDS_AT_ONCE
        repeated = f"count({name}) - count(DISTINCT {name})"
        return sum(self._numbers([repeated], f"hash({name}) % {parts} = {part}")[0] for part in range(parts))

    def count_faults(self, units: Mapping[str, Fraction]) -> dict[str, ColumnCounts]:
        """What is wrong with each column, counted in one pass over the rows."""
        aggregates = [self._fault_counts(column, unit) for column, unit in units.items()]
        numbers = iter(self._numbers([sql for of_column in aggregates for sql in of_column]))
        return {column: ColumnCounts(*islice(numbers, len(fields(ColumnCounts)))) for column in units}

    def _fault_counts(self, column: str, unit: Fraction) -> list[str]:
        """SQL for each field of ColumnCounts, in order."""
        name, kind = quoted_name(column), self._kind(column)
        whole, value = f"({self._whole(column, unit)})", f"TRY_CAST({name} AS DOUBLE)"
        # Nearly all values are whole, so the patterns are for the few that are not.
        number = f"CASE WHEN {whole} IS NOT NULL THEN true ELSE {numbers.is_number(name, kind)} END"
        not_finite = f"CASE WHEN {whole} IS NOT NULL THEN false ELSE {numbers.is_not_finite(name, kind)} END"
        return [
            f"count(*) FILTER ({name} IS NULL)",
            f"count(*) FILTER (NOT ({number}) AND NOT ({not_finite}))",
            f"count(*) FILTER ({not_finite})",
            f"count(*) FILTER (({number}) AND {value} < 0)",
            f"count(*) FILTER (({number}) AND {value} = 0)",
            f"count(*) FILTER (({number}) AND {name} IS NOT NULL AND {whole} IS NULL)",
            f"coalesce(sum(least(abs({whole}::HUGEINT), {LARGEST_TOLD})) FILTER ({whole} IS NOT NULL), 0)",
        ]

    def distinct(self, column: str) -> list[str]:
        """The distinct texts; asking makes them the codes of the column."""
        enum = quoted_name(f"codes of {column}")
        if column not in self._codes:
            texts = f"SELECT DISTINCT {quoted_name(column)}::VARCHAR AS text FROM source"
            self._execute(f"CREATE TYPE {enum} AS ENUM (SELECT text FROM ({texts}) WHERE text IS NOT NULL ORDER BY 1)")
            self._codes.add(column)
        ((values,),) = self._execute(f"SELECT enum_range(NULL::{enum})")
        return list(values)

    def scan(
        self, *, coded: Sequence[str] = (), amounts: Mapping[str, Fraction] | None = None, plain: Sequence[str] = ()
    ) -> Iterator[Batch]:
        """All rows in batches, in the order of the file."""
        amounts = amounts or {}
        for column in coded:
            self.distinct(column)
        columns = [
            *(f"enum_code({quoted_name(c)}::VARCHAR::{quoted_name(f'codes of {c}')})::INTEGER" for c in coded),
            *(f"({self._whole(c, unit)})::BIGINT" for c, unit in amounts.items()),
            *map(quoted_name, plain),
        ]
        for record in self._records(f"SELECT {', '.join(columns)} FROM source"):
            numbers = record.columns[: len(coded) + len(amounts)]
            if any(column.null_count for column in numbers):  # there were none when the table was checked
                raise TableChangedError
            arrays = [column.to_numpy(zero_copy_only=False) for column in numbers]
            yield Batch(
                {c: array.astype(np.int32, copy=False) for c, array in zip(coded, arrays, strict=False)},
                dict(zip(amounts, arrays[len(coded) :], strict=True)),
                record.select(list(range(len(arrays), record.num_columns))).rename_columns(list(plain)),
            )

    def _headers(self) -> list[list[str]]:
        """The names of columns as the files have them: of each Parquet file, or in the first line of the first text."""
        if self.has_schema:
            parts = "SELECT name, num_children FROM parquet_schema"
            return [_outermost(self._execute(f"{parts}({_quoted(path)})")) for path in self.files()]
        first = self._execute(f"SELECT * FROM {_reader(self.files()[:1], header=False)} LIMIT 1")
        return [[(name or "").strip() for name in line] for line in first]  # as DuckDB takes them

    def _are_own(self, names: Sequence[str]) -> bool:
        """Whether columns of these names keep them; of one file among several, as far as its names alone decide."""
        given = [name.lower() for name in names if name]
        moved = len(self.files()) < 2 and any(a and a != b for a, b in zip(names, self._types, strict=False))
        return len(set(given)) == len(given) and not moved

    def _whole(self, column: str, unit: Fraction) -> str:
        """SQL for the column in units, NULL where it is not a whole multiple of the unit."""
        return numbers.in_units(quoted_name(column), self._kind(column), unit)

    def _kind(self, column: str) -> str:
        """The type without its parameters, which for an enumeration are values."""
        return self._types[column].partition("(")[0] if not self._types[column].endswith("]") else "LIST"

    def _execute(self, sql: str) -> list[tuple[Any, ...]]:
        return self._censored(lambda: self._connection.execute(sql).fetchall())

    def _records(self, sql: str) -> Iterator[pa.RecordBatch]:
        """The rows in batches, of a table that stays what it was when it was opened."""
        self.require_unchanged()
        reader: pa.RecordBatchReader = self._censored(lambda: self._connection.sql(sql).to_arrow_reader(BATCH_ROWS))
        while (record := self._censored(lambda: next(reader, None))) is not None:
            yield record
        self.require_unchanged()

    def _censored(self, action: Callable[[], T]) -> T:
        """Does `action`. DuckDB's messages can quote rows, so only the kind of an error gets through.

        What is raised here is raised after the error was handled, so that it does not hang on as its context.
        """
        try:
            return action()
        except (duckdb.Error, pa.ArrowException, OSError, RuntimeError) as error:
            kind = type(error).__name__
            interrupted = isinstance(error, duckdb.InterruptException) or str(error) == "Query interrupted"
        if interrupted:  # DuckDB puts an error of its own in the place of this one
            raise KeyboardInterrupt
        self.require_unchanged()
        raise FaultsError(self.name, [Fault("the table", f"it cannot be read ({kind})", "Check the file")])

    def require_unchanged(self) -> None:
        """Refuses files that are not the ones that were opened."""
        if self._stamps is not None and _stamps(self.name) != self._stamps:
            raise TableChangedError

    def _numbers(self, aggregates: Sequence[str], condition: str = "true") -> list[int]:
        """Whole numbers from one pass over the rows."""
        if not aggregates:
            return []
        (row,) = self._execute(f"SELECT {', '.join(aggregates)} FROM source WHERE {condition}")
        return [int(number) for number in row]


def _arrow_table(source: object) -> pa.Table:
    """Rows of another library; its messages can quote them, so only the kind of an error gets through."""
    if not isinstance(source, ArrowStream):
        hint = "Give a path, or a DataFrame or table of pandas, polars, pyarrow or DuckDB"
        raise FaultsError(IN_MEMORY, [Fault("the table", f"{type(source).__name__} is not a table", hint)])
    try:
        table = pa.table(source)
    except Exception as error:
        problem = f"its columns cannot be read ({type(error).__name__})"
    else:
        return table
    raise FaultsError(IN_MEMORY, [Fault("the table", problem, "Give every column a name of its own, and one type")])


def files_at(path: Path) -> list[Path]:
    """The files of a path or glob."""
    return list(_stamps(str(path)))


def _stamps(source: str) -> dict[Path, Stamp]:
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


def _unread(source: str) -> Fault:
    """Why there is no file to read."""
    try:
        if Path(source).is_dir():
            return Fault("the file", "it is a folder", 'Name its files, like "folder/*.parquet"')
        if os.path.lexists(source):
            return Fault("the file", "it is not a regular file, or leads nowhere", "Check the path")
    except (OSError, ValueError):
        pass
    return Fault("the file", "there is no such file", "Check the path; data.source in a spec is relative to the spec")


def _is_csv(path: Path) -> bool:
    return path.name.lower().endswith((".csv", ".csv.gz"))


def _require_readable(name: str, files: Sequence[Path]) -> None:
    """Refuses files that are not of the kind their names say, damaged ones where that shows, and files of two kinds."""
    faults = []
    for path in files:
        place = "the file" if len(files) == 1 else f"the file {path.name}"
        if fault := _fault_of(place, path):
            faults.append(fault)
        elif _is_csv(path) != _is_csv(files[0]):
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
        if not _is_csv(path):
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


def _reader(files: Sequence[Path], *, header: bool = True) -> str:
    """DuckDB's table function for these files. CSV columns stay text, so that codes keep their zeros.

    Nothing about a CSV file is guessed from its rows: a guess can drop a line that does not fit, or take it for the
    header.
    """
    quoted = ", ".join(map(_quoted, files))
    if not _is_csv(files[0]):  # folders called key=value are not columns
        by_name = f"union_by_name = {len(files) > 1}"  # else the first file's types round others
        return f"read_parquet([{quoted}], {by_name}, hive_partitioning = false)"
    dialect = f"delim = {quoted_text(_delimiter(files[0]))}, quote = '\"', escape = '\"', comment = '', skip = 0"
    return f"read_csv([{quoted}], all_varchar = true, header = {header}, hive_partitioning = false, {dialect})"


def _quoted(path: Path) -> str:
    """A path in SQL: absolute, lest DuckDB expands what pathlib does not."""
    return quoted_text(glob.escape(str(path.absolute())))


def _outermost(parts: Sequence[tuple[Any, ...]]) -> list[str]:
    """The names of columns in the schema of a Parquet file, which lists what is inside a column right after it."""
    names, inside = [], 0
    for name, children in parts[1:]:  # the first is the file
        if not inside:
            names.append(str(name))
        inside += (children or 0) - bool(inside)
    return names


def _delimiter(path: Path) -> str:
    """The one of the usual delimiters that the first line has most of."""
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
        line = file.readline(1_000_000)
    return max(DELIMITERS, key=lambda delimiter: line.count(delimiter.encode()))
