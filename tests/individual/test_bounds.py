"""How far a value can move below its bound, against all pairs of close values there are."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.individual import clipping_bounds
from gedp.individual.bounds import bounds_at
from gedp.individual.classes import bounds_in, class_table
from gedp.policy import Attribute, Closeness
from gedp.policy.classes import Classes, ClassQuery
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
    """Whatever lies beyond the bound; signed values through 0 as well."""
    unit, protection = float(attribute.unit), attribute.protection
    values = np.arange(-120 if attribute.signed else int(not np.isfinite(protection.psi.at_zero)), 120)
    x, y = (side.ravel() for side in np.meshgrid(values, values))
    are_close = protection.is_close(x * unit, y * unit)
    x, y = x[are_close], y[are_close]
    for bound in range(1, 80, 3):
        found = clipping_bounds(attribute, np.array([(bound - 0.5) * unit]))
        assert found.bounds.tolist() == [bound]
        farthest = int(np.abs(np.clip(x, -bound, bound) - np.clip(y, -bound, bound)).max())
        assert farthest <= found.sensitivity[0] < farthest + 1.001  # whole numbers fall short of the end by less than 1


@given(st.sampled_from(ATTRIBUTES), st.lists(st.integers(1, 10**9), min_size=1, max_size=5))
def test_whole_bounds_stay_as_they_are(attribute: Attribute, whole: list[int]) -> None:
    """A class from 0 to 4 bounds its values by 4, and a bound of one's own is not raised twice."""
    bounds = np.array(whole, dtype=np.float64)
    assert bounds_at(attribute, bounds).bounds.tolist() == whole
    size = Classes("size", attribute.name, tuple(edge * attribute.unit for edge in (Decimal(0), Decimal(5))))
    query = ClassQuery("by size", ("size",), ("size",))
    table = class_table(query, {"size": size}, {attribute.name: attribute})
    lower, upper = (bounds_in(table, attribute, bounds, each, most=2.0**53, least=0.0) for each in (0, 1))
    assert lower.bounds.tolist() == [min(each, 4) for each in whole]
    assert upper.bounds.tolist() == whole


@given(upper=st.floats(0, 1e18), most=st.floats(1, 2**53), least=st.floats(0, 100))
def test_bounds_stay_in_range_and_sensitivity_follows_them(upper: float, most: float, least: float) -> None:
    found = clipping_bounds(ATTRIBUTES[0], np.array([upper]), most=np.floor(most), least=least)
    assert 1 <= found.bounds[0] <= np.floor(most)
    assert found.sensitivity[0] >= max(least, 1e-12)
    assert found.sensitivity[0] <= max(least, 2 * float(found.bounds[0]))
