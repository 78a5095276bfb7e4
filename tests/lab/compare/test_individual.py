"""Specs with and without prices beside each other: the same questions at the same total."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.accounting.composition import PrivacyLoss, exact
from gedp.confidential.measure import rehearse
from gedp.confidential.preparing import require_sound
from gedp.errors import DomainError, FaultsError
from gedp.noise.entropy import SeededEntropy
from gedp.policy import Spec, parse_spec, pools, price, read_spec, write_spec
from gedp_lab.compare import rehearsals
from gedp_lab.compare.accounts import shares_of, with_prices, without_prices
from gedp_lab.compare.plan import make_plan
from gedp_lab.compare.rehearsals import prepare_replicates, replicate
from gedp_lab.compare.sweeps import settings_of
from gedp_lab.compare.workflows import USUAL_WEIGHTS, usual_workflows, with_attributes
from tests.helpers.runs import SPEC as PRICED
from tests.helpers.runs import SYNTHETIC, write_case
from tests.policy.test_individual import GOOD

SPEC = parse_spec(GOOD)


def test_another_total_is_spent_in_full() -> None:
    (setting,) = settings_of(SPEC, "mu=2")
    assert price(setting.spec).total == setting.spec.policy.budget == PrivacyLoss.of(2)
    assert setting.spec.queries == SPEC.queries


def test_an_attribute_gets_another_share_of_the_same_total() -> None:
    (setting,) = settings_of(SPEC, "attribute:wage=0.2")
    prices = price(setting.spec)
    assert prices.total == PrivacyLoss.of("0.6")
    assert prices.share(pools(setting.spec)["wage"]) == Fraction(1, 5)
    with pytest.raises(DomainError, match="There are: mu, attribute:emp"):
        settings_of(SPEC, "query:county=0.2")


def test_fewer_attributes_keep_their_pools() -> None:
    fewer = with_attributes(SPEC, ["emp", "wage"])
    assert [query.attributes for query in fewer.queries] == [("emp", "wage")] * 3
    for name, pool in pools(fewer).items():
        assert 0 <= pools(SPEC)[name].mu_squared - pool.mu_squared < Fraction(1, 10**14)
    assert parse_spec(write_spec(fewer)) == fewer
    assert with_attributes(SPEC, list(SPEC.policy.attributes)) == SPEC
    assert with_attributes(SPEC, ["profit"]).policy.spend == Decimal("0.3")


def paid(spec: Spec) -> dict[str, Fraction]:
    """The obvious way: for each attribute every price squared, added up."""
    sums: dict[str, Fraction] = {}
    for query in spec.queries:
        for name, mu in query.mu.items():
            sums[name] = sums.get(name, Fraction(0)) + Fraction(str(mu)) ** 2
    return sums


@given(st.lists(st.decimals("0.000001", "3", places=15), min_size=4, max_size=4))
def test_pools_are_exactly_what_the_queries_cost(prices: list[Decimal]) -> None:
    """Squares of 15 digits have 30: more than decimals keep unless they are told to."""
    spec = parse_spec(PRICED)
    identity, county, naics = spec.queries
    wanted = (
        replace(identity, mu={"emp": prices[0], "wage": prices[1]}),
        replace(county, mu={"emp": prices[2], "wage": prices[3]}),
        naics,
    )
    spec = replace(spec, queries=wanted, policy=replace(spec.policy, mu=Decimal(10)))
    made = without_prices(spec)
    assert require_sound(made) == made
    assert {name: pool.mu_squared for name, pool in pools(made).items()} == paid(spec)
    assert price(made).total == price(spec).total
    assert [(q.name, q.by, set(q.attributes)) for q in made.queries] == [
        (q.name, q.by, set(q.attributes)) for q in spec.queries
    ]


def test_tables_count_alike_and_establishments_only_where_nothing_else_does() -> None:
    made = without_prices(parse_spec(PRICED.replace("mu = { emp = 0.2, wage = 0.1 }", "mu = { emp = 0.2 }")))
    assert [dict(query.importance) for query in made.queries] == [{"emp": 0, "wage": 1}, {"emp": 1}, {"emp": 1}]
    assert require_sound(made) == made


def test_several_identity_queries_become_one() -> None:
    two = """[[queries]]
name = "jobs"
by = "establishment"
mu = { emp = 0.1 }

[[queries]]
name = "wages"
by = "establishment"
mu = { wage = 0.3 }
"""
    spec = parse_spec(PRICED.replace('[[queries]]\nname = "identity"\nby = "establishment"\nmu = 0.1\n', two))
    made = without_prices(spec)
    assert [query.name for query in made.queries] == ["jobs", "county", "naics2 x county"]
    assert require_sound(made) == made
    assert {name: pool.mu_squared for name, pool in pools(made).items()} == paid(spec)


def test_without_prices_the_paper_has_equal_shares() -> None:
    made = with_prices(SPEC)
    assert require_sound(made) == made
    for name, pool in pools(SPEC).items():
        prices = [query.mu[name] for query in made.queries if name in query.mu]
        assert len(prices) == sum(name in query.attributes for query in SPEC.queries)
        assert len(set(prices)) == 1
        assert 0 <= pool.mu_squared - paid(made)[name] < Fraction(1, 10**8)
    assert with_prices(made) == made
    assert without_prices(SPEC) == SPEC


def test_floors_are_the_prices_of_tables_and_leave_the_rest_for_establishments() -> None:
    spec = parse_spec(PRICED)
    assert shares_of(spec) == {
        "emp": {"county": pytest.approx(0.04), "naics2 x county": pytest.approx(0.01)},
        "wage": {"county": pytest.approx(0.01)},
    }
    assert shares_of(SPEC)["emp"]["total"] == pytest.approx(float(pools(SPEC)["emp"].mu_squared) / 3)
    with pytest.raises(FaultsError, match="workflow floors: its first answers need a price"):
        shares_of(parse_spec(PRICED.replace('by = "establishment"', 'by = ["naics"]')))


def test_a_spec_without_prices_is_compared_with_individual_accounting() -> None:
    assert "individual" in usual_workflows(SPEC)
    assert "individual" not in usual_workflows(parse_spec(PRICED))


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    return read_spec(write_case(tmp_path, SYNTHETIC))


def test_every_workflow_answers_specs_with_prices_and_without(spec: Spec, tmp_path: Path) -> None:
    for asked in (spec, without_prices(spec)):
        plan = make_plan(asked, str(tmp_path / "t.parquet"), workflows=list(USUAL_WEIGHTS), by=[("cnty",)], seed=1)
        table = plan.open_table()
        found = replicate(plan, table, prepare_replicates(plan, table), 0)
        assert set(found["workflow"].to_pylist()) == set(USUAL_WEIGHTS)
        assert np.isfinite(found["error"].to_numpy()).all()


def test_only_floors_have_shares_set_aside(spec: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def noted(*args: Any, **options: Any) -> Any:
        seen.append(options["shares"])
        return rehearse(*args, **options)

    plan = make_plan(spec, str(tmp_path / "t.parquet"), workflows=["individual", "floors"], by=[()], seed=1)
    table = plan.open_table()
    prepared = prepare_replicates(plan, table)
    monkeypatch.setattr(rehearsals, "rehearse", noted)
    replicate(plan, table, prepared, 0)
    assert seen == [None, shares_of(spec)]


def test_floors_are_set_aside_and_nobody_pays_more(spec: Spec, tmp_path: Path) -> None:
    """No group has more noise than its price buys, where its largest member is bounded by its own answer."""
    table = make_plan(spec, str(tmp_path / "t.parquet"), seed=1).open_table()
    shares = shares_of(spec)
    made = rehearse(table, without_prices(spec), entropy=SeededEntropy(1), shares=shares).manifest
    for name, chosen in made.individual.items():
        assert chosen.reserves == pytest.approx(shares[name], rel=1e-5)
        assert chosen.largest_share <= 1
        assert exact(chosen.mu) ** 2 + Fraction(sum(shares[name].values())) <= paid(spec)[name] * Fraction("1.000001")
    free = rehearse(table, without_prices(spec), entropy=SeededEntropy(1)).manifest
    assert all(not chosen.reserves or chosen.reserves != shares[name] for name, chosen in free.individual.items())
