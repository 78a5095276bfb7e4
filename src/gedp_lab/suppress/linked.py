"""Tables whose cells add up to each other: the cells of all levels, and every sum that holds between them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from gedp.arrays import BoolArray, CodeArray, FloatArray, IntArray
from gedp.microdata.combining import combinations
from gedp_lab.suppress.rules import Contributions, Rule

BELOW = "below all tables"  # the level of parts that no table shows, where no table is finer than all others


@dataclass(frozen=True, repr=False)
class SumSystem:
    """The cells of linked tables without repetition: cells of the same establishments are one quantity."""

    of_cell: IntArray  # the quantity of every cell
    values: FloatArray
    needs: FloatArray
    is_shown: BoolArray  # whether some table has it
    sums: sparse.csr_array

    def is_hidden(self, hidden: BoolArray) -> BoolArray:
        """Which quantities no published cell shows, if these cells are hidden."""
        shows = np.zeros(len(self.values), dtype=bool)
        shows[self.of_cell[~hidden]] = True
        return ~shows


@dataclass(frozen=True, repr=False)
class LinkedTables:
    """The cells of several tables of the same establishments, numbered through, and how they add up."""

    names: tuple[str, ...]  # of the levels
    starts: IntArray  # the number of the first cell of each level, and that of all cells
    values: FloatArray  # of every cell
    needs: FloatArray  # how far above its value each must stay open; 0 where it is not sensitive
    counts: IntArray  # of establishments
    sums: sparse.csr_array  # a row for every sum: 1 for the whole and −1 for each part come to 0
    cell_of_row: tuple[CodeArray, ...]  # for every level, among its own cells

    @property
    def count(self) -> int:
        """The number of cells."""
        return int(self.starts[-1])

    @cached_property
    def system(self) -> SumSystem:
        """What linear programs work with: a part that is alone in its whole is that whole."""
        alone = np.flatnonzero(np.diff(self.sums.indptr) == 2)
        pairs = self.sums.indices.reshape(-1)[self.sums.indptr[alone][:, None] + np.arange(2)]
        graph = sparse.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(self.count, self.count))
        count, of_cell = connected_components(graph, directed=False)
        values, needs, shown = np.zeros(count), np.zeros(count), np.zeros(count, dtype=bool)
        values[of_cell] = self.values
        np.maximum.at(needs, of_cell, self.needs)
        shown[of_cell[self.is_shown]] = True
        entries = (np.ones(self.count), (np.arange(self.count), of_cell))
        sums = sparse.csr_array(self.sums @ sparse.csr_array(entries, shape=(self.count, count)))
        sums.eliminate_zeros()
        return SumSystem(of_cell.astype(np.int64), values, needs, shown, sums[np.flatnonzero(np.diff(sums.indptr))])

    @property
    def is_sensitive(self) -> BoolArray:
        """Which cells are to be hidden in any case."""
        return self.needs > 0

    @property
    def is_shown(self) -> BoolArray:
        """Which cells are in tables at all."""
        shown = np.ones(self.count, dtype=bool)
        if self.names[-1] == BELOW:
            shown[self.starts[-2] :] = False
        return shown

    def level(self, place: int) -> slice:
        """The cells of a level."""
        return slice(int(self.starts[place]), int(self.starts[place + 1]))

    def levels(self) -> Iterator[tuple[str, slice]]:
        """The tables by name, each with its cells."""
        for place, name in enumerate(self.names):
            if name != BELOW:
                yield name, self.level(place)


def link(levels: Mapping[str, CodeArray], values: FloatArray, rule: Rule) -> LinkedTables:
    """Links the tables that put the rows (with these values) into the cells of each level."""
    names, cell_of_row = list(levels), list(levels.values())
    finest, _ = combinations(cell_of_row, len(values))
    if not any(refines(codes, finest) for codes in cell_of_row):
        names.append(BELOW)
        cell_of_row.append(finest)
    counts = [int(codes.max(initial=-1)) + 1 for codes in cell_of_row]
    found = [Contributions.of(codes, values, n, rule.looks_at) for codes, n in zip(cell_of_row, counts, strict=True)]
    needs = [np.maximum(rule.need(each), 0.0) for each in found]
    if names[-1] == BELOW:
        needs[-1] = np.zeros_like(needs[-1])
    starts = np.concatenate([[0], np.cumsum(counts)])
    return LinkedTables(
        tuple(names),
        starts,
        np.concatenate([each.totals for each in found]),
        np.concatenate(needs),
        np.concatenate([each.counts for each in found]),
        _sums(cell_of_row, counts, starts),
        tuple(cell_of_row),
    )


def with_table(tables: LinkedTables, name: str, codes: CodeArray, values: FloatArray, rule: Rule) -> LinkedTables:
    """The same tables and one more."""
    levels = {level: codes for level, codes in zip(tables.names, tables.cell_of_row, strict=True) if level != BELOW}
    return link({**levels, name: codes}, values, rule)


def _sums(cell_of_row: Sequence[CodeArray], counts: Sequence[int], starts: IntArray) -> sparse.csr_array:
    """Every cell is the sum of its parts at each next finer level."""
    rows, columns, signs, below = [], [], [], 0
    for coarse, fine in _next_finer(cell_of_row, counts):
        inside = np.zeros(counts[fine], dtype=np.int64)
        inside[cell_of_row[fine]] = cell_of_row[coarse]
        rows += [np.arange(counts[coarse]) + below, inside + below]
        columns += [np.arange(counts[coarse]) + starts[coarse], np.arange(counts[fine]) + starts[fine]]
        signs += [np.ones(counts[coarse]), -np.ones(counts[fine])]
        below += counts[coarse]
    if not rows:
        return sparse.csr_array((0, int(starts[-1])))
    entries = (np.concatenate(signs), (np.concatenate(rows), np.concatenate(columns)))
    return sparse.csr_array(sparse.coo_array(entries, shape=(below, int(starts[-1]))))


def _next_finer(cell_of_row: Sequence[CodeArray], counts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Pairs of a level and a finer one with none between: all other sums follow from theirs."""
    order = sorted(range(len(counts)), key=lambda place: (counts[place], place))
    finer = {(a, b) for i, a in enumerate(order) for b in order[i + 1 :] if refines(cell_of_row[b], cell_of_row[a])}
    for a, b in sorted(finer):
        if not any((a, c) in finer and (c, b) in finer for c in order):
            yield a, b


def refines(fine: CodeArray, coarse: CodeArray) -> bool:
    """Whether the rows of every fine cell are in one coarse cell."""
    inside = np.zeros(int(fine.max(initial=-1)) + 1, dtype=coarse.dtype)
    inside[fine] = coarse
    return bool(np.array_equal(inside[fine], coarse))
