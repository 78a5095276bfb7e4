"""Combinations in a release: exact but for the noise, whatever the engine; stated, recorded and read again."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gedp
from gedp.confidential import measure
from gedp.confidential.addends import CombinedSum
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.measure import rehearse
from gedp.confidential.preparing import prepare
from gedp.confidential.table import open_table_of
from gedp.errors import FaultsError, GedpError
from gedp.individual.classes import Possible
from gedp.ledger import Ledger
from gedp.noise.entropy import SeededEntropy
from gedp.release import read_release
from tests.helpers.builder import ACCOUNTING, rehearsed, spec_of, table_of, without_noise

TABLE = table_of()
SPEC = spec_of("combinations")
CONFIDENTIAL = {"synthetic": False}


@pytest.mark.parametrize("accounting", ACCOUNTING)
@pytest.mark.parametrize(("factor", "size"), [(f"1{'0' * 200}", "large"), (f"0.{'0' * 199}1", "small")])
def test_coefficients_beyond_floating_point_are_refused_before_anything_is_spent(
    accounting: str, factor: str, size: str, tmp_path: Path
) -> None:
    third = f"{factor} * wage - {factor} * emp"
    asked = ["identity", {"name": "thirds", "by": ["cnty"], "mu": {"third": 0.4}}]
    spec = spec_of(accounting=accounting, data=CONFIDENTIAL, combinations={"third": third}, queries=asked)
    with pytest.raises(GedpError, match=f"coefficients are so {size} that errors would not be numbers"):
        gedp.run(spec, TABLE, out=tmp_path / "out", ledger=tmp_path / "ledger")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("accounting", ACCOUNTING)
def test_without_noise_a_combination_is_the_sum_of_its_parts(accounting: str) -> None:
    """By individual accounting, bounds are chosen to be lower, so that a little is cut off."""
    with without_noise():
        rehearsal = rehearsed(spec_of("combinations", accounting=accounting))
    rows = TABLE.to_pylist()
    for answer in rehearsal.answers("combined").to_pylist():
        own = [row for row in rows if row["cnty"] == answer["cnty"]]
        wage, jobs = (sum(Fraction(str(row[name])) for row in own) for name in ("wage", "emp"))
        truth = {"cost": wage + 500 * jobs, "third": (wage - jobs) / 3}[answer["attribute"]]
        assert answer["estimate"] == pytest.approx(float(truth), rel=1e-3 if accounting == "individual" else 1e-12)
        assert answer["mechanism"] == "pnc"
        assert answer["variance_kind"] == "exact"
    assert len(rehearsal.answers("combined")) == 2 * 3


def test_noise_is_as_large_as_the_table_says() -> None:
    """Over 4,000 counties with one establishment each: within four standard errors."""
    rows = 4000
    spec, numbers = spec_of("combinations", queries=["identity", "combined"]), np.arange(rows)
    table = table_of(rows, cnty=[f"{number:04}" for number in numbers], emp=numbers, wage=numbers * 100.25)
    with without_noise():
        truth = rehearsed(spec, table).answers("combined")["estimate"].to_numpy()
    answers = rehearsed(spec, table, seed=2).answers("combined")
    drawn = (answers["estimate"].to_numpy() - truth) / np.sqrt(answers["variance"].to_numpy())
    for scaled in drawn.reshape(2, rows):
        assert abs(scaled.mean()) < 4 / np.sqrt(rows)
        assert scaled.var() == pytest.approx(1, abs=4 * np.sqrt(2 / rows))
        assert (scaled * 0.9).var() != pytest.approx(1, abs=4 * np.sqrt(2 / rows))


def test_a_release_states_its_combinations(tmp_path: Path) -> None:
    gedp.run(SPEC, table=TABLE, out=tmp_path / "out", seed=1)
    release = read_release(tmp_path / "out")
    combined, costs = release.manifest.answered[-2:]
    assert (combined.query, combined.groups, costs.groups) == (SPEC.queries[-2], 3, 9)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["format"] == 8
    assert "cost" in (tmp_path / "out" / "tables" / "costs.csv").read_text()
    with pytest.raises(FaultsError, match="'nobody' is not in this release"):
        release.answers("nobody")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda tables: tables[1].update(name="combined"), "the query 'costs' of the spec is missing"),
        (lambda tables: tables[0].update(groups=4), "the numbers of groups do not add up"),
        (lambda tables: tables[0].update(by=[]), "it is not that of the spec"),
        (lambda tables: tables[0].update(name="more"), "the spec has no such query"),
        (lambda tables: tables[0]["asked"]["cost"].update(mu="0.4"), "it is not that of the spec"),
    ],
)
def test_an_altered_statement_about_combinations_is_noticed(tmp_path: Path, change: Any, said: str) -> None:
    gedp.run(SPEC, table=TABLE, out=tmp_path / "out", seed=1, answers_only=True)
    path = tmp_path / "out" / "manifest.json"
    content = json.loads(path.read_text())
    change(content["queries"][-2:])
    path.write_text(json.dumps(content))
    with pytest.raises(FaultsError, match=said):
        read_release(tmp_path / "out").answers("combined")


def test_the_ledger_has_the_price_once_and_every_attribute(tmp_path: Path) -> None:
    spec = spec_of("combinations", queries=["identity", "costs"], data=CONFIDENTIAL)
    gedp.run(spec, table=TABLE, out=tmp_path / "out", ledger=tmp_path / "t.ledger", answers_only=True)
    (recorded,) = Ledger.open(tmp_path / "t.ledger", create=False).state().releases
    assert recorded.reserve.attributes.keys() == {"emp", "wage"}
    assert recorded.reserve.loss.mu_squared == 9 + 9 + Fraction(9, 100)


def test_coefficients_that_no_grid_carries_are_refused_before_anything_is_spent(tmp_path: Path) -> None:
    far = "1000000000001 * emp / 1000000000000000 + 999999999999 * wage / 7"
    asked = ["identity", {"name": "far", "by": [], "mu": {"far": 0.5}}]
    spec = spec_of(combinations={"far": far}, queries=asked, data=CONFIDENTIAL)
    with pytest.raises(GedpError, match="far in query 'far': there is no grid for its noise"):
        gedp.run(spec, table=TABLE, out=tmp_path / "out", ledger=tmp_path / "t.ledger")
    assert not (tmp_path / "t.ledger").exists()


def test_combinations_that_no_grid_carries_are_cut_down_by_the_bounds_of_the_crowd() -> None:
    """Charges and plans hold for what is cut off only if all three are cut down by bounds that are in order too."""
    weights = SPEC.queries[-1].measures["cost"].whole_weights({"wage": Fraction(1, 100), "emp": Fraction(1)})
    addend = CombinedSum("cost", Fraction(1, 10**6), weights, SPEC.policy.attributes, 60)
    upper = {name: np.array([1e11]) for name in ("wage", "emp")}
    crowd = {name: 2 * each for name, each in upper.items()}
    alone, crowded = (addend.limits(upper, Possible((), ()), 0, by).bounds["wage"] for by in (None, crowd))
    assert 1 < crowded <= alone / 2 + 1


def test_a_rehearsal_sets_aside_the_shares_that_it_is_given() -> None:
    spec = spec_of(accounting="individual")
    asked = [query.name for query in spec.queries if not query.is_identity]
    shares = {name: dict.fromkeys(asked, 1e-3) for name in spec.asked}
    rehearsal = rehearse(open_table_of(spec, LocalEngine(TABLE)), spec, entropy=SeededEntropy(1), shares=shares)
    reserves = {name: each.reserves for name, each in rehearsal.manifest.individual.items()}
    assert reserves == shares
    assert rehearsed(spec).manifest.individual["emp"].reserves != shares["emp"]


@pytest.mark.parametrize("accounting", ACCOUNTING)
def test_progress_counts_the_queries_from_one(accounting: str, tmp_path: Path) -> None:
    spec, said = spec_of(accounting=accounting), list[tuple[str, int, int]]()
    prepared = prepare(open_table_of(spec, LocalEngine(TABLE)), spec)
    entropy = SeededEntropy(1)
    measure.answer(
        prepared, out=tmp_path / "out", ledger=None, entropy=entropy, progress=lambda *each: said.append(each)
    )
    of = len(spec.queries) - 1
    assert [step for step in said if step[0] == "queries"] == [("queries", done, of) for done in range(1, of + 1)]
