"""What measuring collects over the rows: exact sums per finest cell, and public extremes of the identity answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gedp.arrays import FloatArray, IntArray, max_by
from gedp.passes import Batch, Key, PartialResults, Reads
from gedp.passes.lookup import Lookup
from gedp.passes.sums import exact_halves, from_halves, sums_of_whole
from gedp.policy.model import PSI_SUFFIX

CELLS = ""  # what passes over the finest cells are called, beside those that have the names of queries
ROWS: Key = ("", "rows")  # the number of rows of every cell, beside the results for attributes
Units = Mapping[str, Fraction]  # of every attribute


@dataclass(frozen=True, repr=False)
class CellSums:
    """The pass that takes the exact sums of the attributes over the cells, and the largest magnitudes in them."""

    cells: Lookup
    units: Units

    @property
    def reads(self) -> Reads:
        """The attributes, and the cells of the rows."""
        return Reads(self.units, cells=self.cells)

    def __call__(self, batch: Batch) -> PartialResults:
        """The sums of these rows, and their largest magnitudes."""
        added: dict[Key, IntArray] = {ROWS: _counted(self.cells, batch)}
        largest: dict[Key, FloatArray] = {}
        for name in self.units:
            added[name] = sums_of_whole(batch.cells, batch.amounts[name], self.cells.count)
            largest[name] = max_by(batch.cells, np.abs(batch.amounts[name].astype(np.float64)), self.cells.count)
        return PartialResults(added, largest)


@dataclass(frozen=True, repr=False)
class DrawnCells:
    """The pass over identity answers, once they are drawn: extremes of ω, and sums of the estimates, over the cells.

    Nothing depends on the order of the rows: floating-point sums would, so estimates are added up as whole units, in
    two halves that cannot overflow.
    """

    cells: Lookup
    units: Units

    @property
    def reads(self) -> Reads:
        """Both columns of each attribute, and the cells of the rows."""
        return Reads(plain=tuple(name + end for name in self.units for end in (PSI_SUFFIX, "")), cells=self.cells)

    def __call__(self, batch: Batch) -> PartialResults:
        """Partial results for this batch."""
        added: dict[Key, IntArray] = {ROWS: _counted(self.cells, batch)}
        highest: dict[Key, FloatArray] = {}
        lowest: dict[Key, FloatArray] = {}
        for name, unit in self.units.items():
            omega = batch.plain[name + PSI_SUFFIX].to_numpy()
            estimates = batch.plain[name].to_numpy() / float(unit)
            added |= exact_halves(name, batch.cells, estimates, self.cells.count)
            highest[name] = max_by(batch.cells, omega, self.cells.count)
            lowest[name] = np.full(self.cells.count, np.inf)
            np.minimum.at(lowest[name], batch.cells, omega)
        return PartialResults(added, highest, lowest)


@dataclass(frozen=True, repr=False)
class CellTally:
    """One attribute over the finest cells. `sums` and `largest` are confidential; the rest are identity answers'."""

    sums: IntArray
    largest: FloatArray  # magnitude of an establishment
    estimates: FloatArray  # in units: each rounded to a whole unit, and at most MOST_UNITS
    highest: FloatArray
    lowest: FloatArray

    @classmethod
    def of(cls, name: str, rows: PartialResults, drawn: PartialResults) -> "CellTally":
        """What the two passes found for an attribute."""
        sums, largest = rows.added[name], rows.highest[name]
        if name not in drawn.highest:
            return cls(sums, largest, np.zeros(len(sums)), np.full(len(sums), -np.inf), np.full(len(sums), np.inf))
        return cls(sums, largest, from_halves(drawn.added, name), drawn.highest[name], drawn.lowest[name])


@dataclass(frozen=True, repr=False)
class Clipping:
    """Bounds on the establishments of every group of one query, by finest cell; 0 or less means no clipping."""

    query: str
    bound_of_cell: IntArray

    def may_change(self, largest: FloatArray) -> bool:
        """Whether a bound may be below the largest magnitude of its cell, so that something is clipped."""
        return bool(((self.bound_of_cell > 0) & (largest >= self.bound_of_cell)).any())


@dataclass(frozen=True, repr=False)
class ClippedCells:
    """The pass that finds, for each attribute and query, what clipping takes off the sum of every cell.

    Almost no row is above its bound, so one comparison with the least bound of its cell passes over nearly all. The
    sums are taken again on the way: if they differ from those before, the table is no longer the same.
    """

    cells: Lookup
    units: Units
    clippings: Mapping[str, Sequence[Clipping]]  # by attribute

    @property
    def reads(self) -> Reads:
        """The attributes, and the cells of the rows."""
        return Reads(self.units, cells=self.cells)

    def __call__(self, batch: Batch) -> PartialResults:
        """What clipping takes off, by attribute and query, and the sums by attribute."""
        added: dict[Key, IntArray] = {}
        for name, clippings in self.clippings.items():
            amounts = batch.amounts[name]
            added[name] = sums_of_whole(batch.cells, amounts, self.cells.count)
            bounds = [np.where(c.bound_of_cell > 0, c.bound_of_cell, np.iinfo(np.int64).max) for c in clippings]
            above = np.flatnonzero(np.abs(amounts) > np.minimum.reduce(bounds)[batch.cells])
            cells, high = batch.cells[above], amounts[above]
            for clipping in clippings:
                bound = clipping.bound_of_cell[cells]
                over = np.where(bound > 0, np.maximum(np.abs(high) - bound, 0), 0)
                added[name, clipping.query] = sums_of_whole(cells, np.sign(high) * over, self.cells.count)
        return PartialResults(added)


def _counted(cells: Lookup, batch: Batch) -> IntArray:
    return np.bincount(batch.cells, minlength=cells.count).astype(np.int64)
