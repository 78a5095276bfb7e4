"""The answers for the rows of every cell as one answer for its total.

Where ψ makes the variance a line from 0 on, as sqrt does,

    v(x) = slope · max(x, 0) + base,

rows that fit best have x = a + t·v(x) with one multiplier t for all rows of a cell, and that can be solved:

    v = max(base, (slope·a + base) / (1 − slope·t)).

So the sum of a cell's answers is an answer for its total, whose variance Σ v is a function of the total alone: which t
gives the total takes a quadratic equation, once it is known which rows are above 0. Rounds of weights go over cells
then, and over rows only to see which are above 0.

This is so for t below 1/slope, and there is such a t for every total if one row's slope·a + base is above 0. Answers of
a cell without such a row are all so low that any of its rows could be the one above 0. They share the variance of
their sum alike.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from gedp.arrays import BoolArray, CodeArray, FloatArray, IntArray, slices, sum_by
from gedp.partitions import Partition

SMALL = 4.0  # rows with slope·a + base up to so many times what takes them above 0 are looked at in every round
FURTHEST = 4.0  # how many times as near to 1/slope, or as far from it, t may be as before


@dataclass(frozen=True, repr=False)
class CellsAt:
    """Totals of the cells, and the variances that the sums of their rows' answers have there."""

    totals: FloatArray
    variances: FloatArray
    multipliers: FloatArray


@dataclass(frozen=True, repr=False)
class RowVariances:
    """The variance of a row's answer, from the answer and what is known of its cell."""

    slope: float
    base: float
    least: FloatArray  # by cell
    growth: FloatArray  # by cell: how many times slope·a + base it is, if that is more

    def __call__(self, answers: FloatArray, cell: CodeArray) -> FloatArray:
        """Of some rows in these cells."""
        line = self.slope * answers
        line += self.base
        line *= self.growth[cell]
        return np.maximum(line, self.least[cell], out=line)


class RowsOfCells(ABC):
    """Answers for rows whose variances are a line, and what they say about the totals of their cells."""

    def __init__(self, rows: IntArray, sums: FloatArray, highest: FloatArray, slope: float, base: float) -> None:
        """By cell: how many rows there are, what their answers add up to, and the highest of these."""
        self.slope, self.base = slope, base
        self.sums, self._rows, self._highest = sums, rows, highest
        self._are_low = slope * highest + base <= 0

    def start(self) -> None:
        """Sees which rows are above 0 where the answers are the truth."""
        below, above = self._parted(np.zeros_like(self.sums))
        self._last = CellsAt(self.sums, below * self.base + above, np.zeros_like(self.sums))
        self.variances_at_answers = self._last.variances

    def at(self, totals: FloatArray) -> CellsAt:
        """The variances where these are the totals. Which rows are above 0 is seen where the last totals led."""
        if totals is self._last.totals:
            return self._last
        below, above = self._parted(self._last.multipliers)
        gap, floor = totals - self.sums, below * self.base
        middle = self.slope * gap + floor + above
        root = np.sqrt(np.maximum(middle**2 - 4 * self.slope * floor * gap, 0))
        away = middle + root  # 0 where too few rows are known to be below 0 yet
        wanted = np.divide(2 * gap, away, out=np.full_like(gap, -np.inf), where=away > 0)
        left = 1 - self.slope * self._last.multipliers
        multipliers = (1 - np.clip(1 - self.slope * wanted, left / FURTHEST, left * FURTHEST)) / self.slope
        variances = floor + above / (1 - self.slope * multipliers)
        together = self._rows * self.base + self.slope * np.maximum(totals, 0)
        variances = np.where(self._are_low, together, variances)
        self._last = CellsAt(totals, variances, np.where(self._are_low, 0, multipliers))
        return self._last

    def highest(self, at: CellsAt) -> FloatArray:
        """The highest fitted value of a row in every cell: that of its highest answer."""
        own = self.each(at)(self._highest, np.arange(len(self._highest), dtype=np.int32))
        return self._highest + (at.totals - self.sums) / at.variances * own

    def each(self, at: CellsAt) -> RowVariances:
        """How the variance of every row's answer follows."""
        least = np.where(self._are_low, at.variances / self._rows, self.base)
        growth = np.where(self._are_low, 0, 1 / (1 - self.slope * at.multipliers))
        return RowVariances(self.slope, self.base, least, growth)

    @abstractmethod
    def of_rows(self, at: CellsAt) -> FloatArray:
        """The variances of the rows' answers, of as many together as are one row in the fit."""

    @abstractmethod
    def seen(self, limit: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How many rows of every cell have slope·a + base up to its limit; Σ slope·a + base over the others."""

    def _parted(self, multipliers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """With these multipliers, how many rows of every cell are not above 0, and Σ slope·a + base over the others."""
        return self.seen(self.limits(multipliers))

    def limits(self, multipliers: FloatArray) -> FloatArray:
        """What slope·a + base a row has, at most, that is not above 0."""
        return self.base * (1 - self.slope * multipliers)


class RowsInMemory(RowsOfCells):
    """All answers at hand. Only rows that may come to be below 0 are looked at from round to round."""

    _small: FloatArray  # slope·a + base of the rows that may come to be below 0
    _of_small: CodeArray  # their cells
    _small_to: FloatArray  # how large it may be in every cell
    _are_below: BoolArray  # which of them were below 0 when it was last seen
    _below: FloatArray  # how many of every cell were
    _above: FloatArray  # Σ slope·a + base over the other rows of every cell

    def __init__(self, cells: Partition, answers: FloatArray, slope: float, base: float) -> None:
        self.answers, self._of_row, self._count = answers, cells.group_of, cells.count
        super().__init__(cells.sizes, cells.sums(answers), cells.largest(answers), slope, base)
        self._keep_small(np.full(cells.count, SMALL * base))
        self.start()

    def of_rows(self, at: CellsAt) -> FloatArray:
        """The variance of every row's answer."""
        each, found = self.each(at), np.empty_like(self.answers)
        for rows in slices(len(self.answers)):
            found[rows] = each(self.answers[rows], self._of_row[rows])
        return found

    def seen(self, limit: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Moves the few rows that have come to be on the other side of the limit."""
        if (limit > self._small_to).any():
            self._keep_small(np.where(limit > self._small_to, SMALL * limit, self._small_to))
        is_below = np.empty(len(self._small), dtype=bool)
        for rows in slices(len(self._small)):
            np.less_equal(self._small[rows], limit[self._of_small[rows]], out=is_below[rows])
        moved = np.flatnonzero(is_below != self._are_below)
        down, of_cell = np.where(is_below[moved], 1.0, -1.0), self._of_small[moved]
        self._below += sum_by(of_cell, down, self._count)
        self._above -= sum_by(of_cell, down * self._small[moved], self._count)
        self._are_below = is_below
        return self._below.copy(), self._above.copy()

    def _keep_small(self, limit: FloatArray) -> None:
        """Notes slope·a + base of rows where it is at most the limit of the cell; none of them is below 0 at first."""
        small, of_small = [], []
        for rows in slices(len(self.answers)):
            of_row = self._of_row[rows]
            line = self.slope * self.answers[rows]
            line += self.base
            is_small = line <= limit[of_row]
            small.append(line[is_small])
            of_small.append(of_row[is_small])
        self._small_to, self._small = limit, np.concatenate([*small, np.empty(0)])
        self._of_small = np.concatenate([*of_small, np.empty(0, dtype=np.int32)])
        self._are_below = np.zeros(len(self._small), dtype=bool)
        self._below, self._above = np.zeros(self._count), self.slope * self.sums + self.base * self._rows
