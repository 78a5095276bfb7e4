"""Made-up tables for a rehearsal: values of all sizes, the same for everybody, and from nowhere near the true ones.

One made-up establishment after another has several records in turn: 0 and other small values, one unit more or less,
and the ends of what lies within a few steps. Any two of them are a pair about which a sensitivity states something.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gedp.accounting.composition import exact
from gedp.arrays import MOST_UNITS, FloatArray, IntArray
from gedp.neighbors import Protection
from gedp.policy import Attribute
from gedp.policy.model import PARTS

LARGEST_MADE_UP = 1e6
FURTHEST = MOST_UNITS // 2  # to which an establishment is moved: its column has room for it
GOLDEN = (5**0.5 - 1) / 2  # multiples of it, without their whole part, fill an interval evenly
STEPS = (1, 2, 3)
SMALL = (0, 1, -1, 2, -2)
FEWEST_TRIED, MOST_TRIED = 2, 24  # establishments that are moved
FEWEST_TABLES, MOST_TABLES = 64, 400
NUMBERS_TO_GO_OVER = 5_000_000  # in all, roughly


@dataclass(frozen=True, repr=False)
class _Column:
    """A confidential column in whole units: one attribute, or what is asked for of gain and loss."""

    parts: tuple[Attribute, ...]

    @cached_property
    def protections(self) -> tuple[Protection, ...]:
        return tuple(part.protection for part in self.parts)

    @property
    def has_both_signs(self) -> bool:
        return self.parts[0].signed or self.parts[0].part is not None

    @property
    def lowest(self) -> int:
        """The least that a table may hold: where ψ has no value at 0, tables with a 0 are rejected."""
        finite = all(np.isfinite(protection.psi.at_zero) for protection in self.protections)
        return -FURTHEST if self.has_both_signs else int(not finite)

    def dummy_data(self, place: int, rows: int) -> IntArray:
        """Up to a million units, small values as often as large ones; negative ones too if there are both signs."""
        even = (np.arange(1, rows + 1) * GOLDEN + place / 7) % 1.0
        least = max(self.lowest, 0)
        units: IntArray = np.floor((LARGEST_MADE_UP + 1 - least) ** even).astype(np.int64) - 1 + least
        if self.has_both_signs:
            units[1::2] *= -1
        return units

    def amounts(self, units: IntArray) -> dict[str, IntArray]:
        """What each attribute has of it."""
        return {part.name: _part_of(part, units) for part in self.parts}

    def steps(self, x: IntArray, y: IntArray) -> FloatArray:
        """How many steps two values are apart: as many as the attribute that is furthest off."""
        sides = [[_measured(part, _part_of(part, side)) for side in (x, y)] for part in self.parts]
        found: FloatArray = np.maximum.reduce(
            [protection.steps(*values) for protection, values in zip(self.protections, sides, strict=True)]
        )
        return found

    def ends(self, units: IntArray) -> IntArray:
        """The last values within so many steps, up and down: a row for each of `STEPS` and direction."""
        units = np.broadcast_to(units, (2 * len(STEPS), len(units)))
        steps = np.repeat(STEPS, 2)[:, None]
        near, far = units, np.broadcast_to(np.tile([FURTHEST, self.lowest], len(STEPS))[:, None], units.shape)
        while (np.abs(far - near) > 1).any():
            middle = near + (far - near) // 2
            within = self.steps(units, middle) <= steps
            near, far = np.where(within, middle, near), np.where(within, far, middle)
        return np.where(self.steps(units, far) <= steps, far, near)

    def targets(self, units: IntArray) -> IntArray:
        """Where each of these values is moved to, one row per move: nowhere, then to the ends, then the rest."""
        near = [units + 1, units - 1, -units, *(np.full_like(units, small) for small in SMALL)]
        moved: IntArray = np.clip(np.stack([units, *self.ends(units), *near]), self.lowest, FURTHEST)
        return moved


def _part_of(attribute: Attribute, units: IntArray) -> IntArray:
    return units if attribute.part is None else np.maximum(PARTS[attribute.part] * units, 0)


def _measured(attribute: Attribute, units: IntArray) -> FloatArray:
    """In the measure of the attribute: the float nearest to the decimal."""
    unit = exact(attribute.unit)
    measured: FloatArray = units.astype(np.float64) * unit.numerator / unit.denominator
    return measured


@dataclass(frozen=True, repr=False)
class DummyData:
    """A made-up table, and records that its establishments have in its neighbors, near and far."""

    columns: tuple[_Column, ...]
    units: tuple[IntArray, ...]

    @classmethod
    def of(cls, attributes: Mapping[str, Attribute], rows: int) -> "DummyData":
        """A table with so many rows."""
        by_column: dict[str, list[Attribute]] = {}
        for attribute in attributes.values():
            by_column.setdefault(attribute.column, []).append(attribute)
        columns = tuple(_Column(tuple(parts)) for parts in by_column.values())
        return cls(columns, tuple(column.dummy_data(place, rows) for place, column in enumerate(columns)))

    def table(self, row: int = 0, record: Sequence[int] | None = None) -> dict[str, IntArray]:
        """The attributes in whole units; one establishment may have another record."""
        amounts: dict[str, IntArray] = {}
        for place, (column, units) in enumerate(zip(self.columns, self.units, strict=True)):
            held = units.copy()
            if record is not None:
                held[row] = record[place]
            amounts |= column.amounts(held)
        return amounts

    def moves(self, entries: int) -> Iterator[tuple[int, IntArray]]:
        """Establishments, from the smallest to the largest, with records of each; fewer where answers are long."""
        rows = len(self.units[0])
        tables = min(max(NUMBERS_TO_GO_OVER // max(rows, entries), FEWEST_TABLES), MOST_TABLES)
        per_row = tables // FEWEST_TRIED
        by_size = np.argsort(np.abs(self.units[0]), kind="stable")
        places = by_size[np.unique(np.linspace(0, rows - 1, MOST_TRIED).astype(np.int64))]
        records = [self._records(together)[:per_row] for together in np.moveaxis(self._targets(places), -1, 0)]
        tried = min(max(tables // max(map(len, records)), FEWEST_TRIED), len(places))
        for number in np.linspace(0, len(places) - 1, tried).astype(np.int64):
            yield int(places[number]), records[number]

    def steps(self, records: IntArray) -> FloatArray:
        """How many steps any two of these records are apart: as many as the attribute that is furthest off."""
        sides = zip(self.columns, records.T, strict=True)
        found: FloatArray = np.maximum.reduce([column.steps(units[:, None], units[None, :]) for column, units in sides])
        return found

    def _targets(self, places: IntArray) -> IntArray:
        """Move by move, the values of all columns in these rows."""
        moved = [column.targets(units[places]) for column, units in zip(self.columns, self.units, strict=True)]
        return np.stack(moved, axis=1)

    def _records(self, together: IntArray) -> IntArray:
        """All columns moved together, one against the others, and one alone, without repetitions."""
        records = [tuple(record) for record in together.tolist()]
        ends = together[1 : 1 + 2 * len(STEPS)]
        alone = np.eye(len(self.columns), dtype=bool)
        for up, down in zip(ends[::2], ends[1::2], strict=True):
            records += [tuple(np.where(one, *pair).tolist()) for one in alone for pair in ((up, down), (down, up))]
        records += [tuple(np.where(one, moved, together[0]).tolist()) for moved in together[1:] for one in alone]
        return np.array(list(dict.fromkeys(records)), dtype=np.int64)
