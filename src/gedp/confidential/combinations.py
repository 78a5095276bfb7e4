"""Combinations of attributes under the paper's rule: one number per group, with noise for what one record can move.

Bounds follow from the identity answers, as those of pnc (probably no clipping) do, so they are the same for neighboring
tables. Weights are whole numbers of the combination's own unit, so that every sum is whole and nothing is rounded.
docs/proofs/combinations.md has the argument.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gedp.accounting.composition import exact
from gedp.arrays import MOST_UNITS, FloatArray, IntArray
from gedp.confidential.answers import Answers, AnswerWriter, answer_table
from gedp.confidential.classes import exact_answers, units_of
from gedp.confidential.mechanisms import BITS, PsiMechanism, upper_bounds
from gedp.confidential.table import ConfidentialTable, FinestCells, Groups
from gedp.confidential.tally import ROWS, CellTally, Units
from gedp.errors import DomainError, TableChangedError
from gedp.individual.bounds import RAISE, in_units
from gedp.individual.combinations import CombinedBounds, combined_bounds
from gedp.noise.entropy import Entropy
from gedp.noise.gaussian import LARGEST_SCALE
from gedp.noise.grid import MOST_STEPS
from gedp.noise.sums import SumGrid, sum_grid_for
from gedp.passes import Batch, ByPlace, Joined, Key, Reads
from gedp.passes.lookup import Lookup
from gedp.passes.sums import sums_of_whole
from gedp.policy import CombinationQuery, Spec, Weights
from gedp.release.combinations import CombinationsAnswered

COMBINED = "combined"
#: Of a combination: squares of much smaller ones, or much larger ones times a sum, are beyond floating point.
SMALLEST_UNIT = Fraction(1, 10**30)


@dataclass(frozen=True)
class CombinationNoise:
    """How one combination is answered: at which price, in which unit, about so many establishments."""

    weights: Weights
    mu: Fraction
    rows: int

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
        """The least sensitivity: its noise is one step, which is one unit."""
        return float(self.mu) * RAISE

    def require_grid(self, asked: str, query: str) -> None:
        """Refuses, before anything is spent, what no grid could carry whatever bounds come out."""
        if not SMALLEST_UNIT <= self.weights.unit <= 1 / SMALLEST_UNIT:
            size = "small" if self.weights.unit < 1 else "large"
            problem = f"its coefficients are so {size} that errors would not be numbers"
            raise DomainError(f"{asked} in query {query!r}: {problem}. Take others, such as 1 or 0.5")
        if not self.mu or self.weights.total > self.most:
            problem = "there is no grid for its noise, since its coefficients and units are too far apart"
            raise DomainError(f"{asked} in query {query!r}: {problem}. Take rounder coefficients, or a larger mu")

    def bounds(
        self, spec: Spec, upper: Mapping[str, FloatArray], crowded_by: Mapping[str, FloatArray] | None = None
    ) -> CombinedBounds:
        """Where values are cut off, from upper bounds on them in units, and what the combination can then move."""
        attributes, most, least = spec.policy.attributes, self.most, self.least
        return combined_bounds(self.weights, attributes, upper, most=most, least=least, crowded_by=crowded_by)

    def grid(self, sensitivity: FloatArray) -> SumGrid:
        """The noise of groups in which the combination can move so much."""
        return sum_grid_for(sensitivity, self.mu, BITS, MOST_STEPS)

    def answer(
        self, asked: str, values: IntArray, sensitivity: FloatArray, confidence: float, entropy: Entropy
    ) -> Answers:
        """The answers for all groups, given the combination of clipped values in units."""
        grid, unit = self.grid(sensitivity), float(self.weights.unit)
        return exact_answers(asked, grid.noisy(values, entropy) * unit, grid.variance * unit**2, confidence)


def combination_weights(spec: Spec, asked: str) -> Weights:
    """A combination of a spec in whole numbers."""
    combination = spec.combinations[asked]
    return combination.weights(units_of(spec, combination.coefficients))


@dataclass(frozen=True, repr=False)
class CombinationJob:
    """Everything that answering combinations needs, put together before the first draw."""

    table: ConfidentialTable
    spec: Spec
    cells: FinestCells
    identity: Mapping[str, PsiMechanism]
    zeta: Fraction
    entropy: Entropy

    def answer(self, tallies: Mapping[str, CellTally], writer: AnswerWriter) -> list[CombinationsAnswered]:
        """Every query: bounds from the identity answers, one more pass over the rows, then noise."""
        queries = self.spec.combination_queries
        if not queries:
            return []
        plans = {(q.name, asked): self._plan(q, asked, tallies) for q in queries for asked in q.asked}
        passes = Joined([plan.totals(self.cells.lookup, self.spec) for plan in plans.values()])
        found = dict(zip(plans, passes.parted(self.table.engine.reduce(passes)), strict=True))
        for key, plan in plans.items():
            plan.require_same(found[key], tallies, self.cells.counts)
        return [self._answer(query, plans, found, writer) for query in queries]

    def _plan(self, query: CombinationQuery, asked: str, tallies: Mapping[str, CellTally]) -> "CombinationPlan":
        groups, noise = self.cells.groups(query.by), self._noise(query, asked)
        rows, answered, upper = self.cells.rows, len(self.identity), {}
        for name in noise.weights.of:
            found = upper_bounds(self.identity[name], tallies[name], groups, rows, answered, self.zeta)
            upper[name] = in_units(self.spec.policy.attributes[name], found)
        return CombinationPlan(groups, noise, noise.bounds(self.spec, upper))

    def _noise(self, query: CombinationQuery, asked: str) -> CombinationNoise:
        return CombinationNoise(combination_weights(self.spec, asked), exact(query.mu[asked]), self.cells.rows)

    def _answer(
        self,
        query: CombinationQuery,
        plans: "Mapping[tuple[str, str], CombinationPlan]",
        found: Mapping[tuple[str, str], ByPlace],
        writer: AnswerWriter,
    ) -> CombinationsAnswered:
        confidence, answers = float(self.spec.output.confidence), dict[str, Answers]()
        for asked in query.asked:
            plan, values = plans[query.name, asked], found[query.name, asked].added[COMBINED]
            answers[asked] = plan.noise.answer(asked, values, plan.bounds.sensitivity, confidence, self.entropy)
        groups = self.cells.groups(query.by)
        writer.write_answers(query.name, answer_table(query, groups.keys, answers))
        return CombinationsAnswered(query, groups.count)


@dataclass(frozen=True, repr=False)
class CombinationPlan:
    """What follows from the identity answers for one combination: all that its noise depends on."""

    groups: Groups
    noise: CombinationNoise
    bounds: CombinedBounds  # by group

    def totals(self, cells: Lookup, spec: Spec) -> "CombinationTotals":
        """The pass over the rows."""
        return CombinationTotals(cells, self, units_of(spec, self.noise.weights.of))

    def require_same(self, found: ByPlace, tallies: Mapping[str, CellTally], counts: IntArray) -> None:
        """Refuses a table that is not the one of which the first pass saw the sums and the rows of every cell."""
        before: dict[Key, IntArray] = {name: tallies[name].sums for name in self.noise.weights.of}
        before[ROWS] = counts
        for key, by_cell in before.items():
            if not np.array_equal(found.added[key], sums_of_whole(self.groups.of_cell, by_cell, self.groups.count)):
                raise TableChangedError


@dataclass(frozen=True, repr=False)
class CombinationTotals:
    """The pass that adds up the combination of values cut off at the bounds of their group; and the values alone."""

    cells: Lookup
    plan: CombinationPlan
    units: Units

    @property
    def reads(self) -> Reads:
        """The attributes, and the cells of the rows."""
        return Reads(self.units, cells=self.cells)

    def __call__(self, batch: Batch) -> ByPlace:
        """What these rows come to."""
        plan, group = self.plan, self.plan.groups.of_cell[batch.cells]
        combined = plan.bounds.combined(plan.noise.weights, batch.amounts, group)
        added: dict[Key, IntArray] = {
            COMBINED: sums_of_whole(group, combined, plan.groups.count),
            ROWS: sums_of_whole(group, np.ones(batch.rows), plan.groups.count),
        }
        for name in self.units:
            added[name] = sums_of_whole(group, batch.amounts[name], plan.groups.count)
        return ByPlace(added)
