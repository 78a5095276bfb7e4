"""Answers under the paper's rule: every query has a price, and bounds hold for whole groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from gedp.accounting.composition import exact
from gedp.arrays import BoolArray, IntArray
from gedp.confidential.by_group import GroupRule
from gedp.confidential.drawings import IdentityAnswers
from gedp.confidential.engines import Draw
from gedp.confidential.group_sums import SumNoise
from gedp.confidential.job import Described, Job
from gedp.confidential.measures import units_of
from gedp.confidential.mechanisms import PsiMechanism, pnc_grid, pnc_range, upper_bounds
from gedp.confidential.table import ConfidentialTable, FinestCells
from gedp.confidential.tally import CELLS, CellSums, CellTally, ClippedCells, Clipping, DrawnCells
from gedp.errors import TableChangedError
from gedp.individual.bounds import ClippingBounds, clipping_bounds
from gedp.neighbors.estimates import psi_variance
from gedp.passes import Joined, Key, PartialResults
from gedp.policy import Query
from gedp.release.answered import Answered, AttributeNoise


@dataclass(frozen=True, repr=False)
class PricedJob(Job):
    """Identity answers first; what they say decides about clipping in every group, and about the limits of measures."""

    @cached_property
    def identity(self) -> dict[str, PsiMechanism]:
        """The mechanisms of identity answers, by attribute."""
        mechanisms = self.prepared.mechanisms
        return {name: mechanisms[query.name, name] for query in self.spec.identities for name in query.asked}

    @cached_property
    def rule(self) -> GroupRule:
        """What answers the measures."""
        return GroupRule(self.prepared, self.identity, self.zeta)

    def draw(self) -> Described:
        """Draws and writes everything."""
        tallies, drawn = self.draw_identity()
        of_sums = [*self._identity_answered(), *self._answer_groups(tallies)]
        of_measures = self.rule.answer(tallies, drawn, self.writer, self.entropy)
        return Described([*of_sums, *of_measures], self.zeta if self.identity else None)

    def draw_identity(self) -> tuple[dict[str, CellTally], dict[str, PartialResults]]:
        """Sums over the finest cells; and what the identity answers, drawn and written, say of cells and measures."""
        engine, lookup, units = self.prepared.table.engine, self.cells.lookup, units_of(self.spec, self.spec.concerned)
        mechanisms = {name: self.identity[name] for name in self.spec.asked if name in self.identity}
        sums, drawn = CellSums(lookup, units), {CELLS: PartialResults()}
        if mechanisms:
            drawing = IdentityAnswers(self.spec.data, mechanisms, units)
            of_drawn = Joined({CELLS: DrawnCells(lookup, units_of(self.spec, mechanisms)), **self.rule.of_drawn()})
            done = partial(self.report, "establishments")
            rows, found = engine.draw(Draw(drawing, self.entropy, self.writer, sums, done, of_drawn))
            drawn = of_drawn.split(found)
            self.require_same(drawn[CELLS])
        else:
            rows = engine.reduce(sums)
        self.require_same(rows)
        return {name: CellTally.of(name, rows, drawn[CELLS]) for name in self.spec.concerned}, drawn

    def _answer_groups(self, tallies: Mapping[str, CellTally]) -> list[Answered]:
        """Every query but the identity: choose, clip, draw, write."""
        plans = {
            (query.name, name): self._plan(query, name, tallies[name])
            for query in self.spec.group_sums
            for name in query.attributes
        }
        excess = self._excess(plans, tallies)
        sums = {name: tally.sums for name, tally in tallies.items()}
        clipped = {(query, name): sums[name] - excess.get((name, query), 0) for query, name in plans}
        noise = {asked: self._noise(asked, plan) for asked, plan in plans.items()}
        return self.write_sums(noise, sums, clipped)

    def _plan(self, query: Query, name: str, tally: CellTally) -> "_Plan":
        """Each group's mechanism and, for pnc (probably no clipping), its bound: from public identity answers alone."""
        attribute, groups = self.spec.policy.attributes[name], self.groups[query.name]
        psi_only = name not in self.identity or query.mechanism == "psi"
        if psi_only:
            return _Plan(np.zeros(groups.count, dtype=bool), None)
        identity = self.identity[name]
        upper = upper_bounds(identity, tally, groups, self.cells.rows, len(self.identity), self.zeta)
        most, least = pnc_range(exact(query.mu[name]))
        bounds = clipping_bounds(attribute, upper, most=most, least=least)
        if query.mechanism == "pnc" or not identity.psi.contracts_in_sums:
            return _Plan(np.ones(groups.count, dtype=bool), bounds)
        expected = np.bincount(groups.of_cell, weights=tally.estimates, minlength=groups.count) * float(attribute.unit)
        of_psi = psi_variance(identity.psi, expected, self.prepared.mechanisms[query.name, name].sigma)
        of_pnc = (bounds.sigma(exact(query.mu[name])) * float(attribute.unit)) ** 2
        return _Plan((of_pnc < of_psi) & (bounds.bounds < most), bounds)  # a bound that was cut down may bite

    def _excess(
        self, plans: Mapping[tuple[str, str], "_Plan"], tallies: Mapping[str, CellTally]
    ) -> Mapping[Key, IntArray]:
        """By attribute and query what clipping takes off the sum of every cell, where it takes off anything.

        Bounds are probably above everything. Then the rows need not be read again, but must still be the same.
        """
        clippings: dict[str, list[Clipping]] = {}
        for (query, name), plan in plans.items():
            if plan.bounds is not None and plan.clip.any():
                bound = np.where(plan.clip, plan.bounds.bounds, 0)[self.groups[query].of_cell]
                clipping = Clipping(query, bound)
                if clipping.may_change(tallies[name].largest):
                    clippings.setdefault(name, []).append(clipping)
        if not clippings:
            self.prepared.table.engine.require_unchanged()
            return {}
        unclipped = {name: tallies[name].sums for name in clippings}
        return clipped_excess(self.prepared.table, self.cells, clippings, unclipped)

    def _noise(self, asked: tuple[str, str], plan: "_Plan") -> SumNoise:
        """The noise of every group, as it will be drawn."""
        mechanism, (query, name) = self.prepared.mechanisms[asked], asked
        mu = next(exact(each.mu[name]) for each in self.spec.group_sums if each.name == query)
        grid = None
        if plan.bounds is not None and plan.clip.any():
            grid = pnc_grid(plan.bounds.sensitivity[plan.clip], mu)
        return SumNoise(~plan.clip, mechanism.answer, grid, mechanism.sigma)

    def _identity_answered(self) -> list[Answered]:
        return [
            Answered(
                query, self.cells.rows, {name: AttributeNoise(self.identity[name].sigma) for name in query.attributes}
            )
            for query in self.spec.identities
        ]


@dataclass(frozen=True, repr=False)
class _Plan:
    """Which groups are clipped, and at which bounds."""

    clip: BoolArray
    bounds: ClippingBounds | None


def clipped_excess(
    table: ConfidentialTable,
    cells: FinestCells,
    clippings: Mapping[str, Sequence[Clipping]],
    unclipped: Mapping[str, IntArray],
) -> Mapping[Key, IntArray]:
    """By attribute and query what clipping takes off every cell; rejects a table whose sums are no longer the same."""
    units = {name: exact(table.attributes[name].unit) for name in clippings}
    found = table.engine.reduce(ClippedCells(cells.lookup, units, clippings)).added
    if any(not np.array_equal(found[name], unclipped[name]) for name in clippings):
        raise TableChangedError
    return found
