"""Gaussian noise on sums of whole numbers: nothing rounded, nothing charged.

A whole number is a multiple of any step 1, ½, ¼, ..., so its number of steps is exact and so is its sensitivity:
sigma = sensitivity/mu, rounded up, whatever the size of the sums. Each sum may have a sensitivity of its own, as the
clipped sums of the pnc-mechanism (probably no clipping) do.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gedp.arrays import FloatArray
from gedp.errors import DomainError
from gedp.noise import gaussian
from gedp.noise.entropy import Entropy
from gedp.noise.gaussian import LARGEST_SCALE, MOST_BITS, Steps
from gedp.noise.grid import MOST_STEPS
from gedp.noise.rounding import Number, at_most, float_down

_ROUND_UP = 1 + 2.0**-50  # exceeds the rounding of sensitivity, quotient and product


@dataclass(frozen=True)
class SumGrid:
    """Where sums are published: multiples of `step` with noise of deviation `sigma`, one of each per sum or for all."""

    sigma: FloatArray
    step: FloatArray  #: powers of two, at most 1
    largest: int  #: public bound on |sum| over all possible tables

    @property
    def variance(self) -> FloatArray:
        """The variance of what is published: that of the Gaussian and that of rounding it."""
        return self.sigma**2 + self.step**2 / 12

    def to_steps(self, sums: npt.ArrayLike) -> Steps:
        """The sums as whole numbers of steps, exactly."""
        sums = np.asarray(sums)
        if sums.dtype.kind not in "iu":
            raise DomainError(f"sums must be whole numbers, not {sums.dtype}")
        if self.step.ndim and self.step.shape != sums.shape:
            raise DomainError(f"{sums.size} sums on a grid for {self.step.size}")
        beyond = int(np.count_nonzero((sums > self.largest) | (sums < -self.largest)))
        if beyond:
            raise DomainError(f"{beyond} of {sums.size} sums are beyond {self.largest}, which the grid was made for")
        return sums.astype(np.int64) * (1 / self.step).astype(np.int64)

    def noisy(self, sums: npt.ArrayLike, entropy: Entropy) -> FloatArray:
        """Each sum with noise of its own; the only form in which it may leave."""
        return gaussian.with_noise(self.to_steps(sums), self.sigma / self.step, entropy) * self.step


def sum_grid_for(sensitivity: npt.ArrayLike, mu: Number, bits: int = 24, largest: int = 2**53) -> SumGrid:
    """The grid on which sums of whole numbers with these sensitivities are mu-gedp.

    Round a computed sensitivity up before it comes here. Steps are 2**-bits of the noise or finer, but at most 1, and
    not so fine that `largest` would not fit into 62 bits.
    """
    delta, loss = np.asarray(sensitivity, dtype=np.float64), at_most(mu)
    problems = [
        *(["a sensitivity must be a finite number above 0"] if not ((delta > 0) & (delta < np.inf)).all() else []),
        *(["mu must be above 0"] if loss <= 0 else []),
        *([f"bits must be from 1 to {MOST_BITS}"] if not 1 <= bits <= MOST_BITS else []),
        *([f"the largest sum must be from 1 to {MOST_STEPS}"] if not 1 <= largest <= MOST_STEPS else []),
    ]
    if problems:
        raise DomainError("no grid: " + "; ".join(problems))
    sigma = delta / float_down(loss) * _ROUND_UP
    finest = (largest - 1).bit_length() - 62  # the least e with largest ≤ 2**(62 + e)
    exponents = np.clip(np.frexp(sigma)[1] - 1 - bits, finest, 0)
    step = np.ldexp(1.0, exponents)
    if not ((sigma >= step) & (sigma <= LARGEST_SCALE * step)).all():
        raise DomainError(
            f"no grid: noise of {sigma.min():.2g} to {sigma.max():.2g} for sums up to {largest}; "
            f"it must be from {2.0**finest:g} to {LARGEST_SCALE:g}"
        )
    return SumGrid(np.asarray(sigma), np.asarray(step), largest)
