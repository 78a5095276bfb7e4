"""How far a value can move below its bound, against all pairs of close values there are."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.individual import clipping_bounds
from gedp.policy import Attribute, Closeness
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


@given(upper=st.floats(0, 1e18), most=st.floats(1, 2**53), least=st.floats(0, 100))
def test_bounds_stay_in_range_and_sensitivity_follows_them(upper: float, most: float, least: float) -> None:
    found = clipping_bounds(ATTRIBUTES[0], np.array([upper]), most=np.floor(most), least=least)
    assert 1 <= found.bounds[0] <= np.floor(most)
    assert found.sensitivity[0] >= max(least, 1e-12)
    assert found.sensitivity[0] <= max(least, 2 * float(found.bounds[0]))
