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
from gedp.partitions import Partition

ONE = 1 << 36  # 130 million rows of fractions add up to less than 2⁶³
NEARLY = 0.1  # units within which the fit must meet a whole fixed total for the rounding to meet it exactly
MOST_CHANGES = 500
SHARPNESS = 6  # power of deviations that single changes reduce: the larger, the more the largest counts


@dataclass(frozen=True, repr=False)
class Kept:
    """Groups of cells whose totals are kept; `exact` are whole totals to be met, NaN where there is none."""

    groups: Partition
    exact: FloatArray | None = None


@dataclass(frozen=True, repr=False)
class Rounded:
    """Whole values, how many groupings were sure to stay within one unit, and the largest deviation of any group."""

    values: FloatArray
    sure: int
    deviation: float
    missed: int  # whole fixed totals that are not met


def round_rows(values: FloatArray, cells: Partition, groupings: Sequence[Kept]) -> Rounded:
    """Rounds values of rows, in units, down or up."""
    whole = np.floor(values)
    fractions = np.rint((values - whole) * ONE).astype(np.int64)
    order = np.argsort(cells.group_of, kind="stable")
    parts = cells.sums(fractions)
    below = cells.sums(whole).astype(np.int64) + parts // ONE
    above = [_beyond(grouping, below) for grouping in groupings if not _is_single(grouping)]
    ups, sure = _cells_up(parts % ONE, above)
    up = np.empty(len(values), dtype=bool)
    up[order] = share_out(fractions[order], cells.group_of[order], ups)
    rounded = whole + up
    off = cells.sums(rounded - values)
    deviations = [np.abs(each.groups.sums(off)).max(initial=0.0) for each in groupings]
    totals = cells.sums(rounded)
    missed = sum(_missed(grouping, totals) for grouping in groupings)
    sure += len(groupings) - len(above)
    return Rounded(rounded, sure, float(max(deviations, default=0.0)), missed)


def share_out(fractions: IntArray, parent: CodeArray, up: BoolArray) -> BoolArray:
    """Which fractions are rounded up, sorted by parent: ⌊sum⌋ of a parent's, one more where it goes up itself.

    The running sum of the parent's fractions, begun between 0 and 1, is rounded down; what it gains at a child is the
    child's. The beginning is the middle of those that end at the number wanted.
    """
    count = len(up)
    sums = sum_by(parent, fractions, count)
    rest = sums % ONE
    begin = np.where(up, ONE - rest // 2 - rest % 2, (ONE - rest) // 2)
    running = np.cumsum(fractions)
    ends = np.cumsum(np.bincount(parent, minlength=count))
    before = np.append(0, running)[ends - np.bincount(parent, minlength=count)]
    offset = (begin - before)[parent]
    risen: BoolArray = (running + offset) // ONE > (running - fractions + offset) // ONE
    return risen


def _cells_up(fractions: IntArray, groupings: Sequence[Kept]) -> tuple[BoolArray, int]:
    """Which cells are rounded up, and how many groupings are sure to stay within one unit."""
    bounds = [_bounds(grouping, fractions) for grouping in groupings]
    total = _bounds(Kept(Partition.whole(len(fractions))), fractions)
    chains = chains_of([each.groups for each in bounds], [each.is_fixed for each in bounds])
    first, second = ([bounds[place] for place in chain] for chain in [*chains, [], []][:2])
    left = [total, *first]
    pairs, ends = crossing(left[-1].groups, (second or [total])[-1].groups)
    # From the top of the first family down to where the two cross.
    up = total.groups.sums(fractions) % ONE >= ONE // 2
    for coarse, fine in pairwise([*(each.groups for each in left), pairs]):
        up = _level_down(fractions, coarse, fine, up)
    amounts = pairs.sums(fractions)
    up = repaired(Crossings(pairs, ends, amounts // ONE, amounts % ONE > 0, up), left, second)
    ups = _level_down(fractions, pairs, Partition.single(len(fractions)), up)
    if len(chains) > 2:
        return _approached(fractions, ups, bounds), 0
    return ups, len(bounds)


def _level_down(fractions: IntArray, coarse: Partition, fine: Partition, up: BoolArray) -> BoolArray:
    """Which groups of a finer grouping are rounded up, given those of the coarser one around it."""
    around = fine.inside(coarse)
    assert around is not None  # every grouping of a chain is inside the one before
    parent, amounts = around.group_of, fine.sums(fractions)
    order = np.argsort(parent, kind="stable")
    result = np.empty(fine.count, dtype=bool)
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
        deviations = [each.groups.sums(off) for each in bounds]
        largest = max(float(np.abs(d * h).max(initial=0.0)) for d, h in zip(deviations, heavy, strict=True))
        if largest < least:
            best, least = ups.copy(), largest
        step = np.where(ups[movable], -1.0, 1.0)
        change = np.zeros(movable.size)
        for each, weights, deviation in zip(bounds, heavy, deviations, strict=True):
            groups = each.groups.group_of[movable]
            now = deviation[groups]
            change += weights[groups] * ((now + step) ** SHARPNESS - now**SHARPNESS)
        falling = np.flatnonzero(change < -1e-9)
        if not falling.size:
            break
        falling = falling[np.argsort(change[falling], kind="stable")]
        chosen = np.ones(falling.size, dtype=bool)
        for each in bounds:  # one change per group at a time; the best of all is always among them
            _, firsts = np.unique(each.groups.group_of[movable[falling]], return_index=True)
            alone = np.zeros(falling.size, dtype=bool)
            alone[firsts] = True
            chosen &= alone
        ups[movable[falling[chosen]]] ^= True
    return best


def _bounds(grouping: Kept, fractions: IntArray) -> Bounds:
    """How many cells may go up in each group: the sum of their fractions, rounded down or up, or what is exact."""
    amounts = grouping.groups.sums(fractions)
    low, high = amounts // ONE, -(-amounts // ONE)
    if grouping.exact is None:
        return Bounds(grouping.groups, low, high, is_fixed=False)
    near = np.abs(grouping.exact - amounts / ONE) <= NEARLY  # not a number is not
    exact = np.rint(np.where(near, grouping.exact, 0.0)).astype(np.int64)
    return Bounds(grouping.groups, np.where(near, exact, low), np.where(near, exact, high), is_fixed=True)


def _is_single(grouping: Kept) -> bool:
    """Whether the groups are single cells, which are within one unit anyway."""
    return grouping.exact is None and grouping.groups.is_single


def _beyond(grouping: Kept, below: IntArray) -> Kept:
    """The grouping for what is left of the cells when their whole parts are taken away."""
    if grouping.exact is None:
        return grouping
    return Kept(grouping.groups, grouping.exact - grouping.groups.sums(below))


def _missed(grouping: Kept, totals: FloatArray) -> int:
    if grouping.exact is None:
        return 0
    return int((np.abs(grouping.groups.sums(totals) - grouping.exact) > 0).sum())  # not a number is not
