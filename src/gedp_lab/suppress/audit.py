"""What an attacker derives from the cells that are left: for every suppressed cell the least and the largest value.

The attacker knows all published cells, how cells add up, and that nothing is negative. Each end of an interval is a
linear program. Few of them have to be solved one by one: cells that no sum connects are separate problems; bounds that
follow from one sum at a time are often reached already; and every solution shows values that all other cells can have.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from gedp.arrays import BoolArray, FloatArray, IntArray
from gedp.progress import Progress, silent
from gedp_lab.suppress.linked import LinkedTables, SumSystem
from gedp_lab.suppress.program import Program

NEAR = 1e-7  # of its value: how closely a cell has to be known to count as known
RESOLVED = 1e-11  # of the largest value of a problem: HiGHS knows no better
MOST_ROUNDS = 200  # of bounds that follow from each other
WORTHWHILE = 0.02  # share of open ends that a program for all at once has to settle to be worth another


@dataclass(frozen=True, repr=False)
class Audit:
    """The interval of every cell; published cells have their value at both ends."""

    low: FloatArray
    high: FloatArray
    suppressed: BoolArray
    programs: int  # how many were solved

    def is_exact(self, tables: LinkedTables) -> BoolArray:
        """Suppressed cells of the tables whose value the attacker knows all the same."""
        width = self.high - self.low
        return self.suppressed & (width <= 2 * NEAR * np.maximum(np.abs(tables.values), 1.0))

    def is_unsafe(self, tables: LinkedTables) -> BoolArray:
        """Sensitive cells whose largest possible value is nearer than the rule demands."""
        needed = tables.values + tables.needs
        return tables.is_sensitive & (self.high < needed - 2 * NEAR * np.maximum(needed, 1.0))


def audit(tables: LinkedTables, suppressed: BoolArray, progress: Progress = silent) -> Audit:
    """The attacker's intervals. Parts that no table shows are unknown too."""
    system = tables.system
    low, high = system.values.copy(), system.values.copy()
    problems = list(_problems(system, system.is_hidden(suppressed | ~tables.is_shown)))
    programs = 0
    for done, problem in enumerate(problems):
        progress("intervals of an attacker", done, len(problems))
        problem.solve()
        low[problem.cells], high[problem.cells] = problem.low, problem.high
        programs += problem.programs
    return Audit(low[system.of_cell], high[system.of_cell], suppressed, programs)


class _Problem:
    """Unknown cells that sums connect, and what is known of them."""

    def __init__(self, cells: IntArray, matrix: sparse.csr_array, right: FloatArray) -> None:
        self.cells, self.programs = cells, 0
        self._matrix, self._right = matrix, right
        self.low, self.high = propagated(matrix, right)
        self._seen_low, self._seen_high = np.full(len(cells), np.inf), np.full(len(cells), -np.inf)
        finite = self.high[np.isfinite(self.high)]
        self._near = RESOLVED * max(float(finite.max(initial=0.0)), 1e-9)

    def solve(self) -> None:
        """Finds every end of every interval."""
        if not (self._open_low.any() or self._open_high.any()):
            return
        program = Program(self._matrix, self._right, self.low, self.high)
        self._all_at_once(program)
        for place in range(len(self.cells)):
            if self._open_high[place]:
                self._one(program, place, -1.0)
        for place in range(len(self.cells)):
            if self._open_low[place]:
                self._one(program, place, 1.0)

    def _all_at_once(self, program: Program) -> None:
        """Programs that push all open ends together, as long as they settle many."""
        while True:
            up, down = self._open_high, self._open_low
            before = int(up.sum() + down.sum())
            weight = 1 / np.maximum(np.where(np.isfinite(self.high), self.high - self.low, 1.0), self._near)
            for costs in (-weight * up, weight * down):
                if costs.any():
                    self._see(program.least(costs))
            if before - int(self._open_high.sum() + self._open_low.sum()) <= WORTHWHILE * before:
                return

    def _one(self, program: Program, place: int, sign: float) -> None:
        costs = np.zeros(len(self.cells))
        costs[place] = sign
        values = program.least(costs)
        self._see(values)
        if values is None:
            self._seen_high[place] = np.inf
        elif sign > 0:
            self.low[place] = self._seen_low[place] = values[place]
        else:
            self.high[place] = self._seen_high[place] = values[place]

    def _see(self, values: FloatArray | None) -> None:
        self.programs += 1
        if values is not None:
            np.minimum(self._seen_low, values, out=self._seen_low)
            np.maximum(self._seen_high, values, out=self._seen_high)

    @property
    def _open_low(self) -> BoolArray:
        return self._seen_low - self.low > self._near

    @property
    def _open_high(self) -> BoolArray:
        return self._seen_high < self.high - self._near  # no gap where both are infinite


def _problems(system: SumSystem, unknown: BoolArray) -> Iterator[_Problem]:
    """The unknown quantities, divided where no sum connects them."""
    cells = np.flatnonzero(unknown)
    matrix = sparse.csr_array(system.sums[:, cells])
    right = -(system.sums[:, np.flatnonzero(~unknown)] @ system.values[~unknown])
    used = np.diff(matrix.indptr) > 0
    matrix, right = matrix[np.flatnonzero(used)], right[used]
    if not len(cells):
        return
    count, part = connected_components(abs(matrix).T @ abs(matrix), directed=False)
    order, sizes = np.argsort(part, kind="stable"), np.bincount(part, minlength=count)
    part_of_row = part[matrix.indices[matrix.indptr[:-1]]] if matrix.shape[0] else np.zeros(0, dtype=np.int64)
    rows = np.argsort(part_of_row, kind="stable")
    lines = np.bincount(part_of_row, minlength=count)
    for places, sums in zip(np.split(order, np.cumsum(sizes)[:-1]), np.split(rows, np.cumsum(lines)[:-1]), strict=True):
        yield _Problem(cells[places], sparse.csr_array(matrix[sums][:, places]), right[sums])


def propagated(matrix: sparse.csr_array, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds that follow from one sum at a time and x ≥ 0, again and again until they stay."""
    count = matrix.shape[1]
    low, high = np.zeros(count), np.full(count, np.inf)
    entries = matrix.tocoo()
    rows, columns, positive = entries.row.astype(np.int64), entries.col, entries.data > 0
    for _ in range(MOST_ROUNDS):
        least, most = np.where(positive, low[columns], -high[columns]), np.where(positive, high[columns], -low[columns])
        rest_least, rest_most = (_without_own(rows, ends, len(right)) for ends in (least, most))
        above, below = right[rows] - rest_least, right[rows] - rest_most  # of the signed value
        new_low, new_high = low.copy(), high.copy()
        np.maximum.at(new_low, columns, np.where(positive, below, -above))
        np.minimum.at(new_high, columns, np.where(positive, above, -below))
        new_high = np.maximum(new_high, new_low)  # rounding
        if np.array_equal(new_low, low) and np.array_equal(new_high, high):
            break
        low, high = new_low, new_high
    return low, high


def _without_own(rows: IntArray, ends: FloatArray, count: int) -> FloatArray:
    """For every entry of a sum, the sum of the others; infinite where one of them is."""
    infinite = np.isinf(ends)
    finite = np.where(infinite, 0.0, ends)
    total = np.bincount(rows, weights=finite, minlength=count)
    unbounded = np.bincount(rows[infinite], minlength=count)
    sign = -1.0 if np.isneginf(ends).any() else 1.0
    return np.where(unbounded[rows] - infinite > 0, sign * np.inf, total[rows] - finite)
