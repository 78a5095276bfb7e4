"""Fills what the QCEW suppresses, top-down, in whole numbers, keeping every disclosed county figure.

A suppressed node holds at least what its disclosed descendants hold. So lower bounds are added up first, from
the cells to the state; then, from the state down, what a node has above the lower bounds of its children is
divided among those children that hold undisclosed cells, in proportion to the weight of these cells.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gedp.arrays import BoolArray, FloatArray, IntArray
from gedp.errors import Fault, FaultsError
from gedp_lab.synth.apportion import apportion
from gedp_lab.synth.cells import ATTRIBUTES, CELL_SCHEMA, KEYS
from gedp_lab.synth.qcew.tree import Tree
from gedp_lab.synth.qcew.typical import typical_sizes


@dataclass(frozen=True)
class FilledTree:
    """The filled cells and what had to be filled."""

    cells: pa.Table
    disclosed: BoolArray  # per cell: its figures were published
    counties_from_state: tuple[str, ...]  # suppressed county totals that share what their state's total leaves
    counties_estimated: tuple[str, ...]  # suppressed county totals whose state has no usable total
    states_without_rows: tuple[str, ...]  # states of which only counties were published


@dataclass(frozen=True)
class DisclosedBounds:
    """What the disclosed figures say of every node, level by level."""

    least: list[IntArray]  # shape (4, nodes): the value of a disclosed node, else what its disclosed descendants hold
    free: list[IntArray]  # establishments in suppressed cells reached through suppressed nodes alone
    state_total: BoolArray  # level 0: the published total is there, is needed, and leaves something for the suppressed


def fill(tree: Tree, before: pa.Table | None = None) -> FilledTree:
    """The county × NAICS-6 cells of a tree, nothing suppressed any more.

    Jobs of a suppressed cell weigh establishments × the industry's typical size in that state and month;
    wages weigh the jobs it got × the industry's typical pay there. With the filled cells of the quarter `before`, a
    cell that was there keeps its own size and pay of then instead, so that it does not jump from quarter to quarter.
    """
    bounds = find_bounds(tree)
    typical = typical_sizes(tree)
    leaves = tree.levels[-1]
    state = tree.state_of_area()[leaves.area]
    size, pay = typical.jobs[:, state, leaves.industry], typical.pay[state, leaves.industry]
    if before is not None:
        size, pay = _carried(tree, before, size, pay)
    months = [fill_attribute(tree, bounds, month, leaves.estabs * size[month]) for month in range(3)]
    wage = fill_attribute(tree, bounds, 3, (months[0] + months[1] + months[2]) * pay)
    return _filling(tree, bounds, [*months, wage])


def _carried(tree: Tree, before: pa.Table, size: FloatArray, pay: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sizes (month 3) and pay that cells had before, and the given ones for cells that were not there or had none."""
    now = _keys(tree)
    then = before.select(KEYS).append_column("row", pa.array(np.arange(before.num_rows)))
    found = now.join(then, KEYS).sort_by("place")["row"]
    there = pc.is_valid(found).to_numpy()
    row = pc.fill_null(found, 0).to_numpy()
    estabs, *months, wage = (before[name].to_numpy()[row] for name in ("estabs", *ATTRIBUTES))
    jobs = months[0] + months[1] + months[2]
    paid = there & (jobs > 0) & (wage > 0)
    return np.where(there, months[2] / estabs, size), np.where(paid, wage / np.maximum(jobs, 1), pay)


def find_bounds(tree: Tree) -> DisclosedBounds:
    """Lower bounds, from the cells up; raises FaultsError where disclosed parts contradict their whole."""
    leaves = tree.levels[-1]
    least = [np.where(leaves.known, leaves.values, 0)]
    free = [np.where(leaves.known, 0, leaves.estabs)]
    faults = []
    for depth in range(len(tree.levels) - 2, 0, -1):
        above, below = tree.levels[depth], tree.levels[depth + 1]
        parts, free_parts = below.sum_by_parent(least[-1]), below.sum_by_parent(free[-1])
        excess = above.values - parts
        wrong = above.known & ((excess < 0) | ((excess > 0) & (free_parts == 0))).any(axis=0)
        if wrong.any():
            one = int(np.flatnonzero(wrong)[0])
            name = f"{tree.areas[above.area[one]][0]} industry {tree.industries[above.industry[one]]}"
            problem = f"{wrong.sum()} rows that their disclosed parts exceed or do not add up to, such as {name}"
            faults.append(Fault(f"level {70 + depth}", problem, "Use rows of one release; figures must nest"))
        least.append(np.where(above.known, above.values, parts))
        free.append(np.where(above.known, 0, free_parts))
    if faults:
        raise FaultsError("QCEW rows", faults)
    counties, top = tree.levels[1], tree.levels[0]
    least.append(counties.sum_by_parent(least[-1]))
    free.append(counties.sum_by_parent(free[-1]))
    state_total = top.known & (free[-1] > 0) & (top.values >= least[-1]).all(axis=0)
    return DisclosedBounds(least[::-1], free[::-1], state_total)


def fill_attribute(tree: Tree, bounds: DisclosedBounds, which: int, cell_weights: FloatArray) -> IntArray:
    """One attribute of every cell; `cell_weights` count at suppressed cells (all zero: by establishments)."""
    weights = [np.where(bounds.free[-1] > 0, cell_weights, 0.0)]
    for level, free in zip(tree.levels[:0:-1], bounds.free[-2::-1], strict=True):
        weights.append(np.where(free > 0, level.sum_by_parent(weights[-1]), 0.0))
    weights.reverse()
    least = [level_least[which] for level_least in bounds.least]
    estimated = np.rint(weights[0]).astype(np.int64)
    values: IntArray = np.where(bounds.state_total, tree.levels[0].values[which], least[0] + estimated)
    for depth, level in enumerate(tree.levels[1:], start=1):
        excess = values - level.sum_by_parent(least[depth])
        open_nodes = np.flatnonzero(bounds.free[depth])
        sizes = np.bincount(level.parent[open_nodes], minlength=len(values))
        parents = sizes > 0
        values = least[depth].copy()
        values[open_nodes] += apportion(
            excess[parents],
            weights[depth][open_nodes],
            sizes[parents],
            fallback=bounds.free[depth][open_nodes].astype(np.float64),
        )
    return values


def _filling(tree: Tree, bounds: DisclosedBounds, attributes: list[IntArray]) -> FilledTree:
    leaves, counties = tree.levels[-1], tree.levels[1]
    keys = _keys(tree)
    columns = {name: keys[name] for name in KEYS} | {"estabs": pa.array(leaves.estabs)}
    columns |= {name: pa.array(values) for name, values in zip(ATTRIBUTES, attributes, strict=True)}
    suppressed = np.flatnonzero(bounds.free[1])
    from_state = bounds.state_total[counties.parent[suppressed]]
    with_rows = {tree.areas[area] for area in np.unique(tree.state_rows.area).tolist()}
    return FilledTree(
        pa.table(columns, schema=CELL_SCHEMA),
        leaves.known,
        _codes(tree, counties.area[suppressed[from_state]]),
        _codes(tree, counties.area[suppressed[~from_state]]),
        tuple(sorted({tree.areas[a][0][:2] for a in tree.levels[0].area.tolist() if tree.areas[a] not in with_rows})),
    )


def _keys(tree: Tree) -> pa.Table:
    """State, county, NAICS and ownership of every cell, with its place among the leaves."""
    leaves = tree.levels[-1]
    words = {
        "state": (leaves.area, [code[:2] for code, _ in tree.areas]),
        "cnty": (leaves.area, [code[2:] for code, _ in tree.areas]),
        "naics": (leaves.industry, list(tree.industries)),
        "own": (leaves.area, [own for _, own in tree.areas]),
    }
    columns = {name: pa.array(codes, pa.string()).take(pa.array(index)) for name, (index, codes) in words.items()}
    return pa.table(columns | {"place": pa.array(np.arange(len(leaves.area)))})


def _codes(tree: Tree, areas: IntArray) -> tuple[str, ...]:
    return tuple(sorted({tree.areas[area][0] for area in areas.tolist()}))
