"""What a first answer says of its establishment: what it has, its own bound, and how far it can move below that.

All of it is arithmetic on single answers, which are public, so it can be done wherever the rows are. A record whose
unit has several `members` has an equal share of the price of a first answer, and so √members times the noise.
"""

from dataclasses import dataclass

import numpy as np

from gedp.arrays import MOST_UNITS, FloatArray
from gedp.individual.bounds import ClippingBounds, For, apart, clipping_bounds
from gedp.individual.filling import Terms
from gedp.neighbors import NeighborFunction, Signed
from gedp.neighbors.estimates import PsiAnswers, psi_variance
from gedp.policy import Attribute

#: Of a bound, more than rounding can change in what a value moves below it.
ROUNDING = 2.0**-48
#: How many records the unit of each has: one number for all, or one for each.
Members = float | FloatArray


@dataclass(frozen=True, repr=False)
class FirstAnswer:
    """How first answers of one attribute are read."""

    attribute: Attribute
    terms: Terms
    most: float  # the largest bound, in units
    least: float = 0.0  # the least sensitivity, in units
    kept: float = 1.0  # of every positive estimate: without the negative ones, all together would come to too much

    def sigma(self, members: Members = 1.0) -> Members:
        """The noise of the answers."""
        return float(self.terms.sigma(np.array(self.terms.first))) * np.sqrt(members)

    @property
    def psi(self) -> NeighborFunction:
        """The neighbor function."""
        return self.terms.psi

    def estimates(self, omega: FloatArray, members: Members = 1.0) -> FloatArray:
        """Right on average, but for what no table can hold."""
        most = MOST_UNITS * float(self.attribute.unit)
        return np.clip(PsiAnswers(self.psi, omega, self.sigma(members)).estimate(), -most, most)

    def part_to_keep(self, establishments: FloatArray, members: Members, total: float, positive: float) -> float:
        """`kept`, from what the estimates of all establishments come to, and the positive ones of them.

        `establishments` are numbers of them, with `members` of each.
        """
        if isinstance(self.psi, Signed) or positive <= 0:
            return 1.0
        noise = float(np.sqrt(np.sum(establishments * psi_variance(self.psi, 0.0, self.sigma(members)))))
        return min(max(total, noise) / positive, 1.0)

    def expected(self, omega: FloatArray, members: Members = 1.0) -> FloatArray:
        """What establishments have, as far as the answers say: never negative, and right on average."""
        estimates = self.estimates(omega, members)
        return estimates if isinstance(self.psi, Signed) else np.maximum(estimates, 0.0) * self.kept

    def bounds(self, omega: FloatArray, tau: float, use: For, members: Members = 1.0) -> ClippingBounds:
        """So many standard deviations above the answers."""
        sigma = self.sigma(members)
        upper = PsiAnswers(self.psi, omega, sigma).upper_bounds(tau)
        upper = np.minimum(upper, MOST_UNITS * float(self.attribute.unit))
        if use != For.CLIPPING:
            upper = upper + use * apart(self.psi, upper, np.abs(omega) + abs(tau) * sigma)
        return self._clipped_at(upper)

    def reach(self, omega: FloatArray, members: Members = 1.0, *, tau: float) -> FloatArray:
        """What each can move below its bound, in the attribute's own measure."""
        return self.bounds(omega, tau, For.PLANNING, members).sensitivity * float(self.attribute.unit)

    def furthest(self, omega: FloatArray, members: Members = 1.0, *, tau: float) -> FloatArray:
        """The same, so much larger that rounding makes it less for no use of a bound: what units are charged for."""
        found = self.bounds(omega, tau, For.PLANNING, members)
        return (found.sensitivity + ROUNDING * found.bounds) * float(self.attribute.unit)

    @property
    def least_reach(self) -> float:
        """What anybody can move at least, in the attribute's own measure."""
        return float(self._clipped_at(np.zeros(1)).sensitivity[0]) * float(self.attribute.unit)

    def clipping_loss(self, omega: FloatArray, members: Members = 1.0) -> FloatArray:
        """σ/ψ'(x): times φ(τ) − τ Φ(−τ), what clipping is expected to take off."""
        with np.errstate(divide="ignore"):
            loss: FloatArray = self.sigma(members) / self.psi.slope(np.abs(self.expected(omega, members)))
        return loss

    def variance(self, omega: FloatArray, members: Members = 1.0, *, price: float) -> FloatArray:
        """The variance of an answer at this price (μ²), of which every member has an equal share."""
        sigma = float(self.terms.sigma(np.array(price))) * np.sqrt(members)
        return psi_variance(self.psi, self.expected(omega, members), sigma)

    def reach_at(self, omega: FloatArray, members: Members = 1.0, *, tau: float, price: float) -> FloatArray:
        """`reach` if the answers had been drawn at this price: the same draws with other noise."""
        sigma = float(self.terms.sigma(np.array(price))) * np.sqrt(members)
        centre = self.psi(self.expected(omega, members))
        centre = np.where(np.isfinite(centre), centre, omega)
        moved = centre + (omega - centre) * (sigma / self.sigma(members))
        upper = PsiAnswers(self.psi, moved, sigma).upper_bounds(tau)
        return self._clipped_at(upper).sensitivity * float(self.attribute.unit)

    def _clipped_at(self, upper: FloatArray) -> ClippingBounds:
        """Bounds in whole units, within what noise can be drawn for."""
        return clipping_bounds(self.attribute, upper, most=self.most, least=self.least)
