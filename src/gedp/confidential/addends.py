"""What is added up in the entries of a table: establishments, values by class, combinations of values.

An addend says where values are cut off, how far one establishment can then move an entry, and draws the noise for that.
docs/proofs/classes.md and docs/proofs/combinations.md have the arguments.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from gedp.accounting.composition import exact
from gedp.arrays import MOST_UNITS, FloatArray, IntArray
from gedp.confidential.answers import Answers
from gedp.confidential.mechanisms import BITS, pnc_range
from gedp.errors import DomainError
from gedp.estimates import EXACT, Estimates
from gedp.individual.bounds import RAISE
from gedp.individual.classes import ClassTable, Possible, bounds_in, squared_reach_of_counts, squared_reach_of_sums
from gedp.individual.combinations import combined, combined_bounds
from gedp.neighbors.estimates import whole_variance
from gedp.noise.entropy import Entropy
from gedp.noise.gaussian import LARGEST_SCALE
from gedp.noise.grid import MOST_STEPS
from gedp.noise.sums import SumGrid, sum_grid_for
from gedp.policy import Attribute, Measure, Weights
from gedp.policy.measures import COUNTED

#: Of a combination: squares of much smaller ones, or much larger ones times a sum, are beyond floating point.
SMALLEST_UNIT = Fraction(1, 10**30)


Upper = Mapping[str, FloatArray]  # by attribute: bounds on values, in units
Spread = float | FloatArray  # one for all rows, or one for each


@dataclass(frozen=True, repr=False)
class Limits:
    """Where values are cut off, and how far one establishment can then move an entry: for each group or row."""

    bounds: Mapping[str, IntArray]  # by attribute, in units
    reach: FloatArray  # 0 where nobody can come, go or change


@dataclass(frozen=True, repr=False)
class Addend(ABC):
    """What a measure adds up in its entries, and at which price."""

    name: str
    mu: Fraction
    #: Bound on what it adds up to in any entry, in units of its own.
    largest: ClassVar[int] = MOST_UNITS
    mechanism: ClassVar[str] = "pnc"

    @property
    @abstractmethod
    def attributes(self) -> tuple[str, ...]:
        """Those whose values are added up."""

    @property
    @abstractmethod
    def unit(self) -> float:
        """What one of its whole numbers stands for."""

    @property
    def least(self) -> float:
        """The least reach that noise is drawn for: a grid cannot carry less."""
        return pnc_range(self.mu)[1]

    @abstractmethod
    def limits(
        self, upper: Upper, possible: Possible, combination: int, crowd: Upper | None = None, spread: Spread = 1.0
    ) -> Limits:
        """What follows in one combination of classes, from upper bounds on the values in units.

        `crowd` has bounds by which combinations are cut down that no grid could carry, in the place of their own. Noise
        must hide `spread` times what a row can move.
        """

    @abstractmethod
    def contributions(self, amounts: Mapping[str, IntArray], bounds: Mapping[str, IntArray], rows: int) -> IntArray:
        """What each of these rows adds, where its values are cut off at these bounds."""

    @abstractmethod
    def require_grid(self, query: str) -> None:
        """Rejects, before anything is spent, what no grid could carry whatever bounds come out."""

    def grid(self, reach: FloatArray) -> SumGrid:
        """The noise of entries in which one establishment can move so much."""
        return sum_grid_for(np.maximum(reach, self.least), self.mu, BITS, self.largest)

    def sigma(self, reach: FloatArray) -> FloatArray:
        """The deviation of the noise of every entry; infinite where there is none, because nobody can move it."""
        sigma = np.full(len(reach), np.inf)
        if (reach > 0).any():
            sigma[reach > 0] = self.grid(reach[reach > 0]).sigma
        return sigma

    def answer(self, totals: IntArray, reach: FloatArray, confidence: float, entropy: Entropy) -> Answers:
        """The answers for all entries, given what they come to.

        Where nobody can come, go or change, the entry is a function of public values, and is answered as it is.
        """
        estimate, variance = totals.astype(np.float64), np.zeros(len(totals))
        moving = reach > 0
        if moving.any():
            grid = self.grid(reach[moving])
            noisy = grid.noisy(totals[moving], entropy)
            is_count = self.mechanism == COUNTED  # rounded to whole numbers, which is post-processing
            estimate[moving] = np.rint(noisy) + 0.0 if is_count else noisy  # no -0
            variance[moving] = whole_variance(grid.sigma) if is_count else grid.variance
        answers, everywhere = Answers.empty(len(estimate)), np.ones(len(estimate), dtype=bool)
        found = Estimates.of_kind(estimate * self.unit, variance * self.unit**2, EXACT)
        answers.put(everywhere, found.with_interval(confidence), self.mechanism)
        return answers


@dataclass(frozen=True, repr=False)
class Count(Addend):
    """The number of establishments in every class."""

    table: ClassTable
    unit: ClassVar[float] = 1.0
    mechanism: ClassVar[str] = COUNTED
    attributes: ClassVar[tuple[str, ...]] = ()

    def limits(
        self, upper: Upper, possible: Possible, combination: int, crowd: Upper | None = None, spread: Spread = 1.0
    ) -> Limits:
        """One establishment leaves an entry and enters another."""
        return Limits({}, np.sqrt(squared_reach_of_counts(self.table, possible, combination)))

    def contributions(self, amounts: Mapping[str, IntArray], bounds: Mapping[str, IntArray], rows: int) -> IntArray:
        """Each counts once."""
        return np.ones(rows, dtype=np.int64)

    def require_grid(self, query: str) -> None:
        """Rejects a price at which not even one unit could be hidden."""
        _require_price(self, query)


@dataclass(frozen=True, repr=False)
class ClassSum(Addend):
    """The sum of an attribute in every class."""

    table: ClassTable
    attribute: Attribute

    @property
    def unit(self) -> float:
        """The attribute's."""
        return float(self.attribute.unit)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The one that is added up."""
        return (self.name,)

    def limits(
        self, upper: Upper, possible: Possible, combination: int, crowd: Upper | None = None, spread: Spread = 1.0
    ) -> Limits:
        """A value moves below its bound, or goes from one entry to another."""
        largest, least = pnc_range(self.mu)
        most = np.floor(largest / spread)
        found = bounds_in(self.table, self.attribute, upper[self.name], combination, most=most, least=least)
        reach = squared_reach_of_sums(self.table, self.attribute, possible, found, combination)
        return Limits({self.name: found.bounds}, np.sqrt(reach))

    def contributions(self, amounts: Mapping[str, IntArray], bounds: Mapping[str, IntArray], rows: int) -> IntArray:
        """Values, cut off."""
        return np.clip(amounts[self.name], -bounds[self.name], bounds[self.name])

    def require_grid(self, query: str) -> None:
        """Rejects a price at which not even one unit could be hidden."""
        _require_price(self, query)


@dataclass(frozen=True, repr=False)
class CombinedSum(Addend):
    """A combination of attributes, summed over so many establishments in all.

    Weights are whole numbers of the combination's own unit, so that every sum is whole and nothing is rounded.
    """

    weights: Weights
    policy: Mapping[str, Attribute]
    rows: int
    largest: ClassVar[int] = MOST_STEPS

    @property
    def unit(self) -> float:
        """Its own."""
        return float(self.weights.unit)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Those that are combined."""
        return tuple(self.weights.of)

    @property
    def most(self) -> float:
        """What the weighted bounds of one establishment may add up to, a third of it: noise and sums must have a grid.

        Sums of every attribute are below 2^53 units. Where that is not enough, so many establishments must fit.
        """
        largest_noise = LARGEST_SCALE * float(self.mu) / 6.01
        if self.weights.total * MOST_UNITS <= MOST_STEPS:
            return largest_noise
        return min(largest_noise, float(MOST_STEPS // (3 * self.rows + 1)))

    @property
    def least(self) -> float:
        """The noise is one step at least, which is one unit."""
        return float(self.mu) * RAISE

    def limits(
        self, upper: Upper, possible: Possible, combination: int, crowd: Upper | None = None, spread: Spread = 1.0
    ) -> Limits:
        """All attributes move at once."""
        most = self.most / spread
        found = combined_bounds(self.weights, self.policy, upper, most=most, least=self.least, crowded_by=crowd)
        return Limits(found.bounds, found.sensitivity)

    def contributions(self, amounts: Mapping[str, IntArray], bounds: Mapping[str, IntArray], rows: int) -> IntArray:
        """Combinations of values, each cut off."""
        return combined(self.weights, amounts, bounds)

    def require_grid(self, query: str) -> None:
        """Rejects coefficients, units and prices that are too far apart."""
        if not SMALLEST_UNIT <= self.weights.unit <= 1 / SMALLEST_UNIT:
            size = "small" if self.weights.unit < 1 else "large"
            problem = f"its coefficients are so {size} that errors would not be numbers"
            raise DomainError(f"{self.name} in query {query!r}: {problem}. Take others, such as 1 or 0.5")
        if not self.mu or self.weights.total > self.most:
            problem = "there is no grid for its noise, since its coefficients and units are too far apart"
            raise DomainError(f"{self.name} in query {query!r}: {problem}. Take rounder coefficients, or a larger mu")


def addend_of(
    measure: Measure, mu: Fraction, table: ClassTable, attributes: Mapping[str, Attribute], rows: int
) -> Addend:
    """What adds up a measure at this price, in a table of so many establishments."""
    if not measure.weights:
        return Count(measure.name, mu, table)
    if measure.classes:
        return ClassSum(measure.name, mu, table, attributes[measure.name])
    units = {name: exact(attributes[name].unit) for name in measure.weights}
    return CombinedSum(measure.name, mu, measure.whole_weights(units), attributes, rows)


def _require_price(addend: Addend, query: str) -> None:
    if not addend.mu or pnc_range(addend.mu)[0] < 1:
        raise DomainError(f"{addend.name} in query {query!r}: there is no grid for its noise. Take a larger mu")
