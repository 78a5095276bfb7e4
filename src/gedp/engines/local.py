"""The engine for one machine: DuckDB over Parquet or CSV files or an Arrow table, in batches of bounded size."""

import glob
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from gedp.engines import Batch, ColumnCounts
from gedp.errors import Fault, FaultsError

BATCH_ROWS = 1_000_000


class LocalEngine:
    """A table that DuckDB can read. Its repr names the source and no content."""

    def __init__(self, source: str | Path | Any) -> None:
        self._connection = duckdb.connect(config={"preserve_insertion_order": "true"})
        self._codes: set[str] = set()
        self._files: list[Path] = []
        if isinstance(source, str | Path):
            self.name = str(source)
            self._files = [Path(path) for path in sorted(glob.glob(self.name))]  # noqa: PTH207 - a pattern
            if not self._files:
                missing = Fault("the file", "there is no such file", "Check the path in data.source")
                raise FaultsError(self.name, [missing])
            with self._silent():
                self._connection.execute(f"CREATE VIEW source AS SELECT * FROM {_reader(self.name)}")
        else:
            self.name = "a table in memory"
            self._connection.register("source", source)
        self._types = {str(row[0]): str(row[1]) for row in self._rows_of("DESCRIBE source")}

    def __repr__(self) -> str:
        return f"LocalEngine({self.name})"

    def files(self) -> list[Path]:
        """The files that are read; none for a table in memory."""
        return self._files

    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._types)

    def rows(self) -> int:
        """The number of rows."""
        return self._number("SELECT count(*) FROM source")

    def nulls(self, column: str) -> int:
        """The number of nulls in a column."""
        return self._number(f"SELECT count(*) - count({_quoted(column)}) FROM source")

    def duplicates(self, column: str) -> int:
        """Rows beyond the first of each value."""
        return self._number(f"SELECT count({_quoted(column)}) - count(DISTINCT {_quoted(column)}) FROM source")

    def count_faults(self, column: str, unit: Fraction) -> ColumnCounts:
        """One aggregate over the column."""
        name, number = _quoted(column), f"TRY_CAST({_quoted(column)} AS DOUBLE)"
        whole = f"({self._whole(column, unit)})"
        finite = f"({number} IS NOT NULL AND isfinite({number}))"
        (row,) = self._rows_of(
            f"SELECT count(*) FILTER ({name} IS NULL), "
            f"count(*) FILTER ({name} IS NOT NULL AND {number} IS NULL), "
            f"count(*) FILTER ({number} IS NOT NULL AND NOT isfinite({number})), "
            f"count(*) FILTER ({finite} AND {number} < 0), count(*) FILTER ({number} = 0), "
            f"count(*) FILTER ({finite} AND {whole} IS NULL), coalesce(sum(abs({whole}::HUGEINT)), 0) FROM source"
        )
        return ColumnCounts(*(int(value) for value in row))

    def distinct(self, column: str) -> list[str]:
        """The distinct texts; asking makes them the codes of the column."""
        enum = _quoted(f"codes of {column}")
        if column not in self._codes:
            texts = f"SELECT DISTINCT {_quoted(column)}::VARCHAR AS text FROM source"
            with self._silent():
                self._connection.execute(
                    f"CREATE TYPE {enum} AS ENUM (SELECT text FROM ({texts}) WHERE text IS NOT NULL ORDER BY 1)"
                )
            self._codes.add(column)
        ((values,),) = self._rows_of(f"SELECT enum_range(NULL::{enum})")
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
        with self._silent():
            reader = self._connection.sql(f"SELECT {', '.join(columns)} FROM source").to_arrow_reader(BATCH_ROWS)
        for record in reader:
            arrays = [column.to_numpy(zero_copy_only=False) for column in record.columns[: len(coded) + len(amounts)]]
            yield Batch(
                {c: array.astype(np.int32, copy=False) for c, array in zip(coded, arrays, strict=False)},
                dict(zip(amounts, arrays[len(coded) :], strict=True)),
                record.select(list(range(len(arrays), record.num_columns))).rename_columns(list(plain)),
            )

    def _whole(self, column: str, unit: Fraction) -> str:
        """SQL for the column in units, NULL where it is no whole multiple of the unit."""
        name = _quoted(column)
        if unit == 1 and self._types[column] in {
            "TINYINT",
            "SMALLINT",
            "INTEGER",
            "BIGINT",
            "UTINYINT",
            "USMALLINT",
            "UINTEGER",
        }:
            return f"{name}::BIGINT"
        exact = f"TRY(TRY_CAST({name} AS DECIMAL(38, 10)) * {unit.denominator})"
        return f"CASE WHEN {exact} % {unit.numerator} = 0 THEN TRY_CAST({exact} AS HUGEINT) // {unit.numerator} END"

    def _rows_of(self, sql: str) -> list[tuple[Any, ...]]:
        with self._silent():
            return self._connection.execute(sql).fetchall()

    @contextmanager
    def _silent(self) -> Iterator[None]:
        """DuckDB's messages can quote rows, so only the kind of an error gets through."""
        try:
            yield
        except duckdb.Error as error:
            kind = type(error).__name__
            raise FaultsError(
                self.name, [Fault("the table", f"it cannot be read ({kind})", "Check the file")]
            ) from None

    def _number(self, sql: str) -> int:
        return int(self._rows_of(sql)[0][0])


def _reader(source: str) -> str:
    """DuckDB's table function for a path or glob. CSV columns stay text, so that codes keep their zeros."""
    quoted = "'" + source.replace("'", "''") + "'"
    suffixes = [suffix.lower() for suffix in Path(source).suffixes[-2:]]
    if ".csv" in suffixes:
        return f"read_csv({quoted}, all_varchar = true, header = true)"
    return f"read_parquet({quoted})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
