"""One grid for noise of many sizes: what rounding and floating point cost does not depend on the noise.

As on any grid of `grid`, a value is rounded to k steps and k + round(scale · X) steps are published. The step is a part
of the sensitivity here, not of the noise, so the charged sensitivity

    sensitivity + step + 2·error,    error = largest · relative_error,

is one number for all values, and noise of deviation sigma costs (charged sensitivity/sigma)². Proof:
docs/proofs/noise.md and docs/proofs/individual.md.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from gedp.arrays import FloatArray
from gedp.errors import DomainError
from gedp.neighbors import Protection
from gedp.noise import gaussian
from gedp.noise.entropy import Entropy
from gedp.noise.gaussian import LARGEST_SCALE
from gedp.noise.grid import LARGEST_CHARGE, MOST_STEPS, psi_range, to_steps
from gedp.noise.rounding import at_least, float_down, float_up, floor_log2


@dataclass(frozen=True)
class VariedGrid:
    """Where values with noise of their own sizes are published: multiples of one step."""

    step: float  #: a power of two
    largest: float  #: public bound on |v| over all possible tables
    sensitivity: float  #: with what rounding and floating point add, rounded up

    @property
    def least_sigma(self) -> float:
        """Noise is at least this wide."""
        return self.step

    @property
    def most_sigma(self) -> float:
        """Noise is at most this wide."""
        return self.step * LARGEST_SCALE

    def noisy(self, values: npt.ArrayLike, sigma: FloatArray, entropy: Entropy) -> FloatArray:
        """Each value, rounded to the grid, with noise of its own size; the only form in which it may leave."""
        steps = to_steps(values, self.step, self.largest)
        if not ((sigma >= self.least_sigma) & (sigma <= self.most_sigma)).all():
            raise DomainError("noise must be as wide as a step, and at most 2^48 steps")
        return gaussian.with_noise(steps, sigma / self.step, entropy).astype(np.float64) * self.step


def varied_psi_grid(protection: Protection, bits: int, largest_sum: float, smallest: float) -> VariedGrid:
    """The grid for ψ of group sums and of single values, as `psi_grid` has it for noise of one size."""
    largest, relative_error = psi_range(protection.psi, largest_sum, smallest)
    delta, reach, error = at_least(protection.gamma), at_least(largest), at_least(relative_error)
    step = Fraction(2) ** max(floor_log2(delta) - bits, -floor_log2(MOST_STEPS / reach))
    charge = step + 2 * reach * error
    if charge > LARGEST_CHARGE * delta:
        raise DomainError(
            f"no grid: rounding and floating point would add {float(charge / delta):.2g} of the sensitivity (at most "
            f"{float(LARGEST_CHARGE):g}), at values up to {float(reach):g}. Take a larger gamma or a larger unit"
        )
    return VariedGrid(float(step), float_down(reach), float_up(delta + charge))
