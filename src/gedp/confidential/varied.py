"""ω = ψ(value) + noise of a size of its own for every value, as individual accounting draws it."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gedp.accounting.composition import exact
from gedp.arrays import MOST_UNITS, FloatArray, IntArray
from gedp.confidential.mechanisms import BITS
from gedp.errors import DomainError
from gedp.individual.bounds import RAISE, clipping_bounds
from gedp.individual.filling import LEAST_FRACTION, LEAST_LEFT, LEAST_SECOND
from gedp.neighbors import Linear, NeighborFunction, Signed
from gedp.neighbors.estimates import PsiAnswers
from gedp.noise.entropy import Entropy
from gedp.noise.gaussian import LARGEST_SCALE
from gedp.noise.rounding import float_up
from gedp.noise.sums import sum_grid_for
from gedp.noise.varied import VariedGrid, varied_psi_grid
from gedp.policy import Attribute

_ROUND_UP = 1 + 2.0**-50
#: How much less noise than a grid carries the largest bound has, so that rounding a price is never too much.
WIDER = 1.001


@dataclass(frozen=True)
class VariedPsi:
    """The ψ-mechanism of an attribute at many prices."""

    psi: NeighborFunction
    unit: float
    sensitivity: float  # of ψ, with what the grid costs
    grid: VariedGrid | None  # None where ψ is linear: its values are sums, which have a grid without charges

    def sigma(self, price: FloatArray) -> FloatArray:
        """The noise that costs at most this much, in μ²."""
        sigma: FloatArray = self.sensitivity / np.sqrt(price) * _ROUND_UP
        return sigma

    def answer(self, values: IntArray, sigma: FloatArray, entropy: Entropy) -> PsiAnswers:
        """ψ of each value (in units) with noise of this size."""
        if self.grid is None:
            noisy = sum_grid_for(sigma / self.unit, 1, BITS, MOST_UNITS).noisy(values, entropy)
            return PsiAnswers(self.psi, noisy * self.unit, sigma)
        return PsiAnswers(self.psi, self.grid.noisy(self.psi(values * self.unit), sigma, entropy), sigma)


def varied_psi(attribute: Attribute, pool: Fraction, members: int = 1) -> VariedPsi:
    """The mechanism for prices up to the pool; rejects, before anything is spent, what has no grid.

    The pool is that of a unit of up to so many members, of which the least gets half of an equal share.
    """
    protection, unit = attribute.protection, exact(attribute.unit)
    base = protection.psi.base if isinstance(protection.psi, Signed) else protection.psi
    if isinstance(base, Linear):
        gamma = float_up(exact(attribute.closeness.gamma))
        mechanism, least, most = VariedPsi(protection.psi, float(unit), gamma, None), *_sum_noise(float(unit))
    else:
        grid = varied_psi_grid(protection, BITS, math.ceil(MOST_UNITS * unit), float(unit))
        mechanism = VariedPsi(protection.psi, float(unit), grid.sensitivity, grid)
        least, most = grid.least_sigma, grid.most_sigma
    parts = least_share(members)
    least_price = LEAST_LEFT * min(LEAST_SECOND / parts, LEAST_FRACTION / parts**2)
    widest, narrowest = mechanism.sigma(float(pool) * np.array([least_price, 1.0]))
    lowest = float(pool) * LEAST_FRACTION * LEAST_LEFT / parts**2
    if not (least <= narrowest and widest <= most and clipping_range(attribute, float(pool), lowest)[0] >= 1):
        raise DomainError(
            f"{attribute.name}: there is no grid for noise of {narrowest:.3g} to {widest:.3g} in {protection.psi}. "
            "Spend another mu, or take another gamma or unit"
        )
    return mechanism


def least_share(members: int) -> float:
    """Into how many parts a unit's pool is divided, if all were as small as the smallest that a record can have."""
    return 1.0 if members == 1 else 2.0 * members


def _sum_noise(unit: float) -> tuple[float, float]:
    """The least and the most noise that sums in whole units can have, in the attribute's own measure."""
    finest = 2.0 ** ((MOST_UNITS - 1).bit_length() - 62)
    return finest * unit, LARGEST_SCALE * unit


def most_noise(attribute: Attribute) -> float:
    """The most that a clipped sum can have, in the attribute's own measure; a plan keeps below it."""
    return LARGEST_SCALE * float(attribute.unit) / RAISE


def clipping_range(attribute: Attribute, pool: float, price: float) -> tuple[float, float]:
    """The largest bound whose noise the grid of sums carries at this price, the least sensitivity at that of the pool.

    Both are in units. As `pnc_range`: bounds are known only after the first answers were paid for, so none may fail
    then. What a value can move grows with its bound, so the largest is found by bisection; 0 where not even one unit
    will do.
    """
    least, most = _sum_noise(1.0)
    furthest = most * math.sqrt(price) / WIDER
    low, high = 0, MOST_UNITS + 1
    while high - low > 1:
        middle = (low + high) // 2
        reach = clipping_bounds(attribute, np.array([middle * float(attribute.unit)])).sensitivity[0]
        low, high = (middle, high) if reach <= furthest else (low, middle)
    return float(low), least * math.sqrt(pool) * RAISE
