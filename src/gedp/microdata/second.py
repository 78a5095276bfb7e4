"""Two answers for every establishment, as individual accounting gives them, taken together as one.

How precise the second answer is follows from the first: one that came out high makes an establishment seem larger, so
it pays more for the sums and has less left. Weighed by the precisions as they were drawn, first answers that are too
high would weigh more than those that are too low, and totals come out high. So the weights are those that the fitted
values would lead to: a weight may depend on the fit, never on the answer that it weighs.
"""

from dataclasses import dataclass

import numpy as np

from gedp.arrays import CodeArray, FloatArray, slices
from gedp.neighbors import Signed
from gedp.policy import Attribute
from gedp.release.estimates import PsiAnswers, combined

#: How far weights may be from those of the precisions as drawn: an answer that hardly exists must hardly count.
FURTHEST = 4.0


@dataclass(frozen=True, repr=False)
class Prices:
    """What members of every cell pay for its groups: alike for ψ of sums, by what they can move for clipped ones."""

    of_row: CodeArray
    alike: FloatArray  # of every cell
    moving: FloatArray  # of every cell, for the square of what a member can move

    def charges(self, rows: slice, reach: FloatArray) -> FloatArray:
        """What some establishments pay if they can move this much."""
        of_row = self.of_row[rows]
        charges: FloatArray = self.alike[of_row] + self.moving[of_row] * reach**2
        return charges


@dataclass(frozen=True, repr=False)
class SecondAnswers:
    """Both answers with their noise, and what the second one's follows from."""

    attribute: Attribute
    omega: FloatArray
    sigma: float
    second_omega: FloatArray
    second_sigma: FloatArray
    pool: float  # μ² for everything after the first answers
    tau: float
    least: float  # of a fitted value, where ψ has none at 0
    prices: Prices

    def as_drawn(self) -> PsiAnswers:
        """Weighed by the precisions as they were drawn."""
        return self._combined(None)

    def at(self, fitted: FloatArray) -> PsiAnswers:
        """Weighed by the precisions that the fitted values would have led to."""
        omega, sigma = np.empty_like(fitted), np.empty_like(fitted)
        for rows in slices(len(fitted)):
            found = self._combined(self._weights_at(fitted[rows], rows), rows)
            omega[rows], sigma[rows] = found.omega, found.sigma
        return PsiAnswers(self.attribute.protection.psi, omega, sigma)

    def _weights_at(self, fitted: FloatArray, rows: slice) -> FloatArray:
        """Of the first answers for some establishments."""
        psi, gamma = self.attribute.protection.psi, self.attribute.protection.gamma
        values = fitted if self.attribute.signed else np.maximum(fitted, self.least)
        upper = PsiAnswers(psi, psi(values), self.sigma).upper_bounds(self.tau)
        left = self.pool - self.prices.charges(rows, reach_below(self.attribute, upper))
        drawn = (gamma / self.second_sigma[rows]) ** 2
        left = np.clip(left, drawn / FURTHEST, drawn * FURTHEST)
        first = (gamma / self.sigma) ** 2
        weights: FloatArray = first / (first + left)
        return weights

    def _combined(self, weight: FloatArray | None, rows: slice = slice(None)) -> PsiAnswers:
        first, second = (self.omega[rows], self.sigma), (self.second_omega[rows], self.second_sigma[rows])
        return combined(self.attribute.protection.psi, first, second, weight)


def reach_below(attribute: Attribute, upper: FloatArray) -> FloatArray:
    """How far a value can move below these bounds. Not in whole units: weights that jump would never settle."""
    upper, protection = np.maximum(upper, float(attribute.unit)), attribute.protection
    floor = -upper if isinstance(protection.psi, Signed) else 0.0
    reach: FloatArray = upper - np.maximum(protection.low(upper), floor)
    return reach
