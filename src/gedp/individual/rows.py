"""The establishments of one attribute as accounting sees them, sorted by finest cell.

Everything is public: what an establishment can move below its bound, and what it has as far as the answers so far say.
The order within a cell is that of the answers, so nothing computed here depends on the order of a confidential table.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gedp.arrays import CodeArray, FloatArray, IntArray, sum_by


@dataclass(frozen=True, repr=False)
class Rows:
    """Rows sorted by cell; every cell has at least one."""

    cell: CodeArray
    reach: FloatArray  # how far an establishment can move a sum, in the attribute's own measure
    expected: FloatArray  # what it has, as far as the public knows
    times: FloatArray | None = None  # how many establishments a row stands for; None: one each

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

    def least(self, values: FloatArray) -> FloatArray:
        """The least value of the rows of every cell."""
        least: FloatArray = np.minimum.reduceat(values, self.starts)
        return least

    def total(self, values: FloatArray) -> FloatArray:
        """The sum over the establishments of every cell."""
        sums: FloatArray = np.add.reduceat(values if self.times is None else values * self.times, self.starts)
        return sums

    def _widest(self) -> IntArray:
        """The row of every cell that can move most, of several the first."""
        are_widest = np.flatnonzero(self.reach == np.maximum.reduceat(self.reach, self.starts)[self.cell])
        return are_widest[np.diff(self.cell[are_widest], prepend=-1) > 0]

    def beside(self, others: "Rows") -> "Rows":
        """These and others together; of one cell, these come first."""
        cell = np.concatenate([self.cell, others.cell])
        order = np.argsort(cell, kind="stable")

        def both(one: FloatArray, other: FloatArray) -> FloatArray:
            return np.concatenate([one, other])[order]

        return Rows(
            cell[order],
            both(self.reach, others.reach),
            both(self.expected, others.expected),
            both(self._counts, others._counts),
        )

    @property
    def _counts(self) -> FloatArray:
        return np.ones(len(self.cell)) if self.times is None else self.times

    def condensed(self) -> "Rows":
        """The largest establishment of every cell as it is, and one row for all its others.

        What is left of a budget is decided by the largest, so little changes; a nation becomes six times smaller.
        """
        counts, first = self._counts, self._widest()
        is_other = np.ones(len(self.cell), dtype=bool)
        is_other[first] = False

        def merged(values: FloatArray) -> FloatArray:
            return sum_by(self.cell[is_other], values[is_other], self.cells)

        times = merged(counts)
        has = np.flatnonzero(times > 0)
        reach = np.sqrt(merged(counts * self.reach_squared)[has] / times[has])
        expected = merged(counts * self.expected)[has] / times[has]
        widest = Rows(self.cell[first], self.reach[first], self.expected[first], counts[first])
        return widest.beside(Rows(has.astype(np.int32), reach, expected, times[has]))
