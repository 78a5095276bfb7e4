"""Synthetic series: every published quarter adds up, establishments persist, and rates are as stated."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.cli import main
from gedp.errors import FaultsError
from gedp_lab.synth.cells import ATTRIBUTES, KEYS
from gedp_lab.synth.demo import demo_cells
from gedp_lab.synth.establishments import write_establishments
from gedp_lab.synth.qcew.fill import fill
from gedp_lab.synth.qcew.read import QcewRows, read_quarters
from gedp_lab.synth.qcew.tree import build_tree
from gedp_lab.synth.series.rates import AskedRates
from gedp_lab.synth.series.turnover import choose_leavers
from gedp_lab.synth.series.write import SeriesSummary, write_series
from tests.helpers.publications import Cells, Publication, roll_up, to_rows

NJ = Path(__file__).parents[5] / "shared" / "data" / "qcew_2016_nj_q1_q2_q3.parquet"
VALUES = ("estabs", *ATTRIBUTES)


def publish(cells: Cells) -> Publication:
    """Rows of one or two establishments are suppressed, except county and state totals."""
    return {key: (values[0] > 2 or key[1] == "10", values) for key, values in roll_up(cells).items()}


def changed(cells: Cells, generator: np.random.Generator) -> Cells:
    """The same cells a quarter later: some gone, some new, others a little larger or smaller."""
    later: Cells = {}
    for (area, naics), (estabs, *values) in cells.items():
        number = max(0, estabs + int(generator.integers(-1, 2)) * (1 + estabs // 60))
        if number:
            factor = 1 + 0.2 * (number / estabs - 1) + 0.03 * generator.standard_normal()
            later[area, naics] = (number, *(round(value * max(factor, 0.5)) for value in values))
    later["44009", "111110"] = (3, 9, 10, 12, 30_000)
    return later


@pytest.fixture(scope="module")
def publications() -> list[Publication]:
    """Three quarters of a made-up Rhode Island with five counties."""
    demo = demo_cells(4)
    near = demo.filter(pc.less_equal(demo["cnty"], "009"))
    cells = {("44" + row["cnty"], row["naics"]): tuple(row[name] for name in VALUES) for row in near.to_pylist()}
    generator = np.random.default_rng(5)
    quarters = [cells]
    for _ in range(2):
        quarters.append(changed(quarters[-1], generator))
    return [publish(quarter) for quarter in quarters]


@dataclass(frozen=True)
class Series:
    summary: SeriesSummary
    files: list[pa.Table]


def make(publications: list[Publication], out: Path, quarters: int = 4, seed: int = 3, **asked: float) -> Series:
    rows = [QcewRows(to_rows(publication), 2016, 2 + place) for place, publication in enumerate(publications)]
    summary = write_series(rows, out, quarters=quarters, seed=seed, asked=AskedRates(**asked))
    return Series(summary, [pq.read_table(out / f"{quarter.period}.parquet") for quarter in summary.quarters])


@pytest.fixture(scope="module")
def series(publications: list[Publication], tmp_path_factory: pytest.TempPathFactory) -> Series:
    made = make(publications, tmp_path_factory.mktemp("series") / "ri", quarters=5)
    assert len(made.files) == 5  # so that no test goes over none
    return made


def sums_by_cell(table: pa.Table) -> Cells:
    wanted: list[tuple[str | list[str], str]] = [([], "count_all"), *((name, "sum") for name in ATTRIBUTES)]
    cells = table.group_by(list(KEYS)).aggregate(wanted).to_pylist()
    columns = ("count_all", *(f"{name}_sum" for name in ATTRIBUTES))
    return {(row["state"] + row["cnty"], row["naics"]): tuple(row[name] for name in columns) for row in cells}


def ids(table: pa.Table) -> set[int]:
    return set(table["primary_key"].to_pylist())


def in_both(before: pa.Table, after: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The rows of the establishments that both quarters have, in the same order."""
    keys = (before["primary_key"].to_numpy(), after["primary_key"].to_numpy())
    _, first, second = np.intersect1d(*keys, assume_unique=True, return_indices=True)
    return before.take(pa.array(first)), after.take(pa.array(second))


def test_every_published_quarter_comes_back(series: Series, publications: list[Publication]) -> None:
    for table, publication in zip(series.files, publications, strict=False):
        again = roll_up(sums_by_cell(table))
        assert again.keys() == publication.keys()
        for key, (disclosed, values) in publication.items():
            assert again[key][0] == values[0]
            if disclosed and not key[0].endswith("000"):
                assert again[key] == values
        assert pc.min(table["m1emp"]).as_py() >= 0


def test_the_first_file_is_that_of_one_quarter(series: Series, publications: list[Publication], tmp_path: Path) -> None:
    cells = fill(build_tree(to_rows(publications[0]))).cells
    write_establishments(cells, tmp_path / "one.parquet", year=2016, quarter=2, seed=3)
    assert pq.read_table(tmp_path / "one.parquet").equals(series.files[0])


def test_files_have_their_quarter_and_every_id_once_in_order(series: Series) -> None:
    assert [quarter.period for quarter in series.summary.quarters] == ["2016Q2", "2016Q3", "2016Q4", "2017Q1", "2017Q2"]
    for quarter, table in zip(series.summary.quarters, series.files, strict=True):
        assert {f"{y}Q{q}" for y, q in zip(table["year"].to_pylist(), table["qtr"].to_pylist(), strict=True)} == {
            quarter.period
        }
        assert len(ids(table)) == table.num_rows == quarter.establishments
        assert table.schema.equals(series.files[0].schema)
        rows = list(zip(*(table[name].to_pylist() for name in (*KEYS, "primary_key")), strict=True))
        assert rows == sorted(rows)


def test_births_are_new_and_the_dead_do_not_come_back(series: Series) -> None:
    seen: set[int] = set()
    for (before, after), quarter in zip(pairwise(series.files), series.summary.quarters[1:], strict=True):
        seen |= ids(before)
        born, dead = ids(after) - ids(before), ids(before) - ids(after)
        assert not born & seen
        assert (len(born), len(dead)) == (quarter.births, quarter.deaths)
        first, second = in_both(before, after)
        county, industry = (~pc.equal(first[name], second[name]).to_numpy() for name in ("cnty", "naics"))
        assert (county | industry).sum() == quarter.moves > 0
        assert not (county & industry).any()


def test_rates_of_deaths_are_those_stated_unless_the_published_numbers_need_more(
    publications: list[Publication], tmp_path: Path
) -> None:
    few = make(publications, tmp_path / "few", quarters=2, deaths=0.0, moves=0.0).summary.quarters
    before, after = (roll_up_counts(publication) for publication in publications[:2])
    needed = sum(max(0, number - after.get(cell, 0)) for cell, number in before.items())
    assert few[1].deaths == needed > 0
    many = make(publications, tmp_path / "many", quarters=3, deaths=0.2, moves=0.01).summary.quarters
    for first, second in pairwise(many):
        assert second.deaths == pytest.approx(0.2 * first.establishments, abs=1)
        assert second.moves == pytest.approx(0.01 * first.establishments, abs=1)
        assert second.births - second.deaths == second.establishments - first.establishments


def roll_up_counts(publication: Publication) -> dict[tuple[str, str], int]:
    leaves = {key: values[0] for key, (_, values) in publication.items() if len(key[1]) == 6}
    return {key: number for key, number in leaves.items() if not key[0].endswith("000")}


def test_quarters_beyond_the_published_follow_stated_rates_exactly(
    publications: list[Publication], tmp_path: Path
) -> None:
    made = make(publications[:1], tmp_path / "ri", births=0.05, deaths=0.03, moves=0.004, growth=0.02).summary
    assert made.quarters[0].published is not None
    for before, after in pairwise(made.quarters):
        assert after.published is None
        assert after.births == pytest.approx(0.05 * before.establishments, abs=1)
        assert after.deaths == pytest.approx(0.03 * before.establishments, abs=1)
        assert after.jobs == round(before.jobs * 1.02)
    assert made.extrapolated_by is not None
    assert made.extrapolated_by.growth == 0.02


def test_without_rates_the_average_of_the_published_quarters_goes_on(series: Series) -> None:
    quarters, rates = series.summary.quarters, series.summary.extrapolated_by
    assert rates is not None
    seen = [after.rates(before) for before, after in pairwise(quarters[:3])]
    assert rates.births == pytest.approx(np.mean([one.births for one in seen]))
    assert rates.growth == pytest.approx(np.mean([one.growth for one in seen]))
    went_on = quarters[4].rates(quarters[3])
    assert went_on.births == pytest.approx(rates.births, abs=0.001)
    assert went_on.growth == pytest.approx(rates.growth, abs=0.001)


def test_establishments_go_on_from_where_they_were(series: Series) -> None:
    for before, after in pairwise(series.files):
        first, second = in_both(before, after)
        then, now = first["m3emp"].to_numpy(), second["m1emp"].to_numpy()
        assert np.corrcoef(then, now)[0, 1] > 0.97
        assert np.abs(now - then).sum() < 0.15 * then.sum()
        assert np.corrcoef(first["wage"].to_numpy(), second["wage"].to_numpy())[0, 1] > 0.95


def test_those_who_close_of_their_own_accord_are_small(series: Series) -> None:
    before, after = series.files[-2:]
    dead = before.filter(pc.invert(pc.is_in(before["primary_key"], after["primary_key"].combine_chunks())))
    assert dead["m3emp"].to_numpy().mean() < 0.7 * before["m3emp"].to_numpy().mean()


def test_the_same_seed_gives_the_same_files(publications: list[Publication], series: Series, tmp_path: Path) -> None:
    again = make(publications, tmp_path / "again", quarters=5)
    assert all(first.equals(second) for first, second in zip(again.files, series.files, strict=True))
    other = make(publications, tmp_path / "other", quarters=5, seed=4)
    assert not any(first.equals(second) for first, second in zip(other.files, series.files, strict=True))


def test_a_state_is_the_same_alone_or_among_others(
    publications: list[Publication], series: Series, tmp_path: Path
) -> None:
    def with_another(publication: Publication) -> Publication:
        other = {("34" + area[2:], code): row for (area, code), row in publication.items()}
        return publication | other

    both = make([with_another(publication) for publication in publications], tmp_path / "both", quarters=5)
    plain = [name for name in series.files[0].column_names if name != "primary_key"]
    for alone, together in zip(series.files, both.files, strict=True):
        assert sums_by_cell(alone).items() <= sums_by_cell(together).items()
        mine = together.filter(pc.equal(together["state"], "44"))
        assert mine.select(plain).equals(alone.select(plain))


def test_a_suppressed_cell_keeps_its_size_while_the_publication_stays_the_same(
    publications: list[Publication],
) -> None:
    tree = build_tree(to_rows(publications[0]))
    first = fill(tree)
    assert not first.disclosed.all()
    assert fill(tree, first.cells).cells["m3emp"].equals(first.cells["m3emp"])
    # sizes of its own, not those typical of the industry
    doubled = first.cells.set_column(5, "m1emp", pa.array(2 * first.cells["m1emp"].to_numpy()))
    other = doubled.set_column(7, "m3emp", pa.array(np.where(first.disclosed, 1, np.arange(doubled.num_rows))))
    assert not fill(tree, other).cells["m3emp"].equals(first.cells["m3emp"])


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 10**6)), max_size=12, unique_by=lambda row: row[1]),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
    st.integers(0, 12),
)
def test_leavers_are_who_plain_python_chooses(rows: list[tuple[int, int]], needed: list[int], total: int) -> None:
    cell, lasting = (np.array([row[place] for row in rows], np.int64) for place in (0, 1))
    gone: set[int] = set()
    for number, need in enumerate(needed):
        mine = sorted((when, place) for place, (where, when) in enumerate(rows) if where == number)
        gone |= {place for _, place in mine[:need]}
    rest = sorted((when, place) for place, (_, when) in enumerate(rows) if place not in gone)
    gone |= {place for _, place in rest[: max(0, total - len(gone))]}
    leaves = choose_leavers(cell, lasting.astype(float), np.array(needed), total)
    assert set(np.flatnonzero(leaves).tolist()) == gone


def test_quarters_must_follow_each_other(publications: list[Publication], tmp_path: Path) -> None:
    for quarter in (1, 3, 4):
        pq.write_table(to_rows(publications[0]), tmp_path / f"qcew_2016q{quarter}.parquet")
    with pytest.raises(FaultsError, match="2016 quarter 1, 2016 quarter 3"):
        read_quarters([tmp_path])
    later = read_quarters([tmp_path], year=2016, quarter=3)
    assert [(rows.year, rows.quarter) for rows in later] == [(2016, 3), (2016, 4)]
    with pytest.raises(FaultsError, match="follow each other"):
        read_quarters([tmp_path], year=2016, quarter=2)


def test_strange_rates_are_all_refused_at_once() -> None:
    with pytest.raises(FaultsError) as refused:
        AskedRates(births=0.7, deaths=-0.1, growth=2)
    assert [fault.place for fault in refused.value.faults] == ["births", "deaths", "growth"]


def test_the_command_says_what_is_published_and_what_extrapolated(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    publications: list[Publication],
    capsys: pytest.CaptureFixture[str],
) -> None:
    pq.write_table(to_rows(publications[0]), tmp_path / "qcew_2016q1.parquet")
    out = tmp_path / "ri"
    arguments = ["--qcew", tmp_path / "qcew_2016q1.parquet", "--state", "RI", "--out", out, "--quarters", 3]
    monkeypatch.setattr("sys.argv", ["gedp", "synth", "series", *map(str, arguments)])
    with pytest.raises(SystemExit, match="0"):
        main()
    printed = " ".join(capsys.readouterr().out.split())
    assert "Not published but extrapolated: 2016Q2, 2016Q3, with births 3.00%, deaths 2.80%" in printed
    assert sorted(path.name for path in out.iterdir()) == ["2016Q1.parquet", "2016Q2.parquet", "2016Q3.parquet"]
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "not an empty folder" in capsys.readouterr().err


@pytest.mark.skipif(not NJ.exists(), reason="three quarters of New Jersey are not in ../shared/data")
def test_new_jersey_adds_up_in_three_quarters(tmp_path: Path) -> None:
    made = write_series(read_quarters([NJ], states=["34"]), tmp_path / "nj", quarters=3, seed=1)
    totals = [(quarter.establishments, quarter.jobs) for quarter in made.quarters]
    assert totals == [(228_728, 3_175_634), (230_780, 3_325_498), (233_437, 3_301_032)]
    codes = {71: "'10'", 74: "sector", 75: "naics3", 78: "naics"}
    for quarter in made.quarters:
        for level, code in codes.items():
            rows, wrong = duckdb.execute(
                f"""
                with made as (
                    select state || cnty as area_fips, {code} as industry_code, count(*) as estabs,
                           sum(m1emp) as m1, sum(m2emp) as m2, sum(m3emp) as m3, sum(wage) as w
                    from read_parquet($made) group by all
                ), published as (
                    select * from read_parquet($published)
                    where own_code = 5 and agglvl_code = {level} and qtr = $qtr and disclosure_code <> '-')
                select count(published.area_fips), count(*) filter (
                    estabs is distinct from qtrly_estabs
                    or disclosure_code = '' and (m1, m2, m3, w) is distinct from
                       (month1_emplvl, month2_emplvl, month3_emplvl, total_qtrly_wages))
                from published full join made using (area_fips, industry_code)
                """,
                {
                    "made": str(tmp_path / "nj" / f"{quarter.period}.parquet"),
                    "published": str(NJ),
                    "qtr": int(quarter.period[-1]),
                },
            ).fetchall()[0]
            assert wrong == 0, (quarter.period, level)
            assert rows >= 21
    for before, after in pairwise(made.quarters):
        assert after.deaths / before.establishments == pytest.approx(0.028, abs=1e-4)
        assert 0.03 < after.births / before.establishments < 0.05
