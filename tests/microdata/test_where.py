"""Filters of custom tables: as if the rows that pass were a group of their own, with its covariance."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gedp.errors import FaultsError
from gedp.microdata import fit_microdata
from gedp.microdata.tabulate import parse_where
from tests.helpers.runs import gedp
from tests.microdata.test_fit import EVERYTHING, IDENTITY, Row, query, release_of, rows_of_tables, some_rows
from tests.microdata.test_tabulate import GROUPINGS, dense_covariance, group_of


@given(
    rows=rows_of_tables,
    which=st.lists(st.integers(1, 5), unique=True),
    by=st.sampled_from(GROUPINGS),
    key=st.sampled_from(["cnty", "naics2", "naics", "floor"]),
    data=st.data(),
)
@settings(max_examples=8)
def test_a_filtered_table_is_that_of_the_rows_that_pass(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[Row],
    which: list[int],
    by: tuple[str, ...],
    key: str,
    data: st.DataObject,
) -> None:
    queries = [IDENTITY, *(EVERYTHING[i] for i in which)]
    microdata = fit_microdata(release_of(rows, queries, tmp_path_factory.mktemp("r")), weights="plug-in")
    codes = sorted({group_of(row, [key])[0] for row in rows})
    passing = data.draw(st.lists(st.sampled_from(codes), min_size=1, unique=True))
    table = microdata.tabulate(by, where={key: passing}).arrow.to_pylist()
    for line in table:
        inside = [
            group_of(row, by) == tuple(line[k] for k in by) and group_of(row, [key])[0] in passing for row in rows
        ]
        members = np.array(inside, dtype=float)
        assert members.any()
        values = microdata.fits[line["attribute"]].values
        assert line["estimate"] == pytest.approx(members @ values, rel=1e-9, abs=1e-9)
        variance = members @ dense_covariance(microdata, line["attribute"]) @ members
        assert line["std_error"] == pytest.approx(np.sqrt(variance), rel=1e-6)
    expected = {group_of(row, by) for row in rows if group_of(row, [key])[0] in passing}
    assert [tuple(line[k] for k in by) for line in table] == sorted(expected) * len(microdata.attributes)


def test_a_filter_that_lets_all_pass_changes_nothing(tmp_path: Path) -> None:
    rows = some_rows(60)
    microdata = fit_microdata(release_of(rows, EVERYTHING, tmp_path))
    everything = sorted({row[0] for row in rows})
    assert microdata.tabulate(["naics2"], where={"cnty": everything}).arrow == microdata.tabulate(["naics2"]).arrow
    assert microdata.tabulate(["naics2"], where={}).arrow == microdata.tabulate(["naics2"]).arrow


@pytest.mark.parametrize("by", [(), ("cnty",), ("naics2",)])
def test_measured_groups_are_filtered_alike(by: Sequence[str], tmp_path: Path) -> None:
    """Without rows, a filter of one code is a line of the table with one key more."""
    crossing = [query("a", ["cnty", "naics2"], "emp"), query("b", ["floor"], "emp")]
    microdata = fit_microdata(release_of(some_rows(80), crossing, tmp_path))
    assert set(microdata.measured) == set(microdata.attributes)
    finer = microdata.tabulate(list(dict.fromkeys([*by, "cnty"]))).arrow.to_pylist()
    code = finer[0]["cnty"]
    table = microdata.tabulate(by, where={"cnty": [code]}).arrow.to_pylist()
    lines = [line for line in finer if line["cnty"] == code]
    assert len(table) == len(lines)
    for one, other in zip(table, lines, strict=True):
        for column in ("estimate", "std_error"):
            assert one[column] == pytest.approx(other[column], rel=1e-9)
    with pytest.raises(FaultsError, match="no answers determine"):
        microdata.tabulate(["cnty"], where={"floor": ["1"]})


def test_codes_and_keys_that_are_not_there_are_all_named(tmp_path: Path) -> None:
    microdata = fit_microdata(release_of(some_rows(40), [IDENTITY], tmp_path))
    with pytest.raises(FaultsError) as raised:
        microdata.tabulate(["cnty"], where={"naics2": ["zz", "=1"], "floor": ["-7"]})
    assert len(raised.value.faults) == 3
    with pytest.raises(FaultsError, match="'nowhere' is not a public column"):
        microdata.tabulate(["cnty"], where={"nowhere": ["1"]})


@pytest.mark.parametrize(
    ("texts", "where"),
    [
        ([], {}),
        (["cnty=1", "cnty=2", "a=b=c=d", "cnty=1"], {"cnty": ["1", "2"], "a=b": ["c=d"]}),
        (["cnty="], {"cnty": [""]}),
    ],
)
def test_filters_are_written_as_keys_and_codes(texts: list[str], where: Mapping[str, list[str]]) -> None:
    assert parse_where(texts, {"cnty", "a=b"}.__contains__) == where


def test_what_is_no_filter_is_refused() -> None:
    with pytest.raises(FaultsError) as raised:
        parse_where(["cnty", "other=1", "=1", "cnty=1"], {"cnty"}.__contains__)
    assert len(raised.value.faults) == 3


def test_the_command_filters(tmp_path: Path) -> None:
    release_of(some_rows(40), [IDENTITY], tmp_path)
    every = gedp("tabulate", "out", "--by", "cnty", "--attribute", "emp", folder=tmp_path)
    some = gedp("tabulate", "out", "--by", "cnty", "--attribute", "emp", "--where", "cnty=001", folder=tmp_path)
    assert (every.code, some.code) == (0, 0), some.err
    assert some.out.splitlines()[1].split(",")[:3] == every.out.splitlines()[2].split(",")[:3]
    assert len(some.out.splitlines()) == 2
    ended = gedp("tabulate", "out", "--by", "cnty", "--where", "cnty=nowhere", folder=tmp_path)
    assert (ended.code, "there is no 'nowhere' in cnty" in ended.err) == (2, True)
