"""Some rows of a table, in DuckDB: the whole of it on one machine, or what a worker of many has at a time."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import duckdb
import numpy as np
import pyarrow as pa

from gedp.accounting.composition import exact
from gedp.arrays import IntArray
from gedp.confidential.engines import TableCounts, numbers
from gedp.errors import Fault, FaultsError, TableChangedError
from gedp.passes import Batch, Reads
from gedp.policy.model import JOINT
from gedp.policy.reading import AS_WRITTEN, Reading
from gedp.release.rows import Order
from gedp.sql import draw_no_progress, quoted_name, quoted_text

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

T = TypeVar("T")


class Part:
    """Rows that DuckDB can read. Its repr names the source and no content.

    DuckDB gets no folder for temporary files: a query too large for memory fails rather than leave confidential columns
    on disk. None grows with the table: rows are streamed, and sums and sets of ids are bounded.
    """

    name = "a table"  # until it is known which

    def __init__(self, name: str, rows: pa.Table | None = None, amounts: Reading = AS_WRITTEN) -> None:
        self.name, self._amounts = name, amounts
        self._connection = duckdb.connect(config={"preserve_insertion_order": "true", "temp_directory": ""})
        draw_no_progress(self._connection)
        self._codes: dict[str, list[str]] = {}
        if rows is not None:
            self.hold(rows)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def hold(self, rows: pa.Table) -> None:
        """Takes these rows in the place of those before."""
        self._censored(lambda: self._connection.register("source", rows))
        self._describe()

    def _describe(self) -> None:
        self._types = {str(row[0]): str(row[1]) for row in self._execute("DESCRIBE source")}

    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._types)

    def can_be_public(self, column: str) -> bool:
        """Whether a column of this type is written to a release and read back as the same text on every machine."""
        return self._kind(column) in _PUBLIC_TYPES

    def can_be_amount(self, column: str) -> bool:
        """Whether the type of a column is one of numbers or of texts."""
        return self._kind(column) in _AMOUNT_TYPES

    def is_number(self, column: str) -> bool:
        """Whether the type of a column is one of numbers."""
        return self.can_be_amount(column) and self._kind(column) not in ("VARCHAR", _NOTHING)

    def decimals(self, column: str) -> int | None:
        """How many decimals the type of a column has: none for whole numbers; None where the type does not say."""
        if self._kind(column) in {*numbers.INTEGERS, "UBIGINT", "HUGEINT", "UHUGEINT"}:
            return 0
        scale = re.fullmatch(r"DECIMAL\(\d+,\s*(\d+)\)", self._types[column])
        return int(scale[1]) if scale else None

    def rows(self) -> int:
        """The number of rows."""
        return self._numbers(["count(*)"])[0]

    def duplicates(self, column: str, rows: int) -> int:
        """Rows beyond the first of each value. Where each is above the one before, as ids often are, there are none."""
        if self._increases(column):
            return 0
        name, parts = quoted_name(column), 1 + rows // IDS_AT_ONCE
        repeated = f"count({name}) - count(DISTINCT {name})"
        return sum(self._numbers([repeated], f"hash({name}) % {parts} = {part}")[0] for part in range(parts))

    def _increases(self, column: str) -> bool:
        """Whether no value is null, and each is above the one before; not looked at for types of other orders."""
        if self._kind(column) not in {*numbers.INTEGERS, "VARCHAR"}:
            return False
        order, records = Order(column), self._records(f"SELECT {quoted_name(column)} FROM source")
        return all(not r.column(0).null_count and order.goes_on(pa.Table.from_batches([r])) for r in records)

    def count_faults(self, units: Mapping[str, Fraction], public: Sequence[str] = ()) -> TableCounts:
        """What is wrong with each column, counted in one pass over the rows."""
        return TableCounts.of(self.counts(units, public), public, units)

    def counts(self, units: Mapping[str, Fraction], public: Sequence[str]) -> list[int]:
        """The numbers of `TableCounts`, which are added up where there are several parts."""
        aggregates = ["count(*)"]
        columns = [f"{quoted_name(column)} AS key{place}" for place, column in enumerate(public)]
        for place, column in enumerate(public):
            empty = f" OR key{place} = ''" if self._kind(column) == "VARCHAR" else ""
            aggregates.append(f"count(*) FILTER (key{place} IS NULL{empty})")
        for place, (column, unit) in enumerate(units.items()):
            written, value, whole = (f"{what}{place}" for what in ("written", "value", "whole"))
            columns += [f"{quoted_name(column)} AS {written}", f"{self._standard(column)} AS {value}"]
            columns.append(f"{self._whole(column, unit)} AS {whole}")
            aggregates += self._fault_counts(column, unit, written, value, whole)
        return self._numbers(aggregates, source=f"(SELECT {', '.join(columns or ['NULL'])} FROM source)")

    def _fault_counts(self, column: str, unit: Fraction, written: str, name: str, whole: str) -> list[str]:
        """SQL for each field of ColumnCounts, in order: of a column as written, in standard signs, and in units."""
        kind, null_as = self._kind(column), self._amounts.missing.get(column)
        if kind in numbers.INTEGERS and unit == 1 and null_as is None:  # the usual case, in a fraction of the time
            below, at_zero = (f"count(*) FILTER ({name} {sign} 0)" for sign in "<=")
            size = f"coalesce(sum(abs({name}::HUGEINT)), 0)"
            return [f"count(*) FILTER ({name} IS NULL)", "0", "0", "0", below, at_zero, "0", size]
        value = f"TRY_CAST({name} AS DOUBLE)"
        value = value if null_as is None else f"coalesce({value}, {null_as})"
        nulls = f"count(*) FILTER ({name} IS NULL)" if null_as is None else "0"
        # Nearly all values are whole, so the patterns are for the few that are not.
        number = f"CASE WHEN {whole} IS NOT NULL THEN true ELSE {numbers.is_number(name, kind)} END"
        not_finite = f"CASE WHEN {whole} IS NOT NULL THEN false ELSE {numbers.is_not_finite(name, kind)} END"
        comma = "false" if kind != "VARCHAR" else numbers.has_comma(written)
        return [
            nulls,
            f"count(*) FILTER (NOT ({number}) AND NOT ({not_finite}))",
            f"count(*) FILTER (NOT ({number}) AND {comma})",
            f"count(*) FILTER ({not_finite})",
            f"count(*) FILTER (({number}) AND {value} < 0)",
            f"count(*) FILTER (({number}) AND {value} = 0)",
            f"count(*) FILTER (({number}) AND {name} IS NOT NULL AND {whole} IS NULL)",
            f"coalesce(sum(least(abs({whole}::HUGEINT), {LARGEST_TOLD})) FILTER ({whole} IS NOT NULL), 0)",
        ]

    def distinct(self, column: str) -> list[str]:
        """The distinct texts, sorted."""
        if column not in self._codes:
            texts = f"SELECT DISTINCT {self._text(column)} AS text FROM source"
            found = self._execute(f"SELECT text FROM ({texts}) WHERE text IS NOT NULL ORDER BY 1")
            self._make_codes(column, [text for (text,) in found])
        return self._codes[column]

    def repeated(self, column: str) -> list[str]:
        """The texts that several rows have, sorted."""
        texts = f"SELECT {self._text(column)} AS text FROM source GROUP BY 1 HAVING count(*) > 1"
        return [text for (text,) in self._execute(f"SELECT text FROM ({texts}) ORDER BY 1")]

    def combinations(
        self, columns: Sequence[str], listed: Mapping[str, list[str]] | None = None
    ) -> tuple[dict[str, list[str]], IntArray]:
        """The combinations of texts that occur, and the number of rows of each; "" for a text that is not `listed`."""
        for column, texts in (listed or {}).items():
            self._make_codes(_listed(column), texts)
        shown = {c: f"coalesce(TRY_CAST({self._text(c)} AS {_enum(_listed(c))})::VARCHAR, '')" for c in listed or {}}
        named = [f"{shown.get(c, self._text(c))} AS {quoted_name(f'text {i}')}" for i, c in enumerate(columns)]
        sql = f"SELECT {', '.join([*named, 'count(*)'])} FROM source GROUP BY ALL"
        table: pa.Table = self._censored(lambda: self._connection.sql(sql).to_arrow_table())
        found = {column: table.column(place).to_pylist() for place, column in enumerate(columns)}
        return found, table.column(len(columns)).to_numpy().astype(np.int64)

    def batches(self, reads: Reads) -> Iterator[Batch]:
        """All rows in batches, in the order of the table."""
        amounts, plain, cells = reads.amounts, reads.plain, reads.cells
        texts = {**{column: self.distinct(column) for column in reads.coded}, **(cells.texts if cells else {})}
        listed = cells.listed if cells else None
        for column, values in texts.items():
            self._make_codes(_listed(column) if column == listed else column, values)
        columns = [
            *(self._code(c, len(texts[c]) if c == listed else None) for c in texts),
            *(f"({self._amount(name, unit)})::BIGINT" for name, unit in amounts.items()),
            *map(quoted_name, plain),
        ]
        for record in self._records(f"SELECT {', '.join(columns or ['NULL'])} FROM source"):
            numbers = record.columns[: len(texts) + len(amounts)]
            if any(column.null_count for column in numbers):  # there were none when the table was checked
                raise TableChangedError
            arrays = [column.to_numpy(zero_copy_only=False) for column in numbers]
            codes = {c: array.astype(np.int32, copy=False) for c, array in zip(texts, arrays, strict=False)}
            yield Batch(
                codes,
                dict(zip(amounts, arrays[len(texts) :], strict=True)),
                record.select(list(range(len(arrays), len(arrays) + len(plain)))).rename_columns(list(plain)),
                record.num_rows,
                cells.cells(codes, record.num_rows) if cells else np.zeros(0, dtype=np.int32),
            )

    def require_unchanged(self) -> None:
        """Rows in memory do not change."""

    def _make_codes(self, column: str, texts: list[str]) -> None:
        """Makes the positions among these texts the codes of a column."""
        if column not in self._codes:
            listed = pa.table({"text": pa.array(texts, pa.string())})
            self._censored(lambda: self._connection.register("texts", listed))
            self._execute(f"CREATE TYPE {_enum(column)} AS ENUM (SELECT text FROM texts)")
            self._connection.unregister("texts")
            self._codes[column] = texts

    def _code(self, column: str, other: int | None) -> str:
        """SQL for the code of a public column; `other` where only some of its texts are listed, and this is none."""
        codes = _enum(column if other is None else _listed(column))
        code = f"enum_code(TRY_CAST({self._text(column)} AS {codes}))::INTEGER"
        return code if other is None else f"coalesce({code}, {other})"

    def _text(self, name: str) -> str:
        """SQL for a public column as text, or for several that are joined."""
        columns = self._amounts.joined.get(name, (name,))
        return f" || {quoted_text(JOINT)} || ".join(f"{quoted_name(column)}::VARCHAR" for column in columns)

    def _amount(self, name: str, unit: Fraction) -> str:
        """SQL for an attribute in units: a column, or its part above or below 0."""
        column, sign = self._amounts.parts.get(name, (name, 0))
        whole = f"({self._whole(column, unit)})"
        beyond = whole if sign >= 0 else f"-{whole}"
        return f"CASE WHEN {beyond} > 0 THEN {beyond} WHEN {beyond} <= 0 THEN 0 END" if sign else whole

    def _whole(self, column: str, unit: Fraction) -> str:
        """SQL for the column in units, NULL where it is not a whole multiple of the unit."""
        name, whole = quoted_name(column), numbers.in_units(self._standard(column), self._kind(column), unit)
        null_as = self._amounts.missing.get(column)
        return (
            whole if null_as is None else f"CASE WHEN {name} IS NULL THEN {int(exact(null_as) / unit)} ELSE {whole} END"
        )

    def _standard(self, column: str) -> str:
        """SQL for a column of amounts; texts as `numbers` reads them, with a decimal point."""
        name = quoted_name(column)
        if self._kind(column) != "VARCHAR" or (self._amounts.decimal, self._amounts.thousands) == (".", None):
            return name
        return f"({numbers.standard(name, self._amounts.decimal, self._amounts.thousands)})"

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
        raise FaultsError(self.name, [self._why(kind)])

    def _why(self, kind: str) -> Fault:
        """What can be told of an error of this kind."""
        return Fault("the table", f"it cannot be read ({kind})", "Check the file")

    def _numbers(self, aggregates: Sequence[str], condition: str = "true", source: str = "source") -> list[int]:
        """Whole numbers from one pass over the rows."""
        (row,) = self._execute(f"SELECT {', '.join(aggregates)} FROM {source} WHERE {condition}")
        return [int(number) for number in row]


def _listed(column: str) -> str:
    """What the codes of some texts of a column are called, beside those of all."""
    return f"some of {column}"


def _enum(column: str) -> str:
    return quoted_name(f"codes of {column}")
