"""Custom tables: their errors against the dense covariance of the fit, and their intervals against the truth."""

import io
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from gedp.cli import cli
from gedp.cli.tabulate import _show
from gedp.errors import DomainError, FaultsError, GedpError
from gedp.microdata import Microdata, fit_microdata
from gedp.neighbors.functions import FloatArray
from gedp.policy import Query
from tests.runs import all_files
from tests.test_microdata import EVERYTHING, IDENTITY, Row, query, release_of, rows_of_tables, some_rows

GROUPINGS = [(), ("cnty",), ("naics3",), ("cnty", "naics2"), ("floor",), ("floor", "naics")]


def dense_covariance(microdata: Microdata, attribute: str) -> FloatArray:
    """Of all establishments: the inverse of the weighted normal equations, at the variances that the fit ended with."""
    fit, problem = microdata.fits[attribute], microdata.frame.problem(attribute)
    assert fit.row_variances is not None
    assert problem.noise is not None
    precision = np.diag(1 / fit.row_variances)
    for group, variances in zip(problem.groups, fit.group_variances, strict=True):
        of_row = group.of_cell[problem.cells.of_row]
        for place, variance in enumerate(variances):
            members = (of_row == place).astype(float)
            precision += np.outer(members, members) / variance
    covariance: FloatArray = np.linalg.inv(precision).astype(np.float64)
    return covariance


def group_of(row: Row, by: Sequence[str]) -> tuple[str, ...]:
    cnty, naics, floor, *_ = row
    keys = {"cnty": cnty, "naics": naics, "floor": str(floor), "naics2": naics[:2], "naics3": naics[:3]}
    return tuple(keys[key] for key in by)


@given(
    rows=rows_of_tables,
    which=st.lists(st.integers(1, 5), unique=True),
    by=st.sampled_from(GROUPINGS),
    weights=st.sampled_from(["plug-in", "quasi"]),
)
@settings(max_examples=30)
def test_errors_are_those_of_the_dense_covariance(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], which: list[int], by: tuple[str, ...], weights: str
) -> None:
    queries = [IDENTITY, *(EVERYTHING[i] for i in which)]
    microdata = fit_microdata(release_of(rows, queries, tmp_path_factory.mktemp("r")), weights=weights)
    for line in microdata.tabulate(by).to_pylist():
        fit = microdata.fits[line["attribute"]]
        members = np.array([group_of(row, by) == tuple(line[key] for key in by) for row in rows], dtype=float)
        assert members.any()
        assert line["estimate"] == pytest.approx(members @ fit.values, rel=1e-9, abs=1e-9)
        variance = members @ dense_covariance(microdata, line["attribute"]) @ members
        tolerance = 1e-6 if weights == "plug-in" else 1e-3  # the last round's variances, and those at its result
        assert line["std_error"] == pytest.approx(np.sqrt(variance), rel=tolerance)
        assert line["ci_high"] - line["ci_low"] == pytest.approx(2 * 1.959964 * line["std_error"], rel=1e-6)
        assert line["cv"] == pytest.approx(line["std_error"] / abs(line["estimate"]))
        exact = line["attribute"] == "area"
        assert line["variance_kind"] == ("exact" if exact else "estimated")
    groups = {group_of(row, by) for row in rows}
    assert microdata.tabulate(by, ["emp"]).num_rows == len(groups)


def test_without_identity_errors_are_known_for_whole_cells_only(tmp_path: Path) -> None:
    queries = [query("identity", ["establishment"], "emp"), query("cells", ["cnty", "naics"], "emp", "area")]
    microdata = fit_microdata(release_of(some_rows(40), queries, tmp_path))
    cells = {
        (a["cnty"], a["naics"]): a for a in microdata.release.answers("cells").to_pylist() if a["attribute"] == "area"
    }
    for line in microdata.tabulate(["cnty", "naics"], ["area"]).to_pylist():
        assert line["std_error"] == pytest.approx(cells[line["cnty"], line["naics"]]["std_error"])
        assert line["variance_kind"] == "exact"
    total = microdata.tabulate([], ["area"]).to_pylist()[0]
    assert total["std_error"] == pytest.approx(np.sqrt(sum(a["variance"] for a in cells.values())))
    cut = microdata.tabulate(["floor"], ["area"]).to_pylist()
    assert all(line["std_error"] is None and line["variance_kind"] == "unknown" for line in cut)


def standard_errors_off(folder: Path, mechanism: str, releases: int) -> dict[tuple[str, ...], FloatArray]:
    """(estimate − truth) / std_error over releases of one table, for measured and unmeasured groupings."""
    rows = some_rows(300, seed=3)
    queries: list[Query] = [
        query("identity", ["establishment"], "emp"),
        query("total", [], "emp", mechanism=mechanism),
        query("county", ["cnty"], "emp", mechanism=mechanism),
        query("naics", ["naics"], "emp", mechanism=mechanism),
    ]
    groupings: list[tuple[str, ...]] = [("cnty",), ("naics",), ("naics2",), ("cnty", "naics"), ("floor",)]
    off: dict[tuple[str, ...], list[float]] = {by: [] for by in groupings}
    for seed in range(releases):
        (folder / str(seed)).mkdir()
        microdata = fit_microdata(release_of(rows, queries, folder / str(seed), seed))
        for by in groupings:
            for line in microdata.tabulate(by).to_pylist():
                truth = sum(row[3] for row in rows if group_of(row, by) == tuple(line[key] for key in by))
                off[by].append((line["estimate"] - truth) / line["std_error"])
    return {by: np.array(values) for by, values in off.items()}


def test_errors_are_as_large_as_stated(tmp_path: Path) -> None:
    off = np.concatenate(list(standard_errors_off(tmp_path, "auto", 15).values()))
    assert 0.85 < off.std() < 1.15


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["psi", "auto"])
def test_intervals_cover_measured_and_unmeasured_groups(tmp_path: Path, mechanism: str) -> None:
    releases = 200
    off = standard_errors_off(tmp_path, mechanism, releases)
    covered = {by: np.abs(values) < 1.959964 for by, values in off.items()}
    # Groups of one release are correlated: only releases count as independent.
    room = 3 * np.sqrt(0.95 * 0.05 / releases)
    for by, hits in covered.items():
        assert abs(hits.mean() - 0.95) < room, (by, hits.mean())
    assert 0.92 < np.concatenate(list(covered.values())).mean() < 0.98


def test_the_command_and_its_refusals(tmp_path: Path) -> None:
    release = release_of(some_rows(30), EVERYTHING, tmp_path)
    folder = str(release.folder)
    result = CliRunner().invoke(cli, ["tabulate", folder, "--by", "cnty, naics3", "--attribute", "wage"])
    assert result.exit_code == 0, result.output
    expected = fit_microdata(release).tabulate(["cnty", "naics3"], ["wage"])
    assert pyarrow.csv.read_csv(io.BytesIO(result.stdout_bytes)).num_rows == expected.num_rows
    out = tmp_path / "table.parquet"
    assert CliRunner().invoke(cli, ["tabulate", folder, "--by", "cnty,naics3", "--out", str(out)]).exit_code == 0
    assert pq.read_table(out).column_names == expected.column_names
    assert CliRunner().invoke(cli, ["tabulate", folder, "--out", "table.xlsx"]).exit_code == 2
    microdata = fit_microdata(release)
    for name in ("nonsense", "key", "naics0", "emp"):
        with pytest.raises(GedpError, match="no public column or grouping"):
            microdata.tabulate([name])
    with pytest.raises(GedpError, match="not fitted: nonsense"):
        microdata.tabulate([], ["nonsense"])
    with pytest.raises(GedpError, match="between 0 and 1"):
        microdata.tabulate([], confidence=1.0)


def test_a_table_replaces_no_file_of_its_release(tmp_path: Path) -> None:
    release = release_of(some_rows(30), EVERYTHING, tmp_path)
    fit_microdata(release).write()
    before = {path: path.read_bytes() for path in all_files(release.folder)}
    for name in ("tables/county.csv", "identity.parquet", "microdata.parquet"):
        result = CliRunner().invoke(cli, ["tabulate", str(release.folder), "--out", str(release.folder / name)])
        assert "would replace a file of the release" in str(result.exception)
    assert {path: path.read_bytes() for path in all_files(release.folder)} == before


def test_names_may_be_given_alone_and_unknown_ones_all_at_once(tmp_path: Path) -> None:
    microdata = fit_microdata(release_of(some_rows(30), EVERYTHING, tmp_path))
    assert microdata.tabulate("cnty", "emp").equals(microdata.tabulate(["cnty"], ["emp"]))
    with pytest.raises(DomainError, match="no attribute or ratio"):
        microdata.tabulate("cnty", [])
    with pytest.raises(FaultsError, match="2 faults") as raised:
        microdata.tabulate(["here", "cnty", "there"])
    assert "as in naics3" in str(raised.value)


@pytest.mark.parametrize("width", [*range(30, 110, 7), 200])
def test_on_a_terminal_numbers_are_shown_whole_or_not_at_all(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    columns = {"cnty": ["001"], **{f"a_long_heading_{i}": [12345 * 10 ** (i // 3) + 0.25] for i in range(9)}}
    _show(pa.table(columns), list(columns))
    out = capsys.readouterr().out
    (line,) = re.findall(r"^ *001 .*$", out, re.MULTILINE)
    shown = line.split()[1:]
    assert shown == [f"{12345 * 10 ** (i // 3):,}" for i in range(len(shown))]
    assert f"{1 + len(shown)} of 10 columns" in out
    assert max(map(len, out.splitlines()[:-1])) <= width
    assert len(shown) == 9 if width > 100 else len(shown) >= (width - 8) // 12


def test_naics_codes_are_grouped_by_supersector(tmp_path: Path) -> None:
    codes = ("311811", "339950", "445110", "221122", "522110")
    release = release_of([("001", code, 1, 5, 50, 0, 0) for code in codes], [IDENTITY], tmp_path)
    table = fit_microdata(release).tabulate(["supersector"], ["emp"])
    assert table["supersector"].to_pylist() == ["1013", "1021", "1023"]
    unknown = release_of([("001", "0011", 1, 5, 50, 0, 0)], [IDENTITY], _folder(tmp_path / "other"))
    with pytest.raises(GedpError, match="1 of 1 codes in column naics have no supersector"):
        fit_microdata(unknown).tabulate(["supersector"], ["emp"])


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
