"""Tables by classes under the paper's rule: every entry gets noise for what one establishment can move in it.

Which classes a public group can have, and bounds on values in each, follow from the identity answers, so they are the
same for neighboring tables. Classes and values are then moved into these ranges, and every entry of the table gets
noise for its squared reach (gedp.individual.classes). docs/proofs/classes.md has the argument.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from gedp.accounting.composition import exact
from gedp.arrays import MOST_UNITS, FloatArray, IntArray, max_by
from gedp.confidential.answers import Answers, AnswerWriter, answer_table
from gedp.confidential.class_passes import ClassTotals, DrawnClasses, possible_classes
from gedp.confidential.mechanisms import BITS, PsiMechanism, pnc_range
from gedp.confidential.table import ConfidentialTable, FinestCells, Groups
from gedp.confidential.tally import CellTally
from gedp.errors import TableChangedError
from gedp.individual.bounds import ClippingBounds, in_units
from gedp.individual.classes import (
    ClassInterval,
    ClassTable,
    Possible,
    bounds_in,
    class_table,
    squared_reach_of_counts,
    squared_reach_of_sums,
)
from gedp.neighbors import Signed
from gedp.noise.entropy import Entropy
from gedp.noise.sums import SumGrid, sum_grid_for
from gedp.noise.whole import whole_variance
from gedp.passes import ByPlace, Joined
from gedp.passes.sums import sums_of_whole
from gedp.policy import COUNT, Attribute, Spec
from gedp.release.classes import ClassesAnswered, mechanism_of
from gedp.release.estimates import PsiAnswers, no_clipping_tau


@dataclass(frozen=True, repr=False)
class ClassJob:
    """Everything that answering tables by classes needs, put together before the first draw."""

    table: ConfidentialTable
    spec: Spec
    cells: FinestCells
    identity: Mapping[str, PsiMechanism]
    zeta: Fraction
    entropy: Entropy

    @property
    def tables(self) -> dict[str, ClassTable]:
        """The classes of every query."""
        classes, attributes = self.spec.classes, self.spec.policy.attributes
        return {query.name: class_table(query, classes, attributes) for query in self.spec.class_queries}

    def of_drawn(self) -> dict[str, DrawnClasses]:
        """The passes over identity answers, for the queries whose sums need bounds."""
        return {
            name: DrawnClasses(
                self.cells.lookup,
                table,
                self.cells.groups(table.query.public),
                class_intervals(table, self.identity, self.cells.rows, self.zeta),
            )
            for name, table in self.tables.items()
            if table.query.sums
        }

    def answer(
        self, tallies: Mapping[str, CellTally], drawn: Mapping[str, ByPlace], writer: AnswerWriter
    ) -> list[ClassesAnswered]:
        """Every query by classes: plan from the identity answers, go over the rows once more, draw, write."""
        plans = [self._plan(table, tallies, drawn.get(name, ByPlace())) for name, table in self.tables.items()]
        if not plans:
            return []
        passes = Joined([self._totals(plan) for plan in plans])
        found = passes.parted(self.table.engine.reduce(passes))
        for plan, totals in zip(plans, found, strict=True):
            plan.require_same(totals, tallies, self.cells.counts)
        return [self._answer(plan, totals, writer) for plan, totals in zip(plans, found, strict=True)]

    def _plan(self, table: ClassTable, tallies: Mapping[str, CellTally], drawn: ByPlace) -> "ClassPlan":
        groups, attributes = self.cells.groups(table.query.public), self.spec.policy.attributes
        return plan_classes(table, groups, attributes, self.identity, tallies, drawn, self.cells.rows, self.zeta)

    def _totals(self, plan: "ClassPlan") -> ClassTotals:
        query = plan.table.query
        units = units_of(self.spec, (*query.sums, *query.classed(self.spec.classes)))
        return ClassTotals(self.cells.lookup, plan.table, plan.groups, units, plan.possible, plan.bounds)

    def _answer(self, plan: "ClassPlan", totals: ByPlace, writer: AnswerWriter) -> ClassesAnswered:
        query, confidence = plan.table.query, float(self.spec.output.confidence)
        answers = {}
        for asked, mu in query.mu.items():
            unit = 1.0 if asked == COUNT else float(self.spec.policy.attributes[asked].unit)
            values = totals.added[asked if asked == COUNT else (asked, "clipped")]
            noise = EntryNoise(exact(mu), confidence)
            answers[asked] = noise.answer(asked, values, plan.squared_reach[asked], unit, self.entropy)
        writer.write_answers(query.name, answer_table(query, class_keys(plan.table, plan.groups), answers))
        certain = {asked: int((reach == 0).sum()) for asked, reach in plan.squared_reach.items()}
        return ClassesAnswered(query, plan.groups.count * plan.table.combinations, certain)


def units_of(spec: Spec, names: Iterable[str]) -> dict[str, Fraction]:
    """The units of some attributes."""
    return {name: exact(spec.policy.attributes[name].unit) for name in names}


@dataclass(frozen=True, repr=False)
class ClassPlan:
    """What follows from the identity answers for one table by classes: all that its noise depends on."""

    table: ClassTable
    groups: Groups
    possible: Possible
    bounds: Mapping[str, IntArray]
    squared_reach: Mapping[str, FloatArray]  # by entry, for everything that is asked for

    def require_same(self, found: ByPlace, tallies: Mapping[str, CellTally], counts: IntArray) -> None:
        """Refuses a table that is not the one of which the first pass saw the sums and the rows of every cell."""
        groups, combinations = self.groups.count, self.table.combinations
        if not np.array_equal(found.added[COUNT].reshape(groups, combinations).sum(axis=1), self._by_group(counts)):
            raise TableChangedError
        for name, tally in tallies.items():
            if (name, "all") in found.added:
                again = found.added[name, "all"]
                if not np.array_equal(again[:groups], self._by_group(tally.sums)):
                    raise TableChangedError

    def _by_group(self, by_cell: IntArray) -> IntArray:
        return sums_of_whole(self.groups.of_cell, by_cell, self.groups.count)


def plan_classes(
    table: ClassTable,
    groups: Groups,
    attributes: Mapping[str, Attribute],
    identity: Mapping[str, PsiMechanism],
    tallies: Mapping[str, CellTally],
    drawn: ByPlace,
    rows: int,
    zeta: Fraction,
) -> ClassPlan:
    """Possible classes, bounds and reaches of every entry, from public identity answers alone."""
    intervals = class_intervals(table, identity, rows, zeta)
    lowest = {name: -max_by(groups.of_cell, -tallies[name].lowest, groups.count) for name in intervals}
    highest = {name: max_by(groups.of_cell, tallies[name].highest, groups.count) for name in intervals}
    possible = possible_classes(table, intervals, lowest, highest, groups.count)
    bounds, reach = {}, {}
    entries = range(table.combinations)
    for asked, mu in table.query.mu.items():
        if asked == COUNT:
            by_entry = [squared_reach_of_counts(table, possible, each) for each in entries]
        else:
            of = [_bounds(table, attributes[asked], identity, drawn, exact(mu), rows, zeta, each) for each in entries]
            bounds[asked] = np.stack([each.bounds for each in of], axis=1).ravel()
            by_entry = [
                squared_reach_of_sums(table, attributes[asked], possible, bound, each) for each, bound in enumerate(of)
            ]
        reach[asked] = np.stack(by_entry, axis=1).ravel()
    return ClassPlan(table, groups, possible, bounds, reach)


def class_intervals(
    table: ClassTable, identity: Mapping[str, PsiMechanism], rows: int, zeta: Fraction
) -> dict[str, ClassInterval]:
    """What identity answers say about classes, for the attributes that have them: on both sides with chance 1 − ζ."""
    tau = no_clipping_tau(rows, len(identity), zeta, signed=True) if identity else 0.0
    return {
        each.attribute: ClassInterval(
            identity[each.attribute].psi, identity[each.attribute].sigma, tau, np.array(each.edges, dtype=np.float64)
        )
        for each in table.classes
        if each.attribute in identity
    }


def _bounds(
    table: ClassTable,
    attribute: Attribute,
    identity: Mapping[str, PsiMechanism],
    drawn: ByPlace,
    mu: Fraction,
    rows: int,
    zeta: Fraction,
    combination: int,
) -> ClippingBounds:
    """Bounds on the values in one combination, group by group, as of pnc: none where nobody can be there."""
    answers = identity[attribute.name]
    signed = isinstance(answers.psi, Signed)
    tau = no_clipping_tau(rows, len(identity), zeta, signed=signed)
    of_entry = slice(combination, None, table.combinations)
    extremes = [drawn.highest[attribute.name][of_entry], *([drawn.lowest[attribute.name][of_entry]] if signed else [])]
    anybody = np.isfinite(extremes[0])
    uppers = [PsiAnswers(answers.psi, np.where(anybody, e, 0.0), answers.sigma).upper_bounds(tau) for e in extremes]
    most, least = pnc_range(mu)
    upper = np.where(anybody, np.maximum.reduce(uppers), -np.inf)
    return bounds_in(table, attribute, in_units(attribute, upper), combination, most=most, least=least)


@dataclass(frozen=True)
class EntryNoise:
    """How entries are answered: at which price, and with which confidence of intervals."""

    mu: Fraction
    confidence: float

    def grid(self, squared_reach: FloatArray) -> SumGrid:
        """The noise of entries in which an establishment can move something."""
        sensitivity = np.maximum(np.sqrt(squared_reach), pnc_range(self.mu)[1])  # none may fail now
        return sum_grid_for(sensitivity, self.mu, BITS, MOST_UNITS)

    def answer(self, asked: str, values: IntArray, squared_reach: FloatArray, unit: float, entropy: Entropy) -> Answers:
        """The answers for all entries of one table, given what is to be answered in units.

        Where nobody can come, go or change, the entry is a function of public values, and is answered as it is.
        """
        estimate, variance = values.astype(np.float64), np.zeros(len(values))
        moving = squared_reach > 0
        if moving.any():
            grid = self.grid(squared_reach[moving])
            noisy = grid.noisy(values[moving], entropy)
            is_count = asked == COUNT  # rounded to whole numbers, which is post-processing
            estimate[moving] = np.rint(noisy) + 0.0 if is_count else noisy  # no -0
            variance[moving] = whole_variance(grid.sigma) if is_count else grid.variance
        return exact_answers(asked, estimate * unit, variance * unit**2, self.confidence)


def exact_answers(asked: str, estimate: FloatArray, variance: FloatArray, confidence: float) -> Answers:
    """Answers whose variances are known."""
    answers, everywhere = Answers.empty(len(estimate)), np.ones(len(estimate), dtype=bool)
    reach = float(ndtri((1 + confidence) / 2)) * np.sqrt(variance)
    interval = estimate - reach, estimate + reach
    answers.put(everywhere, estimate, variance, interval, mechanism_of(asked), "exact")
    return answers


def class_keys(table: ClassTable, groups: Groups) -> dict[str, pa.Array]:
    """The keys of every entry: those of its group, and the names of its classes."""
    group, place = np.divmod(np.arange(groups.count * table.combinations), table.combinations)
    repeated = {key: pa.array(groups.keys[key], pa.string()).take(pa.array(group)) for key in table.query.public}
    named = {
        key: pa.array(labels, pa.string()).take(pa.array(codes[place]))
        for key, labels, codes in zip(table.query.classes, table.labels, table.codes, strict=True)
    }
    return repeated | named
