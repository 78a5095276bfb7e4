"""Brute force: whatever the first answers were, no two close worlds are farther apart than was paid for, exactly."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gedp.arrays import MOST_UNITS, FloatArray
from gedp.policy import Attribute, Closeness, Query
from tests.individual.worlds import Asked, bounds_of, drawn_after, planned_once


def _attribute(psi: str, gamma: str, shift: str = "0", unit: str = "1", name: str = "x") -> Attribute:
    return Attribute(name, Closeness(psi, Decimal(gamma), Decimal(shift)), Decimal(unit))


SQRT, LOG, LINEAR = _attribute("sqrt", "0.5"), _attribute("log", "0.1"), _attribute("linear", "7")
ATTRIBUTES = (
    SQRT,
    LOG,
    LINEAR,
    _attribute("sqrt", "3", "10"),
    _attribute("log", "0.3", "1", "0.01"),
    _attribute("sqrt", "1500", unit="1000"),
    replace(SQRT, at_least=(Closeness("linear", Decimal(20)),)),
    replace(SQRT, at_least=(Closeness("log", Decimal("0.05"), Decimal(1)),), signed=True),
    replace(SQRT, signed=True),
    replace(_attribute("log", "0.4", "1"), signed=True),
    replace(_attribute("linear", "2.5", unit="0.1"), signed=True),
)
GROUPINGS = ((), ("a",), ("b",), ("a", "b"), ("c",), ("b", "c"))  # nested and crossing


def _query(by: tuple[str, ...], names: tuple[str, ...] = ("x",)) -> Query:
    return Query("-".join(by) or "total", by, importance=dict.fromkeys(names, Decimal(1)))


def _largest(attribute: Attribute) -> int:
    return min(10**9, int(MOST_UNITS / 100 / max(float(attribute.unit), 1)))


@st.composite
def cases(draw: st.DrawFn, attribute: Attribute) -> tuple[Asked, FloatArray, np.random.Generator]:
    """A few establishments, what is asked about them, and first answers that need not be plausible."""
    rows = draw(st.integers(1, 7))
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    public = {
        key: [str(code) for code in chance.integers(0, most, rows)] for key, most in zip("abc", (2, 3, 4), strict=True)
    }
    asked = draw(st.lists(st.sampled_from(GROUPINGS), min_size=1, max_size=4, unique=True))
    pool = draw(st.fractions(Fraction(1, 2), 9, max_denominator=1000))
    mu = Decimal(draw(st.integers(4, 9))) / 10 * Decimal(float(pool / (len(asked) + 1)) ** 0.5)
    mu = mu.quantize(Decimal("0.0001"))
    sizes = np.exp(chance.uniform(0, np.log(_largest(attribute)), rows)) * float(attribute.unit)
    if attribute.signed:
        sizes *= chance.choice([-1, 1], rows)
    protection = attribute.protection
    omega = protection.psi(sizes) + chance.normal(size=rows) * draw(st.sampled_from([0.1, 1, 5])) * protection.gamma
    return Asked(public, (attribute,), tuple(map(_query, asked)), {"x": (pool, mu)}), omega, chance


def close_to(attribute: Attribute, value: int) -> int:
    """The least value, in units, that counts as close."""
    unit = float(attribute.unit)
    low = int(np.ceil(float(attribute.protection.interval(value * unit).low) / unit * (1 + 1e-15)))
    least = -MOST_UNITS if attribute.signed else 0 if np.isfinite(attribute.protection.psi.at_zero) else 1
    low = max(low, least)
    assert attribute.protection.is_close(low * unit, value * unit)
    return low


BY_ATTRIBUTE = pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda a: f"{a.protection.psi} in {a.unit}")


@BY_ATTRIBUTE
@settings(max_examples=2, deadline=None)
@given(data=st.data())
def test_no_close_worlds_are_farther_apart_than_was_paid(attribute: Attribute, data: st.DataObject) -> None:
    no_close_worlds_are_farther_apart_than_was_paid(attribute, data)


@pytest.mark.slow
@BY_ATTRIBUTE
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_no_close_worlds_are_farther_apart_than_was_paid_in_more_cases(
    attribute: Attribute, data: st.DataObject
) -> None:
    no_close_worlds_are_farther_apart_than_was_paid(attribute, data)


def no_close_worlds_are_farther_apart_than_was_paid(attribute: Attribute, data: st.DataObject) -> None:
    """The worst pair for a clipped sum has its upper end at the bound; others are tried as well."""
    asked, omega, chance = data.draw(cases(attribute))
    told = {"x": omega}
    with planned_once():
        bounds = bounds_of(asked, told)["x"]
        others = chance.integers(1, _largest(attribute), len(bounds))
        for row, bound in enumerate(bounds):
            for upper in {int(min(bound, _largest(attribute))), int(others[row])}:
                high, low = others.copy(), others.copy()
                high[row], low[row] = upper, close_to(attribute, upper)
                one, two = (drawn_after(asked, {"x": world}, told) for world in (high, low))
                assert np.array_equal(one.scales, two.scales)
                assert one.squared_distance(two) <= asked.rest


def test_the_worst_pair_costs_nearly_all_that_was_paid() -> None:
    """So a little less noise, or a forgotten query, would be seen above. ψ of a sum moves less, so none here."""
    signed = replace(SQRT, signed=True)
    public = {"a": list("001122"), "b": list("010101")}
    queries = tuple(map(_query, ((), ("a",), ("b",), ("a", "b"))))
    asked = Asked(public, (signed,), queries, {"x": (Fraction(2), Decimal("0.5"))})
    sizes = np.array([10**6, 5 * 10**5, 10**8, 4 * 10**6, 10**7, 3 * 10**5])
    told = {"x": np.sqrt(sizes)}
    bounds = bounds_of(asked, told)["x"]
    assert len(bounds) == len(sizes)
    for row, bound in enumerate(bounds):
        high, low = sizes.copy(), sizes.copy()
        high[row], low[row] = bound, close_to(signed, int(bound))
        distance = drawn_after(asked, {"x": high}, told).squared_distance(drawn_after(asked, {"x": low}, told))
        assert 0.99 * asked.rest < distance <= asked.rest


def test_attributes_of_one_establishment_add_up() -> None:
    wage = _attribute("log", "0.1", "1", "0.01", "wage")
    prices = {"x": (Fraction(1), Decimal("0.4")), "wage": (Fraction(2), Decimal("0.5"))}
    queries = (_query((), ("x", "wage")), _query(("a",), ("wage",)), _query(("b",), ("x",)))
    asked = Asked({"a": list("0011"), "b": list("0101")}, (SQRT, wage), queries, prices)
    sizes = {"x": np.array([10**6, 10**5, 10**7, 10**6]), "wage": np.array([10**9, 10**6, 10**8, 10**7])}
    told = {"x": np.sqrt(sizes["x"]), "wage": np.log(sizes["wage"] * 0.01 + 1)}
    bounds = bounds_of(asked, told)
    high, low = ({name: values.copy() for name, values in sizes.items()} for _ in range(2))
    for attribute in (SQRT, wage):
        bound = int(bounds[attribute.name][0])
        high[attribute.name][0], low[attribute.name][0] = bound, close_to(attribute, bound)
    distance = drawn_after(asked, high, told).squared_distance(drawn_after(asked, low, told))
    assert 0.99 * asked.rest < distance <= asked.rest
