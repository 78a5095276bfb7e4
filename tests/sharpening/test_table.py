"""Tables that lean on earlier releases: what every line says, what is refused, and both doors."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gedp
from gedp.cli import main
from gedp.release import read_release
from gedp_lab.evaluate import evaluate
from tests.helpers.builder import spec_of

pd: Any = import_module("pandas")
CLOSE = {"psi": "sqrt", "gamma": 0.5}
SPEC = spec_of(
    attributes={"jobs": CLOSE, "wage": {"psi": "sqrt", "gamma": 20}},
    queries=[
        {"name": "identity", "by": "establishment", "mu": 0.4},
        {"name": "industry", "by": ["naics"], "mu": 0.6},
    ],
)
BY = ["cnty", "naics"]


def quarters(count: int = 3) -> list[Any]:
    """Six counties and twelve industries, eight establishments in each; then a seventh county opens."""
    chance = np.random.default_rng(5)
    rows = pd.DataFrame(
        [(f"{county:03}", f"{31 + industry}11") for county in range(1, 7) for industry in range(12) for _ in range(8)],
        columns=BY,
    )
    rows["key"] = [f"id{place:04}" for place in range(len(rows))]
    size = chance.lognormal(2.5, 1, len(rows))
    made = []
    for quarter in range(count):
        growth = 1 + 0.05 * chance.standard_normal(12).repeat(8)
        size = size * np.tile(growth, 6) * np.exp(0.05 * chance.standard_normal(len(size)))
        made.append(rows.assign(jobs=np.rint(size).astype(int), wage=np.rint(9000 * size).astype(int)))
        made[-1] = made[-1][made[-1]["cnty"] != "006"] if quarter + 1 < count else made[-1]
    return made


@pytest.fixture(scope="module")
def tables() -> list[Any]:
    return quarters()


@pytest.fixture(scope="module")
def releases(tables: list[Any], tmp_path_factory: pytest.TempPathFactory) -> list[gedp.Release]:
    """The newest first."""
    folder = tmp_path_factory.mktemp("series")
    return [
        gedp.run(SPEC, rows, out=folder / f"q{place}", seed=place, answers_only=True)
        for place, rows in reversed(list(enumerate(tables)))
    ]


@pytest.fixture(scope="module")
def sharpened(releases: list[gedp.Release]) -> Any:
    newest, *earlier = (release.microdata() for release in releases)
    return gedp.sharpen(newest, earlier, BY, within="naics")


def test_every_line_says_whether_it_is_of_the_model_and_has_the_direct_estimate(
    releases: list[gedp.Release], sharpened: gedp.Sharpened
) -> None:
    lines, direct = sharpened.table.to_pandas(), releases[0].microdata().tabulate(BY).to_pandas()
    assert set(lines["method"]) == {"model-based", "direct"}
    assert (lines["method"] == "model-based").mean() > 0.7
    assert ((lines["method"] == "model-based") == (lines["variance_kind"] == "model")).all()
    assert np.array_equal(lines[[*BY, "attribute"]], direct[[*BY, "attribute"]])
    for name in ("estimate", "std_error"):
        assert np.array_equal(lines[f"direct_{name}"], direct[name])
    of_model = lines[lines["method"] == "model-based"]
    assert (of_model["std_error"] < 1.001 * of_model["direct_std_error"]).mean() > 0.95
    reach = (of_model["ci_high"] - of_model["estimate"]).to_numpy()
    assert reach == pytest.approx(1.959964 * of_model["std_error"].to_numpy(), rel=1e-6)
    assert "not part of any release" in sharpened.note


def test_groups_without_a_past_keep_the_direct_estimate(sharpened: gedp.Sharpened) -> None:
    lines = sharpened.table.to_pandas()
    new = lines[lines["cnty"] == "006"]
    assert len(new) == 2 * 12
    assert (new["method"] == "direct").all()
    assert np.array_equal(new["estimate"], new["direct_estimate"])
    assert np.array_equal(new["std_error"], new["direct_std_error"])


def test_families_add_up_to_what_the_newest_release_says(sharpened: gedp.Sharpened) -> None:
    sums = sharpened.table.to_pandas().groupby(["attribute", "naics"])[["estimate", "direct_estimate"]].sum()
    assert sums["estimate"].to_numpy() == pytest.approx(sums["direct_estimate"].to_numpy(), rel=1e-9)


def test_earlier_quarters_bring_estimates_nearer_to_the_truth(
    tables: list[Any], releases: list[gedp.Release], sharpened: gedp.Sharpened
) -> None:
    lines = sharpened.table.to_pandas()
    truth = tables[-1].groupby(BY)[["jobs", "wage"]].sum().stack().rename("truth")
    lines = lines.set_index([*BY, "attribute"]).join(truth.rename_axis([*BY, "attribute"]))
    model = lines[lines["method"] == "model-based"]
    off, before = ((model[name] - model["truth"]).abs() for name in ("estimate", "direct_estimate"))
    for name in ("jobs", "wage"):
        own = model.index.get_level_values("attribute") == name
        assert off[own].mean() < 0.9 * before[own].mean()
    assert 0.88 < ((off <= 1.96 * model["std_error"]).mean()) <= 1


def test_what_is_no_series_is_refused_at_once(releases: list[gedp.Release]) -> None:
    newest, older, _ = (release.microdata() for release in releases)
    with pytest.raises(gedp.FaultsError) as refused:
        gedp.sharpen(newest, [older, releases[1].microdata()], BY, within=["county"])
    assert [fault.place for fault in refused.value.faults] == ["earlier", "within"]
    with pytest.raises(gedp.FaultsError, match="no earlier release"):
        gedp.sharpen(newest, [], BY)
    with pytest.raises(gedp.FaultsError, match="family of its own"):
        gedp.sharpen(newest, [older], BY, within=BY)


def test_releases_that_cannot_be_compared_are_refused(
    tables: list[Any], releases: list[gedp.Release], tmp_path: Path
) -> None:
    real = replace(SPEC, data=replace(SPEC.data, synthetic=False))
    other = gedp.run(real, tables[0], out=tmp_path / "real", ledger=tmp_path / "ledger", answers_only=True)
    with pytest.raises(gedp.FaultsError, match="about synthetic establishments, the other is not"):
        gedp.sharpen(releases[0].microdata(), [releases[1].microdata(), other.microdata()], BY)


def test_releases_in_another_order_are_refused(tables: list[Any], tmp_path: Path) -> None:
    fits: list[gedp.Microdata] = []
    for period, rows in zip(("2016Q4", "2017Q1"), tables, strict=False):
        spec = spec_of(
            data={"period": period}, attributes={"jobs": CLOSE}, queries=[{"name": "cells", "by": BY, "mu": 1}]
        )
        fits.append(gedp.run(spec, rows, out=tmp_path / period, seed=len(fits), answers_only=True).microdata())
    with pytest.raises(gedp.FaultsError, match="2016Q4, 2017Q1"):
        gedp.sharpen(fits[0], [fits[1]], BY)
    assert len(gedp.sharpen(fits[1], [fits[0]], BY).table) == 60


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr("sys.argv", ["gedp", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_the_command_warns_and_leaves_the_releases_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    releases: list[gedp.Release],
    sharpened: gedp.Sharpened,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = [files_of(release.folder) for release in releases]
    asked = [releases[0].folder, "--by", "cnty,naics", "--within", "naics"]
    asked += [part for old in releases[1:] for part in ("--with-earlier", old.folder)]
    assert run(monkeypatch, "sharpen", *asked, "--out", tmp_path / "model.csv") == 0
    printed = capsys.readouterr()
    assert "Model-based: lines marked so lean on earlier releases" in printed.err
    assert "lines are model-based" in printed.err
    lines = pd.read_csv(tmp_path / "model.csv", dtype={"cnty": str, "naics": str})
    assert lines["estimate"].to_numpy() == pytest.approx(np.array(sharpened.table["estimate"]))
    assert run(monkeypatch, "sharpen", *asked, "--out", releases[1].folder / "model.csv") == 1
    assert [files_of(release.folder) for release in releases] == before


def test_evaluation_sets_it_beside_the_truth(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    tables: list[Any],
    releases: list[gedp.Release],
    sharpened: gedp.Sharpened,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folders = [read_release(release.folder) for release in releases]
    found = evaluate(folders[0], tables[-1], by=[BY, []], earlier=folders[1:], within=["naics"])
    sources = {(each.level.by, each.attribute): each for each in found.comparisons if each.source == "sharpened"}
    assert sources.keys() == {(tuple(BY), "jobs"), (tuple(BY), "wage")}
    lines = sharpened.table.to_pandas()
    jobs = sources[tuple(BY), "jobs"]
    assert jobs.protected == pytest.approx(lines[lines["attribute"] == "jobs"]["estimate"].to_numpy())
    assert jobs.truth.sum() == tables[-1]["jobs"].sum()
    tables[-1].to_parquet(tmp_path / "truth.parquet")
    asked = [releases[0].folder, "--truth", tmp_path / "truth.parquet", "--by", "cnty,naics", "--within", "naics"]
    asked += ["--with-earlier", releases[1].folder, "--out", tmp_path / "results"]
    assert run(monkeypatch, "evaluate", *asked) == 0
    printed = capsys.readouterr().out
    assert "Direct → with earlier releases, by a model" in " ".join(printed.split())
    assert "With earlier releases" in (tmp_path / "results" / "evaluation.html").read_text()
    errors = pd.read_csv(tmp_path / "results" / "errors.csv")
    assert set(errors["source"]) == {"microdata", "sharpened"}


def test_combinations_are_sharpened_where_they_are_named(tmp_path: Path, tables: list[Any]) -> None:
    queries = [*({"name": q.name, "by": "establishment", "mu": 0.4} for q in SPEC.queries if q.is_identity)]
    queries.append({"name": "costs", "by": ["naics"], "mu": {"cost": 0.6}})
    attributes = {"jobs": CLOSE, "wage": {"psi": "sqrt", "gamma": 20}}
    spec = spec_of(attributes=attributes, queries=queries, combinations={"cost": "wage + 500 * jobs"})
    newest, earlier = (
        gedp.run(spec, tables[place], out=tmp_path / f"{place}", seed=place, answers_only=True).microdata()
        for place in (1, 0)
    )
    assert list(gedp.sharpen(newest, [earlier], "naics").steps) == ["jobs", "wage"]
    assert list(gedp.sharpen(newest, [earlier], "naics", ["cost"]).steps) == ["cost"]
