"""One grid for noise of many sizes: what it charges, what it draws and what it refuses."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gedp.errors import DomainError
from gedp.neighbors import Linear, Log, Protection, Sqrt
from gedp.noise import SeededEntropy, scaled_gaussian
from gedp.noise.grid import psi_range, to_steps
from gedp.noise.rounding import at_least
from gedp.noise.varied import VariedGrid, varied_psi_grid


@given(st.sampled_from([Sqrt(), Log(1), Log(), Linear()]), st.floats(1e-3, 100), st.integers(5, 44), st.integers(0, 63))
@example(Sqrt(), 1e-3, 44, 63)  # where the step is as fine as 62 bits allow
def test_rounding_and_floats_are_charged_once_and_not_more(
    psi: Sqrt | Log | Linear, gamma: float, bits: int, size: int
) -> None:
    if isinstance(psi, Linear):  # the errors of larger sums are too large to be charged
        size = min(size, math.floor(42 + math.log2(gamma)))
    grid = varied_psi_grid(Protection(psi, gamma), bits, 2.0**size, 0.5)
    largest, relative_error = psi_range(psi, 2.0**size, 0.5)
    step, delta, reach = Fraction(grid.step), at_least(gamma), at_least(largest)
    charged = delta + step + 2 * reach * at_least(relative_error)
    assert charged <= Fraction(grid.sensitivity) <= charged * (1 + Fraction(1, 2**52))
    assert charged - delta <= delta / 16
    assert Fraction(largest) * (1 - Fraction(1, 2**52)) <= Fraction(grid.largest) <= reach
    assert math.frexp(grid.step)[0] == 0.5
    assert reach / step <= 2**62
    assert step <= delta / 2**bits < 2 * step or reach / step > 2**61


def test_draws_are_those_of_each_size_on_one_grid() -> None:
    grid = varied_psi_grid(Protection(Sqrt(), 0.5), 24, 2.0**40, 1.0)
    values, sigma = np.linspace(0, 1000, 50), np.geomspace(grid.least_sigma, grid.most_sigma, 50)
    steps = to_steps(values, grid.step, grid.largest) + scaled_gaussian(50, sigma / grid.step, SeededEntropy(1))
    assert grid.noisy(values, sigma, SeededEntropy(1)).tolist() == (steps * grid.step).tolist()


def test_noise_is_as_wide_as_a_step_at_least_and_as_can_be_drawn_at_most() -> None:
    grid = VariedGrid(step=0.25, largest=10.0, sensitivity=1.0)
    assert (grid.least_sigma, grid.most_sigma) == (0.25, 2.0**46)
    for sigma in (0.2499, 2.0**46 * 1.001, math.nan):
        with pytest.raises(DomainError, match="as wide as a step"):
            grid.noisy([1.0, 2.0], np.array([1.0, sigma]), SeededEntropy(1))


def test_a_grid_that_would_cost_too_much_is_refused() -> None:
    with pytest.raises(DomainError, match="of the sensitivity"):
        varied_psi_grid(Protection(Linear(), 10), 24, 2.0**63, 1.0)
    with pytest.raises(DomainError, match="of the sensitivity"):
        varied_psi_grid(Protection(Sqrt(), 0.5), 3, 2.0**20, 1.0)
