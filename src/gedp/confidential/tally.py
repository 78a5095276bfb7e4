"""What measuring collects over the rows: exact sums per finest cell, and public extremes of the identity answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gedp.arrays import MOST_UNITS, CodeArray, FloatArray, IntArray
from gedp.confidential.engines import Batch, ByPlace, Key, Reads
from gedp.confidential.engines.lookup import Lookup
from gedp.policy.model import PSI_SUFFIX

HALF = 2**31
ROWS: Key = ("", "rows")  # the number of rows of every cell, beside the results for attributes
Units = Mapping[str, Fraction]  # of every attribute


@dataclass(frozen=True, repr=False)
class CellSums:
    """The pass that takes the exact sums of the attributes over the cells."""

    cells: Lookup
    units: Units

    @property
    def reads(self) -> Reads:
        """The attributes, and the cells of the rows."""
        return Reads(self.units, cells=self.cells)

    def __call__(self, batch: Batch) -> ByPlace:
        """The sums of these rows."""
        added: dict[Key, IntArray] = {ROWS: _counted(self.cells, batch)}
        for name in self.units:
            added[name] = _added(self.cells.count, batch.cells, batch.amounts[name])
        return ByPlace(added)


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

    def __call__(self, batch: Batch) -> ByPlace:
        """What these rows come to."""
        added: dict[Key, IntArray] = {ROWS: _counted(self.cells, batch)}
        highest: dict[Key, FloatArray] = {}
        lowest: dict[Key, FloatArray] = {}
        for name, unit in self.units.items():
            omega = batch.plain[name + PSI_SUFFIX].to_numpy()
            estimates = batch.plain[name].to_numpy() / float(unit)
            whole = np.rint(np.clip(np.nan_to_num(estimates), -MOST_UNITS, MOST_UNITS)).astype(np.int64)
            added[name, "low"] = _added(self.cells.count, batch.cells, whole % HALF)
            added[name, "high"] = _added(self.cells.count, batch.cells, whole // HALF)
            highest[name], lowest[name] = np.full(self.cells.count, -np.inf), np.full(self.cells.count, np.inf)
            np.maximum.at(highest[name], batch.cells, omega)
            np.minimum.at(lowest[name], batch.cells, omega)
        return ByPlace(added, highest, lowest)


@dataclass(frozen=True, repr=False)
class CellTally:
    """One attribute over the finest cells. `sums` is confidential; the rest comes from identity answers, if any."""

    sums: IntArray
    estimates: FloatArray  # in units: each rounded to a whole unit, and at most MOST_UNITS
    highest: FloatArray
    lowest: FloatArray

    @classmethod
    def of(cls, name: str, rows: ByPlace, drawn: ByPlace) -> "CellTally":
        """What the two passes found for an attribute."""
        sums = rows.added[name]
        if name not in drawn.highest:
            return cls(sums, np.zeros(len(sums)), np.full(len(sums), -np.inf), np.full(len(sums), np.inf))
        estimates = drawn.added[name, "high"].astype(np.float64) * HALF + drawn.added[name, "low"].astype(np.float64)
        return cls(sums, estimates, drawn.highest[name], drawn.lowest[name])


@dataclass(frozen=True, repr=False)
class Clipping:
    """Bounds on the establishments of every group of one query, by finest cell; 0 or less means no clipping."""

    query: str
    bound_of_cell: IntArray


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

    def __call__(self, batch: Batch) -> ByPlace:
        """What clipping takes off, by attribute and query, and the sums by attribute."""
        added: dict[Key, IntArray] = {}
        for name, clippings in self.clippings.items():
            amounts = batch.amounts[name]
            added[name] = _added(self.cells.count, batch.cells, amounts)
            bounds = [np.where(c.bound_of_cell > 0, c.bound_of_cell, np.iinfo(np.int64).max) for c in clippings]
            above = np.flatnonzero(np.abs(amounts) > np.minimum.reduce(bounds)[batch.cells])
            cells, high = batch.cells[above], amounts[above]
            for clipping in clippings:
                bound = clipping.bound_of_cell[cells]
                over = np.where(bound > 0, np.maximum(np.abs(high) - bound, 0), 0)
                added[name, clipping.query] = _added(self.cells.count, cells, np.sign(high) * over)
        return ByPlace(added)


def _counted(cells: Lookup, batch: Batch) -> IntArray:
    return np.bincount(batch.cells, minlength=cells.count).astype(np.int64)


def _added(count: int, places: CodeArray, amounts: IntArray) -> IntArray:
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, places, amounts)
    return sums
