"""The establishments of one attribute as accounting sees them, sorted by finest cell.

Everything is public: what an establishment can move below its bound, and what it has as far as the answers so far say.
The order within a cell is that of the answers, so nothing computed here depends on the order of a confidential table.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gedp.arrays import CodeArray, FloatArray, IntArray


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

    def condensed(self) -> "Rows":
        """The largest establishment of every cell as it is, and one row for all its others.

        What is left of a budget is decided by the largest, so little changes; a nation becomes six times smaller.
        """
        times = np.ones(len(self.cell)) if self.times is None else self.times
        order = np.lexsort((-self.reach, self.cell))
        cell, squared, expected, times = (a[order] for a in (self.cell, self.reach_squared, self.expected, times))
        first = np.zeros(len(cell), dtype=bool)
        first[self.starts] = True
        others = ~first
        counts, squares, sums = (
            np.bincount(cell[others], weights=part[others], minlength=self.cells)
            for part in (times, times * squared, times * expected)
        )
        has = counts > 0
        merged = [np.flatnonzero(has).astype(np.int32), np.sqrt(squares[has] / counts[has]), sums[has] / counts[has]]
        both = [
            np.concatenate(pair)
            for pair in zip((cell[first], np.sqrt(squared[first]), expected[first]), merged, strict=True)
        ]
        order = np.argsort(both[0], kind="stable")
        weights = np.concatenate([times[first], counts[has]])
        return Rows(both[0][order], both[1][order], both[2][order], weights[order])
