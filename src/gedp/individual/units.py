"""Units of several records, such as enterprises with several establishments: what a unit pays when all of them move.

A unit moves a sum by what its records in the group move together, so it pays for the square of their sum, once for
every group that it is in. Answers about single records are paid for one by one. Every part of a unit, its records in
one finest cell, gets a share of the unit's pool. A charge for a group is divided among the parts in the group by the
same shares. So if no part pays more than its share, the unit pays no more than its pool. The argument is in
docs/proofs/units.md.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gedp.arrays import BoolArray, CodeArray, FloatArray, IntArray, sum_by


@dataclass(frozen=True, repr=False)
class UnitCells:
    """The finest cells of a table with units of several records: these have cells of their own.

    All of it is public: which records form a unit, and in which cells they are.
    """

    base: CodeArray  # the cell by grouping keys alone, of every finest cell
    count: int  # of cells by grouping keys
    unit: CodeArray  # -1: every record of the cell is a unit by itself
    records: FloatArray
    members: FloatArray  # the records that the unit has in all cells together

    @property
    def most(self) -> int:
        """The records of the largest unit."""
        return int(self.members.max())

    @cached_property
    def shared(self) -> CodeArray:
        """The cells of units of several records."""
        return np.flatnonzero(self.unit >= 0).astype(np.int32)

    @cached_property
    def alone(self) -> BoolArray:
        """The cells whose records are units by themselves."""
        return self.unit < 0

    def restricted(self, cells: IntArray, base: IntArray) -> "UnitCells":
        """Some of the finest cells, with new numbers of the cells by grouping keys."""
        unit = np.unique(self.unit[cells], return_inverse=True)[1] - int((self.unit[cells] < 0).any())
        return UnitCells(
            base.astype(np.int32),
            int(base.max()) + 1,
            unit.astype(np.int32),
            self.records[cells],
            self.members[cells],
        )

    def parts(self, reach: FloatArray) -> "UnitParts":
        """What units of several records have in their cells, where they can move so much in every finest cell."""
        cells = self.shared
        return UnitParts(self.unit[cells], cells, self.records[cells], reach[cells])


def unit_cells(base: CodeArray, unit: IntArray | CodeArray, rows: IntArray) -> UnitCells:
    """From the unit and the rows of every finest cell."""
    shared = unit >= 0
    of_unit = np.bincount(unit[shared], rows[shared])
    members = np.ones(len(unit))
    members[shared] = of_unit[unit[shared]]
    return UnitCells(base, int(base.max()) + 1, unit.astype(np.int32), rows.astype(np.float64), members)


@dataclass(frozen=True, repr=False)
class UnitParts:
    """The records that each unit has in one cell, as one: how many there are, and how far they can move together."""

    unit: CodeArray
    cell: CodeArray
    records: FloatArray
    reach: FloatArray

    @cached_property
    def shares(self) -> FloatArray:
        """Of what a unit can spend, the share of each part: half by how far its records move, half by their number."""
        reach, records = (self._of_unit(each)[self.unit] for each in (self.reach, self.records))
        shares: FloatArray = (self.reach / reach + self.records / records) / 2
        return shares

    def whole(self, cells: int) -> FloatArray:
        """How far the whole unit of each part can move, by cell; 1 in cells without parts."""
        whole = np.ones(cells)
        whole[self.cell] = self._of_unit(self.reach)[self.unit]
        return whole

    def costs(self, of_cell: CodeArray) -> tuple[FloatArray, FloatArray]:
        """Relative to its share, what a part pays for a clipped sum of precision 1, and for ψ of a sum at a price of 1.

        `of_cell` is the group of every cell.
        """
        groups = _UnitGroups(self, of_cell)
        share = groups.total(self.shares)
        return tuple((groups.total(each) ** 2 / share)[groups.of_part] for each in (self.reach, self.records))

    def paid(self, of_cell: CodeArray, by_psi: BoolArray, price: FloatArray) -> FloatArray:
        """What every unit pays for a query: for ψ of sums at a price, for other groups by how far its records move."""
        groups = _UnitGroups(self, of_cell)
        moved = np.where(by_psi[groups.group], groups.total(self.records), groups.total(self.reach))
        return sum_by(groups.unit, price[groups.group] * moved**2, self.units)

    def groups(self, of_cell: CodeArray) -> FloatArray:
        """In how many groups the unit of every part has records."""
        groups: FloatArray = np.bincount(_UnitGroups(self, of_cell).unit).astype(np.float64)[self.unit]
        return groups

    def shifted(self, of_cell: CodeArray, shifts: FloatArray) -> FloatArray:
        """What every unit pays where its parts shift the noise of their groups by so much, in standard deviations."""
        groups = _UnitGroups(self, of_cell)
        return sum_by(groups.unit, groups.total(shifts) ** 2, self.units)

    def in_group(self, of_cell: CodeArray, values: FloatArray) -> FloatArray:
        """For every part, the sum over all parts of its unit in the same group."""
        groups = _UnitGroups(self, of_cell)
        found: FloatArray = groups.total(values)[groups.of_part]
        return found

    @property
    def units(self) -> int:
        """How many there are."""
        return int(self.unit.max()) + 1

    def _of_unit(self, values: FloatArray) -> FloatArray:
        return sum_by(self.unit, values, self.units)


class _UnitGroups:
    """The pairs of a unit and a group in which it has parts."""

    def __init__(self, parts: UnitParts, of_cell: CodeArray) -> None:
        group = of_cell[parts.cell].astype(np.int64)
        several = int(group.max()) + 1
        pairs, of_part = np.unique(parts.unit * several + group, return_inverse=True)
        self.of_part = of_part.astype(np.int32)
        self.unit, self.group = ((pairs // several).astype(np.int32), pairs % several)
        self._count = len(pairs)

    def total(self, values: FloatArray) -> FloatArray:
        """The sum over the parts of every pair."""
        return sum_by(self.of_part, values, self._count)
