"""What measuring collects over the rows: exact sums per finest cell, and public extremes of the identity answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gedp.accounting.composition import exact
from gedp.arrays import MOST_UNITS, CodeArray, FloatArray, IntArray
from gedp.confidential.engines import Batch
from gedp.confidential.table import ConfidentialTable, FinestCells
from gedp.errors import TableChangedError

HALF = 2**31


@dataclass(repr=False)
class CellTally:
    """One attribute over the finest cells. `sums` is confidential; the rest comes from identity answers.

    Nothing in it depends on the order of the rows: floating-point sums would, so estimates are added up as whole units,
    in two halves that cannot overflow.
    """

    cells: int
    sums: IntArray = field(init=False)
    _halves: tuple[IntArray, IntArray] = field(init=False)
    highest: FloatArray = field(init=False)
    lowest: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.sums = np.zeros(self.cells, dtype=np.int64)
        self._halves = np.zeros(self.cells, dtype=np.int64), np.zeros(self.cells, dtype=np.int64)
        self.highest = np.full(self.cells, -np.inf)
        self.lowest = np.full(self.cells, np.inf)

    def add(self, of_row: CodeArray, amounts: IntArray) -> None:
        """Adds rows to the exact sums."""
        np.add.at(self.sums, of_row, amounts)

    @property
    def estimates(self) -> FloatArray:
        """The sums of the estimates, in units: each estimate rounded to a whole unit, and at most MOST_UNITS."""
        low, high = (half.astype(np.float64) for half in self._halves)
        return high * HALF + low

    def add_identity(self, of_row: CodeArray, omega: FloatArray, estimates: FloatArray) -> None:
        """Notes the identity answers of rows: the sum of their estimates in units, and the extremes of ω."""
        whole = np.rint(np.clip(np.nan_to_num(estimates), -MOST_UNITS, MOST_UNITS)).astype(np.int64)
        for half, part in zip(self._halves, (whole % HALF, whole // HALF), strict=True):
            np.add.at(half, of_row, part)
        np.maximum.at(self.highest, of_row, omega)
        np.minimum.at(self.lowest, of_row, omega)


@dataclass(frozen=True, repr=False)
class Clipping:
    """Bounds on the establishments of every group of one query, by finest cell; 0 or less means no clipping."""

    query: str
    bound_of_cell: IntArray
    group_of_cell: CodeArray
    groups: int


def scan_cells(
    table: ConfidentialTable, cells: FinestCells, attributes: Sequence[str], plain: Sequence[str] = ()
) -> Iterator[tuple[CodeArray, Batch]]:
    """All rows in batches, each with the cells of its rows."""
    units = {name: exact(table.attributes[name].unit) for name in attributes}
    start = 0
    for batch in table.engine.scan(amounts=units, plain=plain):
        rows = len(next(iter(batch.amounts.values()))) if batch.amounts else batch.plain.num_rows
        yield cells.of_row[start : start + rows], batch
        start += rows
    if start != len(cells.of_row):
        raise TableChangedError


def clipped_excess(
    table: ConfidentialTable,
    cells: FinestCells,
    clippings: Mapping[str, Sequence[Clipping]],
    unclipped: Mapping[str, IntArray],
) -> dict[str, dict[str, IntArray]]:
    """For each attribute and query, what clipping takes off every group's sum.

    Almost no row is above its bound, so one comparison with the least bound of its cell passes over nearly all. The
    sums are taken again on the way: if they differ from the first pass, rows and cells no longer belong together.
    """
    least, excess, again = {}, {}, {}
    for name, list_of in clippings.items():
        bounds = [np.where(c.bound_of_cell > 0, c.bound_of_cell, np.iinfo(np.int64).max) for c in list_of]
        least[name] = np.minimum.reduce(bounds)
        excess[name] = {c.query: np.zeros(c.groups, dtype=np.int64) for c in list_of}
        again[name] = np.zeros(cells.count, dtype=np.int64)
    for of_row, batch in scan_cells(table, cells, list(clippings)):
        for name, list_of in clippings.items():
            amounts = batch.amounts[name]
            np.add.at(again[name], of_row, amounts)
            above = np.flatnonzero(np.abs(amounts) > least[name][of_row])
            for clipping in list_of:
                cell = of_row[above]
                bound = clipping.bound_of_cell[cell]
                over = np.where(bound > 0, np.maximum(np.abs(amounts[above]) - bound, 0), 0)
                np.add.at(excess[name][clipping.query], clipping.group_of_cell[cell], np.sign(amounts[above]) * over)
    if any(not np.array_equal(again[name], unclipped[name]) for name in clippings):
        raise TableChangedError
    return excess
