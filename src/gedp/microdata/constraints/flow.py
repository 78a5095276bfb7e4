"""Repairs a rounding so that the totals of two crossing families of nested groups are within their bounds.

A flow runs from the total through the groups of the first family, the crossings of both, and the groups of the second
family, back to the total. What is rounded already is a flow that breaks some bounds; the repair is a flow of
differences, along arcs on which the bounds leave room. What a bound demands is supplied and drained at the ends of its
arc.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import maximum_flow

from gedp.arrays import BoolArray, IntArray
from gedp.microdata.solve import ConvergenceError
from gedp.partitions import Partition


@dataclass(frozen=True, repr=False)
class Bounds:
    """How much may be rounded up in every group of a grouping of cells."""

    groups: Partition
    low: IntArray
    high: IntArray
    is_fixed: bool


@dataclass(frozen=True, repr=False)
class Crossings:
    """Pairs of innermost groups of the two families."""

    pairs: Partition  # of the cells
    ends: IntArray  # 2 × pairs
    base: IntArray  # what is rounded up whatever happens
    movable: BoolArray  # whether there is a choice of one more
    up: BoolArray  # whether it was taken


def repaired(crossings: Crossings, left: Sequence[Bounds], right: Sequence[Bounds]) -> BoolArray:
    """Which crossings take one more so that every group of both families, coarsest first, is within its bounds.

    `left` begins with the total; `right` does not repeat it.
    """
    amounts = crossings.base + crossings.up
    levels = [*left, *right]
    now = [_by_group(crossings, level, amounts) for level in levels]
    if all(((n >= level.low) & (n <= level.high)).all() for n, level in zip(now, levels, strict=True)):
        return crossings.up
    # Nodes: 0 is where the second family ends and the total begins; then the groups of all levels; then the two ends.
    starts = 1 + np.cumsum([0, *(level.groups.count for level in levels)])
    source, sink = int(starts[-1]), int(starts[-1]) + 1
    arcs: list[tuple[IntArray, IntArray, IntArray, IntArray]] = []  # tails, heads, and the bounds of what may change
    for place, level in enumerate(levels):
        around = np.zeros(level.groups.count, dtype=np.int64)
        if place not in (0, len(left)):
            around[level.groups.group_of] = starts[place - 1] + levels[place - 1].groups.group_of
        own = starts[place] + np.arange(level.groups.count)
        tails, heads = (around, own) if place < len(left) else (own, around)
        used = level.groups.sizes > 0
        arcs.append((tails[used], heads[used], (level.low - now[place])[used], (level.high - now[place])[used]))
    chosen = np.flatnonzero(crossings.movable)
    tails = starts[len(left) - 1] + crossings.ends[0, chosen]
    heads = starts[len(levels) - 1] + crossings.ends[1, chosen] if right else np.zeros_like(chosen)
    taken = crossings.up[chosen].astype(np.int64)
    arcs.append((tails, heads, -taken, 1 - taken))
    moved = _circulation(arcs, source, sink)
    up = crossings.up.copy()
    up[chosen] = taken + moved[len(moved) - chosen.size :] > 0
    return up


def _circulation(arcs: Sequence[tuple[IntArray, IntArray, IntArray, IntArray]], source: int, sink: int) -> IntArray:
    """A whole flow within the bounds of every arc that keeps every node in balance."""
    tails, heads, lows, highs = (np.concatenate(part) for part in zip(*arcs, strict=True))
    forced = np.clip(0, lows, highs)
    supply = np.zeros(sink + 1, dtype=np.int64)
    np.add.at(supply, heads, forced)
    np.add.at(supply, tails, -forced)
    nodes = np.arange(sink + 1)
    given, taken = supply > 0, supply < 0
    rows = np.concatenate([tails, heads, np.full(given.sum(), source), nodes[taken]])
    columns = np.concatenate([heads, tails, nodes[given], np.full(taken.sum(), sink)])
    room = np.concatenate([highs - forced, forced - lows, supply[given], -supply[taken]])
    open_arcs = room > 0
    capacities = sparse.csr_array(
        (room[open_arcs].astype(np.int32), (rows[open_arcs], columns[open_arcs])), shape=(sink + 1, sink + 1)
    )
    result = maximum_flow(capacities, source, sink)
    if result.flow_value != supply[given].sum():
        raise ConvergenceError("no rounding keeps all totals within one unit and the fixed ones exact")
    moved: IntArray = forced + np.asarray(result.flow[tails, heads]).ravel()
    return moved


def _by_group(crossings: Crossings, level: Bounds, amounts: IntArray) -> IntArray:
    """What the crossings inside every group add up to."""
    around = crossings.pairs.inside(level.groups)
    assert around is not None  # pairs are of the innermost groups
    return around.sums(amounts)
