"""Sweeps: the total stays where it should, shares are what was asked for, and the rest keeps its proportions."""

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.errors import DomainError
from gedp.policy import Data, Policy, Query, Spec, price
from gedp_lab.compare.sweeps import AS_IS, settings_of
from tests.microdata.test_fit import ATTRIBUTES

NAMES = list(ATTRIBUTES)
TICK = Fraction(1, 10**9)
prices = st.decimals("0.001", "3", places=3)
one = st.dictionaries(st.sampled_from(NAMES), prices, min_size=1)
of_several = st.dictionaries(st.sampled_from(NAMES), prices, min_size=2)
shares = st.decimals("0.01", "0.99", places=2)


@st.composite
def queries(draw: st.DrawFn) -> list[dict[str, Decimal]]:
    """The prices of two queries or more, for two attributes or more in all."""
    found = draw(st.lists(one, min_size=2, max_size=4))
    names = {name for mu in found for name in mu}
    if len(names) == 1:
        found[0][draw(st.sampled_from([name for name in NAMES if name not in names]))] = draw(prices)
    return found


def spec_of(found: list[dict[str, Decimal]], budget: str = "100") -> Spec:
    listed = tuple(Query(f"q{i}", ("cnty",), mu) for i, mu in enumerate(found))
    return Spec(Data("x", ("cnty",), synthetic=True), Policy(ATTRIBUTES, Decimal(budget)), listed)


Answer = tuple[str, str]  # a query and an attribute


def mus(spec: Spec) -> dict[Answer, Fraction]:
    return {(q.name, a): Fraction(mu) for q in spec.queries for a, mu in q.mu.items()}


def squares(spec: Spec) -> dict[Answer, Fraction]:
    return {answer: mu**2 for answer, mu in mus(spec).items()}


def keep_proportions(answers: Iterable[Answer], before: Spec, after: Spec) -> bool:
    """Whether one factor gives the mu of all of them, each rounded down to a tick."""
    changes = [(mus(before)[answer], mus(after)[answer]) for answer in answers]
    return max(now / was for was, now in changes) <= min((now + TICK) / was for was, now in changes)


def test_a_total_takes_the_place_of_a_budget_in_rho() -> None:
    spec = spec_of([{NAMES[0]: Decimal("0.5")}, {NAMES[1]: Decimal("0.5")}])
    in_rho = replace(spec, policy=replace(spec.policy, rho=Decimal("0.25")))
    (setting,) = settings_of(in_rho, "mu=2")
    assert price(setting.spec).budget.mu == 2
    assert price(setting.spec).within_budget


@given(queries(), st.decimals("0.1", "20", places=2))
def test_a_total_is_reached_and_never_passed(found: list[dict[str, Decimal]], total: Decimal) -> None:
    spec = spec_of(found)
    (setting,) = settings_of(spec, f"mu={total}")
    assert setting.name == f"mu={total}"
    assert setting.spec.policy.mu == total
    assert price(setting.spec).within_budget
    assert price(setting.spec).total.mu == pytest.approx(float(total), rel=1e-6)
    assert keep_proportions(mus(spec), spec, setting.spec)


@given(queries(), shares, st.data())
def test_a_share_is_of_mu_squared_at_the_same_total(
    found: list[dict[str, Decimal]], share: Decimal, data: st.DataObject
) -> None:
    spec = spec_of(found)
    kind = data.draw(st.sampled_from(["query", "attribute"]))
    name = data.draw(st.sampled_from(sorted({key[kind == "attribute"] for key in squares(spec)})))
    (setting,) = settings_of(spec, f"{kind}:{name}={share}")
    before, after = squares(spec), squares(setting.spec)
    total = sum(after.values())
    inside = sum(square for key, square in after.items() if key[kind == "attribute"] == name)
    assert float(inside / total) == pytest.approx(float(share), rel=1e-4)
    assert total <= sum(before.values()) * (1 + Fraction(1, 10**24))
    assert float(total) == pytest.approx(float(sum(before.values())), rel=1e-5)
    for part in (True, False):
        answers = [key for key in before if (key[kind == "attribute"] == name) == part]
        assert keep_proportions(answers, spec, setting.spec)


@given(st.lists(one, min_size=1, max_size=3), of_several, shares, st.data())
def test_a_share_within_a_query_moves_budget_inside_that_query_alone(
    others: list[dict[str, Decimal]], wide: dict[str, Decimal], share: Decimal, data: st.DataObject
) -> None:
    spec = spec_of([*others, wide])
    several = [(query.name, name) for query in spec.queries for name in query.mu if len(query.mu) > 1]
    query, name = data.draw(st.sampled_from(several))
    (setting,) = settings_of(spec, f"within:{query}:{name}={share}")
    before, after = squares(spec), squares(setting.spec)
    assert {key: square for key, square in after.items() if key[0] != query} == {
        key: square for key, square in before.items() if key[0] != query
    }
    whole = sum(square for key, square in after.items() if key[0] == query)
    had = sum(square for key, square in before.items() if key[0] == query)
    assert float(after[query, name] / whole) == pytest.approx(float(share), rel=1e-4)
    assert float(whole) == pytest.approx(float(had), rel=1e-5)
    assert whole <= had * (1 + Fraction(1, 10**24))
    assert keep_proportions([key for key in before if key[0] == query and key[1] != name], spec, setting.spec)


def test_the_share_that_it_has_changes_nothing_and_is_within_the_budget() -> None:
    spec = spec_of([{"emp": Decimal("0.1")}, {"wage": Decimal("0.7")}])
    (setting,) = settings_of(spec, "query:q0=0.02")
    assert [float(mu) for q in setting.spec.queries for mu in q.mu.values()] == pytest.approx([0.1, 0.7], abs=2e-9)
    exactly = replace(spec, policy=replace(spec.policy, mu=Decimal("0.7071067811865475244008443622")))
    assert price(settings_of(exactly, "query:q0=0.3")[0].spec).within_budget


def test_without_a_sweep_there_is_the_spec_itself() -> None:
    spec = spec_of([{"emp": Decimal(1)}, {"wage": Decimal(1)}])
    (setting,) = settings_of(spec, None)
    assert (setting.name, setting.spec) == (AS_IS, spec)
    assert [s.name for s in settings_of(spec, "mu=1, 2,1.0")] == ["mu=1", "mu=2"]


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        ("mu", "is not a sweep"),
        ("mu=", "is not a sweep"),
        ("mu=1,x", "is not a sweep"),
        ("mu=nan", "is not a sweep"),
        ("mu=inf", "is not a sweep"),
        ("mu=0", "above 0"),
        ("mu=1,1e20", "at most 1e\\+15"),
        ("mu=1e400", "at most 1e\\+15"),
        ("mu=9e999999999", "at most 1e\\+15"),
        ("mu=1e-12", "nothing is left"),
        ("query:q9=0.1", "There are: mu, query:q0, query:q1, attribute:emp"),
        ("nonsense:q0=0.1", "cannot sweep"),
        ("query:q0=1", "between 0 and 1"),
        ("attribute:area=0.1", "cannot sweep"),
        ("within:q0:emp=0.1", "nothing or everything"),
        ("within:q0:wage=0.1", "cannot sweep"),
        ("within:q0=0.1", "cannot sweep"),
    ],
)
def test_bad_sweeps_are_one_message(sweep: str, message: str) -> None:
    with pytest.raises(DomainError, match=message):
        settings_of(spec_of([{"emp": Decimal(1)}, {"wage": Decimal(1)}]), sweep)
