"""What the constraints work on: the answers of a finished fit with the variances that it used, cells and groups apart.

Units are what has answers of its own: the establishments, or the cells where establishments have none. Minimise

    Σ_j (x_j − a_j)²/v_j + Σ_c (s_c − b_c)²/w_c + Σ_i (q_i − b_i)²/w_i

over the units x, where s are the cells' sums, b_c the pooled answers for single cells, and q the sums of groups of
cells. Where the answers do not determine the cells, the cells themselves are drawn to the finished fit, so weakly
(`LOOSE`) that this only picks one of the best fits: the one nearest to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gedp.arrays import CodeArray, FloatArray, sum_by
from gedp.microdata.problem import AttributeProblem
from gedp.microdata.solve import Marginal, is_partition, pool
from gedp.microdata.weights import AttributeFit

LOOSE = 1e4  # how many times the largest variance of an answer


@dataclass(frozen=True, repr=False)
class Reduced:
    """The least-squares problem of one attribute at given variances."""

    answers: FloatArray  # of the units
    variances: FloatArray
    of_unit: CodeArray  # the cell of every unit
    cells: int
    finest: tuple[FloatArray, FloatArray] | None  # answers and variances for single cells, beside those of the units
    marginals: tuple[Marginal, ...]

    def by_cell(self, by_unit: FloatArray) -> FloatArray:
        """Sums of the units of every cell."""
        return sum_by(self.of_unit, by_unit, self.cells)

    def cell_variances(self, unit_variances: FloatArray) -> FloatArray:
        """Of a cell's sum, from the answers of its units and for the cell: V_c w_c / (V_c + w_c)."""
        if self.finest is None:
            return unit_variances
        return unit_variances * self.finest[1] / (unit_variances + self.finest[1])


def reduced(problem: AttributeProblem, fit: AttributeFit, row_weights: FloatArray | None) -> Reduced:
    """The problem whose solution, without constraints, is the finished fit."""
    cells, of_row = problem.cells.count, problem.cells.of_row
    used = zip(problem.groups, fit.group_variances, strict=True)
    marginals = [Marginal(group.of_cell, group.answers, variances) for group, variances in used]
    is_finest = [m.groups == cells and is_partition(m.of_cell, cells) for m in marginals]
    coarser = tuple(m for m, single in zip(marginals, is_finest, strict=True) if not single)
    finest = _pooled([m for m, single in zip(marginals, is_finest, strict=True) if single])
    if fit.row_answers is not None and fit.row_variances is not None:
        return Reduced(fit.row_answers, fit.row_variances, of_row, cells, finest, coarser)
    every_cell = np.arange(cells, dtype=np.int32)
    if finest is not None:
        return Reduced(*finest, every_cell, cells, None, coarser)
    weights = sum_by(of_row, np.ones(len(of_row)) if row_weights is None else row_weights, cells)
    largest = max((float(m.variances.max(initial=0.0)) for m in coarser), default=1.0)
    loose = LOOSE * largest * weights / weights.min()
    return Reduced(fit.totals, loose, every_cell, cells, None, coarser)


def row_shares(problem: AttributeProblem, row_weights: FloatArray | None) -> FloatArray:
    """What every row gets of its cell where rows have no answers of their own."""
    of_row = problem.cells.of_row
    weights = np.ones(len(of_row)) if row_weights is None else row_weights
    shares: FloatArray = weights / sum_by(of_row, weights, problem.cells.count)[of_row]
    return shares


def _pooled(finest: Sequence[Marginal]) -> tuple[FloatArray, FloatArray] | None:
    if not finest:
        return None
    return pool([m.answers[m.of_cell] for m in finest], [m.variances[m.of_cell] for m in finest])
