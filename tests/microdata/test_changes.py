"""Change and percentage of independent figures: against dense numerical sets, against laws, and against chance."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import ndtri

from gedp.arrays import BoolArray, FloatArray
from gedp.estimates import Estimates, Figures
from gedp.microdata.changes import FITS, difference, is_clearly_positive, is_significant, percentage
from gedp.microdata.ratios import CLEAR, Ratio, estimate

Z = float(ndtri(0.975))


def normal(estimates: float | FloatArray, errors: float | FloatArray, z: float = Z) -> Figures:
    """Figures with normal intervals."""
    x, s = np.broadcast_arrays(np.atleast_1d(np.asarray(estimates, float)), np.asarray(errors, float))
    return Estimates.of_kind(x, s**2, "exact").between(x - z * s, x + z * s)


class One(NamedTuple):
    estimate: float
    std_error: float
    low: float
    high: float


def only(found: Figures) -> One:
    return One(*(float(part[0]) for part in (found.estimate, found.std_error, found.ci_low, found.ci_high)))


def is_in_set(r: FloatArray, new: One, old: One) -> BoolArray:
    """Whether 0 is in the interval of new − r·old, made of the intervals of both, for every r."""
    ends = np.sort([r * old.low, r * old.high], axis=0)
    gap = new.estimate - r * old.estimate
    below = np.hypot(new.estimate - new.low, ends[1] - r * old.estimate)
    above = np.hypot(new.high - new.estimate, r * old.estimate - ends[0])
    found: BoolArray = (gap - below <= 0) & (gap + above >= 0)
    return found


def figure(estimate: float, error: float, low: float, high: float) -> Figures:
    """One figure with any interval."""
    x, variance, below, above = (np.array([value]) for value in (estimate, error**2, low, high))
    return Estimates.of_kind(x, variance, "exact").between(below, above)


sizes = st.floats(-1e6, 1e6)
reaches = st.floats(1e-3, 1e5)


@st.composite
def skewed(draw: st.DrawFn, at: float) -> Figures:
    """A figure with another reach below than above."""
    below, above = draw(reaches), draw(reaches)
    return figure(at, (below + above) / (2 * Z), at - below, at + above)


@given(data=st.data(), n=sizes, o=st.floats(1e-2, 1e6))
def test_the_interval_of_a_percentage_is_a_dense_set_of_quotients(data: st.DataObject, n: float, o: float) -> None:
    """Searched in a grid of quotients around the interval, which must be in it exactly where the definition says."""
    new, old = data.draw(skewed(n)), data.draw(skewed(o))
    found = only(percentage(new, old))
    if not is_clearly_positive(old)[0]:
        assert np.isnan(found).all()
        return
    low, high = found.low / 100 + 1, found.high / 100 + 1
    assert low <= n / o * (1 + 1e-9 * np.sign(n)) + 1e-12
    grid = np.linspace(low - 2 * (high - low), high + 2 * (high - low), 4001)
    inside = is_in_set(grid, only(new), only(old))
    near = 1e-6 * (high - low)
    is_sure = (np.abs(grid - low) > near) & (np.abs(grid - high) > near)
    assert (inside == ((grid > low) & (grid < high)))[is_sure].all()


@given(n=sizes, s=reaches, o=st.floats(1e-2, 1e6), precision=st.floats(0.1, 1000))
@example(n=0.0, s=1.0, o=5.0, precision=10.0)
@example(n=-50.0, s=1.0, o=5.0, precision=3.5)
def test_of_totals_it_is_fieller_s(n: float, s: float, o: float, precision: float) -> None:
    """All r with (n − r o)² ≤ z² (s_n² + r² s_o²), as for a ratio of two totals."""
    new, old = normal(n, s), normal(o, o / precision)
    found = only(percentage(new, old))
    if precision < max(CLEAR, FITS * Z) * (1 - 1e-9):
        assert np.isnan(found).all()
        return
    if precision < max(CLEAR, FITS * Z) * (1 + 1e-9):
        return
    known = {
        name: Estimates.of_kind(each.estimate, each.std_error**2, "exact") for name, each in (("n", new), ("o", old))
    }
    fieller = estimate(Ratio("r", {"n": 1.0}, {"o": 1.0}), known, 0.95)
    ends = (fieller.estimate, fieller.ci_low, fieller.ci_high)
    expected = [100 * (float(end[0]) - 1) for end in ends]
    near = 1e-6 * (found.high - found.low)
    assert [found.estimate, found.low, found.high] == pytest.approx(expected, rel=1e-9, abs=near)
    assert found.std_error == pytest.approx(100 * float(fieller.std_error[0]))


@given(n=sizes, s=reaches, o=sizes, t=reaches, confidence=st.sampled_from([0.5, 0.9, 0.95, 0.999, 0.999999]))
def test_percentages_stay_bounded_or_are_not_given(n: float, s: float, o: float, t: float, confidence: float) -> None:
    """Whatever the confidence, no end is further away than a few times the estimate and the error of the new figure."""
    z = float(ndtri((1 + confidence) / 2))
    new, old = normal(n, s, z), normal(o, t, z)
    found = only(percentage(new, old))
    is_base = o >= max(CLEAR, FITS * z) * t
    assert np.isfinite(found).all() if is_base else np.isnan(found).all()
    if is_base:
        largest = 1 + (abs(n) + z * s) / o
        assert -400 * largest < found.low <= found.estimate + 1e-6 <= found.high + 2e-6 < 400 * largest


@given(data=st.data(), n=sizes, o=sizes)
def test_change_and_percentage_are_significant_together(data: st.DataObject, n: float, o: float) -> None:
    new, old = data.draw(skewed(n)), data.draw(skewed(o))
    change, percent = difference(new, old), percentage(new, old)
    assert change.std_error == pytest.approx(np.hypot(new.std_error, old.std_error))
    assert change.ci_low <= change.estimate <= change.ci_high
    back = difference(old, new)
    assert (back.estimate, back.ci_low, back.ci_high) == (-change.estimate, -change.ci_high, -change.ci_low)
    if is_clearly_positive(old)[0]:
        ends = percent.ci_low[0], percent.ci_high[0]
        if min(map(abs, ends)) > 1e-6:
            assert is_significant(change)[0] == (ends[0] > 0 or ends[1] < 0)


def test_what_has_no_error_has_no_change() -> None:
    without = figure(5.0, np.nan, np.nan, np.nan)
    for new, old in ((without, normal(4, 0.1)), (normal(4, 0.1), without)):
        assert np.isnan(only(difference(new, old))).all()
        assert np.isnan(only(percentage(new, old))).all()
        assert not is_significant(difference(new, old))[0]


def test_exact_figures_have_exact_changes() -> None:
    change, percent = difference(normal(6, 0), normal(4, 0)), percentage(normal(6, 0), normal(4, 0))
    assert (only(change), only(percent)) == (One(2, 0, 2, 2), One(50, 0, 50, 50))
    assert is_significant(change)[0]
    assert not is_significant(difference(normal(4, 0), normal(4, 0)))[0]
    assert only(percentage(normal(0, 0), normal(4, 0))) == One(-100, 0, -100, -100)
    assert np.isnan(only(percentage(normal(6, 0), normal(0, 0)))).all()


def test_a_base_below_0_or_about_0_has_no_percentage() -> None:
    """Also where the estimate of an old total that is about 0 is negative, or far from 0 by chance in one unit."""
    chance = np.random.default_rng(5)
    for truth in (0.0, 1.0, -1.0, -50.0):
        old = normal(truth + chance.standard_normal(20_000), 1.0)
        found = percentage(normal(100.0 + np.zeros(20_000), 3.0), old)
        given_at_all = np.isfinite(found.estimate)
        assert given_at_all.mean() < 0.03  # at 1: beyond 3 with a chance of 0.0228
        assert np.nanmax(np.abs(found.ci_high), initial=0) < 1e4


@pytest.mark.parametrize("scale", [1.0, 0.95])
def test_normal_noise_is_covered_and_errors_5_percent_too_small_are_noticed(scale: float) -> None:
    """Of 200,000 changes 95% are covered, within 4.5 standard errors of a share; with smaller errors they are not."""
    chance, draws = np.random.default_rng(11), 200_000
    new, old = (
        normal(chance.normal(mean, spread, draws), scale * spread) for mean, spread in ((900.0, 40.0), (500.0, 30.0))
    )
    change, percent = difference(new, old), percentage(new, old)
    for found, truth in ((change, 400.0), (percent, 80.0)):
        assert np.isfinite(found.estimate).all()
        covered = (found.ci_low <= truth) & (truth <= found.ci_high)
        off = (covered.mean() - 0.95) / np.sqrt(0.95 * 0.05 / draws)
        assert abs(off) < 4.5 if scale == 1 else off < -20
        missed = (found.ci_low > truth).mean() - (found.ci_high < truth).mean()
        assert abs(missed) < 4.5 * np.sqrt(0.07 / draws)
