"""Combinations in a release: exact but for the noise, whatever the engine; stated, recorded and read again."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gedp
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.measure import rehearse
from gedp.confidential.table import open_table_of
from gedp.errors import FaultsError, GedpError
from gedp.ledger import Ledger
from gedp.noise.entropy import SeededEntropy
from gedp.policy import Spec
from gedp.release import read_release
from tests.confidential.test_class_releases import without_noise
from tests.helpers.passes import DividedEngine
from tests.helpers.runs import small_table

TABLE = small_table(60)
COMBINATIONS = {"cost": "wage + 500 * emp", "third": "(wage - emp) / 3"}
QUERIES: list[dict[str, Any]] = [
    {"name": "identity", "by": "establishment", "mu": 3},
    {"name": "county", "by": ["cnty"], "mu": {"cost": 0.5, "third": 0.4}},
    {"name": "costs", "by": ["naics2", "cnty"], "mu": {"cost": 0.3}},
]


def spec_of(queries: list[dict[str, Any]] = QUERIES, *, individual: bool = False, **more: Any) -> Spec:
    if individual:
        queries = [{"importance" if key == "mu" else key: value for key, value in q.items()} for q in queries]
    return gedp.make_spec(
        data={"public": ["cnty", "naics"], "id": "key", "synthetic": more.pop("synthetic", True)},
        groupers={"naics2": {"column": "naics", "prefix": 2}},
        attributes={
            "emp": {"psi": "sqrt", "gamma": 0.5},
            "wage": {"psi": "log", "gamma": 0.1, "shift": 1, "unit": 0.01},
        },
        combinations={**COMBINATIONS, **more},
        budget={"mu": 20},
        queries=queries,
    )


@pytest.mark.parametrize("individual", [False, True])
@pytest.mark.parametrize(("factor", "size"), [(f"1{'0' * 200}", "large"), (f"0.{'0' * 199}1", "small")])
def test_coefficients_beyond_floating_point_are_refused_before_anything_is_spent(
    individual: bool, factor: str, size: str, tmp_path: Path
) -> None:
    spec = spec_of(individual=individual, synthetic=False, third=f"{factor} * wage - {factor} * emp")
    with pytest.raises(GedpError, match=f"coefficients are so {size} that errors would not be numbers"):
        gedp.run(spec, TABLE, out=tmp_path / "out", ledger=tmp_path / "ledger")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("individual", [False, True])
def test_without_noise_a_combination_is_the_sum_of_its_parts(individual: bool) -> None:
    """By individual accounting, bounds are chosen to be lower, so that a little is cut off."""
    spec = spec_of(individual=individual)
    with without_noise():
        rehearsal = rehearse(open_table_of(spec, LocalEngine(TABLE)), spec, entropy=SeededEntropy(1))
    rows = TABLE.to_pylist()
    for answer in rehearsal.combination_answers("county").to_pylist():
        own = [row for row in rows if row["cnty"] == answer["cnty"]]
        wage, jobs = (sum(Fraction(str(row[name])) for row in own) for name in ("wage", "emp"))
        truth = {"cost": wage + 500 * jobs, "third": (wage - jobs) / 3}[answer["attribute"]]
        assert answer["estimate"] == pytest.approx(float(truth), rel=1e-3 if individual else 1e-12)
        assert answer["mechanism"] == "pnc"
        assert answer["variance_kind"] == "exact"
    assert len(rehearsal.combination_answers("county")) == 2 * 3


def test_noise_is_as_large_as_the_table_says() -> None:
    """Over 4,000 counties with one establishment each: within four standard errors."""
    rows = 4000
    spec, numbers = spec_of([QUERIES[0], QUERIES[1]]), np.arange(rows)
    table = pa.table(
        {
            "key": [f"{number:04}" for number in numbers],
            "cnty": [f"{number:04}" for number in numbers],
            "naics": ["11"] * rows,
            "emp": numbers,
            "wage": numbers * 100.25,
        }
    )
    opened = open_table_of(spec, LocalEngine(table))
    with without_noise():
        truth = rehearse(opened, spec, entropy=SeededEntropy(1)).combination_answers("county")["estimate"].to_numpy()
    answers = rehearse(opened, spec, entropy=SeededEntropy(2)).combination_answers("county")
    drawn = (answers["estimate"].to_numpy() - truth) / np.sqrt(answers["variance"].to_numpy())
    for scaled in drawn.reshape(2, rows):
        assert abs(scaled.mean()) < 4 / np.sqrt(rows)
        assert scaled.var() == pytest.approx(1, abs=4 * np.sqrt(2 / rows))
        assert (scaled * 0.9).var() != pytest.approx(1, abs=4 * np.sqrt(2 / rows))


def test_parts_of_a_table_come_to_the_same() -> None:
    """Spark divides the rows; what each part finds travels by place, and is put together."""
    spec, found = spec_of(), []
    with without_noise():
        for engine in (LocalEngine(TABLE), DividedEngine(TABLE, [0, 7, 7, 31], lambda places: places[::-1])):
            rehearsal = rehearse(open_table_of(spec, engine), spec, entropy=SeededEntropy(1))
            found.append(rehearsal.combination_answers("costs"))
    assert found[0].equals(found[1])


def test_a_release_states_its_combinations(tmp_path: Path) -> None:
    gedp.run(spec_of(), table=TABLE, out=tmp_path / "out", seed=1)
    release = read_release(tmp_path / "out")
    county, costs = release.manifest.combination_tables
    assert (county.query, county.groups, costs.groups) == (spec_of().combination_queries[0], 3, 9)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["format"] == 6
    assert "cost" in (tmp_path / "out" / "tables" / "costs.csv").read_text()
    with pytest.raises(FaultsError, match="'nobody' is not in this release"):
        release.combination_answers("nobody")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda tables: tables.pop(), "the query 'costs' of the spec is missing"),
        (lambda tables: tables[0].update(groups=4), "it has other rows or values than the manifest says"),
        (lambda tables: tables[0].update(by=[]), "it is not that of the spec"),
        (lambda tables: tables[0].update(name="more"), "the spec has no such query"),
        (lambda tables: tables[0]["asked"]["cost"].update(mu="0.4"), "it is not that of the spec"),
    ],
)
def test_an_altered_statement_about_combinations_is_noticed(tmp_path: Path, change: Any, said: str) -> None:
    gedp.run(spec_of(), table=TABLE, out=tmp_path / "out", seed=1, answers_only=True)
    path = tmp_path / "out" / "manifest.json"
    content = json.loads(path.read_text())
    change(content["combination_tables"])
    path.write_text(json.dumps(content))
    with pytest.raises(FaultsError, match=said):
        read_release(tmp_path / "out").combination_answers("county")


def test_the_ledger_has_the_price_once_and_every_attribute(tmp_path: Path) -> None:
    spec = spec_of([QUERIES[0], QUERIES[2]], synthetic=False)
    gedp.run(spec, table=TABLE, out=tmp_path / "out", ledger=tmp_path / "t.ledger", answers_only=True)
    (recorded,) = Ledger.open(tmp_path / "t.ledger", create=False).state().releases
    assert recorded.reserve.attributes.keys() == {"emp", "wage"}
    assert recorded.reserve.loss.mu_squared == 9 + 9 + Fraction(9, 100)


def test_coefficients_that_no_grid_carries_are_refused_before_anything_is_spent(tmp_path: Path) -> None:
    far = "1000000000001 * emp / 1000000000000000 + 999999999999 * wage / 7"
    spec = spec_of([QUERIES[0], {"name": "far", "by": [], "mu": {"far": 0.5}}], far=far, synthetic=False)
    with pytest.raises(GedpError, match="far in query 'far': there is no grid for its noise"):
        gedp.run(spec, table=TABLE, out=tmp_path / "out", ledger=tmp_path / "t.ledger")
    assert not (tmp_path / "t.ledger").exists()
