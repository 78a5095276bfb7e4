"""How far one establishment can move a table by classes: arithmetic on public values alone.

An establishment that changes its class takes its value from one entry of the table to another. The squared reach R of
an entry is such that, whatever pair of neighbors, Σ (what moves in an entry)²/R ≤ 1 over the entries that move: two
where the class changes, so that each entry counts twice what can leave it, or one where it stays. The argument is in
docs/proofs/classes.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gedp.arrays import BoolArray, CodeArray, FloatArray, IntArray
from gedp.individual.bounds import RAISE, ClippingBounds, For, apart, bounds_at
from gedp.neighbors import NeighborFunction
from gedp.policy import Attribute, Classes

#: An establishment that changes its class leaves one entry and enters another.
ENTRIES = 2
_LARGEST_END = 1e150  # finite, and beyond all edges


@dataclass(frozen=True, repr=False)
class ClassTable:
    """The classes of a table: their edges in whole units, key by key, and all combinations of them."""

    classes: tuple[Classes, ...]
    edges: tuple[IntArray, ...]
    labels: tuple[list[str], ...]
    codes: tuple[CodeArray, ...]  # for each key, its class in every combination

    @property
    def combinations(self) -> int:
        """How many entries every public group has."""
        return len(self.codes[0]) if self.codes else 1

    def places(self, groups: CodeArray, found: Sequence[CodeArray]) -> IntArray:
        """The entries of establishments from their public groups and their classes."""
        place = groups.astype(np.int64)
        for edges, code in zip(self.edges, found, strict=True):
            place = place * len(edges) + code
        return place

    def top(self, name: str) -> FloatArray:
        """The largest value of an attribute in every combination, in units: bounded by the classes of the same."""
        top = np.full(self.combinations, np.inf)
        for each, edges, codes in zip(self.classes, self.edges, self.codes, strict=True):
            if each.attribute == name:
                top = np.minimum(top, np.append(edges[1:] - 1.0, np.inf)[codes])
        return top

    def possible(
        self,
        intervals: "Mapping[str, ClassInterval]",
        lowest: Mapping[str, FloatArray],
        highest: Mapping[str, FloatArray],
        count: int,
        use: For = For.CLIPPING,
    ) -> "Possible":
        """The classes that are possible between two answers, for each of `count` groups or rows.

        An attribute without identity answers leaves all its classes possible.
        """
        ends = []
        for each in self.classes:
            if each.attribute in intervals:
                ends.append(intervals[each.attribute](lowest[each.attribute], highest[each.attribute], use))
            else:
                ends.append((np.zeros(count, dtype=np.int32), np.full(count, each.count - 1, dtype=np.int32)))
        return Possible(tuple(low for low, _ in ends), tuple(high for _, high in ends))

    def of_itself(self, name: str) -> bool:
        """Whether it has the sums of the one attribute that decides about the class."""
        return [each.attribute for each in self.classes] == [name]


def class_table(classes: Mapping[str, Classes], attributes: Mapping[str, Attribute]) -> ClassTable:
    """The table of these classes. Without any, everything has one entry per group."""
    own = tuple(classes.values())
    units = [attributes[each.attribute].unit for each in own]
    shape = [each.count for each in own]
    codes = np.unravel_index(np.arange(int(np.prod(shape))), shape) if shape else ()
    return ClassTable(
        own,
        tuple(each.in_units(unit) for each, unit in zip(own, units, strict=True)),
        tuple(each.labels(unit) for each, unit in zip(own, units, strict=True)),
        tuple(code.astype(np.int32) for code in codes),
    )


def class_of(edges: IntArray, amounts: IntArray) -> CodeArray:
    """The class of every value, both in whole units."""
    return (np.searchsorted(edges, amounts, side="right") - 1).astype(np.int32)


@dataclass(frozen=True, repr=False)
class Possible:
    """For each class key, the lowest and the highest class that is possible, of every group or establishment."""

    low: tuple[CodeArray, ...]
    high: tuple[CodeArray, ...]

    @property
    def several(self) -> BoolArray:
        """Where more than one class is possible, so that the class is not public."""
        ranges = zip(self.low, self.high, strict=True)
        several: BoolArray = np.logical_or.reduce([low < high for low, high in ranges])
        return several

    def holds(self, table: ClassTable, combination: int) -> BoolArray:
        """Where a combination is possible."""
        ranges = zip(self.low, self.high, table.codes, strict=True)
        holds: BoolArray = np.logical_and.reduce(
            [(low <= codes[combination]) & (codes[combination] <= high) for low, high, codes in ranges]
        )
        return holds

    def at(self, places: IntArray | CodeArray) -> "Possible":
        """The same for each of these places."""
        return Possible(tuple(low[places] for low in self.low), tuple(high[places] for high in self.high))

    def clipped(self, found: Sequence[CodeArray]) -> list[CodeArray]:
        """Classes, moved to the nearest possible ones."""
        return [np.clip(code, low, high) for low, high, code in zip(self.low, self.high, found, strict=True)]


@dataclass(frozen=True)
class ClassInterval:
    """Which classes are possible after a noisy answer: those between its bounds on both sides."""

    psi: NeighborFunction
    sigma: float | FloatArray  # one for all answers, or one for each
    tau: float
    edges: FloatArray  # in the attribute's own measure

    def __call__(self, lowest: FloatArray, highest: FloatArray, use: For = For.CLIPPING) -> tuple[CodeArray, CodeArray]:
        """The lowest and the highest class, from the lowest and the highest answer."""
        low = self._class_of(lowest - self.tau * self.sigma, -use)
        return low, np.maximum(low, self._class_of(highest + self.tau * self.sigma, use))

    def _class_of(self, outer: FloatArray, times: int) -> CodeArray:
        """The class of an end of an interval in ψ, moved by so many times what machines may be apart."""
        end = np.minimum(self.psi.inverse(np.maximum(outer, self.psi.lowest)), _LARGEST_END)
        moved = end + times * apart(self.psi, end, np.abs(outer)) if times else end
        return np.clip(np.searchsorted(self.edges, moved, side="right") - 1, 0, None).astype(np.int32)


def squared_reach_of_counts(table: ClassTable, possible: Possible, combination: int) -> FloatArray:
    """R of the number of establishments in one combination: 2, or 0 where nobody can come or go."""
    return np.where(possible.several & possible.holds(table, combination), float(ENTRIES), 0.0)


def squared_reach_of_sums(
    table: ClassTable,
    attribute: Attribute,
    possible: Possible,
    bounds: ClippingBounds,
    combination: int,
) -> FloatArray:
    """R of the sums in one combination, in units: of values cut off at these bounds, 0 where none is possible."""
    within = bounds.sensitivity
    leaving = bounds.bounds.astype(np.float64)
    if table.of_itself(attribute.name):
        leaving = np.minimum(leaving, _most_that_leaves(table, attribute, possible.high[0], combination))
    changing = np.where(possible.several, ENTRIES * leaving**2, 0.0)
    reach = np.maximum(within**2, changing) * RAISE
    return np.where(possible.holds(table, combination) & (bounds.bounds > 0), reach, 0.0)


def bounds_in(
    table: ClassTable,
    attribute: Attribute,
    upper: FloatArray,
    combination: int,
    *,
    most: float | FloatArray,
    least: float,
) -> ClippingBounds:
    """Bounds on values in one combination, from bounds of their own in units: 0 where nobody can be there (-inf)."""
    capped = np.clip(upper, 0.0, np.minimum(table.top(attribute.name)[combination], most))
    found = bounds_at(attribute, np.ceil(capped), least=least)
    return ClippingBounds(np.where(upper == -np.inf, 0, found.bounds), found.sensitivity)


def _most_that_leaves(table: ClassTable, attribute: Attribute, high: CodeArray, combination: int) -> FloatArray:
    """The largest value in a class that is close to one in another, in units.

    Upward it leaves from the upper edge; from the highest class only downward, from where the class below is close.
    """
    unit, edges, protection = float(attribute.unit), table.edges[0], attribute.protection
    least = 0 if np.isfinite(protection.psi.at_zero) else 1
    below = max(int(edges[combination]) - 1, least) * unit
    downward = float(np.ceil(protection.interval(below).high / unit * RAISE))
    upward = float(edges[combination + 1]) - 1 if combination + 1 < len(edges) else np.inf
    most: FloatArray = np.where(high > combination, upward, downward)
    return most
