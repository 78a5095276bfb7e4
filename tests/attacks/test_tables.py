"""Broken, odd and hostile tables: one clear fault before anything is spent, and no record in any message."""

import gzip
import json
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.table import open_table
from gedp.errors import FaultsError
from gedp.microdata.on_file import find_microdata
from gedp.policy import Attribute, Closeness, Data
from gedp.release import read_release
from tests.helpers.runs import Ended, gedp, names, small_table, write_case, write_spec

CANARY = "918273645"
DATA = Data("x", ("cnty", "naics"), "key")
ATTRIBUTES = {name: Attribute(name, Closeness("sqrt", Decimal("0.5"))) for name in ("emp", "wage")}
HEADER = "key,cnty,naics,emp,wage"
RECORD = f"k1,003,1111,{CANARY},7"


def run(folder: Path, name: str, content: bytes) -> Ended:
    """A dry run and then a run; both end alike, and without a ledger."""
    write_spec(folder, ('"t.parquet"', f'"{name}"'))
    (folder / name).write_bytes(content)
    ends = [gedp("run", "spec.toml", *more, folder=folder) for more in (("--dry-run",), ())]
    assert ends[0] == ends[1]
    assert sorted(names(folder)) == sorted(["spec.toml", name])
    return ends[0]


def one_fault(ended: Ended) -> bool:
    return ended.code == 2 and ended.err.startswith("gedp: ") and "Traceback" not in ended.err


@pytest.mark.parametrize(
    "text",
    [
        f"{HEADER}{RECORD}\nk2,003,1111,5,7\n",
        f'key,cnty,"naics,emp,wage\n{RECORD}\nk2,003,1111,5,7\n',
        f'{HEADER}"\n{RECORD}\nk2,003,1111,5,7\n',
        f"\n{RECORD}\n{HEADER}\n",
        f"{RECORD}\n{HEADER}\n",
        f"{HEADER.replace('emp', 'Emp')},{RECORD}\n",
        *(f"{HEADER}{end}{RECORD}{end}k2,003,1111,5,7{end}" for end in ("\v", "\x1e", "\x85", "\u2028", "\r", "\f")),
        f"{HEADER.replace(',', ' ')}\n{RECORD.replace(',', ' ')}\n",
        f"{HEADER}\n{RECORD},8,9\n",
        f"{HEADER}\n{RECORD}\x00\n",
    ],
)
def test_a_header_that_swallowed_a_record_is_not_quoted(text: str, tmp_path: Path) -> None:
    write_spec(tmp_path, ('"t.parquet"', '"t.csv"'))
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "latin-1"):
        (tmp_path / "t.csv").write_bytes(text.encode(encoding, "replace"))
        ended = gedp("run", "spec.toml", "--dry-run", folder=tmp_path)
        assert CANARY not in ended.err + ended.out
        assert "003" not in ended.err
        assert ended.code == 0 or one_fault(ended), ended


def test_names_of_a_schema_are_listed_and_those_of_a_text_counted(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"{HEADER.replace('emp', 'employees')}\n{RECORD}\n", encoding="utf-8")
    table = small_table().rename_columns(["key", "cnty", "naics", "employees", "wage"])
    pq.write_table(table, tmp_path / "t.parquet")
    hints = []
    for source in (tmp_path / "t.csv", table, tmp_path / "t.parquet"):
        with pytest.raises(FaultsError) as raised:
            open_table(LocalEngine(source), DATA, ATTRIBUTES)
        hints.append(next(fault.suggestion for fault in raised.value.faults if fault.place == "column emp"))
    of_text, in_memory, of_schema = hints
    assert in_memory == of_text
    why = "not shown here because the first line of a text file may be a record"
    assert of_text == f"Check the names: 5 were found, {why}"
    assert "employees" in of_schema


@pytest.mark.parametrize(
    ("unit", "value"),
    [
        ("1e-11", "0.000000000013"),
        ("1e-11", "123.12345678901234"),
        ("0.01", "1.00000000000000000000000000001"),
        ("0.01", "0.010000000001e0"),
        ("1", "0.99999999999"),
        ("1", "1e-11"),
        ("1", "99999999999999999999999999.5"),
    ],
)
def test_what_would_have_to_be_rounded_is_refused(unit: str, value: str) -> None:
    columns = {name: [value, "0"] if name == "emp" else ["a", "b"] for name in ("key", "cnty", "naics", "emp")}
    tables = [pa.table(columns)]
    if "e" not in value and len(value) < 38:
        places = len(value.partition(".")[2])
        decimals = pa.array([Decimal(value), Decimal(0)], pa.decimal128(38, places))
        tables.append(tables[0].set_column(3, "emp", decimals))
    for table in tables:
        attributes = {"emp": Attribute("emp", Closeness("sqrt", Decimal(1)), unit=Decimal(unit))}
        with pytest.raises(FaultsError) as raised:
            open_table(LocalEngine(table), DATA, attributes)
        assert "1 row has a value that is not a whole multiple of the unit" in str(raised.value.faults[0])


USABLE = {
    "TINYINT": "(i % 3)::TINYINT",
    "SMALLINT": "(i % 3)::SMALLINT",
    "INTEGER": "(i % 3)::INTEGER",
    "BIGINT": "i % 3 - 1",
    "UTINYINT": "(i % 3)::UTINYINT",
    "USMALLINT": "(i % 3)::USMALLINT",
    "UINTEGER": "(i % 3)::UINTEGER",
    "UBIGINT": "(i % 3 + 18446744073709551610)::UBIGINT",
    "FLOAT": "(i % 3 + 0.1)::FLOAT",
    "DOUBLE": "(CASE i % 3 WHEN 0 THEN 0.1 WHEN 1 THEN -0.0 ELSE 1e20 END)::DOUBLE",
    "DECIMAL(9,2)": "(i % 3 + 0.1)::DECIMAL(9,2)",
    "DECIMAL(38,10)": "(i % 3 + 0.1)::DECIMAL(38,10)",
    "BOOLEAN": "i % 2 = 0",
    "VARCHAR": "'00' || (i % 3)",
    "DATE": "DATE '2020-01-01' + (i % 3)::INTEGER",
    "TIME": "TIME '10:00:00' + INTERVAL (i % 3) HOUR",
    "TIMESTAMP": "TIMESTAMP '2020-01-01 10:00:00' + INTERVAL (i % 3) HOUR",
    "TIMESTAMP_NS": "(TIMESTAMP '2020-01-01' + INTERVAL (i % 3) HOUR)::TIMESTAMP_NS",
    "UUID": "('00000000-0000-0000-0000-00000000000' || (i % 3))::UUID",
}
UNUSABLE = {
    "INTERVAL": "INTERVAL (i % 3) DAY",
    "BIGINT[]": "[i % 3]",
    "STRUCT(a BIGINT)": "{'a': i % 3}",
    "MAP(VARCHAR, BIGINT)": "MAP {'a': i % 3}",
    "BLOB": "('c' || (i % 3))::BLOB",
    "TIME WITH TIME ZONE": "'10:00:00+01'::TIMETZ",
    "TIMESTAMP WITH TIME ZONE": "(TIMESTAMP '2020-01-01' + INTERVAL (i % 3) HOUR)::TIMESTAMPTZ",
}


def write_typed(folder: Path, column: str, sql: str) -> str:
    """The small table with one column of another type; returns the type that DuckDB sees."""
    folder.mkdir(exist_ok=True)
    path = folder / "t.parquet"
    with duckdb.connect() as connection:
        connection.register("small", small_table())
        numbered = "SELECT *, row_number() OVER () - 1 AS i FROM small"
        query = f"SELECT * EXCLUDE (i) REPLACE ({sql} AS {column}) FROM ({numbered})"
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
        described = connection.execute(f"DESCRIBE SELECT {column} FROM '{path}'").fetchall()
    write_spec(folder)
    return str(described[0][1])


def test_types_of_public_columns_that_work_to_the_end(tmp_path: Path) -> None:
    """A column of each type, and a query by each."""
    kinds, path = [f"c{place}" for place in range(len(USABLE))], tmp_path / "t.parquet"
    with duckdb.connect() as connection:
        connection.register("small", small_table())
        columns = ", ".join(f"{sql} AS {name}" for name, sql in zip(kinds, USABLE.values(), strict=True))
        numbered = "SELECT *, row_number() OVER () - 1 AS i FROM small"
        connection.execute(f"COPY (SELECT * EXCLUDE (i), {columns} FROM ({numbered})) TO '{path}' (FORMAT parquet)")
        described = connection.execute(f"DESCRIBE SELECT {', '.join(kinds)} FROM '{path}'").fetchall()
    assert [row[1] for row in described] == list(USABLE)
    public = ('["cnty", "naics"]', json.dumps(["cnty", "naics", *kinds]))
    queries = "".join(f'[[queries]]\nname = "{name}"\nby = ["{name}"]\nmu = {{ emp = 0.1 }}\n' for name in kinds)
    write_spec(tmp_path, public, ("[output]", f"{queries}[output]"))
    ended = gedp("run", "spec.toml", folder=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    release = read_release(tmp_path / "out")
    microdata = find_microdata(release)
    for name, kind in zip(kinds, USABLE, strict=True):
        groups = 2 if kind == "BOOLEAN" else 3
        assert release.answers(name).num_rows == microdata.tabulate(name, "emp").arrow.num_rows == groups
    ended = gedp("tabulate", "out", "--by", ",".join(kinds), "--out", "table.csv", folder=tmp_path)
    assert (ended.code, ended.out) == (0, "Wrote 12 lines to table.csv.\n")
    assert gedp("evaluate", "out", "--truth", "t.parquet", folder=tmp_path).code == 0


@pytest.mark.parametrize("role", ["cnty", "key"])
@pytest.mark.parametrize("kind", UNUSABLE)
def test_other_types_are_refused_before_anything_is_spent(kind: str, role: str, tmp_path: Path) -> None:
    assert write_typed(tmp_path, role, UNUSABLE[kind]) == kind
    ended = gedp("run", "spec.toml", folder=tmp_path)
    assert one_fault(ended)
    assert f"column {role}: its type does not suit a public column or an id" in ended.err
    assert names(tmp_path) == ["spec.toml", "t.parquet"]


@pytest.mark.parametrize("kind", [*UNUSABLE, "BOOLEAN", "DATE", "TIMESTAMP", "UUID"])
def test_attributes_are_numbers_or_texts_of_numbers(kind: str, tmp_path: Path) -> None:
    assert write_typed(tmp_path, "emp", (UNUSABLE | USABLE)[kind]) == kind
    ended = gedp("run", "spec.toml", folder=tmp_path)
    assert one_fault(ended)
    assert "column emp: its type does not hold numbers" in ended.err
    assert names(tmp_path) == ["spec.toml", "t.parquet"]


def nested(depth: int, kind: str) -> pa.Array:
    """Lists of lists of lists, or the same of structures or maps."""
    layers: dict[str, tuple[Callable[[pa.DataType], pa.DataType], Callable[[object], object]]] = {
        "list": (pa.list_, lambda value: [value]),
        "struct": (lambda inner: pa.struct([("a", inner)]), lambda value: {"a": value}),
        "map": (lambda inner: pa.map_(pa.string(), inner), lambda value: [("a", value)]),
    }
    grow, wrap = layers[kind]
    of_type: pa.DataType = pa.int64()
    value: object = 1
    for _ in range(depth):
        of_type, value = grow(of_type), wrap(value)
    return pa.array([value] * small_table().num_rows, of_type)


@pytest.mark.parametrize("kind", ["list", "struct", "map"])
def test_nested_columns_are_never_looked_into(kind: str, tmp_path: Path) -> None:
    """Casting lists that are 26 deep takes DuckDB minutes, and every level twice as long."""
    table = small_table()
    deep = nested(60, kind)
    write_case(tmp_path, table=table.append_column("deep", deep))
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    for column in ("key", "cnty", "emp"):
        changed = table.set_column(table.column_names.index(column), column, deep)
        write_case(tmp_path, table=changed)
        ended = gedp("run", "spec.toml", "--dry-run", "--out", "other", folder=tmp_path)
        assert one_fault(ended)
        assert f"column {column}: its type" in ended.err


CSV = "".join([f"{HEADER}\n", *(f"k{i},00{i % 3},1111,{i * 7919 % 997},{i}\n" for i in range(3000))]).encode()
GZIPPED = gzip.compress(CSV, mtime=0)


@given(st.integers(0, len(GZIPPED) - 1))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_truncated_gzip_file_is_one_fault(tmp_path: Path, length: int) -> None:
    assert one_fault(run(tmp_path, "t.csv.gz", GZIPPED[:length]))


@given(st.integers(10, len(GZIPPED) - 1), st.integers(1, 255))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_gzip_file_with_a_wrong_byte_is_one_fault(tmp_path: Path, place: int, change: int) -> None:
    """DuckDB reads some of them without a word."""
    damaged = bytearray(GZIPPED)
    damaged[place] ^= change
    assert one_fault(run(tmp_path, "t.csv.gz", bytes(damaged)))


def parquet_bytes() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(small_table(), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("t.csv", b"", "it is empty"),
        ("t.parquet", b"", "it is empty"),
        ("t.csv.gz", b"", "it is empty"),
        ("t.csv.gz", gzip.compress(b"", mtime=0), "it is empty"),
        ("t.csv.gz", CSV, "it is not compressed with gzip. Name it .csv"),
        ("t.csv.gz", GZIPPED + b"more", "damaged"),
        ("t.csv", GZIPPED, "it is compressed with gzip. Name it .csv.gz"),
        ("t.parquet", CSV, "it is not a Parquet file"),
        ("t.csv", parquet_bytes(), "it is a Parquet file. Name it .parquet"),
        ("t.parquet", parquet_bytes()[:-20], "cannot be read"),
        ("t.dat", CSV, "it is not a Parquet file. Tables are Parquet files, or files named .csv, .tsv, .txt, .arrow"),
    ],
    ids=range(11),
)
def test_files_that_are_not_what_their_names_say(name: str, content: bytes, problem: str, tmp_path: Path) -> None:
    ended = run(tmp_path, name, content)
    assert one_fault(ended)
    assert problem in ended.err


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: None, "there is no such file"),
        (os.mkdir, "it is a folder"),
        (os.mkfifo, "it is not a regular file"),
        (lambda path: path.symlink_to("nowhere"), "it is not a regular file, or leads nowhere"),
        (lambda path: path.symlink_to(path.name), "it is not a regular file, or leads nowhere"),
        (lambda path: path.symlink_to("/dev/zero"), "it is not a regular file"),
    ],
)
def test_what_is_no_file_is_said_at_once(make: Callable[[Path], object], problem: str, tmp_path: Path) -> None:
    write_spec(tmp_path, ('"t.parquet"', '"t.csv"'))
    make(tmp_path / "t.csv")
    ended = gedp("run", "spec.toml", folder=tmp_path)
    assert one_fault(ended)
    assert problem in ended.err


@pytest.mark.parametrize("source", ["a" * 300 + ".csv", "t\\u0000.csv", "t.parquet/x.csv", "[", "**/*.nothing"])
def test_sources_that_cannot_be(source: str, tmp_path: Path) -> None:
    write_case(tmp_path, ('"t.parquet"', f'"{source}"'))
    ended = gedp("run", "spec.toml", folder=tmp_path)
    assert one_fault(ended)
    assert "there is no such file" in ended.err


def test_every_file_of_a_pattern_is_looked_at(tmp_path: Path) -> None:
    write_spec(tmp_path, ('"t.parquet"', '"t*"'))
    (tmp_path / "t1.csv").write_bytes(CSV)
    (tmp_path / "t2.csv.gz").write_bytes(GZIPPED[:-9])
    (tmp_path / "t3.csv").write_bytes(b"")
    (tmp_path / "t4.parquet").write_bytes(parquet_bytes())
    ended = gedp("run", "spec.toml", folder=tmp_path)
    assert one_fault(ended)
    assert [line.strip().split(". ")[0] for line in ended.err.splitlines()[1:]] == [
        "the file t2.csv.gz: it is damaged or incomplete (gzip)",
        "the file t3.csv: it is empty",
        "the file t4.parquet: it is not of the same kind as the first",
    ]
