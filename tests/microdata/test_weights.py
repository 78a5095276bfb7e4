"""How the weights reach their fixed point: steps that turn back are shortened, steps that creep are lengthened."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.arrays import FloatArray
from gedp.microdata.weights import LEAST_SHARE, MOST_SHARE, Change, Stride

START = np.array([5.0, -3.0, 0.5])


def rounds_to_zero(slope: float, scale: float = 1.0) -> int:
    """Rounds until x → slope · x has come to its fixed point, 0; 200 if it has not."""
    at, variances, stride = START * scale, np.full(3, scale**2), Stride()
    for rounds in range(200):
        step = slope * at - at
        if Change.of(step, variances).typical < 1e-9:
            return rounds
        at = at + stride.share_of([step], [variances]) * step
    return 200


@given(slope=st.floats(-8, 0.5), scale=st.sampled_from([1e-6, 1.0, 1e9]))
def test_straight_swings_and_creeps_end_as_soon_as_two_steps_have_shown_them(slope: float, scale: float) -> None:
    """Without a stride, slopes below −1 go ever further away, and 0.5 takes 32 rounds."""
    assert rounds_to_zero(slope, scale) <= 4


def test_steps_are_never_cut_or_lengthened_beyond_bounds() -> None:
    assert rounds_to_zero(-50.0) == 200  # the right share is 1/51, below the least
    assert 4 < rounds_to_zero(0.9) < 100  # and 10, above the most; without a stride 212 rounds


def share_after(*steps: FloatArray) -> float:
    stride, variances = Stride(), [np.ones(len(steps[0]))]
    return [stride.share_of([step], variances) for step in steps][-1]


def test_shares() -> None:
    assert share_after(START) == 1
    assert share_after(START, -START) == pytest.approx(0.5)
    assert share_after(START, -START / 3) == pytest.approx(0.75)
    assert share_after(START, START / 3) == pytest.approx(1.5)
    assert share_after(START, START * 0.9) == MOST_SHARE
    assert share_after(START, -START * 40) == LEAST_SHARE
    assert share_after(START, START * 1.1) == 1  # moving away from a point that repels
    assert share_after(START, START) == 1


@pytest.mark.parametrize("variance", [1e-6, 1.0, 1e6])
def test_all_queries_count_alike_and_precise_answers_more(variance: float) -> None:
    """One query turns back (alone: half), another with a thousand groups goes on shorter (alone: one and a half)."""
    stride, variances = Stride(), [np.array([variance]), np.ones(1000)]
    one, many = np.array([1.0]), np.ones(1000)
    stride.share_of([one, many], variances)
    share = stride.share_of([-one, many / 3], variances)
    assert share == pytest.approx((2 / variance + 2 / 3) / (4 / variance + 4 / 9))


def test_a_change_is_in_standard_deviations() -> None:
    change = Change.of(np.array([3.0, 4.0]), np.array([1.0, 4.0]))
    assert change.typical == pytest.approx(np.sqrt((9 + 4) / 2))
    assert change.largest == pytest.approx(3.0)
