"""The confidential table: validation in one go, exact whole numbers, finest cells; no value in any message."""

import math
import os
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gedp.arrays import CodeArray
from gedp.confidential.engines import in_order, part
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.table import ConfidentialTable, FinestCells, find_cells, open_table
from gedp.csvfiles import write_csv
from gedp.errors import DomainError, FaultsError, TableChangedError
from gedp.passes import Reads, lookup
from gedp.passes.lookup import make_lookup
from gedp.policy import Attribute, Closeness, Data, Grouper, Query

EMP = Attribute("emp", Closeness("sqrt", Decimal("0.5")))
DATA = Data("x", ("cnty", "naics"), "key")
GROUPERS = {"naics2": Grouper("naics2", "naics", prefix=2)}
CANARY = 918273645546372819


def table_of(**columns: Sequence[object] | pa.Array) -> pa.Table:
    rows = len(next(iter(columns.values()))) if columns else 2
    whole: dict[str, Sequence[object] | pa.Array] = {
        "key": [f"k{i}" for i in range(rows)],
        "cnty": ["001"] * rows,
        "naics": ["1111"] * rows,
        "emp": [1] * rows,
    }
    return pa.table({**whole, **columns})


def opened(
    table: pa.Table | Path, attribute: Attribute = EMP, groupers: dict[str, Grouper] = GROUPERS
) -> ConfidentialTable:
    return open_table(LocalEngine(table), DATA, {"emp": attribute}, groupers)


def faults_of(table: pa.Table | Path, attribute: Attribute = EMP, **kwargs: dict[str, Grouper]) -> list[str]:
    with pytest.raises(FaultsError) as raised:
        opened(table, attribute, **kwargs)
    return [str(fault) for fault in raised.value.faults]


def amounts(table: pa.Table | Path, unit: str = "1") -> list[int]:
    batches = LocalEngine(table).batches(Reads(amounts={"emp": Fraction(unit)}))
    return [int(value) for batch in batches for value in batch.amounts["emp"]]


def test_all_faults_at_once_by_column_and_count() -> None:
    bad = table_of(
        key=["a", "a", "b", "b", None, "c", "d"],
        cnty=["001", None, "", "003", "003", "003", "003"],
        emp=["1", None, "x", "-3", "1.5", "nan", "inf"],
    )
    assert [fault.split(". ")[0] for fault in faults_of(bad)] == [
        "column cnty: 2 rows have null or an empty text",
        "column key: 1 row has null or an empty text",
        "column key: 2 rows have an id that appeared before",
        "column emp: 1 row has null",
        "column emp: 1 row has something that is not a number",
        "column emp: 2 rows have NaN or an infinity",
        "column emp: 1 row has a negative value",
        "column emp: 1 row has a value that is not a whole multiple of the unit 1",
    ]


@pytest.mark.parametrize("ending", ["parquet", "duckdb", "arrow", "csv", "memory"])
@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
@pytest.mark.parametrize("odd", [[math.nan], [math.inf], [-math.inf, math.nan]])
def test_what_is_not_finite_is_counted_beside_ordinary_numbers(
    ending: str, kind: pa.DataType, odd: list[float], tmp_path: Path
) -> None:
    """Parquet states the smallest and largest value of a column, and NaN is neither."""
    table = table_of(emp=pa.array([1.0, 2.0, 3.5, *odd], kind))
    place = tmp_path / f"t.{ending}"
    if ending == "parquet":
        pq.write_table(table, place)
    elif ending == "duckdb":
        with duckdb.connect(str(place)) as connection:
            connection.register("rows", table)
            connection.execute("CREATE TABLE t AS FROM rows")
    elif ending == "arrow":
        pyarrow.feather.write_feather(table, str(place))
    elif ending == "csv":
        write_csv(table, place)
    faults = faults_of(table if ending == "memory" else place)
    assert [fault.split(". ")[0] for fault in faults] == [
        f"column emp: {'1 row has' if len(odd) == 1 else '2 rows have'} NaN or an infinity",
        "column emp: 1 row has a value that is not a whole multiple of the unit 1",
    ]


def test_what_is_true_or_false_is_no_number() -> None:
    table = table_of()
    answers = pa.array([True] * table.num_rows)
    (fault,) = faults_of(table.set_column(table.column_names.index("emp"), "emp", answers))
    assert fault.startswith("column emp: its type does not hold numbers")


def test_missing_columns_and_empty_tables() -> None:
    faults = faults_of(table_of().drop_columns(["emp", "cnty"]))
    assert any("column emp: there is no such column" in fault and "2 were found" in fault for fault in faults)
    assert len(faults) == 2
    assert faults_of(table_of().slice(0, 0)) == ["the table: it has no rows. Check the file"]


def test_negative_values_need_a_signed_attribute() -> None:
    table = table_of(emp=[-3, 4])
    assert "1 row has a negative value" in faults_of(table)[0]
    opened(table, replace(EMP, signed=True))
    assert amounts(table) == [-3, 4]


@pytest.mark.parametrize(
    ("values", "unit", "whole"),
    [
        ([1, 2], "1", [1, 2]),
        ([1.0, 2.0], "1", [1, 2]),
        (["007", "12"], "1", [7, 12]),
        ([0.1, 0.3], "1/10", [1, 3]),
        ([12.5, 0.25], "1/4", [50, 1]),
        ([3000, 5000], "1000", [3, 5]),
        ([Decimal("0.07"), Decimal("1.00")], "1/100", [7, 100]),
        ([2**53 + 1, 1], "1", [2**53 + 1, 1]),
        ([918273645547.0, 2.0**52], "1", [918273645547, 2**52]),
        ([918273645547.0, 123456789.07], "1/100", [91827364554700, 12345678907]),
        ([918273645000.0, 3000.0], "1000", [918273645, 3]),
    ],
)
def test_whole_numbers_in_units_are_exact(values: list[object], unit: str, whole: list[int]) -> None:
    assert amounts(table_of(emp=values), unit) == whole


@given(
    st.lists(st.integers(-(2**50), 2**50), min_size=1, max_size=20),
    st.sampled_from(["1", "1/100", "1/10", "1/4", "1000"]),
    st.sampled_from([pa.float64(), pa.float32()]),
)
@settings(max_examples=40)
def test_floats_are_whole_where_they_are_nearest_to_a_multiple(units: list[int], unit: str, kind: pa.DataType) -> None:
    if kind == pa.float32():
        units = [k % 1000 for k in units]
    exact = [k * Fraction(unit) for k in units]
    column = pa.array([float(value) for value in exact], kind)
    assert amounts(table_of(emp=column), unit) == units

    # Halfway to the next multiple there is none, and it must not be rounded to one.
    beside = pa.array([float(value) for value in exact] + [float(Fraction(unit) / 2)], kind)
    counts = LocalEngine(table_of(emp=beside)).count_faults({"emp": Fraction(unit)}).faults["emp"]
    assert (counts.not_whole, counts.total) == (1, sum(map(abs, units)))


def test_a_unit_that_no_text_can_be_counted_in_is_refused() -> None:
    engine = LocalEngine(table_of(emp=pa.array(["1", "2", "3"])))
    assert engine.count_faults({"emp": Fraction(1, 10**63)}).faults["emp"].not_numbers == 0
    with pytest.raises(DomainError, match="at most 63 decimals"):
        engine.count_faults({"emp": Fraction(1, 3)})


def number_in(text: str) -> Decimal | str | None:
    """What a text says, in plain Python: a number, that it is not finite, or nothing."""
    stripped = text.strip(" \t\n\f\r")
    if re.fullmatch(r"[+-]?(nan|inf|infinity)", stripped, re.IGNORECASE):
        return "not finite"
    plain = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", stripped)
    return Decimal(stripped) if plain else None


def whole_in(value: Decimal, unit: str) -> int | None:
    """In units, where it is a whole number of them and its digits up to the last of the unit fit into 127 bits."""
    units = Fraction(value) / Fraction(unit)
    decimals = next(d for d in range(64) if (Fraction(unit) * 10**d).denominator == 1)
    return int(units) if units.denominator == 1 and abs(Fraction(value)) * 10**decimals < 2**127 else None


UNITS = ["1", "0.01", "0.05", "2.5", "1000", "1e-11", "1e-12", "1.5e-12", "0.000000000001000000001"]
numbers_as_texts = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(-(10**9), 10**9, places=2).map(str),
    st.decimals(-(10**4), 10**4, places=12).map(lambda value: format(value, "f")),
    st.decimals(-(10**4), 10**4, places=25).map(lambda value: format(value, "f")),
    st.builds("{}e{}".format, st.decimals(-(10**3), 10**3, places=3).map(str), st.integers(-15, 15)),
    st.sampled_from(
        ["007", "+5", " 5", "5 ", "\t-5\n", "1e3", "1E+3", "-0", "5.", ".5", "-.5", "0e9", "5.000000000000000"]
    ),
    st.sampled_from(
        ["9" * 18, "9" * 19, "9" * 36, "0" * 60 + "5", "0." + "0" * 60, "0." + "0" * 60 + "1", "0e-999999"]
    ),
)
other_texts = st.sampled_from(
    ["1_000", "1,000", "0x10", "1e", ".", "-", "+", "e5", "--5", "5-", "٣", "NaN", "inf", "-Infinity", "+nan", "true"]
)


@given(st.lists(st.one_of(numbers_as_texts, other_texts), min_size=1, max_size=20), st.sampled_from(UNITS))
@settings(max_examples=30)
def test_texts_are_read_as_decimals_are(texts: list[str], unit: str) -> None:
    counts = LocalEngine(table_of(emp=texts)).count_faults({"emp": Fraction(unit)}).faults["emp"]
    values = [number_in(text) for text in texts]
    finite = [value for value in values if isinstance(value, Decimal)]
    whole = [units for value in finite if (units := whole_in(value, unit)) is not None]
    assert counts.not_numbers == values.count(None)
    assert counts.not_finite == values.count("not finite")
    assert counts.not_whole == len(finite) - len(whole)
    assert counts.total == sum(min(abs(units), 10**28) for units in whole)
    assert (counts.negatives, counts.zeros) == (sum(value < 0 for value in finite), sum(value == 0 for value in finite))
    small = [text for text, value in zip(texts, values, strict=True) if fits(value, unit)]
    if small:
        assert amounts(table_of(emp=small), unit) == [whole_in(Decimal(text.strip()), unit) for text in small]


def fits(value: Decimal | str | None, unit: str) -> bool:
    units = whole_in(value, unit) if isinstance(value, Decimal) else None
    return units is not None and abs(units) < 2**63


@given(
    st.lists(st.integers(-(10**17), 10**17), min_size=1, max_size=20),
    st.integers(0, 18),
    st.sampled_from(UNITS),
)
@settings(max_examples=25)
def test_decimals_are_read_exactly(digits: list[int], scale: int, unit: str) -> None:
    values = [Decimal(number).scaleb(-scale) for number in digits]
    column = pa.array(values, pa.decimal128(38, scale))
    counts = LocalEngine(table_of(emp=column)).count_faults({"emp": Fraction(unit)}).faults["emp"]
    whole = [units for value in values if (units := whole_in(value, unit)) is not None]
    assert (counts.not_whole, counts.not_numbers, counts.not_finite) == (len(values) - len(whole), 0, 0)
    assert counts.total == sum(min(abs(units), 10**28) for units in whole)


@given(st.data(), st.sampled_from(["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"]))
@settings(max_examples=25)
def test_whole_numbers_of_every_size_are_read_exactly(data: st.DataObject, kind: str) -> None:
    limits = np.iinfo(kind)
    values = data.draw(st.lists(st.integers(int(limits.min), int(limits.max)), min_size=1, max_size=20))
    unit = data.draw(st.sampled_from([*UNITS, "3", "1000000"]))
    column = pa.array(values, pa.type_for_alias(kind))
    counts = LocalEngine(table_of(emp=column)).count_faults({"emp": Fraction(unit)}).faults["emp"]
    whole = [units for value in values if (units := whole_in(Decimal(value), unit)) is not None]
    assert counts.not_whole == len(values) - len(whole)
    assert counts.total == sum(min(abs(units), 10**28) for units in whole)


@pytest.mark.parametrize(
    ("values", "unit"),
    [([1.5, 1], "1"), ([1500, 1000], "1000"), ([1500.0, 1000.0], "1000"), (["1.5", "1"], "1"), ([0.015, 1.0], "0.01")],
)
def test_what_is_no_whole_multiple_is_counted(values: list[object], unit: str) -> None:
    (fault,) = faults_of(table_of(emp=values), replace(EMP, unit=Decimal(unit)))
    assert "1 row has a value that is not a whole multiple of the unit" in fault


def test_sums_beyond_the_exact_range_are_refused() -> None:
    assert faults_of(table_of(emp=[2**52, 2**52 + 1])) == [
        "column emp: its sum is above 2^53 units, the range of exact sums. Set a larger unit"
    ]
    opened(table_of(emp=[2**52, 2**52]))


def test_zeros_are_refused_where_log_has_no_value() -> None:
    log = replace(EMP, closeness=Closeness("log", Decimal("0.1")))
    (fault,) = faults_of(table_of(emp=[0, 3]), log)
    assert "1 row has 0" in fault
    opened(table_of(emp=[0, 3]), replace(EMP, closeness=Closeness("log", Decimal("0.1"), Decimal(1))))


def test_files_parquet_glob_and_csv(tmp_path: Path) -> None:
    table = table_of(cnty=["001", "003"], emp=[5, 7])
    for i in range(2):
        pq.write_table(table.slice(i, 1), tmp_path / f"part-{i}.parquet")
    (tmp_path / "all.csv").write_text("key,cnty,naics,emp\nk0,001,1111,5\nk1,003,1111,7\n", encoding="utf-8")
    for source in (tmp_path / "part-*.parquet", tmp_path / "all.csv"):
        assert amounts(source) == [5, 7]
        assert LocalEngine(source).distinct("cnty") == ["001", "003"]  # codes keep their zeros
    with pytest.raises(FaultsError, match="no such file"):
        LocalEngine(tmp_path / "absent.parquet")


def test_unreadable_files_say_so_without_quoting_them(tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.parquet"
    garbage.write_bytes(b"PAR1 918273645546372819 no parquet at all")
    with pytest.raises(FaultsError, match="cannot be read") as raised:
        LocalEngine(garbage)
    assert str(CANARY) not in str(raised.value)


def with_map(folder: Path, content: str | bytes, codes: Sequence[str] = ("1111", "2222")) -> ConfidentialTable:
    data = content if isinstance(content, bytes) else content.encode()
    (folder / "sectors.csv").write_bytes(data)
    grouper = {"sector": Grouper("sector", "naics", map="sectors.csv")}
    return open_table(LocalEngine(table_of(naics=list(codes))), DATA, {"emp": EMP}, grouper, folder)


@pytest.mark.parametrize(
    "content",
    [
        "1111,Farms\n2222,Other\n",
        "1111;Farms\n2222;Other\n",
        "1111\tFarms\n2222\tOther",
        "1111|Farms\r\n\r\n2222|Other\r\n",
        '"1111","Farms"\n"2222","Other"\n',
        "\ufeff1111,Farms\n2222,Other\n1111,Farms\n",  # a line twice
        "naics,sector\n1111,Farms\n2222,Other\n",
        "naics,name,sector\n1111,Wheat,Farms\n2222,Steel,Other\n",
        "sector;since;naics\nFarms;2017;1111\nOther;2017;2222\n",
    ],
)
def test_map_files_give_every_code_its_group(content: str, tmp_path: Path) -> None:
    table = with_map(tmp_path, content)
    assert table.lookups["sector"] == ("naics", {"1111": "Farms", "2222": "Other"})
    assert find_cells(table, [Query("q", ("sector",), {})]).groups(("sector",)).keys == {"sector": ["Farms", "Other"]}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "is empty"),
        ("naics,sector\n", "is empty"),
        ("1111\n2222\n", "has 1 column, and its first line names neither codes nor groups"),
        ("1111,Wheat,Farms\n2222,Steel,Other\n", "has 3 columns, and its first line names neither codes nor groups"),
        ("naics,name,group\n1111,Wheat,Farms\n", "names one of two columns in its first line"),
        ("code,sector\n1111,Farms\n2222,Other\n", "names one of two columns in its first line"),
        ("naics,sector,sector\n1111,Wheat,Farms\n", "has a name twice in its first line"),
        ("1111,Farms\n2222,Other\n1111,Other\n", "gives 1 code more than one group"),
        ("1111,Farms\n2222\n", "has 1 line with more or fewer columns than the first"),
        ("1111,Farms\n2222,\n, \n", "has 2 lines without a code or a group"),
        ("1111,Farms\n", "1 of the 2 codes in naics are not in sectors.csv"),
        (b"1111,\xff\n", "cannot be read"),
        ('1111,"Farms\n', "cannot be read"),
    ],
)
def test_map_files_that_may_be_misread_are_refused(content: str | bytes, problem: str, tmp_path: Path) -> None:
    with pytest.raises(FaultsError) as raised:
        with_map(tmp_path, content)
    (fault,) = raised.value.faults
    assert problem in str(fault)
    assert not any(value in str(fault) for value in ("Farms", "Wheat", "1111"))


def test_map_files_that_are_no_files_are_refused_at_once(tmp_path: Path) -> None:
    grouper = {"sector": Grouper("sector", "naics", map="sectors.csv")}
    for make in (lambda path: None, os.mkfifo, os.mkdir):
        path = tmp_path / "sectors.csv"
        make(path)
        with pytest.raises(FaultsError, match="cannot be read"):
            open_table(LocalEngine(table_of()), DATA, {"emp": EMP}, grouper, tmp_path)
        if path.exists() and not path.is_dir():
            path.unlink()


def test_no_value_appears_in_messages_or_reprs() -> None:
    broken: list[list[object]] = [
        [CANARY, None],
        [-CANARY, 1],
        [f"{CANARY}x", "1"],
        [CANARY + 0.5, 1.0],
        [CANARY, 2**63 - 1],
        [f"{CANARY}{CANARY}{CANARY}{CANARY}", "1"],
    ]
    for values in broken:
        assert str(CANARY)[:9] not in " ".join(faults_of(table_of(emp=values)))
    table = opened(table_of(emp=[CANARY // 1000, 1]))
    batch = next(in_order(table.engine).batches(Reads(amounts={"emp": Fraction(1)})))
    for shown in (table, table.engine, batch, find_cells(table, [Query("q", ("cnty",), {})])):
        assert str(CANARY)[:9] not in repr(shown)


def cells_of(table: ConfidentialTable, cells: FinestCells) -> CodeArray:
    """The cell of every row."""
    return np.concatenate([batch.cells for batch in in_order(table.engine).batches(Reads(cells=cells.lookup))])


rows = st.lists(
    st.tuples(st.sampled_from(["001", "003", "005"]), st.sampled_from(["1111", "1122", "2222", "33"])),
    min_size=1,
    max_size=40,
)


@given(rows, st.sampled_from([(), ("cnty",), ("naics2",), ("cnty", "naics"), ("naics2", "cnty")]))
@settings(max_examples=30)
def test_groups_are_what_plain_python_finds(rows: list[tuple[str, str]], by: tuple[str, ...]) -> None:
    table = opened(table_of(cnty=[c for c, _ in rows], naics=[n for _, n in rows]))
    cells = find_cells(table, [Query("q", by, {}), Query("other", ("cnty",), {})])
    groups = cells.groups(by)
    found = defaultdict(set)
    for i, group in enumerate(groups.of_cell[cells_of(table, cells)]):
        found[tuple(groups.keys[key][group] for key in by)].add(i)
    expected = defaultdict(set)
    for i, (cnty, naics) in enumerate(rows):
        values = {"cnty": cnty, "naics": naics, "naics2": naics[:2]}
        expected[tuple(values[key] for key in by)].add(i)
    assert found == expected
    assert list(zip(*groups.keys.values(), strict=True)) == sorted(expected) or not by


@given(st.lists(st.one_of(st.none(), st.integers(0, 30)), min_size=1, max_size=60), st.sampled_from([1, 7, 1000]))
@settings(max_examples=15)
def test_repeated_ids_are_counted_part_by_part(ids: list[int | None], at_once: int) -> None:
    known = [key for key in ids if key is not None]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part, "IDS_AT_ONCE", at_once)
        patch.setattr(part, "BATCH_ROWS", 5)
        rows = part.Part("ids")
        for some in (ids, sorted(known), sorted(known, reverse=True), sorted(set(known))):
            keys = pa.array(some, pa.int64())
            repeated = sum(key is not None for key in some) - len(set(some) - {None})
            for typed in (keys, keys.cast(pa.string()), keys.cast(pa.uint64()), keys.cast(pa.float64())):
                rows.hold(table_of(key=typed))
                assert rows.duplicates("key", len(some)) == repeated


def test_nulls_between_ids_hide_no_repeated_one() -> None:
    assert LocalEngine(table_of(key=pa.array([5, None, 5, 6], pa.int64()))).duplicates("key", 4) == 1
    assert LocalEngine(table_of(key=pa.array(["a", None, "a"]))).duplicates("key", 3) == 1


def test_ids_in_order_need_no_set_of_them() -> None:
    rows = 500_000
    engine = LocalEngine(pa.table({"key": np.arange(rows)}))
    engine._connection.execute("SET memory_limit = '8MB'")
    assert engine.duplicates("key", rows) == 0


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-2, 2)), min_size=1, max_size=20))
@settings(max_examples=30)
def test_whole_numbers_are_counted_as_their_texts_are(values: list[int | None]) -> None:
    numbers, unit = pa.array(values, pa.int64()), {"emp": Fraction(1)}
    expected = LocalEngine(table_of(emp=numbers.cast(pa.string()))).count_faults(unit).faults["emp"]
    assert LocalEngine(table_of(emp=numbers)).count_faults(unit).faults["emp"] == expected
    known = [value for value in values if value is not None]
    assert (expected.nulls, expected.total) == (len(values) - len(known), sum(map(abs, known)))


def test_only_texts_can_be_empty() -> None:
    engine = LocalEngine(table_of(cnty=["", None, "1"], naics=pa.array([None, 0, 5]), key=pa.array([0.0, None, None])))
    assert engine.count_faults({}, ["cnty", "naics", "key"]).blanks == {"cnty": 2, "naics": 1, "key": 2}


def test_what_does_not_fit_into_memory_is_not_written_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = 500_000
    ones = np.ones(rows, dtype=np.int64)
    engine = LocalEngine(pa.table({"key": np.arange(rows)[::-1], "emp": ones}))
    engine._connection.execute("SET memory_limit = '8MB'")
    with pytest.raises(FaultsError, match=r"cannot be read \(OutOfMemoryException\)"):
        engine.duplicates("key", rows)
    assert sum(len(batch.amounts["emp"]) for batch in engine.batches(Reads(amounts={"emp": Fraction(1)}))) == rows
    assert list(tmp_path.iterdir()) == []


def test_rows_keep_their_order_over_batches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(part, "BATCH_ROWS", 2048)
    values = np.arange(20_000)
    pq.write_table(table_of(emp=values.tolist()), tmp_path / "t.parquet", row_group_size=3000)
    engine = LocalEngine(tmp_path / "t.parquet")
    for _ in range(2):
        batches = list(engine.batches(Reads(amounts={"emp": Fraction(1)}, plain=["key"])))
        assert len(batches) > 5
        assert np.array_equal(np.concatenate([batch.amounts["emp"] for batch in batches]), values)
        assert batches[1].plain.column("key")[0].as_py() == f"k{batches[1].amounts['emp'][0]}"


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 30), min_size=1, max_size=12))
@settings(max_examples=8)
def test_any_number_of_keys_can_be_crossed(rows: list[tuple[int, ...]]) -> None:
    """More combinations than 64 bits can number, of which few occur."""
    names = [f"c{i}" for i in range(30)]
    columns = {name: [f"v{row[i]}" for row in rows] for i, name in enumerate(names)}
    data = replace(DATA, public=tuple(names))
    table = open_table(LocalEngine(table_of(emp=[1] * len(rows), **columns)), data, {"emp": EMP})
    labels = 5**30  # if every value occurs
    assert labels > 2**63
    cells = find_cells(table, [Query("q", tuple(names), {})])
    groups = cells.groups(names)
    keys = list(zip(*groups.keys.values(), strict=True))
    texts = [tuple(f"v{value}" for value in row) for row in rows]
    assert keys == sorted(set(texts))
    assert [keys[group] for group in groups.of_cell[cells_of(table, cells)]] == texts


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=30), st.sampled_from([0, 40, 2**24]))
def test_the_cell_of_a_row_is_found_from_its_codes(rows: list[tuple[int, ...]], most: int) -> None:
    """With a table of all combinations, without one, or with one for the first columns alone."""
    names, known = ("a", "b", "c"), sorted(set(rows))
    texts = {name: ["0", "1", "2", "3"] for name in names}
    codes = {name: np.array([row[i] for row in known], dtype=np.int32) for i, name in enumerate(names)}
    cell_of = np.array([sum(row) % 3 for row in known], dtype=np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup, "MOST_IN_A_TABLE", most)
        patch.setattr(lookup, "MOST_COMBINED", most or 2**62)
        found = make_lookup(texts, codes, cell_of, 3)
        of_rows = {name: np.array([row[i] for row in rows], dtype=np.int32) for i, name in enumerate(names)}
        assert found.cells(of_rows, len(rows)).tolist() == [sum(row) % 3 for row in rows]
        for row in {(i, j, k) for i in range(4) for j in range(4) for k in range(4)} - set(rows):
            with pytest.raises(TableChangedError):
                found.cells({name: np.array(row[i : i + 1], dtype=np.int32) for i, name in enumerate(names)}, 1)
