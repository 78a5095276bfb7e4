"""Passes for tables by classes: what identity answers say about their entries, and what the entries come to."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gedp.arrays import FloatArray, IntArray, max_by
from gedp.confidential.table import Groups
from gedp.confidential.tally import Units
from gedp.individual.bounds import For
from gedp.individual.classes import ClassInterval, ClassTable, Possible, class_of
from gedp.passes import Batch, ByPlace, Key, Reads
from gedp.passes.lookup import Lookup
from gedp.passes.sums import sums_of_whole
from gedp.policy import COUNT
from gedp.policy.model import PSI_SUFFIX


@dataclass(frozen=True, repr=False)
class DrawnClasses:
    """The pass over identity answers that finds the extremes of ω among those who can be in an entry of the table.

    An attribute without identity answers leaves all its classes possible.
    """

    cells: Lookup
    table: ClassTable
    groups: Groups
    intervals: Mapping[str, ClassInterval]  # by attribute

    @property
    def reads(self) -> Reads:
        """The answers about sums and classes, and the cells of the rows."""
        return Reads(plain=tuple(name + PSI_SUFFIX for name in self._names), cells=self.cells)

    def __call__(self, batch: Batch) -> ByPlace:
        """What these rows come to."""
        omega = {name: batch.plain[name + PSI_SUFFIX].to_numpy() for name in self._names}
        group = self.groups.of_cell[batch.cells]
        possible = possible_classes(self.table, self.intervals, omega, omega, batch.rows)
        highest: dict[Key, FloatArray] = {}
        lowest: dict[Key, FloatArray] = {}
        inside = [possible.holds(self.table, each) for each in range(self.table.combinations)]
        for name in self.table.query.sums:
            by_entry = [max_by(group[where], omega[name][where], self.groups.count) for where in inside]
            highest[name] = np.stack(by_entry, axis=1).ravel()
            by_entry = [-max_by(group[where], -omega[name][where], self.groups.count) for where in inside]
            lowest[name] = np.stack(by_entry, axis=1).ravel()
        return ByPlace({}, highest, lowest)

    @property
    def _names(self) -> list[str]:
        return list(dict.fromkeys((*self.table.query.sums, *self.intervals)))


@dataclass(frozen=True, repr=False)
class ClassTotals:
    """The pass that counts establishments, and adds up their values, entry by entry of a table by classes.

    Classes are moved to those that are possible in their group, and values are cut off at the bounds of their entry.
    What they come to without that, by group, tells whether the table is still the same.
    """

    cells: Lookup
    table: ClassTable
    groups: Groups
    units: Units  # of all attributes that it depends on
    possible: Possible  # by group
    bounds: Mapping[str, IntArray]  # by entry, for each attribute whose sums are asked for

    @property
    def reads(self) -> Reads:
        """The attributes, and the cells of the rows."""
        return Reads(self.units, cells=self.cells)

    def __call__(self, batch: Batch) -> ByPlace:
        """What these rows come to."""
        group = self.groups.of_cell[batch.cells]
        classes = [
            class_of(edges, batch.amounts[each.attribute])
            for each, edges in zip(self.table.classes, self.table.edges, strict=True)
        ]
        place = self.table.places(group, self.possible.clipped(group, classes))
        entries = self.groups.count * self.table.combinations
        added: dict[Key, IntArray] = {COUNT: np.bincount(place, minlength=entries).astype(np.int64)}
        for name, bounds in self.bounds.items():
            amounts, bound = batch.amounts[name], bounds[place]
            added[name, "clipped"] = sums_of_whole(place, np.clip(amounts, -bound, bound), entries)
        for name in self.units:
            added[name, "all"] = sums_of_whole(group, batch.amounts[name], entries)
        return ByPlace(added)


def possible_classes(
    table: ClassTable,
    intervals: Mapping[str, ClassInterval],
    lowest: Mapping[str, FloatArray],
    highest: Mapping[str, FloatArray],
    count: int,
    use: For = For.CLIPPING,
) -> Possible:
    """The classes that are possible between two answers, for each of `count` groups or establishments."""
    ends = []
    for each in table.classes:
        if each.attribute in intervals:
            ends.append(intervals[each.attribute](lowest[each.attribute], highest[each.attribute], use))
        else:
            ends.append((np.zeros(count, dtype=np.int32), np.full(count, each.count - 1, dtype=np.int32)))
    return Possible(tuple(low for low, _ in ends), tuple(high for _, high in ends))
