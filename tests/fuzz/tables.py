"""CSV and Parquet tables about the same establishments, broken or merely unusual. Canaries stay in their columns."""

import csv
import io
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz.odd import NUMBERS, TEXTS, change_bytes, change_text
from tests.helpers.canaries import CANARY
from tests.helpers.runs import small_table

#: In a column that no spec names, so nobody may ever read it anywhere.
SECRET = "Zyzzogeton Kvetchling"
CONFIDENTIAL = ("emp", "wage", "secret")
ROWS = 24


def table() -> pa.Table:
    """Every establishment of a county is alone in its cell or has only zeros beside it, so sums sing like records."""
    values = [CANARY + i if i < 6 else i % 3 for i in range(ROWS)]
    return (
        small_table(ROWS)
        .set_column(3, "emp", pa.array(values, pa.int64()))
        .set_column(4, "wage", pa.array([float(value) for value in values]))
        .append_column("secret", pa.array([f"{SECRET} {i}" for i in range(ROWS)]))
    )


def csv_text(of: pa.Table, delimiter: str = ",", end: str = "\n", quoting: Literal[0, 1] = csv.QUOTE_MINIMAL) -> str:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator=end, quoting=quoting, escapechar="\\")
    writer.writerow(of.column_names)
    writer.writerows(zip(*(column.to_pylist() for column in of.columns), strict=True))
    return buffer.getvalue()


def changed_csv(chance: random.Random) -> bytes:
    """A CSV file: cells, lines, header, separators, quotes, encoding or bytes are odd."""
    of = table() if chance.random() < 0.6 else changed_table(chance, nested=False)
    style: dict[str, Any] = {}
    if chance.random() < 0.3:
        style["delimiter"] = chance.choice(";\t|: ")
    if chance.random() < 0.2:
        style["end"] = chance.choice(("\r\n", "\r", "\n\n", "\x85"))
    if chance.random() < 0.2:
        style["quoting"] = csv.QUOTE_ALL
    text = csv_text(of, **style)
    for _ in range(chance.choice((0, 1, 1, 2))):
        text = _changed_lines(chance, text)
    if chance.random() < 0.3:
        text = change_text(chance, text)
    encoding = chance.choice(("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1", "utf-32"))
    content = text.encode(encoding, "replace")
    return change_bytes(chance, content) if chance.random() < 0.2 else content


def _changed_lines(chance: random.Random, text: str) -> str:
    header, *lines = text.split("\n")
    lines = lines or [""]
    match chance.randrange(9):
        case 0:
            header = header.upper() if chance.random() < 0.5 else f" {header.replace(',', ' , ')} "
        case 1:
            header = header.replace(chance.choice(("emp", "wage", "cnty", "key")), chance.choice(TEXTS))
        case 2:
            return "\n".join(lines)  # no header: the first establishment is taken for it
        case 3:
            header = f"{header},{header}" if chance.random() < 0.5 else f"# made by a tool\n{header}"
        case 4:
            at = chance.randrange(len(lines))
            lines[at] = ",".join(chance.sample(parts := lines[at].split(","), len(parts)))
        case 5:
            at = chance.randrange(len(lines))
            cells = lines[at].split(",")
            cells[chance.randrange(len(cells))] = str(chance.choice((*TEXTS, *map(str, NUMBERS))))
            lines[at] = ",".join(cells)
        case 6:
            at = chance.randrange(len(lines))
            lines[at] = lines[at].rpartition(",")[0] if chance.random() < 0.5 else f"{lines[at]},{CANARY}"
        case 7:
            lines = lines * 40 if chance.random() < 0.5 else []
        case _:
            lines[chance.randrange(len(lines))] = chance.choice(("", '"', ",,,,,", "\0", "total,,,99,99,"))
    return "\n".join([header, *lines])


def changed_parquet(chance: random.Random) -> bytes:
    """A Parquet file: other types, nulls, names, compressions; or damaged bytes."""
    of = table()
    for _ in range(chance.choice((1, 1, 2, 3))):
        of = changed_table(chance, of)
    sink = io.BytesIO()
    options: dict[str, Any] = {
        "compression": chance.choice(("none", "snappy", "zstd", "gzip", "brotli", "lz4")),
        "use_dictionary": chance.random() < 0.5,
        "row_group_size": chance.choice((1, 5, 10_000)),
        "version": chance.choice(("1.0", "2.4", "2.6")),
        "data_page_version": chance.choice(("1.0", "2.0")),
    }
    try:
        pq.write_table(of, sink, **options)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):  # a type that Parquet lacks
        sink = io.BytesIO()
        pq.write_table(table(), sink)
        return change_bytes(chance, sink.getvalue())
    return change_bytes(chance, sink.getvalue()) if chance.random() < 0.25 else sink.getvalue()


def changed_table(chance: random.Random, of: pa.Table | None = None, *, nested: bool = True) -> pa.Table:
    """One column has other values, another type or another name, or is gone; or the rows are others."""
    of = table() if of is None else of
    if not of.num_columns:
        return of
    at = chance.randrange(of.num_columns)
    name, column = of.column_names[at], of.column(at)
    match chance.randrange(8):
        case 0 | 1:
            return _set(of, at, name, lambda: column.cast(chance.choice(TYPES)))
        case 2 if nested:
            return _set(of, at, name, lambda: pa.array(_nested(chance, column.to_pylist())))
        case 3:
            return _set(of, at, name, lambda: _with_odd(chance, column))
        case 4:
            return of.rename_columns(
                [str(chance.choice(TEXTS)) if i == at else n for i, n in enumerate(of.column_names)]
            )
        case 5:
            return of.remove_column(at) if chance.random() < 0.5 else of.append_column(name, column)
        case 6:
            return chance.choice((of.slice(0, 0), of.slice(0, 1), pa.concat_tables([of, of]), of.slice(3)))
        case _:
            return _set(of, at, name, lambda: pa.nulls(of.num_rows, column.type))


TYPES = (
    *(pa.int8(), pa.int16(), pa.int32(), pa.uint64(), pa.float32(), pa.float64(), pa.string(), pa.large_string()),
    *(pa.binary(), pa.bool_(), pa.decimal128(38, 2), pa.decimal256(60, 10), pa.date32(), pa.timestamp("ns")),
    *(pa.duration("s"), pa.dictionary(pa.int32(), pa.string()), pa.float16(), pa.null(), pa.string_view()),
)


def _set(of: pa.Table, at: int, name: str, make: Callable[[], pa.Array | pa.ChunkedArray]) -> pa.Table:
    try:
        return of.set_column(at, name, make())
    except (pa.ArrowException, ValueError, TypeError, ArithmeticError):  # Arrow itself has no such column
        return of


def _nested(chance: random.Random, values: list[Any]) -> list[Any]:
    wrap: Callable[[Any], Any] = chance.choice(
        (lambda v: [v], lambda v: {"v": v}, lambda v: [[v, v]], lambda v: [("k", v)], lambda v: {"emp": {"emp": v}})
    )
    return [wrap(value) for value in values]


def _with_odd(chance: random.Random, column: pa.ChunkedArray) -> pa.Array:
    values = column.to_pylist()
    odd: list[Any] = [None, *NUMBERS] if not pa.types.is_string(column.type) else [None, *TEXTS]
    for _ in range(chance.choice((1, 2, len(values)))):
        values[chance.randrange(len(values))] = chance.choice(odd)
    if chance.random() < 0.2:
        return pa.array([None if v is None else Decimal(str(v)) for v in values])
    return pa.array(values)
