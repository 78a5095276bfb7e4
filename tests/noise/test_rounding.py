"""Numbers rounded to a chosen side, and the variance of noise in whole numbers, against their definitions."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import norm

from gedp.neighbors.estimates import WIDE, whole_variance
from gedp.noise.rounding import at_least, at_most, float_down, float_up, floor_log2

positive = st.fractions(min_value=Fraction(1, 10**30), max_value=10**30)


@given(st.floats(-1e30, 1e30))
@example(0.1)  # a little more than a tenth
@example(0.3)  # a little less than three tenths
def test_a_float_counts_as_what_it_is_or_as_what_it_says_whichever_is_safe(number: float) -> None:
    is_, says = Fraction(number), Fraction(Decimal(repr(number)))
    assert (at_most(number), at_least(number)) == (min(is_, says), max(is_, says))


@given(st.one_of(st.fractions(), st.integers(), st.decimals(allow_nan=False, allow_infinity=False)))
def test_other_numbers_count_as_what_they_are(number: Fraction | Decimal) -> None:
    assert at_most(number) == at_least(number) == Fraction(number)


@given(st.one_of(st.fractions(-(10**30), 10**30), st.floats(-1e30, 1e30).map(Fraction)))
@example(Fraction(1, 3))
@example(Fraction(1, 10))
def test_the_next_floats_on_both_sides(number: Fraction) -> None:
    below, above = float_down(number), float_up(number)
    assert Fraction(below) <= number <= Fraction(above)
    assert below == above or math.nextafter(below, math.inf) == above
    assert below < above or Fraction(below) == number


@given(st.one_of(positive, st.integers(-90, 90).map(lambda e: Fraction(2) ** e)))
def test_the_power_of_two_at_or_below_a_number(number: Fraction) -> None:
    e = floor_log2(number)
    assert Fraction(2) ** e <= number < Fraction(2) ** (e + 1)


@pytest.mark.parametrize("sigma", [0.1, 0.5, 1.0, 1.7, WIDE - 1e-9, WIDE, 2.5, 7.0])
def test_the_variance_of_whole_noise_is_that_of_its_distribution(sigma: float) -> None:
    k = np.arange(-100, 101)
    chances = norm.cdf((k + 0.5) / sigma) - norm.cdf((k - 0.5) / sigma)
    assert whole_variance(np.array([[sigma]])) == pytest.approx(np.array([[(k**2 * chances).sum()]]), rel=1e-9)


def test_variances_of_whole_noise_keep_the_shape_of_what_is_asked() -> None:
    each = whole_variance(np.array([[0.5, 1.0, 3.0], [2.0, 0.7, 1.5]]))
    assert each.shape == (2, 3)
    assert each[1, 1] == pytest.approx(float(whole_variance(np.array(0.7))))
