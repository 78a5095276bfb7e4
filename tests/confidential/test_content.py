"""What a table is known again by: no order, type, unit or division changes it, and every changed value does."""

import random
from collections.abc import Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gedp.confidential.content import _mixed, content_of
from gedp.confidential.engines.local import LocalEngine
from gedp.ledger.contents import ContentMark, TableContent
from gedp.passes import PartialResults, Pass
from tests.helpers.builder import spec_of, table_of
from tests.helpers.passes import DividedEngine, Row, some_rows
from tests.helpers.passes import table_of as rows_as_table

SPEC = spec_of("signed")
KEY = b"k" * 32


def held(table: pa.Table, **sections: Any) -> TableContent:
    spec = spec_of("signed", **sections) if sections else SPEC
    return content_of(LocalEngine(table), spec)


def mark(table: pa.Table) -> ContentMark:
    return held(table).mark(KEY)


@given(some_rows, st.lists(st.integers(0, 25), max_size=4), st.integers(0, 99))
@settings(max_examples=10)
def test_parts_in_any_order_hold_what_the_table_holds(rows: list[Row], cuts: Sequence[int], seed: int) -> None:
    attributes = {name: {"psi": "sqrt", "gamma": 1, "signed": True, "unit": 0.5} for name in ("emp", "profit")}
    queries = ["identity", {"name": "county", "by": ["cnty"], "mu": 1}]
    spec, table = spec_of(attributes=attributes, queries=queries), rows_as_table(rows)
    engine = DividedEngine(table, cuts, lambda places: random.Random(seed).sample(places, len(places)))
    assert content_of(engine, spec).mark(KEY) == content_of(LocalEngine(table), spec).mark(KEY)


def test_types_and_units_do_not_matter() -> None:
    table = table_of()
    cents = [Decimal(str(wage)) for wage in table["wage"].to_pylist()]
    others: dict[str, Any] = {
        "emp": pa.array([f"{jobs}.0" for jobs in table["emp"].to_pylist()]),
        "wage": pa.array(cents, pa.decimal128(20, 5)),
        "profit": table["profit"].cast(pa.float64()),
        "cnty": table["cnty"].cast(pa.int8()),
        "naics": table["naics"].dictionary_encode(),
    }
    assert mark(table_of(**others)) == mark(table)
    units = {name: {"psi": "sqrt", "gamma": 1, "unit": unit} for name, unit in (("emp", 0.5), ("wage", 0.001))}
    profit = {"profit": {"psi": "sqrt", "gamma": 5, "signed": True, "unit": 0.25}}
    assert held(table, attributes={**units, **profit}).mark(KEY) == mark(table)


@pytest.mark.parametrize("column", ["emp", "wage", "profit"])
def test_a_value_that_is_changed_by_one_unit_changes_its_column_and_the_whole(column: str) -> None:
    table = table_of()
    values = table[column].to_pylist()
    values[17] = round(values[17] + 0.01, 2) if column == "wage" else values[17] + 1
    before, after = mark(table), mark(table.set_column(table.column_names.index(column), column, pa.array(values)))
    assert before.whole != after.whole
    assert {name for name in before.columns if before.columns[name] != after.columns[name]} == {column}
    assert before.sketch == after.sketch


def test_values_that_change_places_change_the_whole_alone() -> None:
    table = table_of()
    before, after = mark(table), mark(table_of(emp=table["emp"].to_pylist()[::-1]))
    assert (before.columns, before.sketch) == (after.columns, after.sketch)
    assert before.whole != after.whole


def test_columns_of_few_values_and_single_rows_have_no_digest() -> None:
    """The ledger holds key and digests: of one value, one could try every possible one."""
    flags = mark(table_of(emp=np.arange(60) % 7, profit=np.zeros(60, dtype=int)))
    assert (flags.columns["emp"], flags.columns["profit"]) == ("", "")
    assert flags.columns["wage"]
    assert mark(table_of(emp=np.arange(60) % 30)).columns["emp"]
    single = mark(table_of(1))
    assert (single.whole, set(single.columns.values())) == ("", {""})
    assert sum(token != "-" for token in single.sketch) == 1


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=40), min_size=2))
@settings(max_examples=20)
def test_texts_of_any_length_are_told_apart(texts: list[str]) -> None:
    """Each row is known by a text of its own: all are different once blanks and leading zeros are gone."""
    own = [f"x{place}{text}x" for place, text in enumerate(texts)]
    attributes, queries = {"emp": {"psi": "sqrt", "gamma": 1}}, ["identity", "county"]
    spec = spec_of(data={"id": None, "public": ["cnty"]}, queries=queries, groupers={}, attributes=attributes)
    rows = len(own)
    one, other = (
        content_of(LocalEngine(pa.table({"cnty": codes, "emp": np.arange(rows)})), spec).mark(KEY)
        for codes in (own, [*own[:-1], own[-1] + "y"])
    )
    assert one.whole != other.whole
    assert one.columns == other.columns


def test_a_column_that_repeats_values_of_another_period_does_not_tell_its_table() -> None:
    jobs = {"psi": "sqrt", "gamma": 0.5}
    queries = [{"name": "county", "by": ["cnty"], "mu": 0.4}]
    for of_period, own in ((None, {"emp", "wage"}), (-1, {"emp"}), ([0, -1], {"emp", "wage"})):
        wage = {**jobs, "unit": 0.01, **({} if of_period is None else {"of_period": of_period})}
        spec = spec_of(data={"period": "2016Q2"}, attributes={"emp": jobs, "wage": wage}, queries=queries)
        assert set(content_of(LocalEngine(table_of()), spec).columns) == own


def test_a_table_is_gone_over_once(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, passes = LocalEngine(table_of()), list[Pass]()
    reduce = engine.reduce

    def noted(run: Pass) -> PartialResults:
        passes.append(run)
        return reduce(run)

    monkeypatch.setattr(engine, "reduce", noted)
    assert content_of(engine, SPEC) == content_of(engine, SPEC)
    assert len(passes) == 1


@pytest.mark.parametrize(
    ("codes", "texts"),
    [
        ([True, False], ["true", "false"]),
        ([date(2016, 1, 1), date(2016, 4, 1)], ["2016-01-01", "2016-04-01"]),
        ([7, 12], ["007", "12 "]),
        ([7.0, 12.0], ["7", "12"]),
        ([1.5, 2.25], ["1.5", "2.25"]),
        ([Decimal("1.50"), Decimal("2.25")], ["1.50", "2.25"]),
    ],
)
def test_codes_of_every_type_are_the_texts_that_they_are_written_as(codes: list[Any], texts: list[str]) -> None:
    one, other = (mark(table_of(cnty=pa.array(values * 30))) for values in (codes, texts))
    assert one == other


def test_moments_and_times_can_be_public() -> None:
    for codes in (pa.array([time(1, 2, 3)] * 60), pa.array([0] * 60, pa.timestamp("us"))):
        assert mark(table_of(cnty=codes)).whole


def test_hashes_of_hashes_are_those_of_splitmix64() -> None:
    """Of which the first output after the state 0 is known."""
    assert _mixed(np.zeros(1, dtype=np.uint64)).tolist() == [0xE220A8397B1DCDAF]
