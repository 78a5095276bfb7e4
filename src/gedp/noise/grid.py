"""The grid on which Gaussian noise protects a computed real number exactly.

A statistic v is rounded to k steps, and k + round(scale · X) steps are published: the nearest step to k·step + sigma·X,
hence post-processing of a real Gaussian mechanism. What rounding and floating point add to the sensitivity is charged:

    sigma = (sensitivity + step + 2·error)/mu,    error = largest · relative_error,

with every number rounded toward more noise; of vectors both charges are √entries times as large. Steps are powers of
two, so dividing by one is exact. Proof: docs/proofs/noise.md. Whole-number sums need no charge at all: see `sums`.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from gedp.arrays import FloatArray
from gedp.errors import DomainError
from gedp.neighbors import Protection
from gedp.neighbors.combine import Piecewise
from gedp.neighbors.functions import ROUNDING, NeighborFunction
from gedp.noise import gaussian
from gedp.noise.entropy import Entropy
from gedp.noise.gaussian import LARGEST_SCALE, MOST_BITS, Steps
from gedp.noise.rounding import Number, at_least, at_most, float_down, float_up, floor_log2

#: Every sum of 64-bit integers that the table admits is smaller; public, whatever the data.
LARGEST_SUM = 2**63
#: |k| stays below this, so that adding noise cannot leave the 64-bit integers.
MOST_STEPS = 2**62
#: A grid is rejected when rounding and floating point would cost more than this part of the sensitivity.
LARGEST_CHARGE = Fraction(1, 16)

#: |computed ψ - ψ| ≤ this · |ψ at the largest sum|: 16 roundings, where sqrt and log with their shift need fewer.
BASIC_ERROR = 2.0**-49


@dataclass(frozen=True)
class Grid:
    """Where one statistic is published: multiples of `step`, with noise of standard deviation `sigma`."""

    sigma: float  #: of the Gaussian whose rounding is published
    step: float  #: a power of two
    largest: float  #: public bound on |v| over all possible tables
    charge: float  #: what was added to the sensitivity, as a part of it

    @property
    def scale(self) -> float:
        """sigma in steps, exactly."""
        return self.sigma / self.step

    @property
    def variance(self) -> float:
        """The variance of what is published around k steps: that of the Gaussian and that of rounding it."""
        return self.sigma**2 + self.step**2 / 12

    def to_steps(self, values: npt.ArrayLike) -> Steps:
        """The nearest whole number of steps to each value, without any further error."""
        return to_steps(values, self.step, self.largest)

    def noisy(self, values: npt.ArrayLike, entropy: Entropy) -> FloatArray:
        """Each value, rounded to the grid, with noise of its own; the only form in which it may leave."""
        return gaussian.with_noise(self.to_steps(values), self.scale, entropy).astype(np.float64) * self.step


def to_steps(values: npt.ArrayLike, step: float, largest: float) -> Steps:
    """The nearest whole number of steps to each value; rejects values beyond the bound that was promised."""
    values = np.asarray(values, dtype=np.float64)
    beyond = int(values.size - np.count_nonzero(np.abs(values) <= largest))
    if beyond:
        raise DomainError(
            f"{beyond} of {values.size} values are missing or beyond {largest:g}, which the noise was priced for; "
            "name a bound that holds for every possible table"
        )
    return np.rint(values / step).astype(np.int64)


def grid_for(
    sensitivity: Number,
    mu: Number,
    bits: int = 24,
    largest: float = 2.0**32,
    relative_error: float = BASIC_ERROR,
    entries: int = 1,
) -> Grid:
    """The grid on which a statistic of this sensitivity is mu-gedp.

    `largest` bounds |v| over all possible tables, and must not come from the data; `relative_error` times `largest`
    bounds |v - true value|. The default covers sqrt and log of every 64-bit sum. The step is the power of two at or
    below 2**-bits of the noise, or coarser if `largest` would not fit into 62 bits.

    A statistic may be a vector: of so many `entries`, each rounded to the grid and computed with that error, whose
    sensitivity is an L2 norm. Both charges are then √entries times as large, and the step is finer by as much.
    """
    delta, loss, reach, error = at_least(sensitivity), at_most(mu), at_least(largest), at_least(relative_error)
    named = {"the sensitivity": delta, "mu": loss, "the largest value": reach}
    problems = [
        *(f"{what} must be from 1e-60 to 1e60" for what, number in named.items() if not 1e-60 <= number <= 1e60),
        *([f"bits must be from 1 to {MOST_BITS}"] if not 1 <= bits <= MOST_BITS else []),
        *(["the relative error must be 0 or more"] if error < 0 else []),
        *(["there must be entries"] if entries < 1 else []),
    ]
    if problems:
        raise DomainError("no grid: " + "; ".join(problems))

    root = math.isqrt(entries - 1) + 1  # at least √entries
    finer = min(bits + (root - 1).bit_length(), MOST_BITS)
    step = Fraction(2) ** max(floor_log2(delta / loss) - finer, -floor_log2(MOST_STEPS / reach))
    charge = root * (step + 2 * reach * error)
    sigma = (delta + charge) / loss
    if charge > LARGEST_CHARGE * delta:
        raise DomainError(
            f"no grid: rounding and floating point would add {float(charge / delta):.2g} of the sensitivity (at most "
            f"{float(LARGEST_CHARGE):g}), at mu = {float(loss):g}, {bits} bits and values up to {float(reach):g}. "
            "Take a larger mu or a smaller bound on the values; sums of whole numbers have a grid of their own"
        )
    if not step <= sigma <= int(LARGEST_SCALE) * step:
        raise DomainError(f"no grid: the noise would be {float(sigma / step):.2g} steps wide; take other bits")
    return Grid(float_up(sigma), float(step), float_down(reach), float(charge / delta))


def psi_grid(
    protection: Protection, mu: Number, bits: int = 24, largest_sum: float = LARGEST_SUM, smallest: float = 1.0
) -> Grid:
    """The grid for ψ of group sums, and of single values, up to `largest_sum` in size (public): sensitivity γ.

    Values other than 0 are at least `smallest`, one unit. It matters where ψ falls without bound at 0.
    """
    largest, relative_error = psi_range(protection.psi, largest_sum, smallest)
    return grid_for(protection.gamma, mu, bits, largest, relative_error)


def psi_range(psi: NeighborFunction, largest_sum: float, smallest: float) -> tuple[float, float]:
    """A public bound on |ψ| of all values and sums, and the error of computing it, as a part of that bound."""
    lowest = psi.at_zero if math.isfinite(psi.at_zero) else float(psi(smallest))
    ends = [lowest, float(psi(float(largest_sum)))]
    relative_error = _relative_error(psi)
    return max(map(abs, ends)) * (1 + 2 * relative_error), relative_error


def _relative_error(psi: NeighborFunction) -> float:
    """How far off the computed ψ may be, as a part of its largest value."""
    if psi.is_accurate:
        return BASIC_ERROR
    if isinstance(psi, Piecewise) and all(piece.psi.is_accurate for piece in psi.pieces):
        return BASIC_ERROR * (1 + len(psi.pieces) / 4)  # a few roundings for each piece
    return ROUNDING
