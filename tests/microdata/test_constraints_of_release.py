"""Constraints from a release to its microdata, tables and files, against dense solutions made from the files."""

import io
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from gedp.arrays import FloatArray
from gedp.cli import cli
from gedp.errors import FaultsError
from gedp.microdata import fit_microdata
from gedp.microdata.cells import read_public_rows
from gedp.microdata.constraints.apply import Constraints, constrain, read_constraints
from gedp.microdata.problem import attribute_problem
from gedp.microdata.weights import fit_attribute
from gedp.policy import MicrodataOptions, parse_spec, write_spec
from gedp.policy.examples import find_spec
from gedp.release import read_release
from tests.helpers.runs import gedp
from tests.microdata.test_fit import (
    EVERYTHING,
    IDENTITY,
    Row,
    dense_problem,
    query,
    release_of,
    rows_of_tables,
    some_rows,
)
from tests.microdata.test_tabulate import dense_covariance, group_of

NOT_SIGNED = ["emp", "wage", "area"]


@given(rows=rows_of_tables, which=st.lists(st.integers(1, 5), unique=True), seed=st.integers(0, 10**6))
@settings(max_examples=6)
def test_without_negatives_it_is_the_dense_best_fit(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], which: list[int], seed: int
) -> None:
    queries = [IDENTITY, *(EVERYTHING[i] for i in which)]
    release = release_of(rows, queries, tmp_path_factory.mktemp("r"), seed)
    microdata = fit_microdata(release, weights="plug-in", attributes=NOT_SIGNED, nonnegative=True)
    assert list(microdata.fits) == NOT_SIGNED
    for name, fit in microdata.fits.items():
        expected, _ = optimize.nnls(*dense_problem(release, name, queries, None))
        np.testing.assert_allclose(fit.values, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
        assert fit.constrained["nonnegative"]["zeros"] == (fit.values == 0).sum()
        free = fit_microdata(release, weights="plug-in", attributes=[name]).fits[name]
        moved = fit.values.sum() - free.values.sum()
        assert fit.constrained["nonnegative"]["change_of_total"] == pytest.approx(moved, abs=1e-6)


@pytest.mark.parametrize("cells", [True, False])
def test_without_identity_answers_cells_are_bounded(tmp_path: Path, cells: bool) -> None:
    """Small counts and much noise, so that some cells would be negative."""
    rows = [(f"00{i % 3}", code, 1, i % 2, 5, 1, 0) for i, code in enumerate(["1111", "1122", "2211", "2222"] * 6)]
    queries = [query("county", ["cnty"], "area", mu="0.1"), query("naics", ["naics"], "area", mu="0.1")]
    queries += [query("cells", ["cnty", "naics"], "area", mu="0.1")] if cells else []
    release = release_of(rows, queries, tmp_path, 3)
    public_rows = read_public_rows(release)
    assert public_rows.has_rows == cells
    problem, attribute = attribute_problem(public_rows, "area"), public_rows.spec.policy.attributes["area"]
    free = fit_attribute(problem, "quasi")
    fit = constrain(problem, attribute, free, Constraints(nonnegative=True))
    assert (free.values < 0).any()
    assert (fit.values >= 0).all()
    table = public_rows.table.to_pylist()
    answers = [a for q in queries for a in release.answers(q.name).to_pylist()]
    design = np.array([
        [float(all(row[key] == a.get(key, row[key]) for key in ("cnty", "naics"))) for row in table] for a in answers
    ])  # fmt: skip
    scale = 1 / np.sqrt(np.array([a["variance"] for a in answers]))
    scaled, wanted = design * scale[:, None], np.array([a["estimate"] for a in answers]) * scale
    expected, least = optimize.nnls(scaled, wanted)
    assert np.linalg.norm(scaled @ fit.values - wanted) == pytest.approx(least, rel=1e-6)
    if cells:
        np.testing.assert_allclose(fit.values, expected, rtol=1e-6, atol=1e-6 * expected.max())


def totals_of(rows: Sequence[Row], by: Sequence[str], attribute: int = 3) -> pa.Table:
    """The true totals, which serve as public ones."""
    sums: dict[tuple[str, ...], int] = {}
    for row in rows:
        sums[group_of(row, by)] = sums.get(group_of(row, by), 0) + int(row[attribute])
    name = {3: "emp", 4: "wage", 5: "area", 6: "profit"}[attribute]
    keys = {key: [group[place] for group in sums] for place, key in enumerate(by)}
    return pa.table({**keys, name: list(sums.values())})


@given(
    rows=rows_of_tables,
    which=st.lists(st.integers(1, 4), unique=True),
    by=st.lists(st.sampled_from([(), ("cnty",), ("naics2",), ("cnty", "naics2")]), min_size=1, max_size=3, unique=True),
)
@settings(max_examples=6)
def test_fixed_totals_and_their_errors_are_those_of_the_dense_system(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], which: list[int], by: list[tuple[str, ...]]
) -> None:
    queries = [IDENTITY, *(EVERYTHING[i] for i in {5, *which})]
    release = release_of(rows, queries, tmp_path_factory.mktemp("r"))
    fixed = [totals_of(rows, keys) for keys in by]
    microdata = fit_microdata(release, weights="plug-in", attributes=["emp"], fixed=fixed)
    fit = microdata.fits["emp"]
    members, totals = constraint_matrix(rows, by)
    np.testing.assert_allclose(members @ fit.values, totals, rtol=1e-10, atol=1e-9)
    design, answers = dense_problem(release, "emp", queries, None)
    system = np.block([[design.T @ design, members.T], [members, np.zeros((len(members), len(members)))]])
    solution = np.linalg.lstsq(system, np.concatenate([design.T @ answers, totals]), rcond=1e-11)[0]
    expected = solution[: len(rows)]
    np.testing.assert_allclose(fit.values, expected, rtol=0, atol=1e-6 * max(np.abs(expected).max(), 1))
    free = dense_covariance(fit_microdata(release, weights="plug-in", attributes=["emp"]), "emp")
    across = members @ free
    covariance = free - across.T @ np.linalg.pinv(members @ free @ members.T, rcond=1e-9) @ across
    for keys in [*by, ("floor",), ("naics",)]:
        for line in microdata.tabulate(keys).arrow.to_pylist():
            inside = np.array([group_of(row, keys) == tuple(line[key] for key in keys) for row in rows], dtype=float)
            variance = max(inside @ covariance @ inside, 0.0)
            assert line["std_error"] == pytest.approx(np.sqrt(variance), rel=1e-4, abs=1e-4)
            if keys in by:
                assert line["std_error"] == 0
                assert line["estimate"] == pytest.approx(inside @ np.array([row[3] for row in rows]), abs=1e-8)
            assert line["std_error"] ** 2 <= inside @ free @ inside * (1 + 1e-9)


def constraint_matrix(rows: Sequence[Row], by: Sequence[tuple[str, ...]]) -> tuple[FloatArray, FloatArray]:
    lines, totals = [], []
    for keys in by:
        for line in totals_of(rows, keys).to_pylist():
            inside = [float(group_of(row, keys) == tuple(line[key] for key in keys)) for row in rows]
            lines.append(inside)
            totals.append(float(line["emp"]))
    return np.array(lines), np.array(totals)


@given(rows=rows_of_tables, seed=st.integers(0, 10**6), fix=st.booleans(), nonnegative=st.booleans())
@settings(max_examples=6)
def test_whole_numbers_keep_the_totals_of_all_queries(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], seed: int, fix: bool, nonnegative: bool
) -> None:
    release = release_of(rows, EVERYTHING, tmp_path_factory.mktemp("r"), seed)
    fixed = [totals_of(rows, ("cnty",)), totals_of(rows, ())] if fix else None
    fitted = fit_microdata(release, attributes=NOT_SIGNED, nonnegative=nonnegative, fixed=fixed)
    whole = fit_microdata(release, attributes=NOT_SIGNED, nonnegative=nonnegative, fixed=fixed, whole=True)
    assert whole.table().schema.field("emp").type == pa.int64()
    for name in NOT_SIGNED:
        values, before = whole.table()[name].to_numpy(), fitted.fits[name].values
        assert (np.abs(values - before) < 1 + 1e-6).all()
        assert not nonnegative or (values >= 0).all()
        for by in [(), ("cnty",), ("naics2",), ("cnty", "naics")]:
            if name not in next(q for q in EVERYTHING if q.by == by).attributes:
                continue
            groups = np.array(["|".join(group_of(row, by)) for row in rows])
            for group in set(groups):
                assert abs(values[groups == group].sum() - before[groups == group].sum()) < 1 + 1e-6
        assert whole.fits[name].constrained["whole"]["largest_deviation"] < 1 + 1e-6
    if fix:
        values = whole.table()["emp"].to_numpy()
        members, totals = constraint_matrix(rows, [("cnty",), ()])
        assert np.array_equal(members @ values, totals)


def test_all_of_it_where_establishments_have_no_answers(tmp_path: Path) -> None:
    rows = some_rows(40)
    queries = [query("county", ["cnty"], "emp"), query("naics", ["naics"], "emp")]
    release = release_of(rows, queries, tmp_path)
    fixed = totals_of(rows, ("cnty",))
    with pytest.raises(FaultsError, match="emp: the answers determine no microdata that could be held to totals"):
        fit_microdata(release, nonnegative=True, whole=True, fixed=fixed)
    public_rows = read_public_rows(release)
    problem = attribute_problem(public_rows, "emp")
    constraints = read_constraints(public_rows, ["emp"], Constraints(nonnegative=True, whole=True), [fixed])
    fit = constrain(problem, public_rows.spec.policy.attributes["emp"], fit_attribute(problem, "quasi"), constraints)
    assert fit.detail == "undetermined"
    rows_of_cells = public_rows.table.append_column("emp", pa.array(fit.values))
    sums = rows_of_cells.group_by("cnty").aggregate([("emp", "sum")]).to_pydict()
    assert dict(zip(sums["cnty"], sums["emp_sum"], strict=True)) == dict(zip(*fixed.to_pydict().values(), strict=True))


def test_what_the_errors_are_of_is_said(tmp_path: Path) -> None:
    release = release_of(some_rows(30), EVERYTHING, tmp_path)
    kinds = {}
    for name, bound, whole in (("free", False, False), ("bounded", True, False), ("rounded", False, True)):
        microdata = fit_microdata(release, attributes=["emp"], nonnegative=bound, whole=whole)
        table = microdata.tabulate(["cnty"]).arrow
        kinds[name] = (set(table["variance_kind"].to_pylist()), table["std_error"].to_pylist())
    assert kinds["free"][0] == {"estimated"}
    assert kinds["bounded"][0] == kinds["rounded"][0] == {"unconstrained"}
    assert kinds["free"][1] == kinds["bounded"][1] == kinds["rounded"][1]


def test_the_commands_and_the_file_beside(tmp_path: Path) -> None:
    rows = [(*row[:6], 0) for row in some_rows(30)]
    queries = [replace(q, mu={n: mu for n, mu in q.mu.items() if n != "profit"}) for q in EVERYTHING]
    release = release_of(rows, queries, tmp_path)
    totals = totals_of(rows, ("cnty",))
    (tmp_path / "public.csv").write_text(
        "cnty,emp,wage\n" + "".join(f"{c},{e},\n" for c, e in zip(*totals.to_pydict().values(), strict=True))
    )
    long = tmp_path / "state.parquet"
    pq.write_table(pa.table({"attribute": ["emp"], "value": [float(sum(totals["emp"].to_pylist()))]}), long)
    options = ["--nonnegative", "--whole", "--fixed", str(tmp_path / "public.csv"), "--fixed", str(long)]
    result = CliRunner().invoke(cli, ["microdata", str(release.folder), *options])
    assert result.exit_code == 0, result.output
    assert "fixed totals: 4 (1 implied by the others)" in result.output
    assert "area: values are whole units" in result.output
    said = json.loads((release.folder / "microdata.json").read_text())
    assert said["constraints"] == {"nonnegative": True, "whole": True, "fixed": [[], ["cnty"]]}
    emp = said["attributes"]["emp"]["constrained"]
    assert emp["fixed"]["largest_gap"] == 0
    assert emp["nonnegative"]["steps"] >= 1
    assert emp["whole"]["largest_deviation"] < 1
    assert "fixed" not in said["attributes"]["area"]["constrained"]
    table = pq.read_table(release.folder / "microdata.parquet")
    assert min(table["wage"].to_pylist()) >= 0
    out = tmp_path / "table.parquet"
    result = CliRunner().invoke(cli, ["tabulate", str(release.folder), "--by", "cnty", *options, "--out", str(out)])
    assert result.exit_code == 0, result.output
    lines = [line for line in pq.read_table(out).to_pylist() if line["attribute"] == "emp"]
    assert {line["cnty"]: line["estimate"] for line in lines} == dict(zip(*totals.to_pydict().values(), strict=True))
    assert all(line["std_error"] == 0 for line in lines)
    plain = json.loads(fit_microdata(release).write().with_suffix(".json").read_text())
    assert plain["constraints"] == {"nonnegative": False, "whole": False, "fixed": []}
    assert plain["attributes"]["emp"]["constrained"] == {}


def test_the_spec_may_ask_for_them(tmp_path: Path) -> None:
    spec = find_spec("paper-equal")
    assert spec.microdata == MicrodataOptions()
    assert "nonnegative" not in write_spec(spec)
    asked = replace(spec, microdata=MicrodataOptions("plug-in", nonnegative=True, whole=True))
    assert parse_spec(write_spec(asked)) == asked
    text = write_spec(asked).replace("unit = 1", "unit = 1\nsigned = true", 1)
    with pytest.raises(FaultsError, match=r"microdata\.nonnegative: the values of m1emp have both signs"):
        parse_spec(text)
    release = release_of(some_rows(20), EVERYTHING, tmp_path)
    asking = replace(release.manifest.spec, microdata=MicrodataOptions("quasi", whole=True))
    changed = replace(release, manifest=replace(release.manifest, spec=asking))
    assert fit_microdata(changed).table().schema.field("emp").type == pa.int64()
    assert fit_microdata(changed, whole=False).table().schema.field("emp").type == pa.float64()


def refused(folder: Path, *fixed: pa.Table | Path, nonnegative: bool = False) -> str:
    with pytest.raises(FaultsError) as caught:
        fit_microdata(read_release(folder), fixed=list(fixed), nonnegative=nonnegative)
    return str(caught.value)


def test_totals_may_be_given_again_and_for_other_attributes(tmp_path: Path) -> None:
    """What follows from others is let go, also if that is everything: the first pivot is no exception."""
    rows = some_rows(60)
    release = release_of(rows, [IDENTITY, query("county", ["cnty"]), query("naics2", ["naics2"])], tmp_path)
    counties = totals_of(rows, ("cnty",))
    once = fit_microdata(release, fixed=counties)
    for again in ([counties, counties], [counties, counties, totals_of(rows, ())]):
        both = fit_microdata(release, fixed=again)
        np.testing.assert_allclose(both.fits["emp"].values, once.fits["emp"].values, rtol=1e-7)
        assert both.fits["emp"].constrained["fixed"]["redundant"] == len(again[0]) + len(again) - 2
    alone = fit_microdata(release, fixed=counties.select(["cnty", "emp"]), attributes=["area"])
    np.testing.assert_array_equal(alone.fits["area"].values, fit_microdata(release).fits["area"].values)


def test_totals_far_from_the_release_are_pointed_at(tmp_path: Path) -> None:
    rows = some_rows(60)
    release = release_of(rows, [IDENTITY, query("county", ["cnty"])], tmp_path)
    fit = fit_microdata(release).tabulate("cnty", "emp").arrow.to_pylist()
    moves = {line["cnty"]: 3 * line["std_error"] if line["cnty"] == "001" else 0.5 for line in fit}
    near = pa.table({"cnty": list(moves), "emp": [line["estimate"] + moves[line["cnty"]] for line in fit]})
    furthest = fit_microdata(release, fixed=near).fits["emp"].constrained["fixed"]["furthest"]
    assert furthest["total"] == "emp of cnty 001"
    assert furthest["standard_errors"] == pytest.approx(3)
    for table, said in (
        (near, False),
        (near.set_column(1, "emp", pa.array([0.0, *near["emp"].to_pylist()[1:]])), True),
    ):
        pq.write_table(table, tmp_path / "fixed.parquet")
        arguments = ["microdata", str(release.folder), "--fixed", str(tmp_path / "fixed.parquet")]
        output = CliRunner().invoke(cli, arguments).output
        assert ("the fixed emp of cnty 000 is" in output) == said
        assert ("standard errors from what the answers say" in output) == said


def test_refusals(tmp_path: Path) -> None:
    rows = some_rows(30)
    release = release_of(rows, [IDENTITY, query("county", ["cnty"]), query("naics2", ["naics2"])], tmp_path)
    folder = release.folder
    counties = totals_of(rows, ("cnty",))
    unknown = refused(folder, pa.table({"nonsense": ["1"], "more": ["2"], "emp": [1]}))
    assert "column 'nonsense' is not a public" in unknown
    assert "column 'more' is not a public" in unknown
    twice = pa.Table.from_arrays([pa.array(["001"]), pa.array([1]), pa.array([2])], ["cnty", "emp", "emp"])
    assert "columns appear twice: emp" in refused(folder, twice)
    assert "no column has values" in refused(folder, counties.select(["cnty"]))
    assert "not attributes of the release: jobs" in refused(folder, pa.table({"attribute": ["jobs"], "value": [1]}))
    assert "groups that do not exist: 1, the first is cnty 999" in refused(
        folder, pa.table({"cnty": ["999"], "emp": [1]})
    )
    assert "groups that do not exist: 2" in refused(folder, pa.table({"cnty": ["999", None], "emp": [1, 2]}))
    assert "groups that are given again: 1" in refused(folder, pa.table({"cnty": ["001", "001"], "emp": [1, 1]}))
    assert "divide finest cells of emp" in refused(folder, totals_of(rows, ("naics",)))
    assert "some values of emp are not numbers" in refused(folder, pa.table({"emp": ["many"]}))
    assert "not finite" in refused(folder, pa.table({"emp": [np.inf]}))
    assert "there is no total for any" in refused(folder, pa.table({"emp": pa.array([None], pa.float64())}))
    assert "the values of profit have both signs" in refused(folder, nonnegative=True)
    (tmp_path / "x.txt").write_text("")
    assert "neither .csv nor .parquet" in refused(folder, tmp_path / "x.txt")
    assert "cannot be read" in refused(folder, tmp_path / "absent.csv")
    # Everything at once, and the sum of the counties is not the total.
    wrong = pa.table({"emp": [float(sum(counties["emp"].to_pylist())) + 1]})
    (tmp_path / "x.csv").write_text("cnty;emp\n001;1\n")
    assert "Separate them with commas" in refused(folder, tmp_path / "x.csv")
    negative = pa.table({"cnty": ["001"], "area": [-1.0]})
    assert "negative totals of area, whose values cannot be negative: 1" in refused(folder, negative)
    both = refused(folder, counties, wrong, negative, nonnegative=True)
    assert both.startswith("constraints: 3 faults")
    assert "by at most 1; the first is" in both
    assert "negative totals of area, whose values cannot be negative: 1" in both


def test_totals_that_no_values_of_zero_or_more_have_are_refused(tmp_path: Path) -> None:
    """Consistent with negative values, impossible without: only county 001 has industry 22, and less in all of it."""
    rows: list[Row] = [("001", "1111", 1, 5, 5, 5, 0), ("001", "2211", 1, 5, 5, 5, 0), ("002", "1111", 1, 5, 5, 5, 0)]
    release = release_of(rows, [IDENTITY, query("cells", ["cnty", "naics2"])], tmp_path)
    fixed = [pa.table({"cnty": ["001"], "emp": [5.0]}), pa.table({"naics2": ["22"], "emp": [9.0]})]
    fit = fit_microdata(release, attributes=["emp"], fixed=fixed).fits["emp"]
    np.testing.assert_allclose(fit.values[:2], [-4, 9], atol=1e-9)
    with pytest.raises(FaultsError, match="no values of 0 or more can have all these totals"):
        fit_microdata(release, attributes=["emp"], fixed=fixed, nonnegative=True)


def parquet_of(**columns: pa.Array | Sequence[object]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


BROKEN: dict[str, tuple[str, bytes, str]] = {
    "a heading in Latin-1": ("f.csv", "cnty,Besch\xe4ftigte\n001,5\n".encode("latin-1"), "is not text in UTF-8"),
    "values in Latin-1": ("f.csv", "cnty,emp\n001,\xe4\n".encode("latin-1"), "is not text in UTF-8"),
    "UTF-16": ("f.csv", "cnty,emp\n001,5\n".encode("utf-16"), "is not text in UTF-8"),
    "nothing": ("f.csv", b"", "it is empty"),
    "a mark alone": ("f.csv", b"\xef\xbb\xbf", "it is empty"),
    "blank lines": ("f.csv", b"\n\r\n\n", "it is empty"),
    "bytes": ("f.csv", bytes(range(256)), "is not text in UTF-8"),
    "zeros": ("f.csv", b"\0" * 50, "no column has values|cannot be read"),
    "a heading alone": ("f.csv", b"cnty,emp\n", "no total for any of the attributes"),
    "semicolons": ("f.csv", b"cnty;emp\n001;5\n", "Separate them with commas"),
    "tabs": ("f.csv", b"cnty\temp\n001\t5\n", "Separate them with commas"),
    "a short line": (
        "f.csv",
        b"cnty,emp\n001,5\n002\n",
        "cells than the heading: 1, the first is line 3",
    ),
    "a long line": ("f.csv", b"cnty,emp\n001,5,6\n", "the first is line 2"),
    "doubled columns": ("f.csv", b"cnty,emp,emp\n001,5,6\n", "columns appear twice: emp"),
    "an open quote": ("f.csv", b'cnty,emp\n"001,5\n', "line 2 cannot be read|cannot be read"),
    "a quote inside": ("f.csv", b'cnty,emp\n"0"01,5\n', "line 2 cannot be read"),
    "a cell without end": ("f.csv", b"cnty,emp\n001," + b"5" * 200_000 + b"\n", "line 2 cannot be read"),
    "words": ("f.csv", b"cnty,emp\n001,many\n", "some values of emp are not numbers"),
    "thousands": ("f.csv", b'cnty,emp\n001,"1,000"\n', "some values of emp are not numbers"),
    "no number": ("f.csv", b"cnty,emp\n001,NaN\n", "some values of emp are not finite"),
    "infinity": ("f.csv", b"cnty,emp\n001,-inf\n", "some values of emp are not finite"),
    "beyond floats": ("f.csv", b"cnty,emp\n001,1e400\n", "not finite|not numbers"),
    "beyond sums": ("f.csv", b"cnty,emp\n001,1e300\n", "beyond 2.53 units"),
    "an odd heading": ("f.csv", b"\x1b[31m,emp\n001,5\n", "is not a public column or grouping"),
    "no Parquet": ("f.parquet", b"PAR1 nonsense", "it cannot be read"),
    "an empty Parquet file": ("f.parquet", b"", "it cannot be read"),
    "lists": ("f.parquet", parquet_of(cnty=["001"], emp=[[5]]), "neither text nor numbers|not numbers"),
    "no rows": (
        "f.parquet",
        parquet_of(cnty=pa.array([], pa.string()), emp=pa.array([], pa.int64())),
        "no total for any",
    ),
    "no column": ("f.parquet", parquet_of(), "no column has values"),
    "another kind": ("f.xlsx", b"PK", "neither .csv nor .parquet"),
}


@pytest.fixture(scope="module")
def plain_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    queries = [query("identity", ["establishment"], "emp"), query("county", ["cnty"], "emp")]
    return release_of(some_rows(30), queries, tmp_path_factory.mktemp("plain")).folder


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("command", ["microdata", "tabulate"])
def test_a_broken_file_of_totals_is_one_error(case: str, command: str, plain_release: Path, tmp_path: Path) -> None:
    name, content, said = BROKEN[case]
    (tmp_path / name).write_bytes(content)
    ended = gedp(command, str(plain_release), "--fixed", name, folder=tmp_path)
    assert ended.code == 2, ended
    assert re.search(said, ended.err), ended.err
    assert "Traceback" not in ended.err
    assert "\x1b" not in ended.err
    assert len(ended.err) < 1_000
    assert not (plain_release / "microdata.parquet").exists()


@pytest.mark.parametrize("name", ["nowhere.csv", "folder.csv", "folder.parquet"])
def test_no_file_of_totals_is_one_error(name: str, plain_release: Path, tmp_path: Path) -> None:
    for folder in ("folder.csv", "folder.parquet"):
        (tmp_path / folder).mkdir()
    ended = gedp("tabulate", str(plain_release), "--fixed", name, folder=tmp_path)
    assert (ended.code, "Traceback" in ended.err) == (2, False)
    assert name in ended.err
