"""Combinations in a spec: exact coefficients, prices that add up, faults in words."""

from decimal import Decimal
from fractions import Fraction
from operator import neg

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.errors import FaultsError
from gedp.policy import Measure, parse_spec, pools, price, set_aside, whole_pools, write_spec

SPEC = """
[data]
public = ["cnty"]
id = "id"
source = "t.parquet"

[attributes]
revenue = { psi = "sqrt", gamma = 0.5, unit = 0.01 }
cost = { psi = "sqrt", gamma = 0.5 }
gift = { psi = "sqrt", gamma = 0.5, split = true }

[combinations]
profit = "revenue - cost"
mean = "(revenue + cost - 2 * gift) / 3"

[budget]
mu = 4

[[queries]]
name = "identity"
by = "establishment"
mu = 1

[[queries]]
name = "county"
title = "Profits by county"
by = ["cnty"]
mu = { profit = 0.5, mean = 0.3 }
"""
INDIVIDUAL = SPEC.replace("mu = 1\n", "importance = 1\n").replace("mu = { profit", "importance = { profit")


def test_coefficients_are_exact_and_a_split_column_is_gain_minus_loss() -> None:
    found = parse_spec(SPEC).combinations["mean"].coefficients
    third = Fraction(1, 3)
    assert found == {"revenue": third, "cost": third, "gift_gain": -2 * third, "gift_loss": 2 * third}


def test_queries_for_combinations_are_no_plain_ones() -> None:
    spec = parse_spec(SPEC)
    assert [query.name for query in spec.plain] == ["identity"]
    assert spec.queries[1].title == "Profits by county"
    assert spec.queries[1].mu == {"profit": Decimal("0.5"), "mean": Decimal("0.3")}


@pytest.mark.parametrize("text", [SPEC, INDIVIDUAL])
def test_a_spec_with_combinations_is_written_as_it_was_read(text: str) -> None:
    assert parse_spec(write_spec(parse_spec(text))) == parse_spec(text)


def test_a_combination_is_paid_once_in_equal_parts() -> None:
    prices = price(parse_spec(SPEC))
    assert prices.of_query("county").mu_squared == Fraction(1, 4) + Fraction(9, 100)
    found = {line.attribute: line.loss.mu_squared for line in prices.lines if line.query == "county"}
    assert found["gift_gain"] == Fraction(9, 400)
    assert found["cost"] == Fraction(1, 8) + Fraction(9, 400)


def test_pools_and_what_is_set_aside_are_what_is_spent() -> None:
    spec = parse_spec(INDIVIDUAL)
    aside = set_aside(spec.queries[-1], spec)
    for name, whole in whole_pools(spec).items():
        parts = sum((part[name].mu_squared for part in aside.values() if name in part), Fraction(0))
        assert parts + pools(spec)[name].mu_squared == whole.mu_squared
    assert price(spec).total == spec.policy.spent


positive = st.fractions(Fraction(1, 1000), 1000, max_denominator=1000)


@given(
    st.lists(positive | positive.map(neg), min_size=2, max_size=5),
    st.lists(st.integers(-(10**6), 10**6), min_size=5, max_size=5),
    st.sampled_from([Fraction(1), Fraction(1, 100), Fraction(1, 3)]),
)
def test_weights_are_whole_and_give_the_combination_exactly(
    coefficients: list[Fraction], amounts: list[int], unit: Fraction
) -> None:
    named = {f"a{place}": coefficient for place, coefficient in enumerate(coefficients)}
    units = dict.fromkeys(named, unit)
    weights = Measure("c", named, ()).whole_weights(units)
    combined = sum(weight * amount for weight, amount in zip(weights.of.values(), amounts, strict=False))
    truth = sum(c * unit * amount for c, amount in zip(coefficients, amounts, strict=False))
    assert weights.unit * combined == truth
    assert all(weights.of.values())
    larger = weights.unit * 2
    assert any((c * unit / larger).denominator > 1 for c in coefficients)  # no larger unit would do


FAULTS = [
    (('"revenue - cost"', '"revenue / cost"'), "line 13, combinations.profit: it divides by an attribute"),
    (('"revenue - cost"', '"revenue - costs"'), "'costs' is not a confidential attribute. Did you mean 'cost'?"),
    (('"revenue - cost"', '"revenue + 1"'), "a number is added to attributes"),
    (('"revenue - cost"', '"2 * revenue"'), "it must be of 2 to 100 attributes"),
    (("profit = ", "Cost = "), "line 13, combinations.Cost: this name is taken"),
    (("{ profit = 0.5, mean", "{ revenue = 0.5, mean"), "it asks for combinations, and for revenue"),
    (("{ profit = 0.5, mean", "{ profits = 0.5, mean"), "'profits' is not a confidential attribute"),
    (('by = ["cnty"]', 'by = "establishment"'), "combinations are of groups"),
    (('by = ["cnty"]', 'by = ["cnty"]\nmechanism = "psi"'), "combinations are always of clipped values"),
    (('by = ["cnty"]', 'by = ["cnty"]\nimportance = 1'), "the query has a price"),
    (('by = ["cnty"]', 'by = ["cnty"]\ncount = true'), "Count establishments in a query of its own"),
    (("mu = 1\n", "mu = { revenue = 1 }\n"), "profit, mean needs the identity query for cost, and there is none"),
]


@pytest.mark.parametrize(("change", "said"), FAULTS)
def test_faults_are_named(change: tuple[str, str], said: str) -> None:
    assert change[0] in SPEC
    with pytest.raises(FaultsError) as found:
        parse_spec(SPEC.replace(*change))
    assert said in str(found.value)


def test_an_unknown_combination_beside_others_that_need_the_identity_query_is_a_fault_too() -> None:
    text = SPEC.replace("{ profit = 0.5, mean", "{ profits = 0.5, mean").replace("mu = 1\n", "mu = { revenue = 1 }\n")
    with pytest.raises(FaultsError) as found:
        parse_spec(text)
    assert "'profits' is not a confidential attribute" in str(found.value)
    assert "mean needs the identity query for cost, and there is none" in str(found.value)
