"""Combinations of attributes under individual accounting: every establishment has bounds of its own.

They follow from its first answers, wherever its row is. A group has noise for the one that can move it most, and that
nobody pays more than was set aside is checked on the noise itself, before any of it is drawn.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gedp.arrays import FloatArray, max_by
from gedp.confidential.combinations import COMBINED, CombinationNoise, combination_weights
from gedp.confidential.individual_rows import CHARGED, PlannedRows
from gedp.confidential.own_classes import mu_for
from gedp.confidential.table import Groups
from gedp.individual.bounds import For
from gedp.individual.charges import charge, largest_share
from gedp.individual.combinations import CombinedBounds
from gedp.passes import Batch, ByPlace, Reads, Reducible
from gedp.passes.lookup import Lookup
from gedp.passes.sums import sums_of_whole
from gedp.policy import CombinationQuery, Spec, combination_parts
from gedp.policy.model import PSI_SUFFIX

_REACH = "reach"


def own_noise(spec: Spec, query: CombinationQuery, asked: str, rows: int) -> CombinationNoise:
    """The noise that everybody can pay for, with what was set aside of all pools."""
    part = sum((part.mu_squared for part in combination_parts(query, spec)[asked].values()), Fraction(0))
    return CombinationNoise(combination_weights(spec, asked), mu_for(part), rows)


@dataclass(frozen=True, repr=False)
class OwnCombination:
    """How rows are read for one combination, from their first answers."""

    cells: Lookup
    query: CombinationQuery
    asked: str
    groups: Groups
    spec: Spec
    planned: Mapping[str, PlannedRows]  # by attribute; they have the bounds
    rows: int

    @property
    def noise(self) -> CombinationNoise:
        """At what was set aside."""
        return own_noise(self.spec, self.query, self.asked, self.rows)

    @property
    def parts(self) -> dict[str, Fraction]:
        """What was set aside of the pool of every attribute, in μ²."""
        found = combination_parts(self.query, self.spec)[self.asked]
        return {name: part.mu_squared for name, part in found.items()}

    @property
    def columns(self) -> tuple[str, ...]:
        """The first answers about its attributes."""
        return tuple(f"{name}{PSI_SUFFIX}" for name in self.parts)

    def bounds(self, batch: Batch, use: For) -> CombinedBounds:
        """Where values of these rows are cut off, and what each of them can move.

        Where all are cut down in proportion, that is by more for clipping than for charges, and then for plans.
        """
        opposite = For(For.PLANNING - use)
        return self.noise.bounds(self.spec, self._own(batch, use), self._own(batch, opposite))

    def _own(self, batch: Batch, use: For) -> dict[str, FloatArray]:
        """The bounds of these rows, attribute by attribute."""
        omega = {name: batch.plain[f"{name}{PSI_SUFFIX}"].to_numpy() for name in self.parts}
        return {name: self.planned[name].bounds(omega[name], use).bounds.astype(np.float64) for name in self.parts}

    def planned_noise(self, answered: Reducible) -> "PlannedCombination":
        """What the noise of every group must hide, and what anybody pays; refused if that is more than set aside."""
        sensitivity = answered.reduce(OwnReach(self)).highest[_REACH]
        charges = answered.reduce(OwnCharge(self, self.noise.grid(sensitivity).sigma)).highest[CHARGED]
        share = largest_share(Fraction(0), [charges], sum(self.parts.values(), Fraction(0)))
        return PlannedCombination(self, sensitivity, share)


@dataclass(frozen=True, repr=False)
class PlannedCombination:
    """For one combination what follows from first answers: what can move every group, and the largest bill."""

    own: OwnCombination
    sensitivity: FloatArray
    share: float  # of what was set aside, the most that anybody pays


@dataclass(frozen=True, repr=False)
class OwnReach:
    """The pass over first answers that finds the most that anybody can move in a group."""

    own: OwnCombination

    @property
    def reads(self) -> Reads:
        """First answers, and the cells of the rows."""
        return Reads(plain=self.own.columns, cells=self.own.cells)

    def __call__(self, batch: Batch) -> ByPlace:
        """The largest of these rows."""
        groups, sensitivity = self.own.groups, self.own.bounds(batch, For.PLANNING).sensitivity
        return ByPlace(highest={_REACH: max_by(groups.of_cell[batch.cells], sensitivity, groups.count)})


@dataclass(frozen=True, repr=False)
class OwnCharge:
    """The pass over first answers that finds the most that anybody in a group pays, by the noise that is drawn."""

    own: OwnCombination
    sigma: FloatArray  # of every group

    @property
    def reads(self) -> Reads:
        """First answers, and the cells of the rows."""
        return Reads(plain=self.own.columns, cells=self.own.cells)

    def __call__(self, batch: Batch) -> ByPlace:
        """The most in every group; what is not a number counts as endless."""
        group = self.own.groups.of_cell[batch.cells]
        paid = charge(self.own.bounds(batch, For.CHARGING).sensitivity, self.sigma[group])
        most = np.where(np.isnan(paid), np.inf, paid)
        return ByPlace(highest={CHARGED: max_by(group, most, self.own.groups.count)})


@dataclass(frozen=True, repr=False)
class OwnCombinationTotals:
    """The pass that adds up the combination of values cut off at bounds of their own."""

    own: OwnCombination
    units: Mapping[str, Fraction]

    @property
    def reads(self) -> Reads:
        """The values, first answers, and the cells of the rows."""
        return Reads({name: self.units[name] for name in self.own.parts}, self.own.columns, self.own.cells)

    def __call__(self, batch: Batch) -> ByPlace:
        """What these rows come to."""
        own = self.own
        combined = own.bounds(batch, For.CLIPPING).combined(own.noise.weights, batch.amounts, slice(None))
        return ByPlace({COMBINED: sums_of_whole(own.groups.of_cell[batch.cells], combined, own.groups.count)})
