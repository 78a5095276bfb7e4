"""Measures under the paper's rule: possible classes and bounds hold for a whole group.

They follow from the extremes of the identity answers, as those of pnc (probably no clipping) do, so they are the same
for neighboring tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gedp.arrays import CodeArray, FloatArray, IntArray, max_by
from gedp.confidential.addends import Addend, ClassSum
from gedp.confidential.answers import AnswerWriter
from gedp.confidential.measures import MeasuredQuery, MeasureTotals, by_entry, class_intervals, units_of
from gedp.confidential.mechanisms import PsiMechanism, upper_bounds
from gedp.confidential.preparing import Prepared
from gedp.confidential.tally import CELLS, ROWS, CellSums, CellTally
from gedp.errors import TableChangedError
from gedp.individual.bounds import in_units
from gedp.individual.classes import ClassInterval, Possible
from gedp.neighbors import Signed
from gedp.neighbors.estimates import PsiAnswers, no_clipping_tau
from gedp.noise.entropy import Entropy
from gedp.passes import Batch, Joined, Key, PartialResults, Reads
from gedp.passes.lookup import Lookup
from gedp.policy.model import PSI_SUFFIX
from gedp.release.answered import Answered


@dataclass(frozen=True, repr=False)
class GroupRule:
    """Everything that answering measures needs under the paper's rule, put together before the first draw."""

    prepared: Prepared
    identity: Mapping[str, PsiMechanism]
    zeta: Fraction

    def of_drawn(self) -> dict[str, "Extremes"]:
        """The passes over identity answers, for the measures whose sums by classes need bounds."""
        return {
            measure.query.name: Extremes(self.prepared.cells.lookup, measure, self._intervals(measure))
            for measure in self.prepared.measures
            if measure.query.classed and measure.query.summed
        }

    def answer(
        self,
        tallies: Mapping[str, CellTally],
        drawn: Mapping[str, PartialResults],
        writer: AnswerWriter,
        entropy: Entropy,
    ) -> list[Answered]:
        """Every measure: limits from the identity answers, one more pass over the rows, then noise."""
        if not self.prepared.measures:
            return []
        limits = {
            each.query.name: self._limits(each, tallies, drawn.get(each.query.name, PartialResults()))
            for each in self.prepared.measures
        }
        totals, confidence = self._totals(limits, tallies), float(self.prepared.spec.output.confidence)
        return [
            each.measure.write(totals[query], each.reach, confidence, writer, entropy) for query, each in limits.items()
        ]

    def _totals(
        self, limits: Mapping[str, "GroupLimits"], tallies: Mapping[str, CellTally]
    ) -> dict[str, PartialResults]:
        """The sums of all rows; rejects a table whose sums are not those of the first pass."""
        lookup = self.prepared.cells.lookup
        names = dict.fromkeys(name for measure in self.prepared.measures for name in measure.query.attributes)
        of_measures = {
            query: MeasureTotals(lookup, each, units_of(self.prepared.spec, each.measure.query.attributes))
            for query, each in limits.items()
        }
        passes = Joined({CELLS: CellSums(lookup, units_of(self.prepared.spec, names)), **of_measures})
        found = passes.split(self.prepared.table.engine.reduce(passes))
        before: dict[Key, IntArray] = {name: tallies[name].sums for name in names}
        before[ROWS] = self.prepared.cells.counts
        if any(not np.array_equal(found[CELLS].added[key], sums) for key, sums in before.items()):
            raise TableChangedError
        return found

    def _limits(self, measure: MeasuredQuery, tallies: Mapping[str, CellTally], drawn: PartialResults) -> "GroupLimits":
        """Possible classes, bounds and reaches of every entry, from public identity answers alone."""
        groups, intervals = measure.groups, self._intervals(measure)
        lowest = {name: -max_by(groups.of_cell, -tallies[name].lowest, groups.count) for name in intervals}
        highest = {name: max_by(groups.of_cell, tallies[name].highest, groups.count) for name in intervals}
        possible = measure.table.possible(intervals, lowest, highest, groups.count)
        found = {
            addend.name: [
                addend.limits(self._upper(measure, addend, tallies, drawn, each), possible, each)
                for each in range(measure.table.combinations)
            ]
            for addend in measure.addends
        }
        return GroupLimits(
            measure,
            possible,
            {
                addend.name: {
                    name: by_entry(each.bounds[name] for each in found[addend.name]) for name in addend.attributes
                }
                for addend in measure.addends
            },
            {name: by_entry(each.reach for each in limits) for name, limits in found.items()},
        )

    def _upper(
        self,
        measure: MeasuredQuery,
        addend: Addend,
        tallies: Mapping[str, CellTally],
        drawn: PartialResults,
        combination: int,
    ) -> dict[str, FloatArray]:
        """Upper bounds on the values in every group, in units; -inf where nobody can be in this combination."""
        rows, answered, upper = self.prepared.cells.rows, len(self.identity), {}
        for name in addend.attributes:
            identity, attribute = self.identity[name], self.prepared.spec.policy.attributes[name]
            if isinstance(addend, ClassSum):
                tau = no_clipping_tau(rows, answered, self.zeta, signed=isinstance(identity.psi, Signed))
                found = drawn_bounds(identity, drawn, name, slice(combination, None, measure.table.combinations), tau)
            else:
                found = upper_bounds(identity, tallies[name], measure.groups, rows, answered, self.zeta)
            upper[name] = in_units(attribute, found)
        return upper

    def _intervals(self, measure: MeasuredQuery) -> dict[str, ClassInterval]:
        return class_intervals(measure.table, self.identity, self.prepared.cells.rows, self.zeta)


@dataclass(frozen=True, repr=False)
class GroupLimits:
    """What follows from the identity answers for one measure: all that its noise depends on."""

    measure: MeasuredQuery
    of_group: Possible
    of_entry: Mapping[str, Mapping[str, IntArray]]  # bounds, by what is added up and by attribute
    reach: Mapping[str, FloatArray]  # by entry, for everything that is added up
    columns: tuple[str, ...] = ()

    def possible(self, batch: Batch, group: CodeArray) -> Possible:
        """Those of the group that each of these rows is in."""
        return self.of_group.at(group)

    def bounds(self, addend: Addend, batch: Batch, place: IntArray) -> Mapping[str, IntArray]:
        """Those of the entry that each of these rows is in."""
        return {name: bounds[place] for name, bounds in self.of_entry[addend.name].items()}


@dataclass(frozen=True, repr=False)
class Extremes:
    """The pass over identity answers that finds the extremes of ω among those who can be in an entry."""

    cells: Lookup
    measure: MeasuredQuery
    intervals: Mapping[str, ClassInterval]  # by attribute

    @property
    def reads(self) -> Reads:
        """The answers about sums and classes, and the cells of the rows."""
        return Reads(plain=tuple(name + PSI_SUFFIX for name in self._names), cells=self.cells)

    def __call__(self, batch: Batch) -> PartialResults:
        """Partial results for this batch."""
        measure, groups = self.measure, self.measure.groups
        omega = {name: batch.plain[name + PSI_SUFFIX].to_numpy() for name in self._names}
        group = groups.of_cell[batch.cells]
        possible = measure.table.possible(self.intervals, omega, omega, batch.rows)
        inside = [possible.holds(measure.table, each) for each in range(measure.table.combinations)]

        def highest(values: FloatArray) -> FloatArray:
            return by_entry(max_by(group[where], values[where], groups.count) for where in inside)

        return PartialResults(
            highest={name: highest(omega[name]) for name in measure.query.summed},
            lowest={name: -highest(-omega[name]) for name in measure.query.summed},
        )

    @property
    def _names(self) -> list[str]:
        return list(dict.fromkeys((*self.measure.query.summed, *self.intervals)))


def drawn_bounds(identity: PsiMechanism, drawn: PartialResults, name: str, entries: slice, tau: float) -> FloatArray:
    """Upper bounds on the magnitudes of values in some entries; -inf where nobody can be."""
    highest = drawn.highest[name][entries]
    extremes = [highest, *([drawn.lowest[name][entries]] if isinstance(identity.psi, Signed) else [])]
    anybody = np.isfinite(highest)
    uppers = [PsiAnswers(identity.psi, np.where(anybody, e, 0.0), identity.sigma).upper_bounds(tau) for e in extremes]
    upper: FloatArray = np.where(anybody, np.maximum.reduce(uppers), -np.inf)
    return upper
