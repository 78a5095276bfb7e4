"""From a release to microdata, against dense least squares put together from the files in plain Python."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gedp.arrays import FloatArray
from gedp.cli import cli
from gedp.completing import complete
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.table import ConfidentialTable, open_table
from gedp.errors import GedpError
from gedp.microdata import Microdata, fit_microdata
from gedp.microdata.agreement import fit_measured
from gedp.microdata.cells import read_public_rows
from gedp.microdata.problem import attribute_problem
from gedp.microdata.weights import TOLERANCE, fit_at, fit_attribute
from gedp.neighbors.estimates import psi_variance
from gedp.noise.entropy import SeededEntropy
from gedp.policy import Attribute, Closeness, Data, Grouper, Policy, Query
from gedp.release import ReleaseFolder, read_release
from gedp.release.rehearsal import Rehearsal
from tests.helpers.specs import measured, rehearsed

DATA = Data("x", ("cnty", "naics", "floor"), "key", synthetic=True)
GROUPERS = {"naics2": Grouper("naics2", "naics", prefix=2), "sector": Grouper("sector", "naics", map="sectors.csv")}
ATTRIBUTES = {
    a.name: a
    for a in (
        Attribute("emp", Closeness("sqrt", Decimal("0.5"))),
        Attribute("wage", Closeness("log", Decimal("0.3"))),
        Attribute("area", Closeness("linear", Decimal(3))),
        Attribute("profit", Closeness("sqrt", Decimal(2)), signed=True),
    )
}
CODES = ["1111", "1122", "2211", "2222"]
Row = tuple[str, str, int, int, int, int, int]
POLICY = Policy(ATTRIBUTES, Decimal(1000))


def query(name: str, by: Sequence[str], *attributes: str, mechanism: str = "auto", mu: str = "1") -> Query:
    return Query(name, tuple(by), dict.fromkeys(attributes or ATTRIBUTES, Decimal(mu)), mechanism)


IDENTITY = query("identity", ["establishment"])
EVERYTHING = [
    IDENTITY,
    query("total", []),
    query("again", [], mu="0.5"),
    query("county", ["cnty"], mu="2"),
    query("naics2", ["naics2"], "emp", "wage", mechanism="psi"),
    query("cells", ["cnty", "naics"], "emp", "profit"),
]


def opened(rows: Sequence[Row], folder: Path) -> ConfidentialTable:
    cnty, naics, floor, *amounts = zip(*rows, strict=True)
    columns: dict[str, Sequence[object]] = {
        "key": [f"k{i:04}" for i in range(len(rows))],
        "cnty": cnty,
        "naics": naics,
        "floor": floor,
    }
    columns |= dict(zip(ATTRIBUTES, amounts, strict=True))
    (folder / "sectors.csv").write_text("".join(f"{code},S{code[-1]}\n" for code in sorted({*CODES, *naics})))
    return open_table(LocalEngine(pa.table(columns)), DATA, ATTRIBUTES, GROUPERS, folder)


def release_of(rows: Sequence[Row], queries: Sequence[Query], folder: Path, seed: int = 1) -> ReleaseFolder:
    return measured(opened(rows, folder), POLICY, queries, out=folder / "out", entropy=SeededEntropy(seed))


def rehearsals(rows: Sequence[Row], queries: Sequence[Query], folder: Path, number: int) -> Iterator[Rehearsal]:
    """Of one table, with other noise each time: for statistics over releases, which need no files."""
    table = opened(rows, folder)
    for seed in range(number):
        yield rehearsed(table, POLICY, queries, entropy=SeededEntropy(seed))


def some_rows(count: int, seed: int = 0) -> list[Row]:
    rng = np.random.default_rng(seed)
    return [
        (f"00{rng.integers(3)}", CODES[rng.integers(4)], int(rng.integers(1, 9)), int(rng.lognormal(2, 1)),
         int(rng.lognormal(6, 1)) + 1, int(rng.integers(0, 500)), int(rng.normal(0, 300)))
        for _ in range(count)
    ]  # fmt: skip


rows_of_tables = st.builds(some_rows, st.integers(1, 25), st.integers(0, 10**6))


def in_group(row: Mapping[str, Any], answer: Mapping[str, Any], by: Sequence[str]) -> bool:
    keys = {**row, "naics2": row["naics"][:2], "sector": "S" + row["naics"][-1]}
    return all(keys[key] == answer[key] for key in by)


def dense(release: ReleaseFolder, attribute: str, queries: Sequence[Query], at: FloatArray | None) -> FloatArray:
    """Least squares over establishments; ψ answers weighed at their estimates, or at the fitted values `at`."""
    design, answers = dense_problem(release, attribute, queries, at)
    solution: FloatArray = np.linalg.lstsq(design, answers)[0].astype(np.float64)
    return solution


def dense_problem(
    release: ReleaseFolder, attribute: str, queries: Sequence[Query], at: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """The design matrix over establishments and the answers, both divided by standard deviations."""
    rows = release.identity().to_pylist()
    psi = ATTRIBUTES[attribute].protection.psi
    sigmas = {a.query.name: a.noise[attribute].sigma for a in release.manifest.answered if attribute in a.noise}
    least = 1.0 if attribute == "wage" and at is not None else -np.inf
    design, answers, variances = [], [], []
    for place, row in enumerate(rows):
        design.append(np.eye(len(rows))[place])
        answers.append(row[attribute])
        value = row[attribute] if at is None else max(at[place], least)
        variances.append(float(psi_variance(psi, value, sigmas["identity"])))
    for asked in queries:
        if asked.is_identity or attribute not in asked.attributes:
            continue
        for answer in release.answers(asked.name).to_pylist():
            if answer["attribute"] != attribute:
                continue
            members = np.array([float(in_group(row, answer, asked.by)) for row in rows])
            design.append(members)
            answers.append(answer["estimate"])
            if at is None:
                variances.append(answer["variance"])
            elif answer["mechanism"] == "psi":
                fitted = max(float(members @ at), least)
                variances.append(float(psi_variance(psi, fitted, sigmas[asked.name])))
            else:
                highest = max(row[f"{attribute}__psi"] for row, inside in zip(rows, members, strict=True) if inside)
                largest = max(0.0, least, *at[members > 0])
                ratio = at_bound(release, attribute, float(psi(largest))) / at_bound(release, attribute, highest)
                variances.append(answer["variance"] * ratio**2)
    scale = 1 / np.sqrt(np.array(variances))
    return np.array(design) * scale[:, None], np.array(answers) * scale


def at_bound(release: ReleaseFolder, attribute: str, omega: float) -> float:
    """The sensitivity of a sum that is clipped because of the answer omega; 1 for signed ones, which keep theirs."""
    if ATTRIBUTES[attribute].signed:
        return 1.0
    manifest, protection = release.manifest, ATTRIBUTES[attribute].protection
    (identity,) = (a for a in manifest.answered if a.query.is_identity)
    each = 1 - (1 - float(manifest.zeta or 0)) ** (1 / (manifest.establishments * len(identity.noise)))
    bound = protection.psi.inverse(omega - NormalDist().inv_cdf(each) * identity.noise[attribute].sigma)
    return float(bound - protection.interval(bound).low)


def test_clipped_sums_do_not_make_the_fit_trust_answers_that_came_out_high(tmp_path: Path) -> None:
    """The oracle weighs by the truth alone. Weighing by the released variances, the total comes out above it."""
    rows = [("001", CODES[i % 4], i + 1, 30, 1, 0, 0) for i in range(400)]
    identity = query("identity", ["establishment"], "emp", mu="0.2")
    queries = [identity, query("cells", ["floor"], "emp", mechanism="pnc", mu="0.2")]
    differences = []
    for rehearsal in rehearsals(rows, queries, tmp_path, 12):
        problem = attribute_problem(read_public_rows(rehearsal), "emp")
        oracle = fit_at(problem, np.full(400, 30.0)).totals.sum()
        released = replace(problem, clipped=None)
        differences.append([fit_attribute(p, "quasi").totals.sum() - oracle for p in (problem, released)])
    mean, error = np.mean(differences, axis=0), np.std(differences, axis=0, ddof=1) / np.sqrt(12)
    assert abs(mean[0]) < 3 * error[0]
    assert mean[1] > 5 * error[1]
    assert abs(mean[0]) < mean[1] / 4


@given(rows=rows_of_tables, which=st.lists(st.integers(1, 5), unique=True), seed=st.integers(0, 10**6))
@example(rows=some_rows(22, 36953), which=[3], seed=588)  # a clipped sum and its bound would answer each other forever
@example(rows=some_rows(22, 36953), which=[3, 5, 4, 1], seed=588)
@settings(max_examples=12)
def test_microdata_are_the_dense_best_fit(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], which: list[int], seed: int
) -> None:
    queries = [IDENTITY, *(EVERYTHING[i] for i in which)]
    release = release_of(rows, queries, tmp_path_factory.mktemp("r"), seed)
    plug_in = fit_microdata(release, weights="plug-in")
    quasi = fit_microdata(release)
    assert list(plug_in.fits) == list(quasi.fits) == list(ATTRIBUTES)
    for name, fit in plug_in.fits.items():
        expected = dense(release, name, queries, None)
        np.testing.assert_allclose(fit.values, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
        assert fit.detail == "identity"
        assert fit.rounds == 0
    for name, fit in quasi.fits.items():
        # A fixed point: weighed at the fitted values, dense least squares gives them again.
        expected = dense(release, name, queries, fit.values)
        scale = np.sqrt(fit.row_variances) if fit.row_variances is not None else 1.0
        assert np.max(np.abs(fit.values - expected) / scale) < 100 * TOLERANCE
        assert fit.change <= TOLERANCE
        if name == "area":
            assert fit.rounds == 0


def test_groups_by_a_map_file(tmp_path: Path) -> None:
    queries = [IDENTITY, query("sectors", ["sector", "cnty"]), query("total", [])]
    release = release_of(some_rows(30), queries, tmp_path)
    (tmp_path / "sectors.csv").unlink()  # the release holds it
    fit = fit_microdata(release, weights="plug-in").fits["emp"]
    np.testing.assert_allclose(fit.values, dense(release, "emp", queries, None), rtol=1e-8)
    (release.folder / "maps" / "sector.csv").unlink()
    with pytest.raises(GedpError, match=r"maps/sector\.csv: it has other columns"):
        fit_microdata(release)


def test_an_attribute_without_identity_is_divided_by_public_weights(tmp_path: Path) -> None:
    queries = [
        query("identity", ["establishment"], "emp"),
        query("cells", ["cnty", "naics"], "emp", "area"),
        query("county", ["cnty"], "area"),
    ]
    rows = some_rows(40)
    release = release_of(rows, queries, tmp_path)
    alike, by_floor = fit_microdata(release), fit_microdata(release, share_by="floor")
    assert alike.fits["area"].detail == "cells"
    assert alike.described()["attributes"]["area"]["meaning"].startswith("no answers for establishments")
    cells: dict[tuple[str, str], list[int]] = {}
    for place, row in enumerate(rows):
        cells.setdefault(row[:2], []).append(place)
    for members in cells.values():
        total = alike.fits["area"].values[members].sum()
        np.testing.assert_allclose(alike.fits["area"].values[members], total / len(members))
        floors = np.array([rows[place][2] for place in members])
        np.testing.assert_allclose(by_floor.fits["area"].values[members], total * floors / floors.sum(), rtol=1e-9)
    np.testing.assert_allclose(by_floor.fits["emp"].values, alike.fits["emp"].values)
    # The cells and counties together, by dense least squares.
    names = sorted(cells)
    answers = [a for q in ("cells", "county") for a in release.answers(q).to_pylist() if a["attribute"] == "area"]
    design = np.array([[float(c == a["cnty"] and n == a.get("naics", n)) for c, n in names] for a in answers])
    scale = 1 / np.sqrt(np.array([a["variance"] for a in answers]))
    expected, *_ = np.linalg.lstsq(design * scale[:, None], np.array([a["estimate"] for a in answers]) * scale)
    ours = [alike.fits["area"].values[cells[name]].sum() for name in names]
    np.testing.assert_allclose(ours, expected, rtol=1e-8)
    for column in ("naics2", "nonsense"):
        with pytest.raises(GedpError, match="not a public column of numbers"):
            fit_microdata(release, share_by=column)


CROSSING = [query("county", ["cnty"], "emp"), query("naics", ["naics"], "emp"), query("total", [], "emp")]


def test_a_release_that_determines_no_cells_has_no_microdata(tmp_path: Path) -> None:
    release = release_of(some_rows(40), CROSSING, tmp_path)
    microdata = fit_microdata(release)
    assert not microdata.fits
    assert microdata.attributes == ["emp"]
    for refused in (microdata.table, microdata.write):
        with pytest.raises(GedpError, match="there are no microdata: no query asks for establishments"):
            refused()
    result = CliRunner().invoke(cli, ["microdata", str(release.folder)])
    assert isinstance(result.exception, GedpError)
    assert "the answers determine no rows" in str(result.exception)
    assert [path.name for path in release.folder.iterdir() if path.name.startswith("microdata")] == []
    assert microdata.described()["attributes"]["emp"]["groupings"] == ["cnty", "naics", "the total"]


def test_rows_are_the_groups_of_a_query_from_which_all_others_follow(tmp_path: Path) -> None:
    """Also where they follow by a prefix or a map: no cell is there that was not measured."""
    rows = some_rows(40)
    queries = [
        query("naics2", ["naics2"], "emp"),
        query("cells", ["naics", "cnty"], "emp"),
        query("sector", ["sector", "cnty"], "emp", "area"),
    ]
    release = release_of(rows, queries, tmp_path)
    microdata = fit_microdata(release)
    table = microdata.table().to_pylist()
    assert {(row["cnty"], row["naics"]) for row in table} == {row[:2] for row in rows}
    assert len(table) == len({row[:2] for row in rows})
    assert all(row["naics2"] == row["naics"][:2] and row["sector"] == "S" + row["naics"][-1] for row in table)
    assert list(microdata.fits) == ["emp"]  # of area nothing says how a sector is divided
    assert "area" not in table[0]
    assert microdata.tabulate(["sector", "cnty"], ["area"]).arrow.num_rows == release.answers("sector").num_rows // 2
    assert "every row is a cell" in microdata.meaning("emp")


def test_the_total_has_no_key(tmp_path: Path) -> None:
    """What stands for everything together in its table is no column of the data, whatever that is called."""
    release = release_of(some_rows(20), [query("total", [], "emp")], tmp_path)
    assert fit_microdata(release).tabulate([]).arrow.num_rows == 1
    with pytest.raises(GedpError, match="'cell' is not a public column or grouping"):
        fit_microdata(release).tabulate(["cell"])


def test_possible_cells_are_joined_for_nobody_who_publishes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many keys that cross there may be more combinations than any machine could hold."""
    release = release_of(some_rows(40), CROSSING, tmp_path)
    monkeypatch.setattr("gedp.microdata.keys.MOST_JOINED_CELLS", 1)
    assert complete(release).report_file.exists()
    assert fit_microdata(release).tabulate(["naics"]).arrow.num_rows == 4
    with pytest.raises(GedpError, match="no answers determine emp by cnty x naics"):
        fit_microdata(release).tabulate(["cnty", "naics"])


@given(
    rows=rows_of_tables,
    which=st.lists(st.sampled_from(["total", "again", "county", "naics2", "naics"]), min_size=1, unique=True),
    seed=st.integers(0, 10**6),
    weights=st.sampled_from(["plug-in", "quasi"]),
)
@settings(max_examples=12)
def test_measured_groups_are_the_dense_best_fit(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], which: list[str], seed: int, weights: str
) -> None:
    """Of cells by all keys, whose groups least squares determine though not the cells, by their pseudoinverse."""
    keys = {"total": [], "again": [], "county": ["cnty"], "naics2": ["naics2"], "naics": ["naics"]}
    queries = [query(name, keys[name], "emp", "area") for name in which]
    release = release_of(rows, queries, tmp_path_factory.mktemp("r"), seed)
    public_rows = read_public_rows(release)
    counties, codes = sorted({row[0] for row in rows}), sorted({row[1] for row in rows})
    cells = [{"cnty": c, "naics": n, "naics2": n[:2]} for c in counties for n in codes]
    for name in ("emp", "area"):
        fit = fit_measured(public_rows, name, weights)
        design, answers = [], []
        for asked in queries:
            for answer in release.answers(asked.name).to_pylist():
                if answer["attribute"] == name:
                    design.append([float(all(cell[key] == answer[key] for key in asked.by)) for cell in cells])
                    answers.append(answer["estimate"])
        matrix, variances = np.array(design), np.concatenate(fit.variances)
        inverse = np.linalg.pinv(matrix.T @ (matrix / variances[:, None]), rcond=1e-10, hermitian=True)
        expected = matrix @ inverse @ (matrix.T @ (np.array(answers) / variances))
        scale = np.sqrt(variances.max())
        np.testing.assert_allclose(np.concatenate(fit.fitted), expected, rtol=1e-6, atol=1e-6 * scale)
        dense_variances = np.split(np.diag(matrix @ inverse @ matrix.T), fit.agreement.starts[1:-1])
        for asked, variance in zip(queries, dense_variances, strict=True):
            np.testing.assert_allclose(np.sort(fit.table(asked.by).totals.variance), np.sort(variance), rtol=1e-6)
        if weights == "quasi" and name == "emp":
            at = [each.variances_at(totals) for each, totals in zip(fit.tables, fit.fitted, strict=True)]
            np.testing.assert_allclose(np.concatenate(at), variances, rtol=0.02, atol=1e-3 * variances.max())


@pytest.mark.parametrize("queries", [[query("total", [], "emp")], [query("naics", ["naics"], "emp")], [IDENTITY]])
def test_one_query_is_fitted_exactly(tmp_path: Path, queries: list[Query]) -> None:
    release = release_of(some_rows(20), queries, tmp_path)
    fit = fit_microdata(release).fits["emp"]
    if queries[0].is_identity:
        np.testing.assert_allclose(fit.values, release.identity()["emp"].to_numpy())
    else:
        np.testing.assert_allclose(fit.totals, release.answers(queries[0].name)["estimate"].to_numpy())


def test_files_and_what_is_said_of_them(tmp_path: Path) -> None:
    release = release_of(some_rows(30), EVERYTHING, tmp_path)
    path = fit_microdata(release).write()
    assert path == release.folder / "microdata.parquet"
    table = pq.read_table(path)
    assert table.column_names == ["key", "cnty", "naics", "floor", *ATTRIBUTES]
    said = json.loads((release.folder / "microdata.json").read_text())
    assert said["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert said["entropy"] == "seeded"
    assert said["tolerance"] == TOLERANCE
    assert said["attributes"]["emp"]["rounds"] > 0
    assert said["attributes"]["emp"]["residual"] < 1e-9
    read_release(release.folder)  # the release itself is as it was
    for name in ("identity.parquet", "manifest.parquet"):
        with pytest.raises(GedpError, match="would replace a file of the release"):
            fit_microdata(release).write(release.folder / name)
    with pytest.raises(GedpError, match=r"Choose a name that ends in \.parquet"):
        fit_microdata(release).write(tmp_path / "micro.csv")
    assert repr(fit_microdata(release)) == "Microdata(30 rows, emp, wage, area, profit)"


def test_table_and_description_are_written_together_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = release_of(some_rows(30), EVERYTHING, tmp_path)
    path = fit_microdata(release).write(tmp_path / "m.parquet")
    before = path.read_bytes(), path.with_suffix(".json").read_bytes()

    def full(*_: object) -> None:
        raise GedpError("cannot write m.json: no space left")

    monkeypatch.setattr("gedp.microdata.fitted.write_text", full)
    with pytest.raises(GedpError, match="no space left"):
        fit_microdata(release, weights="plug-in").write(path)
    assert (path.read_bytes(), path.with_suffix(".json").read_bytes()) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.json", "m.parquet", "out", "sectors.csv"]


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    release = release_of(some_rows(5), EVERYTHING, tmp_path)
    with pytest.raises(GedpError, match="no query asks for 'nonsense'"):
        fit_microdata(release, attributes=["nonsense"])
    with pytest.raises(GedpError, match="quasi or plug-in"):
        fit_microdata(release, weights="nonsense")
    assert list(fit_microdata(release, attributes=["wage"]).fits) == ["wage"]


def test_the_command(tmp_path: Path) -> None:
    release = release_of(some_rows(30), EVERYTHING, tmp_path)
    out = tmp_path / "mine.parquet"
    result = CliRunner().invoke(cli, ["microdata", str(release.folder), "--weights", "plug-in", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "NOT PROTECTED" in result.output
    assert isinstance(fit_microdata(release, weights="plug-in"), Microdata)
    ours = fit_microdata(release, weights="plug-in").table()
    assert pq.read_table(out).equals(ours)
    (release.folder / "identity.parquet").write_bytes(b"")
    result = CliRunner().invoke(cli, ["microdata", str(release.folder)])
    assert result.exit_code != 0


def test_weights_that_have_not_settled_are_said_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = release_of(some_rows(40), EVERYTHING, tmp_path)
    settled = fit_microdata(release).described()["attributes"]
    assert all(entry["settled"] for entry in settled.values())
    assert settled["emp"]["rounds"] > 1
    monkeypatch.setattr("gedp.microdata.weights.MOST_ROUNDS", 1)
    begun = fit_microdata(release).described()["attributes"]
    assert not begun["emp"]["settled"]
    assert begun["emp"]["largest_change"] > begun["emp"]["change"] > TOLERANCE
    assert begun["area"]["settled"]  # nothing to iterate
    result = CliRunner().invoke(cli, ["microdata", str(release.folder)])
    assert result.exit_code == 0
    assert "emp: the weights did not settle" in result.output


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_public_weights_are_numbers_of_0_or_more(weight: float, tmp_path: Path) -> None:
    queries = [query("identity", ["establishment"], "area"), query("cells", ["cnty", "naics"], "emp")]
    problem = attribute_problem(read_public_rows(release_of(some_rows(40), queries, tmp_path)), "emp")
    weights = np.full(40, 2.0)
    assert fit_attribute(problem, "quasi", weights).detail == "cells"
    weights[3] = weight
    with pytest.raises(GedpError, match="public weights must be numbers of 0 or more"):
        fit_attribute(problem, "quasi", weights)
    with pytest.raises(GedpError, match="above 0 somewhere in every cell"):
        fit_attribute(problem, "quasi", np.zeros(40))
