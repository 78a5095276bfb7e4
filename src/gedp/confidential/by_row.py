"""Measures under individual accounting: every establishment has possible classes and bounds of its own.

Both follow from its first answers, wherever its row is, and what it pays from the noise of the entries that it can be
in. That nobody pays more than was set aside of the pools is checked on the noise itself, before any of it is drawn.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gedp.arrays import CodeArray, FloatArray, IntArray, max_by
from gedp.confidential.addends import Addend, Limits
from gedp.confidential.individual_rows import CHARGED, PlannedRows
from gedp.confidential.measures import MeasuredQuery, by_entry
from gedp.individual.bounds import For
from gedp.individual.charges import charge, largest_share
from gedp.individual.classes import ClassInterval, Possible
from gedp.passes import Batch, Key, PartialResults, Reads, Reducible
from gedp.passes.lookup import Lookup
from gedp.policy.model import PSI_SUFFIX


@dataclass(frozen=True, repr=False)
class RowLimits:
    """How rows are read for one measure, from their first answers."""

    cells: Lookup
    measure: MeasuredQuery
    intervals: Mapping[str, ClassInterval]  # by attribute
    planned: Mapping[str, PlannedRows]  # by attribute; they have the bounds

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
        return (addend.limits(upper, possible, each, crowd) for each in self.combinations)

    def _possible(self, batch: Batch, use: For) -> Possible:
        omega = {name: _omega(batch, name) for name in self.measure.query.classed}
        return self.measure.table.possible(self.intervals, omega, omega, batch.rows, use)

    def _upper(self, addend: Addend, batch: Batch, use: For) -> dict[str, FloatArray]:
        """The bounds of these rows in units, wherever they are."""
        return {
            name: self.planned[name].bounds(_omega(batch, name), use).bounds.astype(np.float64)
            for name in addend.attributes
        }

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
        """The most in every group; NaN counts as infinite."""
        groups = self.limits.measure.groups
        group = groups.of_cell[batch.cells]
        first = group.astype(np.int64) * len(self.limits.combinations)
        highest: dict[Key, FloatArray] = {}
        for addend in self.limits.measure.addends:
            paid, sigma = np.zeros(batch.rows), self.sigma[addend.name]
            for each, found in enumerate(self.limits.limits(addend, batch, For.CHARGING)):
                paid = np.maximum(paid, charge(found.reach, sigma[first + each]))
            most = np.where(np.isnan(paid), np.inf, paid)
            highest[addend.name, str(CHARGED)] = max_by(group, most, groups.count)
        return PartialResults(highest=highest)


def _omega(batch: Batch, name: str) -> FloatArray:
    omega: FloatArray = batch.plain[f"{name}{PSI_SUFFIX}"].to_numpy()
    return omega
