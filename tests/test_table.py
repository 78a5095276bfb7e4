"""The confidential table: validation in one go, exact whole numbers, finest cells; no value in any message."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gedp.engines import local
from gedp.engines.local import LocalEngine
from gedp.errors import FaultsError, TableChangedError
from gedp.policy import Attribute, Closeness, Data, Grouper, Query
from gedp.table import ConfidentialTable, _combine, _compact, find_cells, open_table

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
    batches = LocalEngine(table).scan(amounts={"emp": Fraction(unit)})
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
        "column key: 2 rows have an id that came before",
        "column emp: 1 row has null",
        "column emp: 1 row has something that is no number",
        "column emp: 2 rows have NaN or an infinity",
        "column emp: 1 row has a negative value",
        "column emp: 1 row has no whole multiple of the unit 1",
    ]


def test_what_is_true_or_false_is_no_number() -> None:
    table = table_of()
    answers = pa.array([True] * table.num_rows)
    (fault,) = faults_of(table.set_column(table.column_names.index("emp"), "emp", answers))
    assert f"{table.num_rows} rows have something that is no number" in fault


def test_missing_columns_and_empty_tables() -> None:
    faults = faults_of(table_of().drop_columns(["emp", "cnty"]))
    assert any("column emp: there is no such column" in fault and "key, naics" in fault for fault in faults)
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
    counts = LocalEngine(table_of(emp=beside)).count_faults({"emp": Fraction(unit)})["emp"]
    assert (counts.not_whole, counts.total) == (1, sum(map(abs, units)))


@given(
    st.lists(
        st.one_of(
            st.integers(-(10**20), 10**20).map(str),
            st.decimals(-(10**9), 10**9, places=2).map(str),
            st.sampled_from(["007", "+5", " 5", "1e3", "-0", "5.", "9" * 18, "9" * 19]),
        ),
        min_size=1,
        max_size=20,
    )
)
@settings(max_examples=40)
def test_texts_are_read_as_decimals_are(texts: list[str]) -> None:
    counts = LocalEngine(table_of(emp=texts)).count_faults({"emp": Fraction(1)})["emp"]
    exact = [Decimal(text) for text in texts]
    whole = [int(value) for value in exact if value == int(value)]
    assert counts.not_whole == len(texts) - len(whole)
    assert counts.total == sum(map(abs, whole))
    assert (counts.negatives, counts.zeros) == (sum(value < 0 for value in exact), exact.count(Decimal(0)))
    small = [str(k) for k in whole if abs(k) < 2**63] or ["1"]
    assert amounts(table_of(emp=small)) == [int(text) for text in small]


@pytest.mark.parametrize(
    ("values", "unit"),
    [([1.5, 1], "1"), ([1500, 1000], "1000"), ([1500.0, 1000.0], "1000"), (["1.5", "1"], "1"), ([0.015, 1.0], "0.01")],
)
def test_what_is_no_whole_multiple_is_counted(values: list[object], unit: str) -> None:
    (fault,) = faults_of(table_of(emp=values), replace(EMP, unit=Decimal(unit)))
    assert "1 row has no whole multiple of the unit" in fault


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


def test_map_files(tmp_path: Path) -> None:
    (tmp_path / "sectors.csv").write_text("1111,Farms\n2222,Other\n", encoding="utf-8")
    grouper = {"sector": Grouper("sector", "naics", map="sectors.csv")}
    good = open_table(LocalEngine(table_of(naics=["1111", "2222"])), DATA, {"emp": EMP}, grouper, tmp_path)
    cells = find_cells(good, [Query("q", ("sector",), {})])
    assert cells.groups(("sector",)).keys == {"sector": ["Farms", "Other"]}
    for content, problem in (
        (None, "cannot be read"),
        ("1111\n", "has no group"),
        ("2222,Other\n", "1 of the 1 codes"),
    ):
        (tmp_path / "sectors.csv").unlink(missing_ok=True)
        if content:
            (tmp_path / "sectors.csv").write_text(content, encoding="utf-8")
        with pytest.raises(FaultsError, match=problem):
            open_table(LocalEngine(table_of()), DATA, {"emp": EMP}, grouper, tmp_path)


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
    batch = next(table.engine.scan(amounts={"emp": Fraction(1)}))
    for shown in (table, table.engine, batch, find_cells(table, [Query("q", ("cnty",), {})])):
        assert str(CANARY)[:9] not in repr(shown)


rows = st.lists(
    st.tuples(st.sampled_from(["001", "003", "005"]), st.sampled_from(["1111", "1122", "2222", "33"])),
    min_size=1,
    max_size=40,
)


@given(rows, st.sampled_from([(), ("cnty",), ("naics2",), ("cnty", "naics"), ("naics2", "cnty")]))
@settings(max_examples=30)
def test_groups_are_what_plain_python_finds(rows: list[tuple[str, str]], by: tuple[str, ...]) -> None:
    table = opened(table_of(cnty=[c for c, _ in rows], naics=[n for _, n in rows]))
    cells = find_cells(table, [Query("q", by, {}), Query("other", ("cnty",), {}), Query("id", ("establishment",), {})])
    groups = cells.groups(by)
    found = defaultdict(set)
    for i, group in enumerate(groups.of_cell[cells.of_row]):
        found[tuple(groups.keys[key][group] for key in by)].add(i)
    expected = defaultdict(set)
    for i, (cnty, naics) in enumerate(rows):
        values = {"cnty": cnty, "naics": naics, "naics2": naics[:2]}
        expected[tuple(values[key] for key in by)].add(i)
    assert found == expected
    assert list(zip(*groups.keys.values(), strict=True)) == sorted(expected) or not by


@given(st.lists(st.one_of(st.none(), st.integers(0, 30)), min_size=1, max_size=60), st.sampled_from([1, 7, 1000]))
@settings(max_examples=30)
def test_repeated_ids_are_counted_part_by_part(ids: list[int | None], at_once: int) -> None:
    known = [key for key in ids if key is not None]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "IDS_AT_ONCE", at_once)
        for keys in (pa.array(ids, pa.int64()), pa.array(ids, pa.int64()).cast(pa.string())):
            assert LocalEngine(table_of(key=keys)).duplicates("key") == len(known) - len(set(known))


def test_what_does_not_fit_into_memory_is_not_written_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = 500_000
    ones = np.ones(rows, dtype=np.int64)
    engine = LocalEngine(pa.table({"key": np.arange(rows), "emp": ones}))
    engine._connection.execute("SET memory_limit = '8MB'")
    with pytest.raises(FaultsError, match=r"cannot be read \(OutOfMemoryException\)"):
        engine.duplicates("key")
    assert sum(len(batch.amounts["emp"]) for batch in engine.scan(amounts={"emp": Fraction(1)})) == rows
    assert list(tmp_path.iterdir()) == []


def test_rows_keep_their_order_over_batches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(local, "BATCH_ROWS", 2048)
    values = np.arange(20_000)
    pq.write_table(table_of(emp=values.tolist()), tmp_path / "t.parquet", row_group_size=3000)
    engine = LocalEngine(tmp_path / "t.parquet")
    for _ in range(2):
        batches = list(engine.scan(amounts={"emp": Fraction(1)}, plain=["key"]))
        assert len(batches) > 5
        assert np.array_equal(np.concatenate([batch.amounts["emp"] for batch in batches]), values)
        assert batches[1].plain.column("key")[0].as_py() == f"k{batches[1].amounts['emp'][0]}"


@given(st.lists(st.lists(st.sampled_from([0, 3, 5, 10**9, 2**62]), max_size=8), max_size=5))
def test_numbers_are_compacted_batch_by_batch_as_all_at_once(batches: list[list[int]]) -> None:
    arrays = [np.array(batch, dtype=np.int64) for batch in batches]
    whole = np.concatenate([np.empty(0, dtype=np.int64), *arrays])
    present, of_row = _compact(iter(arrays), len(whole))
    expected, positions = np.unique(whole, return_inverse=True)
    assert np.array_equal(present, expected)
    assert np.array_equal(of_row, positions)
    for rows in (len(whole) - 1, len(whole) + 1):
        with pytest.raises(TableChangedError):
            _compact(iter(arrays), max(rows, 0) if len(whole) else 1)


def test_too_many_combinations_are_refused() -> None:
    codes = [np.zeros(1, dtype=np.int32)] * 3
    assert _combine(codes, [2**20, 2**20, 2**20]).tolist() == [0]
    with pytest.raises(FaultsError, match="too many combinations"):
        _combine(codes, [2**21, 2**21, 2**21])
