"""The establishments of one attribute as accounting sees them, sorted by finest cell.

Everything is public: what an establishment can move below its bound, and what it has as far as the answers so far say.
The order within a cell is that of the answers, so nothing computed here depends on the order of a confidential table.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from gedp.arrays import BoolArray, CodeArray, FloatArray, IntArray, max_by, sum_by
from gedp.individual.units import UnitParts


@dataclass(frozen=True, repr=False)
class Rows:
    """Rows sorted by cell; every cell has at least one.

    A row stands for one record, for several alike, or for all records that a unit of several has in the cell. In the
    last case `reach` is what they move together.
    """

    cell: CodeArray
    reach: FloatArray  # how far an establishment can move a sum, in the attribute's own measure
    expected: FloatArray  # what it has, as far as the public knows
    times: FloatArray | None = None  # how many establishments a row stands for; None: one each
    unit: CodeArray | None = None  # of several records; -1 where records are units by themselves; None: all of them are
    members: FloatArray | None = None  # how many records the unit has in all; None: one each
    _costs: dict[str, tuple[FloatArray, FloatArray]] = field(default_factory=dict, init=False)  # by query

    @cached_property
    def starts(self) -> IntArray:
        """The first row of every cell."""
        return np.flatnonzero(np.diff(self.cell, prepend=-1)).astype(np.int64)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self.starts)

    @cached_property
    def reach_squared(self) -> FloatArray:
        """What an establishment pays for a clipped sum of precision 1."""
        return self.reach**2

    @cached_property
    def sums(self) -> FloatArray:
        """What the establishments of every cell are expected to have together."""
        return self.total(self.expected)

    def costs(self, query: str, of_cell: CodeArray) -> tuple[FloatArray, FloatArray | float]:
        """What is paid for a clipped sum of precision 1, and for ψ of a sum at a price of 1, by the group of each cell.

        What a unit pays for all its records is seen relative to the share that the row has of the unit's pool.
        """
        if self.unit is None:
            return self.reach_squared, 1.0
        if query not in self._costs:
            clipped, by_psi = self.reach_squared.copy(), np.ones(len(self.cell))
            clipped[self._shared], by_psi[self._shared] = self._parts.costs(of_cell)
            self._costs[query] = clipped, by_psi
        return self._costs[query]

    @cached_property
    def first_share(self) -> FloatArray | float:
        """Of the price of first answers, what is paid for each record."""
        return 1.0 if self.members is None else 1 / self.members

    @cached_property
    def second_share(self) -> FloatArray | float:
        """Of what is left in the end, what each record gets."""
        if self.unit is None:
            return 1.0
        share = np.ones(len(self.cell))
        share[self._shared] = self._parts.shares / self._counts[self._shared]
        return share

    @cached_property
    def _shared(self) -> BoolArray:
        """The rows that are parts of units of several records."""
        return np.zeros(len(self.cell), dtype=bool) if self.unit is None else self.unit >= 0

    @cached_property
    def _parts(self) -> UnitParts:
        if self.unit is None:
            raise ValueError("all records are units by themselves")
        rows = self._shared
        return UnitParts(self.unit[rows], self.cell[rows], self._counts[rows], self.reach[rows])

    def least(self, values: FloatArray) -> FloatArray:
        """The least value of the rows of every cell."""
        least: FloatArray = np.minimum.reduceat(values, self.starts)
        return least

    def total(self, values: FloatArray) -> FloatArray:
        """The sum over the establishments of every cell."""
        sums: FloatArray = np.add.reduceat(values if self.times is None else values * self.times, self.starts)
        return sums

    def _widest(self) -> IntArray:
        """Of the records of every cell that are units by themselves, the first that can move most."""
        reach = np.where(self._shared, -np.inf, self.reach)
        are_widest = np.flatnonzero((reach == max_by(self.cell, reach, self.cells)[self.cell]) & ~self._shared)
        return are_widest[np.diff(self.cell[are_widest], prepend=-1) > 0]

    def beside(self, others: "Rows") -> "Rows":
        """These and others together; of one cell, these come first."""
        cell = np.concatenate([self.cell, others.cell])
        order = np.argsort(cell, kind="stable")

        def both(one: FloatArray, other: FloatArray) -> FloatArray:
            return np.concatenate([one, other])[order]

        joined = Rows(
            cell[order],
            both(self.reach, others.reach),
            both(self.expected, others.expected),
            both(self._counts, others._counts),
        )
        if self.unit is None and others.unit is None:
            return joined
        units = np.concatenate([self._units, others._units])[order]
        return replace(joined, unit=units, members=both(self._members, others._members))

    @property
    def _counts(self) -> FloatArray:
        return np.ones(len(self.cell)) if self.times is None else self.times

    @property
    def _units(self) -> CodeArray:
        return np.full(len(self.cell), -1, dtype=np.int32) if self.unit is None else self.unit

    @property
    def _members(self) -> FloatArray:
        return np.ones(len(self.cell)) if self.members is None else self.members

    def where(self, rows: BoolArray | IntArray) -> "Rows":
        """Some of the rows."""
        return Rows(
            self.cell[rows],
            self.reach[rows],
            self.expected[rows],
            self._counts[rows],
            None if self.unit is None else self.unit[rows],
            None if self.members is None else self.members[rows],
        )

    def condensed(self) -> "Rows":
        """The largest establishment of every cell as it is, one row for all its others, and all parts of units.

        What is left of a budget is decided by the largest, so little changes; a nation becomes six times smaller.
        """
        counts, first = self._counts, self._widest()
        is_other = ~self._shared
        is_other[first] = False

        def merged(values: FloatArray) -> FloatArray:
            return sum_by(self.cell[is_other], values[is_other], self.cells)

        times = merged(counts)
        has = np.flatnonzero(times > 0)
        reach = np.sqrt(merged(counts * self.reach_squared)[has] / times[has])
        expected = merged(counts * self.expected)[has] / times[has]
        alone = self.where(first).beside(Rows(has.astype(np.int32), reach, expected, times[has]))
        return alone if self.unit is None else alone.beside(self.where(self._shared))
