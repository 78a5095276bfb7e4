"""Answers by individual accounting: first answers for establishments, sums clipped at their own bounds, second answers.

Whatever the first answers were, everything about the noise of the others follows from them and from public values. That
no establishment pays more than its pool is checked on the noise itself, before any of it is drawn.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gedp.arrays import MOST_UNITS, BoolArray, CodeArray, FloatArray, sum_by
from gedp.confidential.by_row import PlannedMeasure, RowLimits
from gedp.confidential.drawings import FirstDrawing, FirstOfUnits, SecondDrawing
from gedp.confidential.engines import Draw, Drawing
from gedp.confidential.group_sums import SumNoise
from gedp.confidential.individual_rows import CHARGED, CLIPPED, Charges, OwnClipping, PlannedRows, PlannedUnits
from gedp.confidential.job import Described, Job
from gedp.confidential.measures import MeasuredQuery, MeasureTotals, class_intervals, units_of
from gedp.confidential.mechanisms import BITS
from gedp.confidential.pools import AttributePool, partition_of
from gedp.confidential.tally import CELLS, CellSums
from gedp.confidential.varied import VariedPsi, clipping_range, least_share
from gedp.errors import TableChangedError
from gedp.individual import Bills, CondensedAnswers, FirstAnswer, GroupNoise
from gedp.individual.bounds import RAISE
from gedp.individual.charges import charge, largest_share
from gedp.individual.units import UnitParts
from gedp.neighbors import Signed
from gedp.neighbors.estimates import no_clipping_tau
from gedp.noise.sums import sum_grid_for
from gedp.passes import Joined, Pass, Reducible
from gedp.planning.choice import Choice, choose, set_aside
from gedp.policy import whole_pools
from gedp.policy.model import PSI_SUFFIX
from gedp.release import Individual
from gedp.release.answered import Answered, AttributeNoise

PLANNERS = 2  # attributes planned at a time


@dataclass(frozen=True, repr=False)
class IndividualJob(Job):
    """First answers; a plan of all further noise, by what every establishment has left; second answers and sums."""

    @property
    def pools(self) -> Mapping[str, AttributePool]:
        """What may be spent on every attribute."""
        return self.prepared.pools

    def draw(self) -> Described:
        """Draws and writes everything."""
        units, engine = units_of(self.spec, self.spec.asked), self.prepared.table.engine
        mechanisms = {name: self.pools[name].first for name in self.spec.asked}
        sigma = {name: self.pools[name].first_sigma(self.cells.units) for name in self.spec.asked}
        keys = [self.spec.data.id] if self.spec.data.id else []
        first = FirstDrawing(mechanisms, units, keys=keys, of_units=self._first_of_units())
        of_cells = CellSums(self.cells.lookup, units)
        answered = engine.draw_first(self._draw(first, of_cells, "establishments"))
        self.require_same(answered.of_rows)
        sums = {name: answered.of_rows.added[name] for name in self.spec.asked}
        plans = self._plans(answered)
        rows = {name: plan.rows for name, plan in plans.items()}
        measured = {
            measure.query.name: self._limits(measure, rows).planned_noise(answered)
            for measure in self.prepared.measures
        }
        second = SecondDrawing(self.spec.data, self.cells.lookup, rows, sigma, units)
        clipping = self._clipping(rows, measured)
        found = clipping.split(answered.draw(self._draw(second, clipping, "second answers")).of_rows)
        self.require_same(found[CELLS])
        if any(not np.array_equal(found[CELLS].added[name], sums[name]) for name in sums):
            raise TableChangedError
        noise = {(query, name): each for name, plan in plans.items() for query, each in plan.noise.items()}
        clipped = {(query, name): found[CELLS].added[name, CLIPPED] for query, name in noise}
        answered_sums = [self._identity_answered(), *self.write_sums(noise, sums, clipped)]
        of_measures = [
            each.limits.measure.write(found[query], each.reach, self.confidence, self.writer, self.entropy)
            for query, each in measured.items()
        ]
        individual = {name: self._with_set_aside(name, plans[name].described, measured) for name in sums}
        return Described([*answered_sums, *of_measures], individual=individual)

    def _draw(self, drawing: Drawing, of_rows: Pass, step: str) -> Draw:
        return Draw(drawing, self.entropy, self.writer, of_rows, partial(self.report, step))

    def _limits(self, measure: MeasuredQuery, planned: Mapping[str, PlannedRows]) -> RowLimits:
        """What the first answers make of a measure."""
        firsts = {name: pool.first for name, pool in self.pools.items()}
        intervals = class_intervals(measure.table, firsts, self.cells.rows, self.zeta)
        return RowLimits(self.cells.lookup, measure, intervals, planned, self.cells.units)

    def _first_of_units(self) -> FirstOfUnits | None:
        """How first answers are drawn where there are units of several records."""
        if self.cells.units is None:
            return None
        sigma = {name: np.asarray(pool.first_sigma(self.cells.units)) for name, pool in self.pools.items()}
        return FirstOfUnits(self.cells.lookup, sigma, {name: pool.varied for name, pool in self.pools.items()})

    def _clipping(self, planned: Mapping[str, PlannedRows], measured: Mapping[str, PlannedMeasure]) -> Joined:
        """Everything that is added up of values cut off at bounds of their own."""
        lookup = self.cells.lookup
        of_measures = {
            query: MeasureTotals(lookup, each.limits, units_of(self.spec, each.limits.measure.query.attributes))
            for query, each in measured.items()
        }
        return Joined({CELLS: OwnClipping(lookup, units_of(self.spec, self.spec.asked), planned), **of_measures})

    def _with_set_aside(self, name: str, said: Individual, measured: Mapping[str, PlannedMeasure]) -> Individual:
        """What was chosen for an attribute; measures draw on its pool too."""
        if not measured:
            return said
        paid = said.largest_share * float(self.pools[name].pool)
        for each in measured.values():
            for bill in each.bills(name):
                paid += bill
        return replace(said, largest_share=min(paid / float(whole_pools(self.spec)[name].mu_squared), 1.0))

    def _plans(self, answered: Reducible) -> "dict[str, _Plan]":
        """What the first answers make of all further noise, for every attribute; nothing is drawn here."""
        result = {}
        with ThreadPoolExecutor(PLANNERS) as pool:
            plans = {name: pool.submit(self._plan, name, answered) for name in self.spec.asked}
            for done, (name, plan) in enumerate(plans.items(), 1):
                result[name] = plan.result()
                self.progress("plans", done, len(plans))
        return result

    def _plan(self, name: str, answered: Reducible) -> "_Plan":
        """What follows for one attribute; rejected if anybody would pay more than the pool."""
        pool, units = self.pools[name], self.cells.units
        with np.errstate(over="ignore", invalid="ignore"):  # what is predicted to be infinite is not chosen
            lookup, counts = self.cells.lookup, self.cells.counts
            answers = CondensedAnswers.seen(self._first(name), f"{name}{PSI_SUFFIX}", lookup, counts, answered, units)
            choice = self._choose(answers)
        noise = {query: _noise(each, pool.varied) for query, each in choice.filling.noise.items()}
        prices = {query: _prices(noise[query], each, pool.varied) for query, each in choice.filling.noise.items()}
        of_cells = {query: self.groups[query].of_cell for query in noise}
        cells = self.cells.count
        parts = None if units is None else units.parts(answers.moved(choice.tau))
        rows = PlannedRows(
            answers.each,
            choice.tau,
            pool.varied,
            Bills.of(cells, [(of_cells[q], n.by_psi, n.precision) for q, n in choice.filling.noise.items()], parts),
            Bills.of(cells, [(of_cells[q], n.by_psi, prices[q]) for q, n in noise.items()]),
            None if units is None or parts is None else PlannedUnits(units, parts.whole(cells)),
        )
        charges = answered.reduce(Charges(lookup, f"{name}{PSI_SUFFIX}", rows)).highest[CHARGED]
        if units is not None and parts is not None:
            groups = [(of_cells[query], each.by_psi, prices[query]) for query, each in noise.items()]
            of_units = unit_charges(parts, rows, groups)
            charges = np.concatenate([np.where(units.alone, charges, 0.0), of_units])
        return _Plan(rows, noise, _described(choice, pool, largest_share(pool.mu**2, [charges], pool.pool)))

    def _first(self, name: str) -> FirstAnswer:
        """How the first answers about an attribute are read.

        Where there is no ψ to answer sums by, a grid must carry every clipped sum at the price that is set aside.
        """
        attribute, pool = self.spec.policy.attributes[name], self.pools[name]
        terms = pool.terms(attribute)
        aside = set_aside(terms, self._importance(name), self.prepared.shares.get(name)).reserves
        parts = least_share(1 if self.cells.units is None else self.cells.units.most)
        price = min(aside.values(), default=terms.pool) / parts**2
        most, least = clipping_range(attribute, float(pool.rest), price)
        return FirstAnswer(attribute, terms, float(MOST_UNITS) if terms.allows_psi else most, least)

    def _importance(self, name: str) -> dict[str, float]:
        """Of the tables of an attribute."""
        return {query.name: float(query.importance[name]) for query in self.spec.group_sums if name in query.importance}

    def _choose(self, answers: CondensedAnswers) -> Choice:
        name = answers.each.attribute.name
        asked = self._importance(name)
        by = {query.name: query.by for query in self.spec.group_sums}
        partitions = [partition_of(query, self.cells, by[query]) for query in asked]
        signed = isinstance(answers.each.psi, Signed)
        tau = no_clipping_tau(self.cells.rows, len(self.pools), self.zeta, signed=signed)
        return choose(answers, partitions, asked, tau, self.prepared.shares.get(name))

    def _identity_answered(self) -> Answered:
        (query,) = self.spec.identities
        noise = {name: AttributeNoise(self.pools[name].alone_sigma(self.cells.units)) for name in query.attributes}
        return Answered(query, self.cells.rows, noise)


@dataclass(frozen=True, repr=False)
class _Plan:
    """What the first answers make of all further noise about one attribute."""

    rows: PlannedRows
    noise: Mapping[str, SumNoise]  # by query
    described: Individual


def _noise(planned: GroupNoise, varied: VariedPsi) -> SumNoise:
    """The noise as it will be drawn, where a group was promised a precision or a price."""
    by_psi = planned.by_psi
    of_psi, grid = varied.sigma(planned.precision[by_psi]), None
    if not by_psi.all():
        deviation = 1 / np.sqrt(planned.precision[~by_psi]) / varied.unit  # in units, as the grid has it
        grid = sum_grid_for(deviation, 1, BITS, MOST_UNITS)
    return SumNoise(by_psi, partial(varied.answer, sigma=of_psi), grid, None)


def _prices(noise: SumNoise, planned: GroupNoise, varied: VariedPsi) -> FloatArray:
    """What members pay: all alike for ψ of the sum; for a clipped sum, if they can move by one unit."""
    prices = charge(varied.sensitivity, varied.sigma(np.where(noise.by_psi, planned.precision, 1.0)))
    if noise.clipped is not None:
        prices[~noise.by_psi] = charge(1.0, noise.clipped.sigma)
    return prices


def unit_charges(
    parts: UnitParts, rows: PlannedRows, groups: Sequence[tuple[CodeArray, BoolArray, FloatArray]]
) -> FloatArray:
    """What every unit of several records pays for everything after the first answers, by the noise that is drawn.

    No record moves further than its part is charged for, so second answers take at most the shares of the parts.
    """
    in_units = replace(parts, reach=parts.reach / rows.varied.unit)
    paid = sum_by(parts.unit, rows.left_to_parts() * parts.shares * RAISE, parts.units)
    for of_cell, by_psi, price in groups:
        paid += in_units.paid(of_cell, by_psi, price)
    return paid


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
