"""Two answers for every establishment, as individual accounting gives them, taken together as one.

How precise the second answer is follows from the first: one that came out high makes an establishment seem larger, so
it pays more for the sums and has less left. Weighed by the precisions as they were drawn, first answers that are too
high would weigh more than those that are too low, and totals come out high. So the weights are those that the fitted
values would lead to: a weight may depend on the fit, never on the answer that it weighs.
"""

from dataclasses import dataclass

import numpy as np

from gedp.arrays import BoolArray, CodeArray, FloatArray
from gedp.neighbors import Signed
from gedp.policy import Attribute
from gedp.release.estimates import PsiAnswers, combined

#: How far weights may be from those of the precisions as drawn: an answer that hardly exists must hardly count.
FURTHEST = 4.0


@dataclass(frozen=True, repr=False)
class GroupPrice:
    """What the members of a query's groups pay: alike for ψ of the sum, by what they can move for clipped sums."""

    of_row: CodeArray
    by_psi: BoolArray
    precision: FloatArray

    def charges(self, reach: FloatArray) -> FloatArray:
        """What every establishment pays if it can move this much."""
        precision = self.precision[self.of_row]
        return np.where(self.by_psi[self.of_row], precision, precision * reach**2)


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
    prices: tuple[GroupPrice, ...]

    def as_drawn(self) -> PsiAnswers:
        """Weighed by the precisions as they were drawn."""
        return self._combined(None)

    def at(self, fitted: FloatArray) -> PsiAnswers:
        """Weighed by the precisions that the fitted values would have led to."""
        psi, gamma = self.attribute.protection.psi, self.attribute.protection.gamma
        values = fitted if self.attribute.signed else np.maximum(fitted, self.least)
        upper = PsiAnswers(psi, psi(values), self.sigma).upper_bounds(self.tau)
        left, reach = np.full(len(fitted), self.pool), reach_below(self.attribute, upper)
        for price in self.prices:
            left -= price.charges(reach)
        drawn = (gamma / self.second_sigma) ** 2
        left = np.clip(left, drawn / FURTHEST, drawn * FURTHEST)
        first = (gamma / self.sigma) ** 2
        return self._combined(first / (first + left))

    def _combined(self, weight: FloatArray | None) -> PsiAnswers:
        first, second = (self.omega, self.sigma), (self.second_omega, self.second_sigma)
        return combined(self.attribute.protection.psi, first, second, weight)


def reach_below(attribute: Attribute, upper: FloatArray) -> FloatArray:
    """How far a value can move below these bounds. Not in whole units: weights that jump would never settle."""
    upper, protection = np.maximum(upper, float(attribute.unit)), attribute.protection
    floor = -upper if isinstance(protection.psi, Signed) else 0.0
    reach: FloatArray = upper - np.maximum(protection.low(upper), floor)
    return reach
