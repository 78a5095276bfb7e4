"""Whole numbers: every value rounded down or up so that the totals of groups stay within one unit of what they were.

Fractions are whole multiples of 1/ONE here, so sums are exact. A grouping inside another is rounded from the top: the
groups of one parent get what rounding its running total gives each of them (`share_out`), down to the rows; a run of
neighbours of one cell in the file is then also within one unit. Two families of groupings that cross are a flow from
the groups of the one through the cells to those of the other; its bounds are whole, so a whole flow exists, and `flow`
repairs the first rounding. For more families than two there need not be one: they are approached by single changes, and
the largest deviation that is left is reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gedp.arrays import BoolArray, CodeArray, FloatArray, IntArray, sum_by
from gedp.microdata.constraints.chains import chains_of, crossing
from gedp.microdata.constraints.flow import Bounds, Crossings, repaired
from gedp.microdata.solve import is_partition

ONE = 1 << 36  # 130 million rows of fractions add up to less than 2⁶³
NEARLY = 0.1  # units within which the fit must meet a whole fixed total for the rounding to meet it exactly
MOST_CHANGES = 500
SHARPNESS = 6  # power of deviations that single changes reduce: the larger, the more the largest counts


@dataclass(frozen=True, repr=False)
class Grouping:
    """Groups of cells whose totals are kept; `exact` are whole totals to be met, NaN where there is none."""

    of_cell: CodeArray
    groups: int
    exact: FloatArray | None = None


@dataclass(frozen=True, repr=False)
class Rounded:
    """Whole values, how many groupings were sure to stay within one unit, and the largest deviation of any group."""

    values: FloatArray
    sure: int
    deviation: float
    missed: int  # whole fixed totals that are not met


def round_rows(values: FloatArray, of_row: CodeArray, cells: int, groupings: Sequence[Grouping]) -> Rounded:
    """Rounds values, in units, down or up; `of_row` is the cell of each."""
    whole = np.floor(values)
    fractions = np.rint((values - whole) * ONE).astype(np.int64)
    order = np.argsort(of_row, kind="stable")
    parts = _added(fractions[order], of_row[order], cells)
    below = sum_by(of_row, whole, cells).astype(np.int64) + parts // ONE
    above = [_beyond(grouping, below) for grouping in groupings if not _is_single(grouping, cells)]
    ups, sure = _cells_up(parts % ONE, above)
    up = np.empty(len(values), dtype=bool)
    up[order] = share_out(fractions[order], of_row[order], ups)
    rounded = whole + up
    off = sum_by(of_row, rounded - values, cells)
    deviations = [np.abs(sum_by(g.of_cell, off, g.groups)).max(initial=0.0) for g in groupings]
    totals = sum_by(of_row, rounded, cells)
    missed = sum(_missed(grouping, totals) for grouping in groupings)
    sure += len(groupings) - len(above)
    return Rounded(rounded, sure, float(max(deviations, default=0.0)), missed)


def share_out(fractions: IntArray, parent: CodeArray, up: BoolArray) -> BoolArray:
    """Which fractions are rounded up, sorted by parent: ⌊sum⌋ of a parent's, one more where it goes up itself.

    The running sum of the parent's fractions, begun between 0 and 1, is rounded down; what it gains at a child is the
    child's. The beginning is the middle of those that end at the number wanted.
    """
    count = len(up)
    sums = _added(fractions, parent, count)
    rest = sums % ONE
    begin = np.where(up, ONE - rest // 2 - rest % 2, (ONE - rest) // 2)
    running = np.cumsum(fractions)
    ends = np.cumsum(np.bincount(parent, minlength=count))
    before = np.append(0, running)[ends - np.bincount(parent, minlength=count)]
    offset = (begin - before)[parent]
    risen: BoolArray = (running + offset) // ONE > (running - fractions + offset) // ONE
    return risen


def _cells_up(fractions: IntArray, groupings: Sequence[Grouping]) -> tuple[BoolArray, int]:
    """Which cells are rounded up, and how many groupings are sure to stay within one unit."""
    every_cell = np.arange(len(fractions), dtype=np.int32)
    bounds = [_bounds(grouping, fractions) for grouping in groupings]
    total = _bounds(Grouping(np.zeros_like(every_cell), 1), fractions)
    chains = chains_of([each.of_cell for each in bounds], [each.is_fixed for each in bounds])
    first, second = ([bounds[place] for place in chain] for chain in [*chains, [], []][:2])
    left = [total, *first]
    pairs, ends = crossing(left[-1].of_cell, (second or [total])[-1].of_cell)
    # From the top of the first family down to where the two cross.
    up = np.array([_added(fractions, total.of_cell, 1)[0] % ONE >= ONE // 2])
    for coarse, fine in pairwise([*(each.of_cell for each in left), pairs]):
        up = _level_down(fractions, coarse, fine, up)
    amounts = _added(fractions, pairs, ends.shape[1])
    up = repaired(Crossings(pairs, ends, amounts // ONE, amounts % ONE > 0, up), left, second)
    ups = _level_down(fractions, pairs, every_cell, up)
    if len(chains) > 2:
        return _approached(fractions, ups, bounds), 0
    return ups, len(bounds)


def _level_down(fractions: IntArray, coarse: CodeArray, fine: CodeArray, up: BoolArray) -> BoolArray:
    """Which groups of a finer grouping are rounded up, given those of the coarser one around it."""
    groups = int(fine.max(initial=-1)) + 1
    amounts = _added(fractions, fine, groups)
    parent = np.zeros(groups, dtype=np.int32)
    parent[fine] = coarse
    order = np.argsort(parent, kind="stable")
    result = np.empty(groups, dtype=bool)
    result[order] = share_out((amounts % ONE)[order], parent[order], up)
    return result


def _approached(fractions: IntArray, ups: BoolArray, bounds: Sequence[Bounds]) -> BoolArray:
    """Changes single cells as long as the deviations of all groupings, to a high power, become smaller."""
    best, least = ups, np.inf
    movable = np.flatnonzero(fractions > 0)
    ups = ups.copy()
    heavy = [np.where(each.low == each.high, 1e3, 1.0) for each in bounds]
    for _ in range(MOST_CHANGES):
        off = ups - fractions / ONE
        deviations = [sum_by(each.of_cell, off, each.groups) for each in bounds]
        largest = max(float(np.abs(d * h).max(initial=0.0)) for d, h in zip(deviations, heavy, strict=True))
        if largest < least:
            best, least = ups.copy(), largest
        step = np.where(ups[movable], -1.0, 1.0)
        change = np.zeros(movable.size)
        for each, weights, deviation in zip(bounds, heavy, deviations, strict=True):
            groups = each.of_cell[movable]
            now = deviation[groups]
            change += weights[groups] * ((now + step) ** SHARPNESS - now**SHARPNESS)
        falling = np.flatnonzero(change < -1e-9)
        if not falling.size:
            break
        falling = falling[np.argsort(change[falling], kind="stable")]
        chosen = np.ones(falling.size, dtype=bool)
        for each in bounds:  # one change per group at a time; the best of all is always among them
            _, firsts = np.unique(each.of_cell[movable[falling]], return_index=True)
            alone = np.zeros(falling.size, dtype=bool)
            alone[firsts] = True
            chosen &= alone
        ups[movable[falling[chosen]]] ^= True
    return best


def _bounds(grouping: Grouping, fractions: IntArray) -> Bounds:
    """How many cells may go up in each group: the sum of their fractions, rounded down or up, or what is exact."""
    amounts = _added(fractions, grouping.of_cell, grouping.groups)
    low, high = amounts // ONE, -(-amounts // ONE)
    if grouping.exact is None:
        return Bounds(grouping.of_cell, low, high, is_fixed=False)
    near = np.abs(grouping.exact - amounts / ONE) <= NEARLY  # not a number is not
    exact = np.rint(np.where(near, grouping.exact, 0.0)).astype(np.int64)
    return Bounds(grouping.of_cell, np.where(near, exact, low), np.where(near, exact, high), is_fixed=True)


def _is_single(grouping: Grouping, cells: int) -> bool:
    """Whether the groups are single cells, which are within one unit anyway."""
    return grouping.exact is None and grouping.groups == cells and is_partition(grouping.of_cell, cells)


def _beyond(grouping: Grouping, below: IntArray) -> Grouping:
    """The grouping for what is left of the cells when their whole parts are taken away."""
    if grouping.exact is None:
        return grouping
    exact = grouping.exact - _added(below, grouping.of_cell, grouping.groups)
    return Grouping(grouping.of_cell, grouping.groups, exact)


def _missed(grouping: Grouping, totals: FloatArray) -> int:
    if grouping.exact is None:
        return 0
    return int(
        (np.abs(sum_by(grouping.of_cell, totals, grouping.groups) - grouping.exact) > 0).sum()
    )  # not a number is not


def _added(values: IntArray, codes: CodeArray, count: int) -> IntArray:
    """The sums of the values of every code, in whole numbers and so exact."""
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, codes, values)
    return sums
