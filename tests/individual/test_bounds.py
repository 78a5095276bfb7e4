"""How far a value can move below its bound, against all pairs of close values there are."""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gedp.arrays import MOST_UNITS
from gedp.confidential.measures import class_intervals
from gedp.individual import clipping_bounds
from gedp.individual.answers import PARTS_OF_UNIT
from gedp.individual.bounds import bounds_at
from gedp.individual.classes import bounds_in, class_table
from gedp.individual.combinations import combined_bounds
from gedp.policy import Attribute, Closeness, Weights
from gedp.policy.classes import Classes
from tests.individual.test_neighbors import ATTRIBUTES

WIDE = (
    *ATTRIBUTES,
    Attribute("x", Closeness("sqrt", Decimal(3)), signed=True),
    Attribute("x", Closeness("log", Decimal(2), Decimal(5)), signed=True),
    Attribute("x", Closeness("linear", Decimal(30)), signed=True),
    Attribute("x", Closeness("sqrt", Decimal(4)), at_least=(Closeness("linear", Decimal(9)),), signed=True),
)


@pytest.mark.parametrize("attribute", WIDE, ids=lambda a: f"{a.protection.psi}, {a.protection.gamma:g}, in {a.unit}")
def test_no_close_pair_moves_a_clipped_value_by_more(attribute: Attribute) -> None:
    """Whatever lies beyond the bound; signed values through 0 as well; over k steps, by at most k times as much."""
    unit, protection = float(attribute.unit), attribute.protection
    values = np.arange(-120 if attribute.signed else int(not np.isfinite(protection.psi.at_zero)), 120)
    x, y = (side.ravel() for side in np.meshgrid(values, values))
    steps = protection.steps(x * unit, y * unit)
    for bound in range(1, 80, 3):
        found = clipping_bounds(attribute, np.array([(bound - 0.5) * unit]))
        assert found.bounds.tolist() == [bound]
        moved = np.abs(np.clip(x, -bound, bound) - np.clip(y, -bound, bound))
        assert (moved <= steps * found.sensitivity[0]).all()
        farthest = int(moved[steps <= 1].max())
        assert farthest <= found.sensitivity[0] < farthest + 1.001  # whole numbers fall short of the end by less than 1


@given(st.sampled_from(ATTRIBUTES), st.lists(st.integers(1, 10**9), min_size=1, max_size=5))
def test_whole_bounds_stay_as_they_are(attribute: Attribute, whole: list[int]) -> None:
    """A class from 0 to 4 bounds its values by 4, and a bound of one's own is not raised twice."""
    bounds = np.array(whole, dtype=np.float64)
    assert bounds_at(attribute, bounds).bounds.tolist() == whole
    size = Classes("size", attribute.name, tuple(edge * attribute.unit for edge in (Decimal(0), Decimal(5))))
    table = class_table({"size": size}, {attribute.name: attribute})
    lower, upper = (bounds_in(table, attribute, bounds, each, most=2.0**53, least=0.0) for each in (0, 1))
    assert lower.bounds.tolist() == [min(each, 4) for each in whole]
    assert upper.bounds.tolist() == whole


@given(upper=st.floats(0, 1e18), most=st.floats(1, 2**53), least=st.floats(0, 100))
def test_bounds_stay_in_range_and_sensitivity_follows_them(upper: float, most: float, least: float) -> None:
    found = clipping_bounds(ATTRIBUTES[0], np.array([upper]), most=np.floor(most), least=least)
    assert 1 <= found.bounds[0] <= np.floor(most)
    assert found.sensitivity[0] >= max(least, 1e-12)
    assert found.sensitivity[0] <= max(least, 2 * float(found.bounds[0]))


@given(
    st.lists(st.floats(1, 2.0**53), min_size=1, max_size=4),
    st.lists(st.floats(1, 2.0**53), min_size=4, max_size=4),
    st.integers(-1000, -1) | st.integers(1, 1000),
    st.floats(2.0**20, 2.0**53),
)
@example([2.0**53, 5.0], [2.0**53, 5.0, 1.0, 1.0], 3, 2.0**40)
def test_bounds_of_a_combination_are_cut_down_together_to_what_a_grid_carries(
    one: list[float], other: list[float], weight: int, most: float
) -> None:
    weights = Weights(Fraction(1), {"x": weight, "y": 2})
    upper = {"x": np.array(one), "y": np.array(other[: len(one)])}
    found = combined_bounds(weights, dict.fromkeys("xy", ATTRIBUTES[0]), upper, most=most, least=0.0)
    whole = {name: np.ceil(each) for name, each in upper.items()}
    factor = np.minimum(most / (abs(weight) * whole["x"] + 2 * whole["y"]), 1)
    for name in "xy":
        assert found.bounds[name].tolist() == np.maximum(np.floor(whole[name] * factor), 1).tolist()
    assert (abs(weight) * found.bounds["x"] + 2 * found.bounds["y"] <= most + weights.total).all()


def test_estimates_of_all_that_a_table_holds_are_added_up_without_overflow() -> None:
    assert MOST_UNITS * PARTS_OF_UNIT < 2**63


@given(st.integers(1, 10**6), st.fractions(Fraction(1, 1000), Fraction(1, 2)))
def test_classes_of_nobody_fall_out_of_their_intervals_on_either_side(rows: int, zeta: Fraction) -> None:
    size = Classes("size", "x", (Decimal(0), Decimal(5)))
    table = class_table({"size": size}, {"x": ATTRIBUTES[0]})
    mechanism: Any = SimpleNamespace(psi=ATTRIBUTES[0].protection.psi, sigma=1.0)
    tau = class_intervals(table, {"x": mechanism}, rows, zeta)["x"].tau
    assert rows * math.log1p(-math.erfc(tau / math.sqrt(2))) == pytest.approx(math.log1p(-float(zeta)), rel=1e-6)
    assert class_intervals(table, {}, rows, zeta) == {}


SPLIT = (
    Attribute("x", Closeness("sqrt", Decimal(2))),
    Attribute("x", Closeness("sqrt", Decimal(2), Decimal(3))),
    Attribute("x", Closeness("log", Decimal(1), Decimal(5))),
    Attribute("x", Closeness("linear", Decimal(7))),
    Attribute("x", Closeness("sqrt", Decimal(1)), at_least=(Closeness("linear", Decimal(6)),)),
)


@pytest.mark.parametrize("attribute", SPLIT, ids=lambda a: str(a.protection))
def test_of_gain_and_loss_close_signed_values_move_less_than_both_prices_where_bounds_are_above_what_0_is_close_to(
    attribute: Attribute,
) -> None:
    """What spec.md says: squares add up to one price in ψ, and in clipped sums down to this bound; to both below."""
    protection, values = attribute.protection, np.arange(-60, 61)
    x, y = (side.ravel() for side in np.meshgrid(values, values))
    close = replace(attribute, signed=True).protection.is_close(x, y)
    parts = [(np.maximum(sign * x[close], 0), np.maximum(sign * y[close], 0)) for sign in (1, -1)]
    in_psi = [protection.psi.distance(*part) / protection.gamma for part in parts]
    assert (in_psi[0] ** 2 + in_psi[1] ** 2).max() <= 1 + 1e-12

    def most(*bounds: int) -> float:
        squares = np.zeros(np.count_nonzero(close))
        for (one, other), bound in zip(parts, bounds, strict=True):
            sensitivity = float(bounds_at(attribute, np.array([float(bound)])).sensitivity[0])
            squares += ((np.minimum(one, bound) - np.minimum(other, bound)) / sensitivity) ** 2
        return float(squares.max())

    enough = int(np.ceil(protection.interval(0).high))
    for bounds in ((enough, enough), (enough, 50), (50, enough), (30, 50)):
        assert most(*bounds) <= 1
    assert most(1, 1) == pytest.approx(2)
