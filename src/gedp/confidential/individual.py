"""Answers by individual accounting: first answers for establishments, sums clipped at their own bounds, second answers.

Whatever the first answers were, everything about the noise of the others follows from them and from public values. That
no establishment pays more than its pool is checked on the noise itself, before any of it is drawn.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
from scipy.special import ndtri

from gedp.accounting.composition import exact
from gedp.arrays import MOST_UNITS, IntArray
from gedp.confidential.answers import Answers, AnswerWriter, answer_table
from gedp.confidential.by_row import PlannedMeasure, RowLimits
from gedp.confidential.engines import Second
from gedp.confidential.individual_rows import (
    CHARGED,
    CLIPPED,
    Charges,
    DrawnNoise,
    FirstDrawing,
    OwnClipping,
    PlannedRows,
    SecondDrawing,
)
from gedp.confidential.measures import Measure, MeasureTotals, class_intervals
from gedp.confidential.mechanisms import BITS, PsiMechanism
from gedp.confidential.table import ConfidentialTable, FinestCells, Groups
from gedp.confidential.tally import ROWS, CellSums
from gedp.confidential.varied import VariedPsi, clipping_range, most_noise
from gedp.errors import TableChangedError
from gedp.individual import Bills, CondensedAnswers, FirstAnswer, GroupNoise, Partition, Terms
from gedp.individual.charges import largest_share
from gedp.neighbors import Signed
from gedp.neighbors.estimates import no_clipping_tau
from gedp.noise.entropy import Entropy
from gedp.noise.sums import SumGrid, sum_grid_for
from gedp.passes import ByPlace, Joined, Reducible
from gedp.planning.choice import Choice, choose, set_aside
from gedp.policy import Attribute, Query, Spec, whole_pools
from gedp.policy.model import PSI_SUFFIX
from gedp.progress import Progress
from gedp.release import Answered, AttributeNoise, Individual
from gedp.release.classes import ClassesAnswered
from gedp.release.combinations import CombinationsAnswered

#: What is planned with is less than the pool by this part, so that rounding toward more noise is never too much.
MARGIN = 1e-8
#: What is set aside for tables, in μ²: by attribute and query.
Shares = Mapping[str, Mapping[str, float]]
PLANNERS = 2  # attributes planned at a time


@dataclass(frozen=True)
class AttributePool:
    """What all answers about an attribute may cost, what the first ones do, and their mechanisms."""

    pool: Fraction
    mu_as_decimal: Decimal  # of the first answers
    first: PsiMechanism
    varied: VariedPsi

    @property
    def mu(self) -> Fraction:
        """μ of the first answers, exactly."""
        return exact(self.mu_as_decimal)

    @property
    def rest(self) -> Fraction:
        """What is left for everything after the first answers, in μ²."""
        return self.pool - self.mu**2

    def terms(self, attribute: Attribute) -> Terms:
        """The same as numbers to plan with."""
        rest = float(self.rest) * (1 - MARGIN)
        return Terms(attribute.protection, float(self.mu**2), rest, most_noise(attribute))


@dataclass(frozen=True, repr=False)
class IndividualJob:
    """Everything that answering needs, put together before the first draw."""

    table: ConfidentialTable
    spec: Spec
    cells: FinestCells
    measures: Sequence[Measure]
    pools: Mapping[str, AttributePool]
    entropy: Entropy
    zeta: Fraction
    writer: AnswerWriter
    progress: Progress
    shares: Shares = field(default_factory=dict)  # empty: as is chosen

    def draw(self) -> tuple[list[Answered], dict[str, Individual], list[ClassesAnswered | CombinationsAnswered]]:
        """Draws and writes everything. Returns what the manifest says of queries, attributes and measures."""
        groups = {query.name: self.cells.groups(query.by) for query in self._tables}
        planned: dict[str, PlannedRows] = {}
        described: dict[str, Individual] = {}
        sums: dict[str, IntArray] = {}
        measured: list[PlannedMeasure] = []

        def then(answered: Reducible, found: ByPlace) -> Second:
            self._require_same(found)
            sums.update({name: found.added[name] for name in self.spec.asked})
            for name, (plan, said) in self._plans(answered, groups).items():
                planned[name], described[name] = plan, said
            measured.extend(self._limits(each, planned).planned_noise(answered) for each in self.measures)
            drawing = SecondDrawing(self.cells.lookup, planned, mechanisms, self._units, self.spec.data)
            return Second(drawing, self._clipping(planned, measured))

        mechanisms = {name: self.pools[name].first for name in self.spec.asked}
        first = FirstDrawing(mechanisms, self._units, keys=[self.spec.data.id] if self.spec.data.id else [])
        of_rows = CellSums(self.cells.lookup, self._units)
        done = [partial(self._reach, step) for step in ("establishments", "second answers")]
        every = self.table.engine.draw_twice(first, of_rows, then, self.entropy, self.writer, (done[0], done[1]))
        found, *others = self._clipping(planned, measured).parted(every)
        self._require_same(found)
        if any(not np.array_equal(found.added[name], sums[name]) for name in sums):
            raise TableChangedError
        clipped = {name: found.added[name, CLIPPED] for name in sums}
        answered = self._answer_tables(groups, planned, sums, clipped)
        confidence = float(self.spec.output.confidence)
        of_measures = [
            each.limits.measure.write(totals, each.reach, confidence, self.writer, self.entropy)
            for each, totals in zip(measured, others, strict=True)
        ]
        return answered, {name: self._with_set_aside(name, described[name], measured) for name in sums}, of_measures

    def _limits(self, measure: Measure, planned: Mapping[str, PlannedRows]) -> RowLimits:
        """What the first answers make of a measure."""
        firsts = {name: pool.first for name, pool in self.pools.items()}
        intervals = class_intervals(measure.table, firsts, self.cells.rows, self.zeta)
        return RowLimits(self.cells.lookup, measure, intervals, planned)

    def _clipping(self, planned: Mapping[str, PlannedRows], measured: Sequence[PlannedMeasure]) -> Joined:
        """Everything that is added up of values cut off at bounds of their own."""
        of_measures = [
            MeasureTotals(self.cells.lookup, each.limits, {n: self._units[n] for n in each.limits.measure.attributes})
            for each in measured
        ]
        return Joined([OwnClipping(self.cells.lookup, self._units, planned), *of_measures])

    def _with_set_aside(self, name: str, said: Individual, measured: Sequence[PlannedMeasure]) -> Individual:
        """What was chosen for an attribute; measures draw on its pool too."""
        if not measured:
            return said
        paid = said.largest_share * float(self.pools[name].pool)
        for each in measured:
            for bill in each.bills(name):
                paid += bill
        return replace(said, largest_share=min(paid / float(whole_pools(self.spec)[name].mu_squared), 1.0))

    def _answer_tables(
        self,
        groups: Mapping[str, Groups],
        planned: Mapping[str, PlannedRows],
        sums: Mapping[str, IntArray],
        clipped: Mapping[str, IntArray],
    ) -> list[Answered]:
        answered = [self._identity_answered()]
        for done, query in enumerate(self._tables, 1):
            answers = {
                name: self._answer(name, planned[name].noise[query.name], groups[query.name], sums[name], clipped[name])
                for name in query.attributes
            }
            self.writer.write_answers(query.name, answer_table(query, groups[query.name].keys, answers))
            answered.append(self._answered(query, groups[query.name], planned))
            self.progress("queries", done, len(self._tables))
        return answered

    def _reach(self, step: str, rows: int) -> None:
        self.progress(step, rows, self.cells.rows)

    def _require_same(self, found: ByPlace) -> None:
        """The rows of every cell must be as many as when the table was opened."""
        if not np.array_equal(found.added[ROWS], self.cells.counts):
            raise TableChangedError

    @property
    def _units(self) -> dict[str, Fraction]:
        return {name: exact(self.table.attributes[name].unit) for name in self.spec.asked}

    def _plans(self, answered: Reducible, groups: Mapping[str, Groups]) -> dict[str, tuple[PlannedRows, Individual]]:
        """What the first answers make of all further noise, for every attribute; nothing is drawn here."""
        result = {}
        with ThreadPoolExecutor(PLANNERS) as pool:
            plans = pool.map(lambda name: self._plan(name, answered, groups), self.spec.asked)
            for done, (name, plan) in enumerate(zip(self.spec.asked, plans, strict=True), 1):
                result[name] = plan
                self.progress("plans", done, len(self.spec.asked))
        return result

    @property
    def _tables(self) -> list[Query]:
        return [query for query in self.spec.queries if not query.is_identity]

    def _plan(self, name: str, answered: Reducible, groups: Mapping[str, Groups]) -> tuple[PlannedRows, Individual]:
        """What follows for one attribute; refused if anybody would pay more than the pool."""
        pool = self.pools[name]
        with np.errstate(over="ignore", invalid="ignore"):  # what is predicted to be infinite is not chosen
            lookup, counts = self.cells.lookup, self.cells.counts
            answers = CondensedAnswers.seen(self._first(name), f"{name}{PSI_SUFFIX}", lookup, counts, answered)
            choice = self._choose(answers, groups)
        noise = {query: _noise(each, pool.varied) for query, each in choice.filling.noise.items()}
        of_cells = {query: groups[query].of_cell for query in noise}
        cells = self.cells.count
        plan = PlannedRows(
            answers.each,
            choice.tau,
            pool.varied,
            Bills.of(cells, [(of_cells[q], n.by_psi, n.precision) for q, n in choice.filling.noise.items()]),
            Bills.of(cells, [(of_cells[q], n.by_psi, n.prices(pool.varied)) for q, n in noise.items()]),
            noise,
        )
        charges = answered.reduce(Charges(lookup, f"{name}{PSI_SUFFIX}", plan)).highest[CHARGED]
        return plan, _described(choice, pool, largest_share(pool.mu**2, [charges], pool.pool))

    def _first(self, name: str) -> FirstAnswer:
        """How the first answers about an attribute are read.

        Where there is no ψ to answer sums by, a grid must carry every clipped sum at the price that is set aside.
        """
        attribute, pool = self.spec.policy.attributes[name], self.pools[name]
        terms = pool.terms(attribute)
        aside = set_aside(terms, self._importance(name), self.shares.get(name)).reserves
        most, least = clipping_range(attribute, float(pool.rest), min(aside.values(), default=terms.pool))
        return FirstAnswer(attribute, terms, float(MOST_UNITS) if terms.allows_psi else most, least)

    def _importance(self, name: str) -> dict[str, float]:
        """Of the tables of an attribute."""
        return {query.name: float(query.importance[name]) for query in self._tables if name in query.importance}

    def _choose(self, answers: CondensedAnswers, groups: Mapping[str, Groups]) -> Choice:
        name = answers.each.attribute.name
        asked = self._importance(name)
        partitions = [Partition(query, groups[query].of_cell, groups[query].count) for query in asked]
        signed = isinstance(answers.each.psi, Signed)
        tau = no_clipping_tau(self.cells.rows, len(self.pools), self.zeta, signed=signed)
        return choose(answers, partitions, asked, tau, self.shares.get(name))

    def _answer(self, name: str, noise: "DrawnNoise", groups: Groups, sums: IntArray, clipped: IntArray) -> Answers:
        """The answers for the groups of one query: by ψ of their sums, or by clipped sums."""
        unit, confidence = float(self.spec.policy.attributes[name].unit), float(self.spec.output.confidence)
        result = Answers.empty(groups.count)
        by_psi, cut = noise.by_psi, ~noise.by_psi
        if by_psi.any():
            totals = _by_group(groups, sums)[by_psi]
            answers = self.pools[name].varied.answer(totals, noise.of_psi[by_psi], self.entropy)
            estimated = answers.estimate(), answers.variance(), answers.interval(confidence)
            result.put(by_psi, *estimated, "psi", "estimated", noise.of_psi[by_psi])
        if cut.any():
            grid = SumGrid(noise.clipped.sigma[cut], noise.clipped.step[cut], noise.clipped.largest)
            estimate = grid.noisy(_by_group(groups, clipped)[cut], self.entropy) * unit
            variance = grid.variance * unit**2
            reach = float(ndtri((1 + confidence) / 2)) * np.sqrt(variance)
            interval = estimate - reach, estimate + reach
            result.put(cut, estimate, variance, interval, "pnc", "exact", grid.sigma * unit)
        return result

    def _answered(self, query: Query, groups: Groups, planned: Mapping[str, PlannedRows]) -> Answered:
        by_psi = {name: int(planned[name].noise[query.name].by_psi.sum()) for name in query.attributes}
        noise = {name: AttributeNoise(None, {"psi": n, "pnc": groups.count - n}) for name, n in by_psi.items()}
        return Answered(query, groups.count, noise)

    def _identity_answered(self) -> Answered:
        query = next(query for query in self.spec.queries if query.is_identity)
        noise = {name: AttributeNoise(self.pools[name].first.sigma) for name in query.attributes}
        return Answered(query, self.cells.rows, noise)


def _noise(planned: GroupNoise, varied: VariedPsi) -> DrawnNoise:
    """The noise as it will be drawn, where a group was promised a precision or a price."""
    by_psi = planned.by_psi
    of_psi = varied.sigma(np.where(by_psi, planned.precision, 1.0))
    deviation = np.where(by_psi, 1.0, 1 / np.sqrt(planned.precision) / varied.unit)  # in units, as the grid has it
    return DrawnNoise(by_psi, of_psi, sum_grid_for(deviation, 1, BITS, MOST_UNITS))


def _described(choice: Choice, pool: AttributePool, share: float) -> Individual:
    """What was chosen and what it predicts, for the manifest."""
    return Individual(
        pool.mu_as_decimal,
        choice.tau,
        dict(choice.portions.fractions),
        dict(choice.portions.reserves),
        share,
        dict(choice.errors),
        dict(choice.floor),
    )


def _by_group(groups: Groups, by_cell: IntArray) -> IntArray:
    sums = np.zeros(groups.count, dtype=np.int64)
    np.add.at(sums, groups.of_cell, by_cell)
    return sums
