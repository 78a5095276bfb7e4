"""The published QCEW of 2016 quarter 1, added up again from synthetic establishments."""

from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from gedp_lab.synth.compare import compare_sizes
from gedp_lab.synth.establishments import Summary, write_establishments
from gedp_lab.synth.qcew.fill import FilledTree, fill
from gedp_lab.synth.qcew.read import read_qcew
from gedp_lab.synth.qcew.tree import build_tree

DATA = Path(__file__).parents[5] / "shared" / "data"
QCEW = DATA / "qcew_2016q1.parquet"
ZBP = DATA / "zbp2016_zip_naics6_sizeclass.parquet"
pytestmark = pytest.mark.skipif(not QCEW.exists(), reason="the published QCEW is not in ../shared/data")

Maker = Callable[[list[str], str], tuple[Summary, FilledTree]]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    made: dict[tuple[str, ...], tuple[Summary, FilledTree]] = {}

    def make(states: list[str], spread: str) -> tuple[Summary, FilledTree]:
        key = (*states, spread)
        if key not in made:
            published = read_qcew([QCEW], states=states)
            filling = fill(build_tree(published.rows))
            out = tmp_path_factory.mktemp("qcew") / "establishments.parquet"
            summary = write_establishments(
                filling.cells, out, year=published.year, quarter=published.quarter, seed=11, spread=spread
            )
            made[key] = summary, filling
        return made[key]

    return make


CODES = {
    71: "'10'",
    72: "left(supersector, 3)",
    73: "supersector",
    74: "sector",
    75: "naics3",
    76: "naics4",
    77: "naics5",
    78: "naics",
}


def compare_with_published(establishments: Path, states: list[str], level: int) -> tuple[int, int, int]:
    """Active rows at a level, those disclosed, and those that differ in count or (if disclosed) a figure."""
    query = f"""
        with made as (
            select state || cnty as area_fips, {CODES[level]} as industry_code, count(*) as estabs,
                   sum(m1emp) as m1, sum(m2emp) as m2, sum(m3emp) as m3, sum(wage) as w
            from read_parquet($made) group by all
        ), published as (
            select * from read_parquet($published)
            where own_code = 5 and agglvl_code = {level} and disclosure_code <> '-'
              and (len($states) = 0 or list_contains($states, left(area_fips, 2)))
        )
        select count(published.area_fips), count(*) filter (disclosure_code = ''),
               count(*) filter (
                   estabs is distinct from qtrly_estabs
                   or disclosure_code = '' and (m1, m2, m3, w) is distinct from
                      (month1_emplvl, month2_emplvl, month3_emplvl, total_qtrly_wages))
        from published full join made using (area_fips, industry_code)
    """
    given = {"made": str(establishments), "published": str(QCEW), "states": states}
    rows, disclosed, wrong = duckdb.execute(query, given).fetchall()[0]
    return rows, disclosed, wrong


@pytest.mark.parametrize(
    ("spread", "state", "establishments", "cells", "jobs"),
    [
        ("skewed", "34", 251_987, 13_663, 3_295_878),
        ("skewed", "44", 35_796, 3_097, 403_672),
        ("paper", "44", 35_796, 3_097, 403_672),
    ],
)
def test_a_state_adds_up(make: Maker, spread: str, state: str, establishments: int, cells: int, jobs: int) -> None:
    summary, _ = make([state], spread)
    assert (summary.establishments, summary.cells, summary.m3emp) == (establishments, cells, jobs)
    for level in CODES:
        rows, disclosed, wrong = compare_with_published(summary.path, [state], level)
        assert wrong == 0, level
        assert rows >= disclosed > 0
    assert compare_with_published(summary.path, [state], 78)[0] == cells


def test_the_comparison_would_notice(make: Maker, tmp_path: Path) -> None:
    summary, _ = make(["44"], "skewed")
    table = pq.read_table(summary.path)
    wage = table["wage"].to_numpy().copy()
    wage[wage.argmax()] += 1
    pq.write_table(table.set_column(table.column_names.index("wage"), "wage", [wage]), tmp_path / "e.parquet")
    assert all(compare_with_published(tmp_path / "e.parquet", ["44"], level)[2] <= 1 for level in CODES)
    assert compare_with_published(tmp_path / "e.parquet", ["44"], 71)[2] == 1


def test_wages_without_jobs_only_where_the_cell_forces_them(make: Maker) -> None:
    summary, _ = make(["34"], "skewed")
    query = """
        with cell as (
            select cnty, naics, sum(m1emp + m2emp + m3emp) as jobs from read_parquet($f) group by all)
        select count(*) from read_parquet($f) e join cell using (cnty, naics)
        where e.m1emp + e.m2emp + e.m3emp = 0 and e.wage > 0 and cell.jobs > 0
    """
    assert duckdb.execute(query, {"f": str(summary.path)}).fetchall() == [(0,)]


@pytest.mark.skipif(not ZBP.exists(), reason="the published size classes are not in ../shared/data")
def test_skewed_sizes_are_those_of_rhode_island(make: Maker) -> None:
    comparison = compare_sizes(make(["44"], "skewed")[0].path, ZBP, ["44"])
    assert sum(comparison.published) == 28_350
    assert max(map(abs, comparison.differences)) < 0.03
    # and the measure tells spreads apart
    assert max(map(abs, compare_sizes(make(["44"], "paper")[0].path, ZBP, ["44"]).differences)) > 0.05


def test_filled_cells_are_near_the_states_own_rows(make: Maker) -> None:
    """What the filling never saw as a constraint: New Jersey by NAICS-6, statewide."""
    _, filling = make(["34"], "skewed")
    cells = filling.cells  # noqa: F841 - DuckDB reads it by name
    query = """
        with state as (
            select industry_code as naics, month3_emplvl as jobs from read_parquet($published)
            where area_fips = '34000' and own_code = 5 and agglvl_code = 58 and disclosure_code = ''
        ), made as (select naics, sum(m3emp) as jobs from cells group by naics)
        select sum(abs(made.jobs - state.jobs)) / sum(state.jobs) from state join made using (naics)
    """
    assert duckdb.execute(query, {"published": str(QCEW)}).fetchall()[0][0] < 0.02


@pytest.mark.slow
def test_the_nation_adds_up(make: Maker) -> None:
    summary, filling = make([], "skewed")
    assert (summary.establishments, summary.cells) == (9_350_110, 873_945)
    assert filling.disclosed.sum() == 241_798
    assert len(filling.counties_from_state) + len(filling.counties_estimated) == 36
    assert filling.states_without_rows == ("06", "48")
    for level in CODES:
        assert compare_with_published(summary.path, [], level)[2] == 0
