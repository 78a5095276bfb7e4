"""The first answers of all establishments for one attribute, as a choice of settings looks at them.

`FirstAnswers` has them in memory, every one. `CondensedAnswers` has seen them in a few passes, wherever they are, and
keeps what belongs to cells: the largest establishment of each, and the others in classes by how far they can move.
Nothing it finds depends on the order or division of the rows: it adds up whole numbers alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np

from gedp.arrays import CodeArray, FloatArray, IntArray, max_by, sum_by
from gedp.individual.bounds import RAISE
from gedp.individual.filling import Terms
from gedp.individual.first import FirstAnswer, Members
from gedp.individual.rows import Rows
from gedp.individual.units import UnitCells
from gedp.passes import Batch, Key, PartialResults, Reads, Reducible
from gedp.passes.lookup import Lookup
from gedp.passes.sums import exact_halves, from_halves, sums_of_whole
from gedp.policy import Attribute

#: A number for every answer, by the members of its unit, which grows with its distance from 0.
OfAnswer = Callable[[FloatArray, Members], FloatArray]
#: What a share of the largest is rounded to, so that shares are added up exactly.
STEPS = 2.0**31
#: What estimates are rounded to, for the same reason: 2^53 units of them fit into 64 bits.
PARTS_OF_UNIT = 2**8
#: Of how far establishments of a cell can move: each class reaches half as far as the one before.
CLASSES = 6


class AnswersByCell(Protocol):
    """First answers as a choice of settings needs them, by cell."""

    @property
    def each(self) -> FirstAnswer:
        """How a single one is read."""

    @property
    def units(self) -> UnitCells | None:
        """Units of several records; None where every record is one."""

    def rows(self, tau: float) -> Rows:
        """The establishments, with bounds so many standard deviations above their answers."""

    def widest(self, of: OfAnswer) -> FloatArray:
        """The largest in every cell."""

    def total(self, *of: OfAnswer) -> list[FloatArray]:
        """The sums over every cell."""


@dataclass(frozen=True, repr=False)
class FirstAnswers:
    """Answers in memory, sorted by cell and within it by answer."""

    each: FirstAnswer
    cell: CodeArray
    omega: FloatArray
    units: UnitCells | None = None

    @classmethod
    def of(
        cls,
        attribute: Attribute,
        cell: CodeArray,
        omega: FloatArray,
        terms: Terms,
        most: float,
        least: float = 0.0,
        units: UnitCells | None = None,
    ) -> "FirstAnswers":
        """The same from answers in any order."""
        order = np.lexsort((omega, cell))
        each, cell, omega = FirstAnswer(attribute, terms, most, least), cell[order], omega[order]
        members = members_of(units, cell)
        estimates = each.estimates(omega, members)
        totals = float(np.sum(estimates)), float(np.sum(np.maximum(estimates, 0.0)))
        records = np.ones(len(cell)) if units else np.array([len(cell)])
        return cls(replace(each, kept=each.part_to_keep(records, members, *totals)), cell, omega, units)

    def rows(self, tau: float) -> Rows:
        """Every establishment; those of a unit of several in a cell as one."""
        return self.rows_with(tau, self.each.expected(self.omega, self._members))

    def rows_with(self, tau: float, expected: FloatArray) -> Rows:
        """The same where establishments are expected to have this."""
        reach = self.each.reach(self.omega, self._members, tau=tau)
        rows = Rows(self.cell, reach, expected)
        if self.units is None:
            return rows
        sums = (np.add.reduceat(each, self._starts) for each in (reach, expected))
        return with_units(rows.where(self.units.alone[self.cell]), self.units, *sums)

    def by_record(self, of_rows: FloatArray) -> FloatArray:
        """Numbers of `rows` for every establishment, in the order of the answers."""
        if self.units is None:
            return of_rows
        alone, parts = self.units.alone[self.cell], self.units.shared
        order = np.argsort(np.concatenate([self.units.base[self.cell[alone]], self.units.base[parts]]), kind="stable")
        in_turn, by_cell, found = np.empty(len(order)), np.empty(len(self.units.base)), np.empty(len(self.cell))
        in_turn[order] = of_rows
        by_cell[parts] = in_turn[alone.sum() :]
        found[alone], found[~alone] = in_turn[: alone.sum()], by_cell[self.cell[~alone]]
        return found

    def widest(self, of: OfAnswer) -> FloatArray:
        """The largest in every cell."""
        widest: FloatArray = np.maximum.reduceat(of(self.omega, self._members), self._starts)
        return widest if self.units is None else max_by(self.units.base, widest, self.units.count)

    def total(self, *of: OfAnswer) -> list[FloatArray]:
        """The sums over every cell."""
        sums = [np.add.reduceat(each(self.omega, self._members), self._starts) for each in of]
        return sums if self.units is None else [sum_by(self.units.base, each, self.units.count) for each in sums]

    @property
    def _members(self) -> Members:
        return members_of(self.units, self.cell)

    @property
    def _starts(self) -> IntArray:
        return np.flatnonzero(np.diff(self.cell, prepend=-1)).astype(np.int64)


@dataclass(frozen=True, repr=False)
class CondensedAnswers:
    """Answers that are elsewhere, looked at by passes; every cell has at least one."""

    each: FirstAnswer
    column: str  # where rows have their answers
    cells: Lookup
    counts: IntArray
    highest: FloatArray
    lowest: FloatArray
    answered: Reducible
    units: UnitCells | None = None

    @classmethod
    def seen(
        cls,
        each: FirstAnswer,
        column: str,
        cells: Lookup,
        counts: IntArray,
        answered: Reducible,
        units: UnitCells | None = None,
    ) -> "CondensedAnswers":
        """After a first pass, which finds the extremes of the cells and what all have together."""
        found = answered.reduce(_Extremes(cells, each, column, units))
        unit = float(each.attribute.unit)
        totals = [
            float(np.sum(from_halves(found.added, name, PARTS_OF_UNIT))) * unit for name in ("estimates", "positive")
        ]
        records, members = (np.array([int(counts.sum())]), 1.0) if units is None else (units.records, units.members)
        each = replace(each, kept=each.part_to_keep(records, members, *totals))
        return cls(each, column, cells, counts, found.highest[column], found.lowest[column], answered, units)

    def rows(self, tau: float) -> Rows:
        """The largest establishment of every cell, and its others in classes, each of them as their mean.

        Those of a unit of several in a cell are one row.
        """
        reach = partial(self.each.reach, tau=tau)
        widest, largest = self.widest_by_cell(reach), self.widest_by_cell(_magnitude(self.each.expected))
        passing = _Classes(self.cells, self.column, reach, self.each.expected, widest, largest, self.units)
        found = self.answered.reduce(passing)
        of_highest = reach(self.highest, self._members) >= reach(self.lowest, self._members)
        first = Rows(
            np.arange(len(widest), dtype=np.int32),
            widest,
            self.each.expected(np.where(of_highest, self.highest, self.lowest), self._members),
            np.ones(len(widest)),
        )
        rows = first.beside(self._others(first, found.added, widest, largest))
        if self.units is None:
            return rows
        (expected,) = self.totals_by_cell(self.each.expected)
        return with_units(rows.where(self.units.alone[rows.cell]), self.units, self.moved(tau), expected)

    def moved(self, tau: float) -> FloatArray:
        """How far all records of every finest cell can move together, not less; in the attribute's own measure."""
        (moved,) = self.totals_by_cell(partial(self.each.furthest, tau=tau), up=True)
        return moved * RAISE

    def widest(self, of: OfAnswer) -> FloatArray:
        """The largest in every cell."""
        widest = self.widest_by_cell(of)
        return widest if self.units is None else max_by(self.units.base, widest, self.units.count)

    def widest_by_cell(self, of: OfAnswer) -> FloatArray:
        """What grows with the distance from 0 is largest for an extreme answer."""
        return np.maximum(of(self.highest, self._members), of(self.lowest, self._members))

    def total(self, *of: OfAnswer) -> list[FloatArray]:
        """The sums over every cell."""
        sums = self.totals_by_cell(*of)
        return sums if self.units is None else [sum_by(self.units.base, each, self.units.count) for each in sums]

    def totals_by_cell(self, *of: OfAnswer, up: bool = False) -> list[FloatArray]:
        """Sums of shares of the largest, rounded or, where they must not be too small, rounded up."""
        largest = [self.widest_by_cell(_magnitude(each)) for each in of]
        passing = _Shares(self.cells, self.column, of, largest, self.units, up)
        found = self.answered.reduce(passing).added
        return [found["", str(place)] / STEPS * each for place, each in enumerate(largest)]

    @property
    def _members(self) -> Members:
        return 1.0 if self.units is None else self.units.members

    def _others(self, first: Rows, found: Mapping[Key, IntArray], widest: FloatArray, largest: FloatArray) -> Rows:
        """The classes, without the one establishment of every cell that stands alone."""
        times, reach, expected = (found["", name].reshape(CLASSES, -1).astype(np.float64) for name in _Classes.FOUND)
        times[0] -= 1
        reach[0] -= STEPS
        expected[0] -= _shares(first.expected, largest)
        which, cell = np.nonzero(times > 0)
        each = 1 / (times[which, cell] * STEPS)
        return Rows(
            cell.astype(np.int32),
            np.maximum(np.sqrt(reach[which, cell] * each * widest[cell] ** 2), self.each.least_reach),
            expected[which, cell] * each * largest[cell],
            times[which, cell],
        )


@dataclass(frozen=True, repr=False)
class _Extremes:
    """The pass that finds the extreme answers of every cell, and sums of estimates in whole units."""

    cells: Lookup
    each: FirstAnswer
    column: str
    units: UnitCells | None

    @property
    def reads(self) -> Reads:
        return Reads(plain=(self.column,), cells=self.cells)

    def __call__(self, batch: Batch) -> PartialResults:
        omega, unit = batch.plain[self.column].to_numpy(), float(self.each.attribute.unit)
        estimates = self.each.estimates(omega, members_of(self.units, batch.cells)) / unit
        added = {
            **exact_halves("estimates", batch.cells, estimates, self.cells.count, PARTS_OF_UNIT),
            **exact_halves("positive", batch.cells, np.maximum(estimates, 0.0), self.cells.count, PARTS_OF_UNIT),
        }
        highest, lowest = (side * max_by(batch.cells, side * omega, self.cells.count) for side in (1, -1))
        return PartialResults(added, {self.column: highest}, {self.column: lowest})


@dataclass(frozen=True, repr=False)
class _Shares:
    """The pass that adds up numbers of answers, as shares of the largest in the cell."""

    cells: Lookup
    column: str
    of: tuple[OfAnswer, ...]
    largest: list[FloatArray]
    units: UnitCells | None
    up: bool

    @property
    def reads(self) -> Reads:
        return Reads(plain=(self.column,), cells=self.cells)

    def __call__(self, batch: Batch) -> PartialResults:
        omega, added = batch.plain[self.column].to_numpy(), dict[Key, IntArray]()
        members = members_of(self.units, batch.cells)
        for place, (each, largest) in enumerate(zip(self.of, self.largest, strict=True)):
            shares = _shares(each(omega, members), largest[batch.cells], up=self.up)
            added["", str(place)] = sums_of_whole(batch.cells, shares, self.cells.count)
        return PartialResults(added)


@dataclass(frozen=True, repr=False)
class _Classes:
    """The pass that counts establishments by cell and class, and adds up how far they can move, and what they have."""

    cells: Lookup
    column: str
    reach: OfAnswer
    expected: OfAnswer
    widest: FloatArray
    largest: FloatArray
    units: UnitCells | None

    FOUND = ("rows", "reach", "expected")

    @property
    def reads(self) -> Reads:
        return Reads(plain=(self.column,), cells=self.cells)

    def __call__(self, batch: Batch) -> PartialResults:
        omega, cells, count = batch.plain[self.column].to_numpy(), batch.cells, self.cells.count
        members = members_of(self.units, cells)
        share = _shares(self.reach(omega, members), self.widest[cells])
        with np.errstate(divide="ignore"):
            of_class = np.clip(-np.log2(share / STEPS), 0, CLASSES - 1).astype(np.int64)
        squared = np.rint((share / STEPS) ** 2 * STEPS)
        places, size = of_class * count + cells, CLASSES * count
        values = np.full(len(cells), 1.0), squared, _shares(self.expected(omega, members), self.largest[cells])
        return PartialResults(
            {("", name): sums_of_whole(places, each, size) for name, each in zip(self.FOUND, values, strict=True)}
        )


def members_of(units: UnitCells | None, cells: CodeArray) -> Members:
    """How many records the units of rows in these cells have."""
    return 1.0 if units is None else units.members[cells]


def with_units(alone: Rows, units: UnitCells, reach: FloatArray, expected: FloatArray) -> Rows:
    """Records that are units by themselves, and one row for what a unit of several has in a cell, by its sums there."""
    cells = units.shared
    parts = Rows(
        units.base[cells],
        reach[cells],
        expected[cells] / units.records[cells],
        units.records[cells],
        units.unit[cells],
        units.members[cells],
    )
    return replace(alone, cell=units.base[alone.cell]).beside(parts)


def _magnitude(of: OfAnswer) -> OfAnswer:
    return lambda omega, members: np.abs(of(omega, members))


def _shares(values: FloatArray, largest: FloatArray, *, up: bool = False) -> FloatArray:
    """Values as shares of the largest, in whole steps; infinite ones are all of it, and with `up` so is NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(np.isinf(values), np.sign(values), values / largest)
    steps = np.clip(np.nan_to_num(shares, nan=1.0 if up else 0.0), -1.0, 1.0) * STEPS
    whole: FloatArray = np.ceil(steps) if up else np.rint(steps)
    return whole
