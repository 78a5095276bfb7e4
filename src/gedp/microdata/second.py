"""Two answers for every establishment, as individual accounting gives them, taken together as one.

How precise the second answer is follows from the first: one that came out high makes an establishment seem larger, so
it pays more for the sums and has less left. Weighed by the precisions as they were drawn, first answers that are too
high would weigh more than those that are too low, and totals come out high. So the weights are those that the fitted
values would lead to: a weight may depend on the fit, never on the answer that it weighs. That goes for the sums too,
which are as precise as the member that pays most can afford.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gedp.arrays import BoolArray, CodeArray, FloatArray
from gedp.individual.filling import LEAST_SECOND
from gedp.individual.units import UnitParts
from gedp.neighbors import Signed
from gedp.neighbors.estimates import PsiAnswers, combined
from gedp.partitions import Partition
from gedp.policy import Attribute

#: How far weights may be from those of the precisions as drawn: an answer that hardly exists must hardly count.
FURTHEST = 4.0


@dataclass(frozen=True, repr=False)
class GroupPrice:
    """What the members of a query's groups pay: alike for ψ of the sum, by what they can move for clipped sums."""

    query: str
    groups: Partition  # of the establishments
    by_psi: BoolArray
    precision: FloatArray  # as drawn

    def each(self, reach: FloatArray) -> FloatArray:
        """What every establishment pays for a precision of 1, if it can move this much."""
        return np.where(self.by_psi[self.groups.group_of], 1.0, reach**2)

    def affordable(self, left: FloatArray, each: FloatArray) -> FloatArray:
        """The most precise answers for which all members of a group can pay."""
        return -self.groups.largest(-left / each)


@dataclass(frozen=True, repr=False)
class SecondAnswers:
    """Both answers with their noise, and what the second one's follows from."""

    attribute: Attribute
    omega: FloatArray
    sigma: float | FloatArray  # one for all first answers, or one for each
    second_omega: FloatArray
    second_sigma: FloatArray
    pool: float  # μ² for everything after the first answers
    tau: float
    least: float  # of a fitted value, where ψ has none at 0
    prices: Sequence[GroupPrice]  # from coarse to fine, as they were filled
    units: CodeArray | None = None  # of several records; -1 for a record by itself; None where there are none

    def as_drawn(self) -> PsiAnswers:
        """Weighed by the precisions as they were drawn."""
        return self._combined(None)

    def at(self, fitted: FloatArray) -> tuple[PsiAnswers, dict[str, FloatArray]]:
        """Weighed by the precisions that the fitted values would have led to; and those of the queries' groups.

        A group would have taken as large a part of what its members can pay for as it did take.
        """
        psi, gamma = self.attribute.protection.psi, self.attribute.protection.gamma
        values = fitted if self.attribute.signed else np.maximum(fitted, self.least)
        reach, left, precisions = self._reach(psi(values)), np.full(len(fitted), self.pool), {}
        parts = self._parts(reach)
        for price, as_drawn in zip(self.prices, self._affordable, strict=True):
            each = _costs(price, reach, parts)
            ratio = np.clip(price.affordable(left, each) / as_drawn, 1 / FURTHEST, FURTHEST)
            precisions[price.query] = precision = price.precision * ratio
            left = self._rest(left - each * precision[price.groups.group_of])
        if parts is not None:
            left[parts.cell] *= parts.shares
        drawn = (gamma / self.second_sigma) ** 2
        left = np.clip(left, drawn / FURTHEST, drawn * FURTHEST)
        first = (gamma / self.sigma) ** 2
        return self._combined(first / (first + left)), precisions

    @cached_property
    def _affordable(self) -> list[FloatArray]:
        """What the groups of every query could take, as drawn."""
        reach, left, affordable = self._reach(self.omega), np.full(len(self.omega), self.pool), []
        parts = self._parts(reach)
        for price in self.prices:
            each = _costs(price, reach, parts)
            affordable.append(price.affordable(left, each))
            left = self._rest(left - each * price.precision[price.groups.group_of])
        return affordable

    def _reach(self, omega: FloatArray) -> FloatArray:
        """How far values can move below the bounds that such first answers give."""
        upper = PsiAnswers(self.attribute.protection.psi, omega, self.sigma).upper_bounds(self.tau)
        return reach_below(self.attribute, upper)

    def _parts(self, reach: FloatArray) -> UnitParts | None:
        """The records of units of several, each as a part of its own."""
        if self.units is None:
            return None
        rows = np.flatnonzero(self.units >= 0).astype(np.int32)
        return UnitParts(self.units[rows], rows, np.ones(len(rows)), reach[rows])

    def _rest(self, left: FloatArray) -> FloatArray:
        """Never nothing: bounds here are not in whole units, as those that were paid by are."""
        return np.maximum(left, LEAST_SECOND * self.pool)

    def _combined(self, weight: FloatArray | None) -> PsiAnswers:
        first, second = (self.omega, self.sigma), (self.second_omega, self.second_sigma)
        return combined(self.attribute.protection.psi, first, second, weight)


def _costs(price: GroupPrice, reach: FloatArray, parts: UnitParts | None) -> FloatArray:
    """What every record pays for a precision of 1; one of a unit of several relative to its share."""
    each = price.each(reach)
    if parts is not None:
        clipped, by_psi = parts.costs(price.groups.group_of)
        each[parts.cell] = np.where(price.by_psi[price.groups.group_of[parts.cell]], by_psi, clipped)
    return each


def reach_below(attribute: Attribute, upper: FloatArray) -> FloatArray:
    """How far a value can move below these bounds. Not in whole units: weights that jump would never settle."""
    upper, protection = np.maximum(upper, float(attribute.unit)), attribute.protection
    floor = -upper if isinstance(protection.psi, Signed) else 0.0
    reach: FloatArray = upper - np.maximum(protection.low(upper), floor)
    return reach
