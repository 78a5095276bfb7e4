from collections import defaultdict
from dataclasses import fields, replace

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from gedp_lab.synth.cbp import EmploymentOptions, RouteResult, Sources, cells_from_sources, read_sources
from gedp_lab.synth.cbp.codes import parent_of, sector_of
from gedp_lab.synth.cbp.gather import Gathered, gather
from gedp_lab.synth.cells import CELL_SCHEMA, CLASS_SCHEMA, check_cells
from gedp_lab.synth.publish import PublishedFiles
from gedp_lab.synth.publish.leaves import OUTSIDE_CBP
from gedp_lab.synth.sizes import CBP_CLASSES
from tests.helpers.synth_cbp_files import publish_world

REGRESSION = EmploymentOptions(impute="regression")
TruthAndFiles = tuple[pa.Table, PublishedFiles]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> TruthAndFiles:
    return publish_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def sources(world: TruthAndFiles) -> Sources:
    _, files = world
    return read_sources(files.cbp, files.qwi, files.efsy)


@pytest.fixture(scope="module")
def result(sources: Sources) -> RouteResult:
    return cells_from_sources(sources, seed=1, options=REGRESSION)


@pytest.fixture(scope="module")
def with_classes(world: TruthAndFiles) -> Sources:
    _, files = world
    return read_sources(files.cbp, files.qwi, files.efsy, size_classes=True)


def totals(table: pa.Table, by: str) -> dict[str, np.ndarray]:
    """Months and wages by state, county or sector, of the industries that CBP covers."""
    with duckdb.connect() as connection:
        connection.register("rows", table)
        found = connection.execute(f"""
            SELECT {by}, sum(m1emp), sum(m2emp), sum(m3emp), sum(wage) FROM rows
            WHERE NOT regexp_matches(naics, '{OUTSIDE_CBP}') GROUP BY ALL""").fetchall()
    return {row[0]: np.array(row[1:], dtype=np.float64) for row in found}


def relative_errors(truth: dict[str, np.ndarray], made: dict[str, np.ndarray]) -> np.ndarray:
    assert set(made) == set(truth)
    return np.array([made[key] / truth[key] - 1 for key in sorted(truth)])


def test_cells_have_the_shared_schema(result: RouteResult) -> None:
    assert result.cells.schema.equals(CELL_SCHEMA)
    assert min(result.cells["estabs"].to_pylist()) >= 1
    for name in ("m1emp", "m2emp", "m3emp", "wage"):
        assert min(result.cells[name].to_pylist()) >= 0
    assert result.cells.num_rows == result.cells.group_by(["state", "cnty", "naics"]).aggregate([]).num_rows


def test_establishments_are_those_of_cbp(world: TruthAndFiles, result: RouteResult) -> None:
    _, files = world
    assert sum(result.cells["estabs"].to_pylist()) == files.covered
    assert result.provenance.left_out_cells == 0


def test_state_totals_are_recovered(world: TruthAndFiles, result: RouteResult) -> None:
    truth, _ = world
    errors = relative_errors(totals(truth, "'all'"), totals(result.cells, "'all'"))
    assert np.abs(errors[0, [0, 2]]).max() < 0.025  # QWI's county totals also cover industries that CBP lacks
    assert np.abs(errors).max() < 0.03


def test_county_totals_are_recovered(world: TruthAndFiles, result: RouteResult) -> None:
    truth, _ = world
    errors = relative_errors(totals(truth, "state || cnty"), totals(result.cells, "state || cnty"))
    assert np.abs(errors[:, [0, 2]]).max() < 0.04
    assert np.abs(errors).max() < 0.08


def test_sector_totals_are_recovered(world: TruthAndFiles, result: RouteResult) -> None:
    truth, _ = world
    by = "substr(naics, 1, 2)"
    errors = np.abs(relative_errors(totals(truth, by), totals(result.cells, by)))
    assert np.median(errors, axis=0).max() < 0.06
    assert errors.max() < 0.5


def test_the_printed_county_adjustment_overshoots(world: TruthAndFiles, sources: Sources) -> None:
    truth, _ = world
    printed = cells_from_sources(sources, seed=1, options=replace(REGRESSION, as_printed=True))
    error = relative_errors(totals(truth, "'all'"), totals(printed.cells, "'all'"))[0, 0]
    assert error > 0.03


def test_the_fits_and_sources_are_reported(sources: Sources, result: RouteResult) -> None:
    assert result.employment_fit is not None
    assert result.wage_fit is not None
    assert result.employment_fit.r_squared > 0.95
    assert 0.2 < result.wage_fit.r_squared < 1
    counts = result.provenance
    cells = counts.naics4_cells
    assert counts.month1_published + counts.month1_modelled == cells
    assert counts.month3_published + counts.month3_imputed == cells
    assert counts.wage_from_payroll + counts.wage_from_earnings + counts.wage_from_model == cells
    assert result.wage_fit.observations == counts.wage_from_payroll - result.wage_fit.outliers_removed
    assert counts.wage_from_model > 0


def test_the_same_seed_gives_the_same_cells(sources: Sources, result: RouteResult) -> None:
    assert cells_from_sources(sources, seed=1, options=REGRESSION).cells.equals(result.cells)
    assert not cells_from_sources(sources, seed=2, options=REGRESSION).cells.equals(result.cells)


def test_published_figures_come_through_unchanged(sources: Sources, result: RouteResult) -> None:
    qwi = {(row["state"], row["cnty"], row["code"]): row for row in sources.qwi.cells.to_pylist()}
    cbp = {(row["state"], row["cnty"], row["code"]): row for row in sources.cbp.to_pylist()}
    sums: dict[tuple[str, str, str], np.ndarray] = defaultdict(lambda: np.zeros(3))
    for cell in result.cells.to_pylist():
        key = (cell["state"], cell["cnty"], cell["naics"][:4])
        sums[key] += [cell["m1emp"], cell["m3emp"], cell["wage"]]
        payroll = cbp[cell["state"], cell["cnty"], cell["naics"]]["qp1"]
        only = sum(key == (s, c, n[:4]) for s, c, n in cbp if len(n) == 6 and (s, c) == key[:2]) == 1
        if payroll is not None and not only:
            assert cell["wage"] == payroll
    checked = 0
    for key, (m1, m3, wage) in sums.items():
        published = qwi[key]
        stable = published["EmpS"] or 0
        if published["Emp"] is not None:
            assert m1 == max(published["Emp"], stable)
            checked += 1
        if published["EmpEnd"] is not None and published["EmpEnd"] > 0:
            assert m3 == pytest.approx(max(published["EmpEnd"], stable), abs=1)
        if cbp[key]["qp1"] is not None:
            assert wage == pytest.approx(cbp[key]["qp1"], abs=3000)  # CBP rounds each figure to $1,000
    assert checked > 50


def test_a_cell_that_qwi_lacks_is_left_out_and_counted_in_its_state(sources: Sources) -> None:
    cells = sources.qwi.cells
    kept = replace(sources.qwi, cells=cells.slice(0, cells.num_rows - 3))
    dropped = {(row["state"], row["cnty"], row["code"]) for row in cells.slice(cells.num_rows - 3).to_pylist()}
    counted = [row["est"] for row in sources.cbp.to_pylist() if (row["state"], row["cnty"], row["code"]) in dropped]
    for states, expected in (((), counted), (("44",), counted), (("34",), [])):
        provenance = cells_from_sources(replace(sources, qwi=kept, states=states), seed=1).provenance
        assert (provenance.left_out_cells, provenance.left_out_establishments) == (len(expected), sum(expected))


def same(fast: np.ndarray, slow: list[float | None]) -> None:
    expected = np.array([np.nan if value is None else value for value in slow], dtype=np.float64)
    np.testing.assert_allclose(fast, expected)


@pytest.fixture(scope="module")
def gathered(sources: Sources) -> Gathered:
    return gather(sources)


def test_the_joins_agree_with_looking_everything_up(sources: Sources, gathered: Gathered) -> None:
    cbp = {(row["state"], row["cnty"], row["code"]): row for row in sources.cbp.to_pylist()}
    efsy = {(row["state"], row["cnty"], row["code"]): row["emp"] for row in sources.efsy.to_pylist()}
    qwi = {(row["state"], row["cnty"], row["code"]): row for row in sources.qwi.cells.to_pylist()}
    counties = {(row["state"], row["cnty"]): row["Emp"] for row in sources.qwi.counties.to_pylist()}
    children: dict[tuple[str, str, str], list[float | None]] = defaultdict(list)
    for (state, county, code), row in cbp.items():
        if code:
            children[state, county, parent_of(code)].append(row["qp1"])
        if len(code) == 6:
            children[state, county, "6 of " + code[:4]].append(row["qp1"])

    def known(*key: str) -> float:
        return sum(value or 0 for value in children[key[0], key[1], key[2]])

    keys = sorted(key for key in cbp if len(key[2]) == 4 and key in efsy and key in qwi)
    employment, wages = gathered.employment, gathered.wages
    same(employment.emp, [qwi[key]["Emp"] for key in keys])
    same(employment.emp_end, [qwi[key]["EmpEnd"] for key in keys])
    same(employment.emp_stable, [qwi[key]["EmpS"] for key in keys])
    same(employment.imputed_emp, [efsy[key] for key in keys])
    same(employment.establishments, [cbp[key]["est"] for key in keys])
    assert employment.sector.tolist() == [sector_of(key[2]) for key in keys]
    same(employment.county_emp[employment.county], [counties[key[:2]] for key in keys])
    elsewhere = [
        sum(row["Emp"] or 0 for other, row in qwi.items() if other[:2] == key[:2] and other not in set(keys))
        for key in keys
    ]
    same(employment.county_emp_elsewhere[employment.county], [float(value) for value in elsewhere])
    assert max(elsewhere) > 0
    same(wages.earnings, [qwi[key]["EarnBeg"] for key in keys])
    same(wages.payroll, [cbp[key]["qp1"] for key in keys])
    same(wages.known_naics6, [known(state, county, "6 of " + code) for state, county, code in keys])
    inside = [children[state, county, "6 of " + code] for state, county, code in keys]
    same(wages.withheld_naics6, [sum(value is None for value in values) for values in inside])
    same(wages.payroll_naics3, [cbp[s, c, code[:3]]["qp1"] for s, c, code in keys])
    same(wages.known_in_naics3, [known(s, c, code[:3]) for s, c, code in keys])
    same(wages.payroll_sector, [cbp[s, c, sector_of(code)]["qp1"] for s, c, code in keys])
    same(wages.known_in_sector, [known(s, c, sector_of(code)) for s, c, code in keys])
    same(wages.payroll_county, [cbp[s, c, ""]["qp1"] for s, c, _ in keys])
    same(wages.known_in_county, [known(s, c, "") for s, c, _ in keys])
    finest = sorted(key for key in cbp if len(key[2]) == 6 and (*key[:2], key[2][:4]) in set(keys))
    parents = [keys[at] for at in gathered.naics6.parent]
    assert parents == [(s, c, code[:4]) for s, c, code in finest]
    same(gathered.naics6.imputed_emp, [efsy[key] for key in finest])
    same(gathered.naics6.payroll, [cbp[key]["qp1"] for key in finest])
    same(gathered.naics6.establishments, [cbp[key]["est"] for key in finest])


def test_a_state_alone_is_the_same_as_among_others(world: TruthAndFiles, result: RouteResult) -> None:
    """Both regressions learn from every state of the files, whichever is written."""
    _, files = world
    of_one = read_sources(files.cbp, files.qwi, files.efsy, states=["RI"])
    alone = cells_from_sources(of_one, seed=1, options=REGRESSION)
    assert alone.cells.equals(result.cells.filter(pc.equal(result.cells["state"], "44")))
    assert alone.employment_fit == result.employment_fit
    assert alone.wage_fit == result.wage_fit
    assert alone.fitted_states == ("34", "44")


def test_provenance_counts_the_wanted_states(world: TruthAndFiles, result: RouteResult) -> None:
    _, files = world
    parts = [
        cells_from_sources(read_sources(files.cbp, files.qwi, files.efsy, states=[state])).provenance
        for state in ("RI", "NJ")
    ]
    for field in fields(result.provenance):
        assert sum(getattr(part, field.name) for part in parts) == getattr(result.provenance, field.name)
    assert min(part.naics4_cells for part in parts) > 0


def errors_of(truth: pa.Table, result: RouteResult) -> np.ndarray:
    """Absolute errors by state, county and four digits over the total, of month 1, month 2, month 3 and wages."""
    by = "state || cnty || substr(naics, 1, 4)"
    true, made = totals(truth, by), totals(result.cells, by)
    missed = sum(np.abs(made.get(key, np.zeros(4)) - value) for key, value in true.items())
    return np.asarray(missed / sum(true.values()))


def test_donors_come_nearer_to_the_truth_than_the_regressions(
    world: TruthAndFiles, sources: Sources, result: RouteResult
) -> None:
    truth, _ = world
    from_donors = cells_from_sources(sources, seed=1)
    assert from_donors.employment_fit is from_donors.wage_fit is None
    assert (errors_of(truth, from_donors)[[0, 1, 3]] < errors_of(truth, result)[[0, 1, 3]]).all()


def test_size_classes_come_through_and_bound_the_jobs(with_classes: Sources) -> None:
    cells = cells_from_sources(with_classes, seed=1).cells
    assert cells.schema.equals(CLASS_SCHEMA)
    check_cells(cells, by_class=True)
    cbp = {(row["state"], row["cnty"], row["code"]): row for row in with_classes.cbp.to_pylist()}
    for cell in cells.to_pylist():
        row = cbp[cell["state"], cell["cnty"], cell["naics"]]
        assert [cell[name] for name in CBP_CLASSES] == [row[name] for name in CBP_CLASSES]


def test_size_classes_bring_month_three_nearer_to_the_truth(
    world: TruthAndFiles, sources: Sources, with_classes: Sources
) -> None:
    """Classes are exact, so that a cell outside them is wrong: holding it inside can only help."""
    truth, _ = world
    without, held = (errors_of(truth, cells_from_sources(one, seed=1))[2] for one in (sources, with_classes))
    assert held <= without
    loose, tight = (gather(one).employment for one in (sources, with_classes))
    assert (np.asarray(tight.least_m3) <= np.asarray(tight.most_m3)).all()
    assert (loose.least_m3, loose.most_m3) == (0, np.inf)
