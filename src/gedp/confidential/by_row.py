"""Measures under individual accounting: every establishment has possible classes and bounds of its own.

Both follow from its first answers, wherever its row is, and what it pays from the noise of the entries that it can be
in. That nobody pays more than was set aside of the pools is checked on the noise itself, before any of it is drawn.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from gedp.arrays import BoolArray, CodeArray, FloatArray, IntArray, max_by
from gedp.confidential.addends import Addend, Limits
from gedp.confidential.individual_rows import CHARGED, PlannedRows
from gedp.confidential.measures import MeasuredQuery, by_entry
from gedp.individual.bounds import For
from gedp.individual.charges import charge, largest_share
from gedp.individual.classes import ClassInterval, Possible
from gedp.individual.units import UnitCells, UnitParts
from gedp.passes import Batch, Key, PartialResults, Reads, Reducible
from gedp.passes.lookup import Lookup
from gedp.passes.sums import sums_of_whole
from gedp.policy.model import PSI_SUFFIX

#: What a shift is rounded up to, as a part of the μ that noise is drawn with, so that shifts are added up exactly.
STEPS_OF_SHIFT = 2.0**40
#: Nobody shifts anything by more than so many times its μ; whoever did would pay more than is set aside.
MOST_SHIFT = 2.0
SHIFTED = "shifted"


@dataclass(frozen=True, repr=False)
class RowLimits:
    """How rows are read for one measure, from their first answers."""

    cells: Lookup
    measure: MeasuredQuery
    intervals: Mapping[str, ClassInterval]  # by attribute
    planned: Mapping[str, PlannedRows]  # by attribute; they have the bounds
    units: UnitCells | None = None  # None where every record is a unit by itself

    @property
    def columns(self) -> tuple[str, ...]:
        """The first answers about sums and classes."""
        return tuple(f"{name}{PSI_SUFFIX}" for name in self.measure.query.attributes)

    def possible(self, batch: Batch, group: CodeArray) -> Possible:
        """The classes that each of these rows can be counted in."""
        return self._possible(batch, For.CLIPPING)

    def bounds(self, addend: Addend, batch: Batch, place: IntArray) -> Mapping[str, IntArray]:
        """Where the values of these rows are cut off in the entry that each of them is in."""
        combination = place % len(self.combinations)
        bounds = {name: np.zeros(batch.rows, dtype=np.int64) for name in addend.attributes}
        for each, limits in enumerate(self.limits(addend, batch, For.CLIPPING) if bounds else ()):
            inside = combination == each
            for name, found in limits.bounds.items():
                bounds[name][inside] = found[inside]
        return bounds

    def limits(self, addend: Addend, batch: Batch, use: For) -> Iterator[Limits]:
        """What follows for each of these rows, combination by combination.

        Where bounds are cut down in proportion, that is by more for clipping than for charges, and then for plans.
        """
        possible, upper = self._possible(batch, use), self._upper(addend, batch, use)
        crowd = self._upper(addend, batch, For(For.PLANNING - use)) if len(upper) > 1 else None
        spread = 1.0 if self.units is None else self.spread[batch.cells]
        return (addend.limits(upper, possible, each, crowd, spread) for each in self.combinations)

    def _possible(self, batch: Batch, use: For) -> Possible:
        omega, intervals = {name: _omega(batch, name) for name in self.measure.query.classed}, self.intervals
        if self.units is not None:
            noise = np.sqrt(self.units.members[batch.cells])
            intervals = {name: replace(each, sigma=each.sigma * noise) for name, each in intervals.items()}
        return self.measure.table.possible(intervals, omega, omega, batch.rows, use)

    @cached_property
    def spread(self) -> FloatArray:
        """By cell, at most how many times what one record can move must be hidden because its unit has several.

        All its records may move one entry, and a unit in several groups pays for each.
        """
        spread = np.ones(self.cells.count)
        spread[self.parts.cell] = self._units.members[self.parts.cell] * self.groups_of_units
        return spread

    @cached_property
    def groups_of_units(self) -> FloatArray:
        """For every part of a unit of several, the root of the number of groups that the unit is in."""
        return np.sqrt(self.parts.groups(self.measure.groups.of_cell))

    @cached_property
    def parts(self) -> UnitParts:
        """The parts of units of several records, whatever they can move."""
        return self._units.parts(np.ones(self.cells.count))

    @property
    def _units(self) -> UnitCells:
        if self.units is None:
            raise ValueError("all records are units by themselves")
        return self.units

    def _upper(self, addend: Addend, batch: Batch, use: For) -> dict[str, FloatArray]:
        """The bounds of these rows in units, wherever they are."""
        return {
            name: self.planned[name].bounds(batch.cells, _omega(batch, name), use).bounds.astype(np.float64)
            for name in addend.attributes
        }

    def paid(self, addend: Addend, batch: Batch, sigma: FloatArray, use: For) -> FloatArray:
        """What each of these rows pays, if it moves alone; NaN counts as infinite."""
        first = self.measure.groups.of_cell[batch.cells].astype(np.int64) * len(self.combinations)
        paid = np.zeros(batch.rows)
        for each, found in enumerate(self.limits(addend, batch, use)):
            paid = np.maximum(paid, charge(found.reach, sigma[first + each]))
        return np.where(np.isnan(paid), np.inf, paid)

    def are_alone(self, batch: Batch) -> BoolArray | slice:
        """Which rows are records that are units by themselves."""
        return slice(None) if self.units is None else self.units.alone[batch.cells]

    @cached_property
    def part_of(self) -> IntArray:
        """By cell, the part of a unit of several that its rows are; -1 where they are units by themselves."""
        part = np.full(self.cells.count, -1, dtype=np.int64)
        part[self.parts.cell] = np.arange(len(self.parts.cell))
        return part

    @property
    def combinations(self) -> range:
        """Those of classes; a single one where there are none."""
        return range(self.measure.table.combinations)

    def planned_noise(self, answered: Reducible) -> "PlannedMeasure":
        """What the noise of every entry must hide, and what anybody pays; rejected if that is more than set aside."""
        found = answered.reduce(Reaches(self)).highest
        reach = {addend.name: np.maximum(found[addend.name], 0.0) for addend in self.measure.addends}
        if self.units is not None:
            times = self._times(answered.reduce(UnitShifts(self, self._sigma(reach), For.PLANNING)))
            reach = {name: each * times[name] for name, each in reach.items()}
        sigma = self._sigma(reach)
        charges = answered.reduce(MeasureCharges(self, sigma)).highest
        paid = {name: charges[name, str(CHARGED)] for name in reach}
        if self.units is not None:
            shifts = answered.reduce(UnitShifts(self, sigma, For.CHARGING)).added
            of_cell = self.measure.groups.of_cell
            for addend in self.measure.addends:
                of_units = self.parts.shifted(of_cell, self._shifts(addend, shifts))
                paid[addend.name] = np.concatenate([np.maximum(paid[addend.name], 0.0), of_units])
        shares = {
            asked: largest_share(Fraction(0), [paid[asked]], sum(parts.values(), Fraction(0)))
            for asked, parts in self.measure.parts.items()
        }
        return PlannedMeasure(self, reach, shares)

    def _sigma(self, reach: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        return {addend.name: addend.sigma(reach[addend.name]) for addend in self.measure.addends}

    def _shifts(self, addend: Addend, added: Mapping[Key, IntArray]) -> FloatArray:
        """What the records of every part shift together, in standard deviations of the noise."""
        steps = added[addend.name, SHIFTED].reshape(-1, len(self.combinations))[:, 0]
        return steps / STEPS_OF_SHIFT * float(addend.mu)

    def _times(self, found: PartialResults) -> dict[str, FloatArray]:
        """By entry, how many times as much noise there must be as for one record, for everything that is added up.

        A unit in m groups may shift each by μ/√m. Where it would shift one further, all entries that it can move there
        get so much more noise.
        """
        of_cell, combinations, result = self.measure.groups.of_cell, len(self.combinations), dict[str, FloatArray]()
        rounding = 1 + 2 * self.spread[self.parts.cell] / STEPS_OF_SHIFT
        for addend in self.measure.addends:
            of_part = self.parts.in_group(of_cell, self._shifts(addend, found.added))
            further = of_part * self.groups_of_units * rounding / float(addend.mu)
            moves = found.highest[addend.name, SHIFTED].reshape(-1, combinations).T > 0
            group = of_cell[self.parts.cell]
            times = (max_by(group[each], further[each], self.measure.groups.count) for each in moves)
            result[addend.name] = by_entry(np.maximum(each, 1.0) for each in times)
        return result


@dataclass(frozen=True, repr=False)
class PlannedMeasure:
    """For one measure what follows from first answers: what can move every entry, and the largest bill."""

    limits: RowLimits
    reach: Mapping[str, FloatArray]  # by entry, for everything that is added up
    shares: Mapping[str, float]  # of what was set aside, the most that anybody pays

    def bills(self, attribute: str) -> Iterator[float]:
        """For everything that is added up, the most that anybody pays out of the pool of an attribute, in μ²."""
        for asked, share in self.shares.items():
            yield share * float(self.limits.measure.parts[asked].get(attribute, 0))


@dataclass(frozen=True, repr=False)
class Reaches:
    """The pass over first answers that finds how far anybody can move every entry."""

    limits: RowLimits

    @property
    def reads(self) -> Reads:
        """First answers, and the cells of the rows."""
        return Reads(plain=self.limits.columns, cells=self.limits.cells)

    def __call__(self, batch: Batch) -> PartialResults:
        """The furthest of these rows."""
        groups = self.limits.measure.groups
        group = groups.of_cell[batch.cells]
        highest: dict[Key, FloatArray] = {}
        for addend in self.limits.measure.addends:
            found = self.limits.limits(addend, batch, For.PLANNING)
            highest[addend.name] = by_entry(max_by(group, each.reach, groups.count) for each in found)
        return PartialResults(highest=highest)


@dataclass(frozen=True, repr=False)
class MeasureCharges:
    """The pass over first answers that finds the most that anybody in a group pays for a measure.

    Twice what can leave an entry is at most its squared reach, so that leaving one and entering another costs no more
    than the dearer of the two does alone.
    """

    limits: RowLimits
    sigma: Mapping[str, FloatArray]  # of every entry, infinite where there is no noise

    @property
    def reads(self) -> Reads:
        """First answers, and the cells of the rows."""
        return Reads(plain=self.limits.columns, cells=self.limits.cells)

    def __call__(self, batch: Batch) -> PartialResults:
        """The most in every group."""
        groups, alone = self.limits.measure.groups, self.limits.are_alone(batch)
        group = groups.of_cell[batch.cells]
        highest: dict[Key, FloatArray] = {}
        for addend in self.limits.measure.addends:
            paid = self.limits.paid(addend, batch, self.sigma[addend.name], For.CHARGING)
            highest[addend.name, str(CHARGED)] = max_by(group[alone], paid[alone], groups.count)
        return PartialResults(highest=highest)


@dataclass(frozen=True, repr=False)
class UnitShifts:
    """The pass over first answers that finds how far the records of every part of a unit shift the noise together.

    What several records shift is at most the sum of what each shifts alone. That is added up in steps of the μ that
    noise is drawn with, at the first of the places that a part has, one for each combination of classes. How far
    single records can move the entry of each place is kept too.
    """

    limits: RowLimits
    sigma: Mapping[str, FloatArray]
    use: For

    @property
    def reads(self) -> Reads:
        """First answers, and the cells of the rows."""
        return Reads(plain=self.limits.columns, cells=self.limits.cells)

    def __call__(self, batch: Batch) -> PartialResults:
        """Partial results for this batch."""
        combinations = len(self.limits.combinations)
        part = self.limits.part_of[batch.cells]
        shared, count = part >= 0, len(self.limits.parts.cell) * combinations
        places = part[shared] * combinations
        added, highest = dict[Key, IntArray](), dict[Key, FloatArray]()
        for addend in self.limits.measure.addends:
            paid = self.limits.paid(addend, batch, self.sigma[addend.name], self.use)[shared]
            steps = np.ceil(np.minimum(np.sqrt(paid) / float(addend.mu), MOST_SHIFT) * STEPS_OF_SHIFT)
            added[addend.name, SHIFTED] = sums_of_whole(places, steps, count)
            reach = np.full(count, -np.inf)
            for each, found in enumerate(self.limits.limits(addend, batch, self.use)):
                np.maximum.at(reach, places + each, found.reach[shared])
            highest[addend.name, SHIFTED] = reach
        return PartialResults(added, highest)


def _omega(batch: Batch, name: str) -> FloatArray:
    omega: FloatArray = batch.plain[f"{name}{PSI_SUFFIX}"].to_numpy()
    return omega
