"""Measures under individual accounting: every establishment has possible classes and bounds of its own.

Both follow from its first answers, wherever its row is, and what it pays from the noise of the entries that it can be
in. That nobody pays more than was set aside of the pools is checked on the noise itself, before any of it is drawn.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gedp.arrays import CodeArray, FloatArray, IntArray, max_by
from gedp.confidential.addends import Addend
from gedp.confidential.individual_rows import CHARGED, PlannedRows
from gedp.confidential.measures import Measure, by_entry
from gedp.individual.charges import charge, largest_share
from gedp.individual.classes import ClassInterval, Possible
from gedp.passes import Batch, ByPlace, Key, Reads, Reducible
from gedp.passes.lookup import Lookup
from gedp.policy.model import PSI_SUFFIX


@dataclass(frozen=True, repr=False)
class RowLimits:
    """How rows are read for one measure, from their first answers."""

    cells: Lookup
    measure: Measure
    intervals: Mapping[str, ClassInterval]  # by attribute
    planned: Mapping[str, PlannedRows]  # by attribute; they have the bounds

    @property
    def columns(self) -> tuple[str, ...]:
        """The first answers about sums and classes."""
        return tuple(f"{name}{PSI_SUFFIX}" for name in self.measure.attributes)

    def possible(self, batch: Batch, group: CodeArray) -> Possible:
        """The classes that are possible for each of these rows."""
        omega = {name: _omega(batch, name) for name in self.measure.classed}
        return self.measure.possible(self.intervals, omega, omega, batch.rows)

    def upper(self, batch: Batch) -> dict[str, FloatArray]:
        """The bounds of these rows in units, wherever they are."""
        return {
            name: self.planned[name].bounds(_omega(batch, name)).bounds.astype(np.float64)
            for name in self.measure.summed
        }

    def bounds(self, addend: Addend, batch: Batch, place: IntArray) -> Mapping[str, IntArray]:
        """Where the values of these rows are cut off in the entry that each of them is in."""
        upper, combination = self.upper(batch), place % self.measure.table.combinations
        possible = self.possible(batch, batch.cells)
        bounds = {name: np.zeros(batch.rows, dtype=np.int64) for name in addend.attributes}
        for each in self.combinations if bounds else ():
            inside = combination == each
            for name, found in addend.limits(upper, possible, each).bounds.items():
                bounds[name][inside] = found[inside]
        return bounds

    def reaches(self, batch: Batch, group: CodeArray) -> Iterator[tuple[str, Iterator[FloatArray]]]:
        """For everything that is added up, how far each of these rows can move the entry of each combination."""
        possible, upper = self.possible(batch, group), self.upper(batch)
        for addend in self.measure.addends:
            yield addend.name, (addend.limits(upper, possible, each).reach for each in self.combinations)

    @property
    def combinations(self) -> range:
        """Those of classes; a single one where there are none."""
        return range(self.measure.table.combinations)

    def planned_noise(self, answered: Reducible) -> "PlannedMeasure":
        """What the noise of every entry must hide, and what anybody pays; refused if that is more than set aside."""
        found = answered.reduce(Reaches(self)).highest
        reach = {addend.name: np.maximum(found[addend.name], 0.0) for addend in self.measure.addends}
        sigma = {addend.name: addend.sigma(reach[addend.name]) for addend in self.measure.addends}
        charges = answered.reduce(MeasureCharges(self, sigma)).highest
        shares = {
            asked: largest_share(Fraction(0), [charges[asked, str(CHARGED)]], sum(parts.values(), Fraction(0)))
            for asked, parts in self.measure.parts.items()
        }
        return PlannedMeasure(self, reach, shares)


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

    def __call__(self, batch: Batch) -> ByPlace:
        """The furthest of these rows."""
        groups = self.limits.measure.groups
        group = groups.of_cell[batch.cells]
        highest: dict[Key, FloatArray] = {
            name: by_entry(max_by(group, reach, groups.count) for reach in reaches)
            for name, reaches in self.limits.reaches(batch, group)
        }
        return ByPlace(highest=highest)


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

    def __call__(self, batch: Batch) -> ByPlace:
        """The most in every group; NaN counts as infinite."""
        groups = self.limits.measure.groups
        group = groups.of_cell[batch.cells]
        first = group.astype(np.int64) * len(self.limits.combinations)
        highest: dict[Key, FloatArray] = {}
        for name, reaches in self.limits.reaches(batch, group):
            paid = np.zeros(batch.rows)
            for each, reach in enumerate(reaches):
                paid = np.maximum(paid, charge(reach, self.sigma[name][first + each]))
            most = np.where(np.isnan(paid), np.inf, paid)
            highest[name, str(CHARGED)] = max_by(group, most, groups.count)
        return ByPlace(highest=highest)


def _omega(batch: Batch, name: str) -> FloatArray:
    omega: FloatArray = batch.plain[f"{name}{PSI_SUFFIX}"].to_numpy()
    return omega
