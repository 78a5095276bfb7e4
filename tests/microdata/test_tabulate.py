"""Custom tables: their errors against the dense covariance of the fit, and their intervals against the truth."""

import io
import re
import shlex
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from gedp.arrays import FloatArray
from gedp.cli import cli
from gedp.cli.output import show_table
from gedp.completing import complete
from gedp.errors import DomainError, FaultsError, GedpError
from gedp.microdata import Microdata, fit_microdata
from gedp.microdata.problem import attribute_problem
from gedp.policy import Query
from gedp.release import ReleaseFolder, read_release
from gedp.release.parts import digest
from tests.helpers.runs import COMMAND, all_files
from tests.microdata.test_fit import (
    EVERYTHING,
    IDENTITY,
    Row,
    query,
    rehearsals,
    release_of,
    rows_of_tables,
    some_rows,
)

GROUPINGS = [(), ("cnty",), ("naics3",), ("cnty", "naics2"), ("floor",), ("floor", "naics")]


def dense_covariance(microdata: Microdata, attribute: str) -> FloatArray:
    """Of all establishments: the inverse of the weighted normal equations, at the variances that the fit ended with."""
    fit, problem = microdata.fits[attribute], attribute_problem(microdata.public_rows, attribute)
    assert fit.row_variances is not None
    assert problem.noise is not None
    precision = np.diag(1 / fit.row_variances)
    for group, variances in zip(problem.groups, fit.group_variances, strict=True):
        of_row = group.groups.group_of[problem.cells.group_of]
        for place, variance in enumerate(variances):
            members = (of_row == place).astype(float)
            precision += np.outer(members, members) / variance
    covariance: FloatArray = np.linalg.inv(precision).astype(np.float64)
    return covariance


def group_of(row: Row, by: Sequence[str]) -> tuple[str, ...]:
    cnty, naics, floor, *_ = row
    keys = {"cnty": cnty, "naics": naics, "floor": str(floor), "naics2": naics[:2], "naics3": naics[:3]}
    return tuple(keys[key] for key in by)


def truths(rows: Sequence[Row], place: int, by: Sequence[str]) -> dict[tuple[str, ...], int]:
    """The sums of one number of the rows."""
    sums: dict[tuple[str, ...], int] = defaultdict(int)
    for row in rows:
        sums[group_of(row, by)] += int(row[place])
    return sums


@given(
    rows=rows_of_tables,
    which=st.lists(st.integers(1, 5), unique=True),
    by=st.sampled_from(GROUPINGS),
    weights=st.sampled_from(["plug-in", "quasi"]),
)
@settings(max_examples=10)
def test_errors_are_those_of_the_dense_covariance(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], which: list[int], by: tuple[str, ...], weights: str
) -> None:
    queries = [IDENTITY, *(EVERYTHING[i] for i in which)]
    microdata = fit_microdata(release_of(rows, queries, tmp_path_factory.mktemp("r")), weights=weights)
    for line in microdata.tabulate(by).arrow.to_pylist():
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
    assert microdata.tabulate(by, ["emp"]).arrow.num_rows == len(groups)


def test_without_identity_errors_are_known_for_whole_cells_only(tmp_path: Path) -> None:
    queries = [query("identity", ["establishment"], "emp"), query("cells", ["cnty", "naics"], "emp", "area")]
    microdata = fit_microdata(release_of(some_rows(40), queries, tmp_path))
    cells = {
        (a["cnty"], a["naics"]): a for a in microdata.release.answers("cells").to_pylist() if a["attribute"] == "area"
    }
    for line in microdata.tabulate(["cnty", "naics"], ["area"]).arrow.to_pylist():
        assert line["std_error"] == pytest.approx(cells[line["cnty"], line["naics"]]["std_error"])
        assert line["variance_kind"] == "exact"
    total = microdata.tabulate([], ["area"]).arrow.to_pylist()[0]
    assert total["std_error"] == pytest.approx(np.sqrt(sum(a["variance"] for a in cells.values())))
    cut = microdata.tabulate(["floor"], ["area"]).arrow.to_pylist()
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
    truth = {by: truths(rows, 3, by) for by in groupings}
    for rehearsal in rehearsals(rows, queries, folder, releases):
        microdata = fit_microdata(rehearsal)
        for by in groupings:
            for line in microdata.tabulate(by).arrow.to_pylist():
                off[by].append((line["estimate"] - truth[by][tuple(line[key] for key in by)]) / line["std_error"])
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
    expected = fit_microdata(release).tabulate(["cnty", "naics3"], ["wage"]).arrow
    assert pyarrow.csv.read_csv(io.BytesIO(result.stdout_bytes)).num_rows == expected.num_rows
    out = tmp_path / "table.parquet"
    assert CliRunner().invoke(cli, ["tabulate", folder, "--by", "cnty,naics3", "--out", str(out)]).exit_code == 0
    assert pq.read_table(out).column_names == expected.column_names
    refused = CliRunner().invoke(cli, ["tabulate", folder, "--out", "table.ods"])
    assert (refused.exit_code, "ends in .csv, .parquet, .xlsx, .arrows, or -" in refused.output) == (2, True)
    microdata = fit_microdata(release)
    for name in ("nonsense", "key", "naics0", "emp"):
        with pytest.raises(GedpError, match="not a public column or grouping"):
            microdata.tabulate([name])
    with pytest.raises(GedpError, match="not fitted: nonsense"):
        microdata.tabulate([], ["nonsense"])
    with pytest.raises(GedpError, match="above 0 and at most 0"):
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
    assert microdata.tabulate("cnty", "emp").arrow.equals(microdata.tabulate(["cnty"], ["emp"]).arrow)
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
    show_table(pa.table(columns), list(columns))
    out = capsys.readouterr().out
    (line,) = re.findall(r"^ *001 .*$", out, re.MULTILINE)
    shown = line.split()[1:]
    assert shown == [f"{12345 * 10 ** (i // 3):,}" for i in range(len(shown))]
    assert f"{1 + len(shown)} of 10 columns" in out
    assert max(map(len, out.splitlines()[:-1])) <= width
    assert len(shown) == 9 if width > 100 else len(shown) >= (width - 8) // 12


def test_on_a_terminal_formulas_stand_below_the_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    named = pa.table({"attribute": ["emp", "pay"], "formula": [None, "wage / (2 * emp)"]})
    table = named.append_column("estimate", pa.array([5.0, 7.0]))
    show_table(table, table.column_names)
    out = capsys.readouterr().out
    assert "pay = wage / (2 * emp)\n" in out
    assert "formula" not in out


def test_naics_codes_are_grouped_by_supersector(tmp_path: Path) -> None:
    codes = ("311811", "339950", "445110", "221122", "522110")
    release = release_of([("001", code, 1, 5, 50, 0, 0) for code in codes], [IDENTITY], tmp_path)
    table = fit_microdata(release).tabulate(["supersector"], ["emp"]).arrow
    assert table["supersector"].to_pylist() == ["1013", "1021", "1023"]
    unknown = release_of([("001", "0011", 1, 5, 50, 0, 0)], [IDENTITY], _folder(tmp_path / "other"))
    with pytest.raises(GedpError, match="1 of 1 codes in column naics have no supersector"):
        fit_microdata(unknown).tabulate(["supersector"], ["emp"])


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def test_keys_may_be_given_again_and_again(tmp_path: Path) -> None:
    folder = str(release_of(some_rows(30), EVERYTHING, tmp_path).folder)
    outs = [
        CliRunner().invoke(cli, ["tabulate", folder, *options]).stdout
        for options in (["--by", "cnty,naics2"], ["--by", "cnty", "--by", "naics2"], ["--by", "cnty, cnty,naics2,cnty"])
    ]
    assert outs[0].startswith('"cnty","naics2"')
    assert outs[0] == outs[1] == outs[2]
    microdata = fit_microdata(read_release(folder))
    assert microdata.tabulate(["cnty", "cnty"]).arrow.equals(microdata.tabulate(["cnty"]).arrow)


def test_the_command_hashes_the_microdata_and_reads_the_rows_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = release_of(some_rows(30), EVERYTHING, tmp_path)
    fit_microdata(release).write()
    seen: list[str] = []
    identity = ReleaseFolder.identity

    def hashed(path: Path) -> str:
        seen.append(path.name)
        return digest(path)

    def read(folder: ReleaseFolder, columns: Sequence[str] | None = None, *, coded: Sequence[str] = ()) -> pa.Table:
        seen.extend(columns or ())
        return identity(folder, columns, coded=coded)

    monkeypatch.setattr("gedp.microdata.on_file.digest", hashed)
    monkeypatch.setattr(ReleaseFolder, "identity", read)
    result = CliRunner().invoke(cli, ["tabulate", str(release.folder), "--by", "cnty", "--attribute", "emp"])
    assert result.exit_code == 0
    assert sorted(seen) == sorted(set(seen))
    assert {"microdata.parquet", "cnty", "emp__psi"} <= set(seen)


@pytest.mark.parametrize("shut", [(), ("--out", "-")])
def test_a_closed_output_is_one_error(shut: tuple[str, ...], tmp_path: Path) -> None:
    release = release_of(some_rows(30), EVERYTHING, tmp_path)
    ended = with_output_closed("tabulate", str(release.folder), *shut)
    assert ended.returncode == 3
    assert "gedp: standard output could not be written: it is closed" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_table_on_file_is_complete_though_the_output_is_closed(tmp_path: Path) -> None:
    release, out = release_of(some_rows(30), EVERYTHING, tmp_path), tmp_path / "t.csv"
    ended = with_output_closed("tabulate", str(release.folder), "--out", str(out))
    assert (ended.returncode, "Traceback" in ended.stderr) == (3, False), ended.stderr  # done, but nobody heard
    assert out.read_text().count("\n") == 5


def with_output_closed(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """A new process, which takes a second: Python must find its output closed when it starts."""
    line = shlex.join([*COMMAND, *arguments])
    return subprocess.run(["bash", "-c", f"{line} >&-"], capture_output=True, text=True, check=False)


WITHOUT_IDENTITY = [
    query("county", ["cnty"], "emp", "area"),
    query("cells", ["cnty", "naics2"], "emp", "area"),
    query("naics", ["naics"], "emp"),
    query("total", [], "emp"),
]


@pytest.mark.parametrize("by", [(), ("cnty",), ("cnty", "naics2"), ("naics",), ("naics2",), ("naics3",), ("sector",)])
def test_without_identity_measured_groupings_and_their_sums_have_tables(tmp_path: Path, by: tuple[str, ...]) -> None:
    rows = some_rows(60)
    release = release_of(rows, WITHOUT_IDENTITY, tmp_path)
    microdata = fit_microdata(release)
    assert not microdata.fits
    table = microdata.tabulate(by, ["emp"]).arrow
    assert table["std_error"].null_count == 0
    total = microdata.tabulate([], ["emp"]).arrow["estimate"].to_pylist()[0]
    assert sum(table["estimate"].to_pylist()) == pytest.approx(total)  # all tables agree
    for asked in WITHOUT_IDENTITY:
        if set(asked.by) == set(by):
            errors = {tuple(a[key] for key in by): a["std_error"] for a in _answers(release, asked, "emp")}
            ours = {tuple(a[key] for key in by): a["std_error"] for a in table.to_pylist()}
            assert ours.keys() == errors.keys()
            assert sum(ours.values()) < 1.05 * sum(errors.values())  # more is known than from this query alone
    result = CliRunner().invoke(cli, ["tabulate", str(release.folder), "--by", ",".join(by), "--attribute", "emp"])
    assert pyarrow.csv.read_csv(io.BytesIO(result.stdout_bytes)).num_rows == table.num_rows


def test_one_measured_query_is_published_as_it_was_measured(tmp_path: Path) -> None:
    """Two attributes, each measured by one query, which cross: nothing combines, nothing changes."""
    asked = [query("county", ["cnty"], "emp"), query("naics", ["naics"], "area")]
    release = release_of(some_rows(60), asked, tmp_path)
    microdata = fit_microdata(release)
    for each, name in zip(asked, ("emp", "area"), strict=True):
        table = microdata.tabulate(each.by, [name]).arrow
        for column in ("estimate", "std_error"):
            released = {a[each.by[0]]: a[column] for a in _answers(release, each, name)}
            assert dict(zip(table[each.by[0]].to_pylist(), table[column].to_pylist(), strict=True)) == pytest.approx(
                released
            )


def _answers(release: ReleaseFolder, asked: Query, attribute: str) -> list[dict[str, Any]]:
    return [a for a in release.answers(asked.name).to_pylist() if a["attribute"] == attribute]


def test_where_too_many_groups_would_have_to_agree_a_table_is_from_the_most_exact_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gedp.microdata.agreement.MOST_AGREEMENTS", 0)
    asked = [query("total", [], "area", mu="0.1"), query("county", ["cnty"], "area"), query("naics", ["naics"], "area")]
    release = release_of(some_rows(60), asked, tmp_path)
    microdata = fit_microdata(release)
    answers = {each.name: _answers(release, each, "area") for each in asked}
    (total,) = microdata.tabulate([]).arrow.to_pylist()
    assert total["estimate"] == pytest.approx(sum(a["estimate"] for a in answers["county"]))
    assert total["std_error"] ** 2 == pytest.approx(sum(a["variance"] for a in answers["county"]))
    assert total["std_error"] < answers["total"][0]["std_error"]
    assert "they may not add up exactly" in complete(release).report_file.read_text(encoding="utf-8")


def test_without_identity_other_groupings_are_refused_with_those_that_can_be_made(tmp_path: Path) -> None:
    release = release_of(some_rows(60), WITHOUT_IDENTITY, tmp_path)
    microdata = fit_microdata(release)
    for by in (["floor"], ["cnty", "naics"], ["cnty", "sector"]):
        with pytest.raises(FaultsError, match="no answers determine emp by") as raised:
            microdata.tabulate(by, ["emp"])
        assert "made by cnty, cnty x naics2, naics, the total, and by what these add up to" in str(raised.value)
        assert "a query by establishment would allow any" in str(raised.value)
    with pytest.raises(FaultsError, match="'nonsense' is not a public column or grouping"):
        microdata.tabulate(["cnty", "nonsense"])
    assert microdata.tabulate(["naics"]).arrow["attribute"].unique().to_pylist() == ["emp"]  # of area it is not known
    with pytest.raises(FaultsError, match="there are no microdata"):
        microdata.tabulate_qcew(71)


def test_a_public_column_that_no_answers_tell_apart_is_called_so(tmp_path: Path) -> None:
    microdata = fit_microdata(release_of(some_rows(60), [query("county", ["cnty"], "emp")], tmp_path))
    with pytest.raises(FaultsError) as refused:
        microdata.tabulate(["naics2"])
    assert "no answers tell establishments apart by 'naics2'. Tables can be made by cnty;" in str(refused.value)
    with pytest.raises(FaultsError, match=r"'nonsense' is not a public column or grouping. There are: cnty"):
        microdata.tabulate(["nonsense"])


def test_prefixes_of_prefixes_follow_from_the_longer(tmp_path: Path) -> None:
    asked = [query("naics2", ["naics2"], "area"), query("county", ["cnty"], "area")]
    microdata = fit_microdata(release_of(some_rows(60), asked, tmp_path))
    assert microdata.tabulate(["naics1"]).arrow["naics1"].to_pylist() == ["1", "2"]
    with pytest.raises(FaultsError, match="no answers determine area by naics3"):
        microdata.tabulate(["naics3"])


def without_identity_off(folder: Path, releases: int) -> dict[tuple[str, ...], FloatArray]:
    """(estimate − truth) / std_error over releases without an identity query, for measured groups and their sums."""
    rows = some_rows(300, seed=3)
    asked = [
        query("county", ["cnty"], "emp", "area"),
        query("naics", ["naics"], "emp", "area"),
        query("total", [], "emp", "area", mu="0.5"),
    ]
    groupings: list[tuple[str, ...]] = [(), ("cnty",), ("naics",), ("naics2",)]
    off: dict[tuple[str, ...], list[float]] = {by: [] for by in groupings}
    truth = {(by, name): truths(rows, place, by) for by in groupings for name, place in (("emp", 3), ("area", 5))}
    for rehearsal in rehearsals(rows, asked, folder, releases):
        microdata = fit_microdata(rehearsal)
        for by in groupings:
            for line in microdata.tabulate(by).arrow.to_pylist():
                true = truth[by, line["attribute"]][tuple(line[key] for key in by)]
                off[by].append((line["estimate"] - true) / line["std_error"])
    return {by: np.array(values) for by, values in off.items()}


@pytest.mark.slow
def test_errors_without_identity_are_as_large_as_stated(tmp_path: Path) -> None:
    """Over 400 releases; errors stated 10% too small would not pass."""
    releases = 400
    off = without_identity_off(tmp_path, releases)
    together = np.concatenate(list(off.values()))
    # Six independent numbers a release for each of two attributes: the spread is known to 0.7 / sqrt(12 releases).
    assert abs(together.std() - 1) < 0.04
    assert abs((together / 0.9).std() - 1) > 0.04
    for by, values in off.items():
        hits = (np.abs(values) < 1.959964).mean()
        assert abs(hits - 0.95) < 3 * np.sqrt(0.95 * 0.05 / (2 * releases)), (by, hits)
        assert abs(values.mean()) < 4 / np.sqrt(releases), by


def test_errors_without_identity_are_about_as_large_as_stated(tmp_path: Path) -> None:
    off = np.concatenate(list(without_identity_off(tmp_path, 25).values()))
    assert 0.85 < off.std() < 1.15
