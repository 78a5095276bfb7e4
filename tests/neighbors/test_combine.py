"""widen and narrow: containment, the four conditions, closed forms, and the sound form for any function."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gedp.arrays import FloatArray
from gedp.errors import DomainError
from gedp.neighbors import (
    Linear,
    Log,
    NeighborFunction,
    Piecewise,
    Protection,
    Signed,
    Sqrt,
    check_neighbor_function,
    narrow,
    widen,
)
from gedp.neighbors.combine import is_narrower
from tests.helpers.strategies import (
    basic_protections,
    combined_protections,
    finite_protections,
    positive_values,
    protections,
)

X = np.geomspace(1e-2, 1e12, 300)


@dataclass(frozen=True)
class Power(NeighborFunction):
    """x^p: a user's own function, for which no closed form is known to `widen`."""

    p: float

    @property
    def at_zero(self) -> float:
        return 0.0

    def __call__(self, x: npt.ArrayLike) -> FloatArray:
        return np.asarray(x, dtype=np.float64) ** self.p

    def inverse(self, y: npt.ArrayLike) -> FloatArray:
        return self._above_lowest(y) ** (1 / self.p)

    def slope(self, x: npt.ArrayLike) -> FloatArray:
        with np.errstate(divide="ignore"):
            return self.p * np.asarray(x, dtype=np.float64) ** (self.p - 1)

    def __str__(self) -> str:
        return f"x^{self.p}"


def contains(outer: Protection, inner: Protection, x: FloatArray) -> None:
    wide, small = outer.interval(x), inner.interval(x)
    rounding = 1e-11 * (x + small.high)
    assert (wide.low <= small.low + rounding).all()
    assert (wide.high >= small.high - rounding).all()


@given(protections, protections)
def test_widened_intervals_contain_both(a: Protection, b: Protection) -> None:
    wide = widen(a, b)
    assert wide.gamma == 1.0
    contains(wide, a, X)
    contains(wide, b, X)


@given(protections, protections)
def test_narrowed_intervals_lie_inside_both(a: Protection, b: Protection) -> None:
    small = narrow(a, b)
    contains(a, small, X)
    contains(b, small, X)


@given(basic_protections, basic_protections)
def test_the_picked_slope_is_the_smaller_and_the_larger(a: Protection, b: Protection) -> None:
    slopes = a.psi.slope(X) / a.gamma, b.psi.slope(X) / b.gamma
    np.testing.assert_allclose(widen(a, b).psi.slope(X), np.minimum(*slopes), rtol=1e-10)
    np.testing.assert_allclose(narrow(a, b).psi.slope(X), np.maximum(*slopes), rtol=1e-10)


@given(combined_protections, positive_values, positive_values)
def test_distance_is_the_integral_of_the_slope(protection: Protection, x: float, y: float) -> None:
    """Oracle: Gauss-Legendre quadrature in log x over many short stretches."""
    x, y = min(x, y), max(x, y)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    edges = np.linspace(np.log(x), np.log(y), 400)
    middles, halves = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    points = np.exp(middles[:, None] + halves[:, None] * nodes)
    integral = float(np.sum(protection.psi.slope(points) * points * weights * halves[:, None]))
    assert float(protection.psi.distance(x, y)) == pytest.approx(integral, rel=1e-4, abs=1e-12)
    assert float(protection.psi.distance(y, x)) == -float(protection.psi.distance(x, y))


@given(combined_protections)
@settings(max_examples=12)
def test_combinations_satisfy_the_four_conditions(protection: Protection) -> None:
    assert check_neighbor_function(protection.psi) == ()


@given(st.floats(0.05, 50), st.floats(0.05, 500))
def test_sqrt_with_linear_has_the_papers_closed_form(gamma: float, d: float) -> None:
    psi = widen(Protection(Sqrt(), gamma), Protection(Linear(), d)).psi
    turn = d * d / (4 * gamma * gamma)
    expected = np.where(turn >= X, X / d, np.sqrt(X) / gamma - d / (4 * gamma * gamma))
    np.testing.assert_allclose(psi(X), expected, rtol=1e-10)
    assert psi(0.0) == 0.0


@given(protections, protections)
@example(Protection(Sqrt(), 0.7), Protection(Log(2), 0.15))
def test_rounding_makes_no_intervals_narrower(a: Protection, b: Protection) -> None:
    """However the two are put together, and where pieces meet one rounding apart."""
    for wide in (widen(a, b), widen(b, a)):
        assert not is_narrower(wide, a)
        assert not is_narrower(wide, b)
    assert not is_narrower(widen(a, b), widen(b, a))
    assert not is_narrower(a, narrow(a, b))


@given(protections, protections, st.floats(1e-10, 1))
def test_whatever_is_narrower_by_more_than_rounding_is_found(a: Protection, b: Protection, share: float) -> None:
    """Oracle: the two slopes at many values."""
    slightly = Protection(a.psi, a.gamma / (1 + share))
    assert is_narrower(slightly, a)
    assert is_narrower(narrow(slightly, b), a)
    steeper = np.max((a.psi.slope(X) / a.gamma) / (b.psi.slope(X) / b.gamma))
    if steeper > 1 + 1e-11:
        assert is_narrower(a, b)


@given(finite_protections)
def test_signed_protections_are_as_narrow_as_their_sides(a: Protection) -> None:
    signed = Protection(Signed(a.psi), a.gamma)
    assert not is_narrower(signed, signed)
    assert is_narrower(Protection(Signed(a.psi), a.gamma / 2), signed)
    with pytest.raises(DomainError, match="signed"):
        is_narrower(signed, a)


def test_of_functions_without_a_closed_form_whatever_may_be_narrower_is() -> None:
    power = Protection(Power(0.3), 1.0)
    assert not is_narrower(power, power)
    assert is_narrower(Protection(Power(0.3), 0.9), power)
    assert is_narrower(power, Protection(Linear(), 1.0))


def test_combining_again_keeps_the_number_of_pieces_small() -> None:
    parts = [Protection(Sqrt(), 0.5), Protection(Linear(), 3), Protection(Log(1), 0.01), Protection(Sqrt(10), 0.7)]
    wide = parts[0]
    for part in [*parts[1:], *parts]:
        wide = widen(wide, part)
    assert isinstance(wide.psi, Piecewise)
    assert len(wide.psi.pieces) <= 4


@given(basic_protections)
def test_combining_with_itself_changes_nothing(protection: Protection) -> None:
    for combine in (widen, narrow):
        same = combine(protection, protection)
        assert np.allclose(same.interval(X).high, protection.interval(X).high, rtol=1e-12)
        assert np.allclose(same.interval(X).low, protection.interval(X).low, rtol=1e-12)


def test_narrowing_with_log_leaves_no_promise_about_existence() -> None:
    assert narrow(Protection(Sqrt(), 0.5), Protection(Log(), 0.1)).psi.at_zero == -np.inf
    assert widen(Protection(Sqrt(), 0.5), Protection(Log(), 0.1)).psi.at_zero == 0.0
    with pytest.raises(DomainError, match="no value at 0"):
        narrow(Protection(Log(2), 1.0), Protection(Log(), 0.1)).psi(0.0)


own_protections = st.tuples(st.floats(0.1, 1.0), st.floats(0.05, 5)).map(lambda pg: Protection(Power(pg[0]), pg[1]))


@given(own_protections, st.one_of(own_protections, basic_protections))
@settings(max_examples=25)
def test_any_pair_of_functions_combines_soundly(a: Protection, b: Protection) -> None:
    x = np.geomspace(1.0, 1e9, 60)
    wide, small = widen(a, b), narrow(a, b)
    for part in (a, b):
        contains(wide, part, x)
        contains(part, small, x)
    # Sound bounds must not be idle: they follow the true slopes closely.
    slopes = a.psi.slope(x) / a.gamma, b.psi.slope(x) / b.gamma
    np.testing.assert_allclose(wide.psi.slope(x), np.minimum(*slopes), rtol=0.05)
    np.testing.assert_allclose(small.psi.slope(x), np.maximum(*slopes), rtol=0.05)
    np.testing.assert_allclose(wide.psi.inverse(wide.psi(x)), x, rtol=1e-9)


def test_a_pair_of_own_functions_satisfies_the_conditions() -> None:
    a, b = Protection(Power(0.3), 0.1), Protection(Power(0.5), 0.5)
    for combined in (widen(a, b), narrow(a, b), widen(a, a)):
        assert check_neighbor_function(combined.psi) == ()


def test_a_function_of_ones_own_is_further_apart_where_floats_leave_it_open() -> None:
    protection = Protection(Power(0.25), 0.5)
    assert protection.steps(81.0, [255.9999, 256.0]).tolist() == [2, 3]  # exactly 2 steps, which floats cannot know
    assert protection.is_close(16.0, [39.06, 39.0625]).tolist() == [True, False]


def test_signed_protections_combine_with_signed_ones_only() -> None:
    a, b = Protection(Signed(Sqrt()), 0.5), Protection(Signed(Linear()), 3.0)
    wide = widen(a, b)
    assert isinstance(wide.psi, Signed)
    assert wide.is_close(-1.0, 1.5)
    with pytest.raises(DomainError, match="signed"):
        widen(a, Protection(Linear(), 3.0))


@dataclass(frozen=True)
class Stairs(NeighborFunction):
    """Linear pieces joined by logarithmic ones: slope elasticity 0 and 1 in turn, so it crosses sqrt often."""

    ratio: float

    @property
    def at_zero(self) -> float:
        return 0.0

    def slope(self, x: npt.ArrayLike) -> FloatArray:
        exponent = np.log(np.maximum(np.asarray(x, dtype=np.float64), 1e-200)) / np.log(self.ratio)
        step, within = np.floor(exponent / 2), np.mod(exponent, 2)
        slope: FloatArray = self.ratio ** (-step - np.maximum(within - 1, 0.0))
        return slope

    def __call__(self, x: npt.ArrayLike) -> FloatArray:
        raise NotImplementedError

    def inverse(self, y: npt.ArrayLike) -> FloatArray:
        raise NotImplementedError


@pytest.mark.parametrize("ratio", [1.3, 1.004])
def test_slopes_that_cross_often_are_bounded_from_the_safe_side(ratio: float) -> None:
    stairs, sqrt = Protection(Stairs(ratio), 1.0), Protection(Sqrt(), 0.5 / 1.001)
    x = np.geomspace(1e-3, 1e20, 200_000)
    slopes = stairs.psi.slope(x), sqrt.psi.slope(x) / sqrt.gamma
    assert np.count_nonzero(np.diff(np.sign(slopes[0] - slopes[1]))) > 50
    assert (widen(stairs, sqrt).psi.slope(x) <= np.minimum(*slopes) * (1 + 1e-9)).all()
    assert (narrow(stairs, sqrt).psi.slope(x) >= np.maximum(*slopes) * (1 - 1e-9)).all()


def test_distances_too_far_apart_are_refused() -> None:
    with pytest.raises(DomainError, match="too far apart"):
        widen(Protection(Sqrt(), 1e-160), Protection(Linear(), 1e160))
