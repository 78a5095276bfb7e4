"""Tables by classes under individual accounting: every establishment has possible classes and bounds of its own.

Both follow from its first answers, wherever its row is, and what it pays from the noise of the entries that it can be
in. That nobody pays more than the part of the pool that was set aside is checked on the noise itself, before any of it
is drawn.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gedp.arrays import FloatArray, IntArray, max_by
from gedp.confidential.class_passes import possible_classes
from gedp.confidential.classes import EntryNoise
from gedp.confidential.individual_rows import CHARGED, PlannedRows
from gedp.confidential.mechanisms import pnc_range
from gedp.confidential.table import Groups
from gedp.individual.bounds import ClippingBounds, For
from gedp.individual.charges import charge, largest_share
from gedp.individual.classes import (
    ClassInterval,
    ClassTable,
    Possible,
    bounds_in,
    class_of,
    squared_reach_of_counts,
    squared_reach_of_sums,
)
from gedp.passes import Batch, ByPlace, Key, Reads, Reducible
from gedp.passes.lookup import Lookup
from gedp.passes.sums import sums_of_whole
from gedp.policy import COUNT, Spec, class_parts
from gedp.policy.model import PSI_SUFFIX

#: What is planned with is less than what may be paid by this part, so that rounding toward more noise is not too much.
MARGIN = Fraction(1, 10**8)
_BITS_OF_ROOT = 64


@dataclass(frozen=True, repr=False)
class OwnClasses:
    """How rows are read for one table by classes, from their first answers."""

    cells: Lookup
    table: ClassTable
    groups: Groups
    spec: Spec
    intervals: Mapping[str, ClassInterval]  # by attribute
    planned: Mapping[str, PlannedRows]  # by attribute; they have the bounds

    @property
    def entries(self) -> int:
        """Every class of every public group."""
        return self.groups.count * self.table.combinations

    @property
    def parts(self) -> dict[str, Fraction]:
        """What was set aside of the pools, for everything that is asked for, in μ²."""
        return {asked: part.mu_squared for asked, part in class_parts(self.table.query, self.spec).items()}

    @property
    def columns(self) -> tuple[str, ...]:
        """The first answers about sums and classes."""
        names = (*self.table.query.sums, *self.table.query.classed(self.spec.classes))
        return tuple(f"{name}{PSI_SUFFIX}" for name in dict.fromkeys(names))

    def noise(self, asked: str) -> EntryNoise:
        """The noise that everybody can pay for."""
        return EntryNoise(mu_for(self.parts[asked]), float(self.spec.output.confidence))

    def possible(self, batch: Batch, use: For) -> Possible:
        """The classes that are possible for each of these rows."""
        omega = {name: _omega(batch, name) for name in self.table.query.classed(self.spec.classes)}
        return possible_classes(self.table, self.intervals, omega, omega, batch.rows, use)

    def bounds(self, asked: str, batch: Batch, combination: int, use: For) -> ClippingBounds:
        """Where values of these rows are cut off if they are in this combination."""
        attribute = self.spec.policy.attributes[asked]
        most, least = pnc_range(mu_for(self.parts[asked]))
        own = self.planned[asked].bounds(_omega(batch, asked), use).bounds.astype(np.float64)
        return bounds_in(self.table, attribute, own, combination, most=most, least=least)

    def squared_reach(self, asked: str, batch: Batch, possible: Possible, combination: int, use: For) -> FloatArray:
        """R of each of these rows in this combination."""
        if asked == COUNT:
            return squared_reach_of_counts(self.table, possible, combination)
        attribute, bounds = self.spec.policy.attributes[asked], self.bounds(asked, batch, combination, use)
        return squared_reach_of_sums(self.table, attribute, possible, bounds, combination)

    def planned_noise(self, answered: Reducible) -> "PlannedEntries":
        """R of every entry, and what anybody pays; refused if that would be more than was set aside."""
        found = answered.reduce(OwnReaches(self)).highest
        reach = {asked: np.maximum(found[asked], 0.0) for asked in self.table.query.asked}
        sigma = {}
        for asked, squared in reach.items():
            sigma[asked] = np.full(self.entries, np.inf)
            if (squared > 0).any():
                sigma[asked][squared > 0] = self.noise(asked).grid(squared[squared > 0]).sigma
        charges = answered.reduce(OwnCharges(self, sigma)).highest
        shares = {
            asked: largest_share(Fraction(0), [charges[asked, str(CHARGED)]], part)
            for asked, part in self.parts.items()
        }
        return PlannedEntries(self, reach, shares)


@dataclass(frozen=True, repr=False)
class PlannedEntries:
    """For one table by classes what follows from first answers: R of every entry, and the largest bill."""

    own: OwnClasses
    squared_reach: Mapping[str, FloatArray]
    shares: Mapping[str, float]  # of what was set aside, the most that anybody pays


@dataclass(frozen=True, repr=False)
class OwnReaches:
    """The pass over first answers that finds the largest R of every entry."""

    own: OwnClasses

    @property
    def reads(self) -> Reads:
        """First answers, and the cells of the rows."""
        return Reads(plain=self.own.columns, cells=self.own.cells)

    def __call__(self, batch: Batch) -> ByPlace:
        """The largest of these rows."""
        own, group = self.own, self.own.groups.of_cell[batch.cells]
        possible, highest = own.possible(batch, For.PLANNING), dict[Key, FloatArray]()
        for asked in own.table.query.asked:
            by_entry = [
                max_by(group, own.squared_reach(asked, batch, possible, each, For.PLANNING), own.groups.count)
                for each in range(own.table.combinations)
            ]
            highest[asked] = np.stack(by_entry, axis=1).ravel()
        return ByPlace(highest=highest)


@dataclass(frozen=True, repr=False)
class OwnCharges:
    """The pass over first answers that finds the most that anybody in a group pays for a table by classes.

    Twice what can leave an entry is at most R, so that leaving one and entering another costs no more than the dearer
    of the two does alone.
    """

    own: OwnClasses
    sigma: Mapping[str, FloatArray]  # of every entry, infinite where there is no noise

    @property
    def reads(self) -> Reads:
        """First answers, and the cells of the rows."""
        return Reads(plain=self.own.columns, cells=self.own.cells)

    def __call__(self, batch: Batch) -> ByPlace:
        """The most in every group; what is not a number counts as endless."""
        own, group = self.own, self.own.groups.of_cell[batch.cells]
        possible, highest = own.possible(batch, For.CHARGING), dict[Key, FloatArray]()
        for asked, sigma in self.sigma.items():
            paid = np.zeros(batch.rows)
            for each in range(own.table.combinations):
                of_entry = sigma[group.astype(np.int64) * own.table.combinations + each]
                reach = np.sqrt(own.squared_reach(asked, batch, possible, each, For.CHARGING))
                paid = np.maximum(paid, charge(reach, of_entry))
            most = np.where(np.isnan(paid), np.inf, paid)
            highest[asked, str(CHARGED)] = max_by(group, most, own.groups.count)
        return ByPlace(highest=highest)


@dataclass(frozen=True, repr=False)
class OwnTotals:
    """The pass that counts establishments, and adds up their values, in the entries where each of them can be."""

    own: OwnClasses
    units: Mapping[str, Fraction]

    @property
    def reads(self) -> Reads:
        """The values, first answers, and the cells of the rows."""
        return Reads(self.units, self.own.columns, self.own.cells)

    def __call__(self, batch: Batch) -> ByPlace:
        """What these rows come to."""
        own, group = self.own, self.own.groups.of_cell[batch.cells]
        found = [
            class_of(edges, batch.amounts[each.attribute])
            for each, edges in zip(own.table.classes, own.table.edges, strict=True)
        ]
        classes = own.possible(batch, For.CLIPPING).clipped(np.arange(batch.rows, dtype=np.int32), found)
        place, added = own.table.places(group, classes), dict[Key, IntArray]()
        for asked in own.table.query.asked:
            values = np.ones(batch.rows, dtype=np.int64)
            if asked != COUNT:
                bound = self._bounds(asked, batch, place % own.table.combinations)
                values = np.clip(batch.amounts[asked], -bound, bound)
            added[asked] = sums_of_whole(place, values, own.entries)
        return ByPlace(added)

    def _bounds(self, asked: str, batch: Batch, combinations: IntArray) -> IntArray:
        """The bound of each row in the combination that it is in."""
        bound = np.zeros(batch.rows, dtype=np.int64)
        for each in range(self.own.table.combinations):
            inside = combinations == each
            bound[inside] = self.own.bounds(asked, batch, each, For.CLIPPING).bounds[inside]
        return bound


def mu_for(part: Fraction) -> Fraction:
    """The μ to draw noise with, where so much of a pool was set aside, in μ²."""
    scale, squared = 2**_BITS_OF_ROOT, part * (1 - MARGIN)
    return Fraction(math.isqrt(squared.numerator * scale**2 // squared.denominator), scale)


def _omega(batch: Batch, name: str) -> FloatArray:
    omega: FloatArray = batch.plain[f"{name}{PSI_SUFFIX}"].to_numpy()
    return omega
