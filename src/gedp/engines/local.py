"""The engine for one machine: DuckDB over Parquet or CSV files or an Arrow table, in batches of bounded size."""

import glob
import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np
import pyarrow as pa

from gedp.engines import Batch, ColumnCounts
from gedp.errors import Fault, FaultsError, TableChangedError

BATCH_ROWS = 1_000_000
#: A set of ids takes about 50 bytes each; larger tables are searched for repeated ids part by part.
IDS_AT_ONCE = 2**24

_WHOLE_TYPES = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
DELIMITERS = ",;\t|"

T = TypeVar("T")
Stamp = tuple[int, int, int]  # inode, size, time of the last change


class LocalEngine:
    """A table that DuckDB can read. Its repr names the source and no content.

    DuckDB gets no folder for temporary files: a query too large for memory fails rather than leave confidential columns
    on disk. None grows with the table: rows are streamed, and sums and sets of ids are bounded.
    """

    def __init__(self, source: str | Path | Any) -> None:
        self._connection = duckdb.connect(config={"preserve_insertion_order": "true", "temp_directory": ""})
        self._connection.execute("SET enable_progress_bar = false")
        self._codes: set[str] = set()
        self._stamps: dict[Path, Stamp] | None = None
        if isinstance(source, str | Path):
            self.name = str(source)
            self._stamps = _stamps(self.name)
            if not self._stamps:
                missing = Fault("the file", "there is no such file", "Check the path")
                raise FaultsError(self.name, [missing])
            self._execute(f"CREATE VIEW source AS SELECT * FROM {_reader(self.files())}")
        else:
            self.name = "a table in memory"
            self._connection.register("source", source)
        self._types = {str(row[0]): str(row[1]) for row in self._execute("DESCRIBE source")}

    def __repr__(self) -> str:
        return f"LocalEngine({self.name})"

    def files(self) -> list[Path]:
        """The files that are read; none for a table in memory."""
        return list(self._stamps or ())

    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._types)

    def rows(self) -> int:
        """The number of rows."""
        return self._numbers(["count(*)"])[0]

    def blanks(self, columns: Sequence[str]) -> dict[str, int]:
        """The number of nulls and empty texts in each column, in one pass."""
        counts = [f"count(*) FILTER ({_quoted(c)} IS NULL OR {_quoted(c)}::VARCHAR = '')" for c in columns]
        return dict(zip(columns, self._numbers(counts), strict=True))

    def duplicates(self, column: str) -> int:
        """Rows beyond the first of each value."""
        name, parts = _quoted(column), 1 + self.rows() // IDS_AT_ONCE
        repeated = f"count({name}) - count(DISTINCT {name})"
        return sum(self._numbers([repeated], f"hash({name}) % {parts} = {part}")[0] for part in range(parts))

    def count_faults(self, units: Mapping[str, Fraction]) -> dict[str, ColumnCounts]:
        """Aggregates over the columns, in one pass."""
        aggregates = [self._fault_counts(column, unit) for column, unit in units.items()]
        numbers = iter(self._numbers([sql for of_column in aggregates for sql in of_column]))
        return {column: ColumnCounts(*islice(numbers, len(fields(ColumnCounts)))) for column in units}

    def _fault_counts(self, column: str, unit: Fraction) -> list[str]:
        """SQL for each field of ColumnCounts, in order."""
        name, number = _quoted(column), f"TRY_CAST({_quoted(column)} AS DOUBLE)"
        whole = f"({self._whole(column, unit)})"
        finite = f"({number} IS NOT NULL AND isfinite({number}))"
        return [
            f"count(*) FILTER ({name} IS NULL)",
            f"count(*) FILTER ({name} IS NOT NULL AND ({number} IS NULL OR typeof({name}) = 'BOOLEAN'))",
            f"count(*) FILTER ({number} IS NOT NULL AND NOT isfinite({number}))",
            f"count(*) FILTER ({finite} AND {number} < 0)",
            f"count(*) FILTER ({number} = 0)",
            f"count(*) FILTER ({finite} AND {whole} IS NULL)",
            f"coalesce(sum(abs({whole}::HUGEINT)), 0)",
        ]

    def distinct(self, column: str) -> list[str]:
        """The distinct texts; asking makes them the codes of the column."""
        enum = _quoted(f"codes of {column}")
        if column not in self._codes:
            texts = f"SELECT DISTINCT {_quoted(column)}::VARCHAR AS text FROM source"
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
            *(f"enum_code({_quoted(c)}::VARCHAR::{_quoted(f'codes of {c}')})::INTEGER" for c in coded),
            *(f"({self._whole(c, unit)})::BIGINT" for c, unit in amounts.items()),
            *map(_quoted, plain),
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

    def _whole(self, column: str, unit: Fraction) -> str:
        """SQL for the column in units, NULL where it is no whole multiple of the unit.

        A float is one if it is the float nearest to one. Texts of digits alone, as nearly all are, need no decimals.
        """
        name, kind = _quoted(column), self._types[column]
        if unit == 1 and kind in _WHOLE_TYPES:
            return f"{name}::BIGINT"
        if kind in {"FLOAT", "DOUBLE"}:
            units = f"round({name}::DOUBLE * {unit.denominator} / {unit.numerator})"
            nearest = f"({units} * {unit.numerator} / {unit.denominator})::{kind}"
            return f"CASE WHEN {nearest} = {name} AND abs({units}) < 1e28 THEN {units}::HUGEINT END"
        exact = f"TRY(TRY_CAST({name} AS DECIMAL(38, 10)) * {unit.denominator})"
        whole = f"WHEN {exact} % {unit.numerator} = 0 THEN TRY_CAST({exact} AS HUGEINT) // {unit.numerator}"
        if unit == 1 and kind == "VARCHAR":
            return f"CASE WHEN regexp_full_match({name}, '-?[0-9]{{1,18}}') THEN {name}::HUGEINT {whole} END"
        return f"CASE {whole} END"

    def _execute(self, sql: str) -> list[tuple[Any, ...]]:
        return self._silent(lambda: self._connection.execute(sql).fetchall())

    def _records(self, sql: str) -> Iterator[pa.RecordBatch]:
        """The rows in batches, of a table that stays what it was when it was opened."""
        self.require_unchanged()
        reader = self._silent(lambda: self._connection.sql(sql).to_arrow_reader(BATCH_ROWS))
        while (record := self._silent(lambda: next(reader, None))) is not None:
            yield record
        self.require_unchanged()

    def _silent(self, action: Callable[[], T]) -> T:
        """DuckDB's messages can quote rows, so only the kind of an error gets through.

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


def _stamps(source: str) -> dict[Path, Stamp]:
    """The files of a path or glob, and what tells whether they are still the same."""
    names = [source] if Path(source).is_file() else sorted(glob.glob(source))  # noqa: PTH207 - a pattern
    stamps = {}
    for path in filter(Path.is_file, map(Path, names)):
        status = path.stat()
        stamps[path] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return stamps


def _reader(files: Sequence[Path]) -> str:
    """DuckDB's table function for these files. CSV columns stay text, so that codes keep their zeros.

    Nothing about a CSV file is guessed from its rows: a guess can drop a line that does not fit, or take it for the
    header, and then messages that name columns would quote a record.
    """
    quoted = ", ".join(_literal(glob.escape(str(path))) for path in files)
    if ".csv" not in [suffix.lower() for suffix in files[0].suffixes[-2:]]:
        return f"read_parquet([{quoted}], union_by_name = {len(files) > 1})"  # else the first file's types round others
    dialect = f"delim = {_literal(_delimiter(files[0]))}, quote = '\"', escape = '\"', comment = '', skip = 0"
    return f"read_csv([{quoted}], all_varchar = true, header = true, {dialect})"


def _delimiter(path: Path) -> str:
    """The one of the usual delimiters that the first line has most of."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            line = file.readline(1_000_000)
    except OSError:
        return ","  # DuckDB will say what is wrong with the file
    return max(DELIMITERS, key=lambda delimiter: line.count(delimiter.encode()))


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
