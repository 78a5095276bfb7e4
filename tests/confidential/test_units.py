"""Units of several records, from the spec to a release and its microdata."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gedp
from gedp.errors import FaultsError
from gedp.explain.facts import power_rows
from gedp.explain.released import explained_promise
from tests.helpers.passes import DividedEngine

ROWS = 240
CHANCE = np.random.default_rng(7)
JOBS = np.maximum(1, np.rint(np.exp(CHANCE.normal(2.5, 1.2, ROWS)))).astype(np.int64)
FIRMS = [f"firm {number}" for number in CHANCE.integers(0, 160, ROWS)]
FIRMS[:12] = ["chain"] * 12
TABLE = pa.table(
    {
        "key": [f"k{row:03}" for row in range(ROWS)],
        "firm": FIRMS,
        "region": CHANCE.choice(["n", "s", "e"], ROWS),
        "branch": CHANCE.choice(["a", "b"], ROWS),
        "jobs": JOBS,
    }
)
QUERIES: list[dict[str, Any]] = [{"name": "total", "by": []}, {"name": "region", "by": ["region"]}]
CELLS = {"name": "cell", "by": ["region", "branch"]}
SIZES = {"name": "sizes", "by": ["region", "size"], "count": True, "importance": {"establishments": 1}}


def spec_with(
    unit: str | None = "firm",
    queries: list[dict[str, Any]] | None = None,
    budget: dict[str, Any] | None = None,
    **data: Any,
) -> gedp.Spec:
    asked = [*QUERIES, CELLS] if queries is None else queries
    has_sizes = any("size" in query["by"] for query in asked)
    return gedp.make_spec(
        data={"public": ["firm", "region", "branch"], "id": "key", "synthetic": True, **data},
        protect=None if unit is None else {"unit": unit},
        attributes={"jobs": {"psi": "sqrt", "gamma": 0.5}},
        classes={"size": {"attribute": "jobs", "edges": [0, 10, 50]}} if has_sizes else None,
        budget=budget or {"mu": 2},
        queries=asked,
    )


def released(folder: Path, spec: gedp.Spec, seed: int = 1) -> gedp.Release:
    return gedp.run(spec, TABLE, out=folder / "out", seed=seed, answers_only=True)


def test_the_column_of_units_must_be_public_and_queries_without_prices() -> None:
    with pytest.raises(FaultsError, match="'id' is not a public column, and which records form a unit is public"):
        spec_with("id")
    with pytest.raises(FaultsError, match="which a unit of n records would pay up to n times over"):
        spec_with(queries=[{**query, "mu": 1, "mechanism": "psi"} for query in QUERIES])


def test_a_spec_with_units_is_written_and_read_again() -> None:
    spec = spec_with(source="t.csv")
    assert spec.policy.unit == "firm"
    assert gedp.parse_spec(gedp.write_spec(spec)) == spec
    assert "[protect]" not in gedp.write_spec(spec_with(None, source="t.csv"))


def test_records_of_a_unit_have_the_noise_of_a_share_of_the_price(tmp_path: Path) -> None:
    """The more records a unit has, the less is said about each; second answers share what is left of one pool."""
    release = released(tmp_path, spec_with())
    rows = release.table("identity").to_arrow()
    members = {firm: FIRMS.count(firm) for firm in FIRMS}
    second = rows["jobs__sigma2"].to_numpy()
    price, paid = (0.5 / second) ** 2, dict[str, float]()
    for firm, each in zip(rows["firm"].to_pylist(), price, strict=True):
        paid[firm] = paid.get(firm, 0.0) + float(each)
    pool = 4 - float(release.manifest.individual["jobs"].mu) ** 2
    assert max(paid.values()) <= pool
    alone = np.median([paid[firm] for firm, count in members.items() if count == 1])
    assert paid["chain"] < alone


def test_a_unit_of_several_makes_noise_that_hides_all_its_records(tmp_path: Path) -> None:
    of_units, of_records = (released(tmp_path / str(unit), spec_with(unit)) for unit in ("firm", None))
    noise = [release.table("total").to_arrow()["std_error"][0].as_py() for release in (of_units, of_records)]
    assert noise[0] > 3 * noise[1]


def test_a_table_in_which_every_unit_has_one_record_is_released_as_without_units(tmp_path: Path) -> None:
    table = TABLE.set_column(1, "firm", pa.array([f"own {row}" for row in range(ROWS)]))
    found = [
        gedp.run(spec_with(unit), table, out=tmp_path / str(unit), seed=3, answers_only=True).table("total").to_arrow()
        for unit in ("firm", None)
    ]
    assert found[0] == found[1]


def test_units_that_are_grouped_by_are_protected_too(tmp_path: Path) -> None:
    """A table with a line for every unit: its cells are by unit already."""
    spec = spec_with(queries=[*QUERIES, {"name": "firms", "by": ["firm"]}])
    lines = released(tmp_path, spec).table("firms").to_arrow()
    assert lines.num_rows == len(set(FIRMS))
    chain = dict(zip(lines["firm"].to_pylist(), lines["std_error"].to_pylist(), strict=True))["chain"]
    assert chain > np.median(lines["std_error"].to_numpy())


def test_counts_by_class_hide_as_many_as_a_unit_has_records(tmp_path: Path) -> None:
    spec = spec_with(queries=[*QUERIES, SIZES])
    lines = released(tmp_path, spec).table("sizes").to_arrow()
    of_records = released(tmp_path / "alone", spec_with(None, queries=[*QUERIES, SIZES])).table("sizes").to_arrow()
    regions = TABLE["region"].to_pylist()
    in_region = {region: regions[:12].count(region) for region in ("n", "s", "e")}
    widest = max(in_region.values())
    ratio = np.max(lines["std_error"].to_numpy()) / np.max(of_records["std_error"].to_numpy())
    groups = sum(count > 0 for count in in_region.values())
    assert 0.5 * widest < ratio <= 1.01 * widest * groups**0.5


def test_a_divided_table_gives_the_same_plan_as_a_whole_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = released(tmp_path / "whole", spec_with(queries=[*QUERIES, SIZES])).manifest.individual["jobs"]
    engine = DividedEngine(TABLE, [100], lambda places: places[::-1])
    monkeypatch.setattr("gedp.confidential.engines.choice.LocalEngine", lambda *_: engine)
    divided = released(tmp_path / "divided", spec_with(queries=[*QUERIES, SIZES])).manifest.individual["jobs"]
    assert divided.mu == whole.mu
    assert divided.largest_share <= 1


def test_microdata_of_a_release_with_units_are_fitted_and_cover_the_truth(tmp_path: Path) -> None:
    covered, errors = 0, []
    for seed in range(12):
        microdata = gedp.fit_microdata(released(tmp_path / str(seed), spec_with(), seed))
        (total,) = microdata.tabulate([])
        covered += total["ci_low"] <= JOBS.sum() <= total["ci_high"]
        errors.append((total["estimate"] - JOBS.sum()) / total["std_error"])
    assert covered >= 9  # fails for a correct program once in some 5,000 seeds; these are fixed
    assert abs(np.mean(errors)) < 4 / 12**0.5


def test_a_plan_knows_units(tmp_path: Path) -> None:
    plans = {unit: gedp.plan(spec_with(unit, [*QUERIES, CELLS, SIZES]), table=TABLE) for unit in ("firm", None)}
    of_units, of_records = ({(t.query, t.attribute): t.error for t in plans[unit].tables} for unit in ("firm", None))
    assert of_units.keys() == of_records.keys()
    assert all(of_units[asked] > of_records[asked] for asked in of_units)


def test_units_are_not_given_up_in_silence(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"

    def release(unit: str | None, out: str, **decided: Any) -> gedp.Release:
        spec = spec_with(unit, QUERIES, budget={"mu": 9, "spend": 1})
        return gedp.run(spec, TABLE, out=tmp_path / out, ledger=ledger, seed=1, answers_only=True, **decided)

    first = release("firm", "first")
    assert first.manifest.together is not None
    assert first.manifest.together.unit == "firm"
    told = gedp.Ledger.open(ledger, create=False).state()
    assert told.unit == "firm"
    assert "the true values of all records of one firm from any other values inside their" in told.combined.sentence
    lost = "all records of one firm were hidden at once, and now"
    with pytest.raises(gedp.GedpError, match=f"{lost} each record by itself"):
        release(None, "second")
    with pytest.raises(gedp.GedpError, match=f"{lost} all records of one branch"):
        release("branch", "second")
    release("firm", "second")
    third = release(None, "third", decided_by=gedp.DecidedBy("A. Person", "the register has no more firms"))
    assert third.manifest.together is not None
    assert third.manifest.together.unit is None
    assert [each.what for each in third.manifest.together.decisions] == [(f"{lost} each record by itself",)]
    assert "the true values of an establishment" in gedp.Ledger.open(ledger, create=False).state().combined.sentence


def test_the_promise_is_stated_for_units() -> None:
    of_units, of_records = (spec_with(unit) for unit in ("firm", None))
    assert "the true values of all records of one firm from any other values" in explained_promise(of_units)[0]
    assert "the true values of an establishment from any other values" in explained_promise(of_records)[0]
    told = [
        [row.change for row in power_rows(gedp.price(spec).total, spec.policy.unit)] for spec in (of_units, of_records)
    ]
    assert told[0][0] == "all records of one firm inside their intervals"
    assert [any("firm's 2 establishments" in change for change in changes) for changes in told] == [False, True]


def test_a_query_of_ones_own_cannot_protect_units(tmp_path: Path) -> None:
    with pytest.raises(FaultsError, match="it is about one record, and the spec protects all records of a unit"):
        gedp.ask(
            spec_with(),
            lambda values: np.array([values["jobs"].sum()]),
            table=TABLE,
            out=tmp_path / "answer.json",
            name="sum",
            attributes=["jobs"],
            mu=1,
            sensitivity=10,
            largest=10**6,
            seed=1,
        )
