"""What the constraints work on: the answers of a finished fit with the variances that it used, cells and groups apart.

Units are what has answers of its own: the establishments, or the cells where establishments have none. Minimise

    Σ_j (x_j − a_j)²/v_j + Σ_c (s_c − b_c)²/w_c + Σ_i (q_i − b_i)²/w_i

over the units x, where s are the cells' sums, b_c the pooled answers for single cells, and q the sums of groups of
cells. Where the answers do not determine the cells, the cells themselves are drawn to the finished fit, so weakly
(`LOOSE`) that this only picks one of the best fits: the one nearest to it.
"""

from dataclasses import dataclass

from gedp.arrays import FloatArray
from gedp.microdata.problem import AttributeProblem
from gedp.microdata.solve import Measurement, of_single_cells, pool
from gedp.microdata.weights import AttributeFit, Division
from gedp.partitions import Partition

LOOSE = 1e4  # how many times the largest variance of an answer


@dataclass(frozen=True, repr=False)
class Reduced:
    """The least-squares problem of one attribute at given variances."""

    answers: FloatArray  # of the units
    variances: FloatArray
    cells: Partition  # of the units
    finest: tuple[FloatArray, FloatArray] | None  # answers and variances for single cells, beside those of the units
    measurements: tuple[Measurement, ...]

    def cell_variances(self, unit_variances: FloatArray) -> FloatArray:
        """Of a cell's sum, from the answers of its units and for the cell: V_c w_c / (V_c + w_c)."""
        if self.finest is None:
            return unit_variances
        return unit_variances * self.finest[1] / (unit_variances + self.finest[1])


def reduced(problem: AttributeProblem, fit: AttributeFit, division: Division) -> Reduced:
    """The problem whose solution, without constraints, is the finished fit."""
    used = zip(problem.groups, fit.group_variances, strict=True)
    measurements = [Measurement(group.groups, group.answers, variances) for group, variances in used]
    single, coarser = of_single_cells(measurements)
    finest = pool(*zip(*single, strict=True)) if single else None
    if fit.row_answers is not None and fit.row_variances is not None:
        return Reduced(fit.row_answers, fit.row_variances, problem.cells, finest, tuple(coarser))
    every_cell = Partition.single(problem.cells.count)
    if finest is not None:
        return Reduced(*finest, every_cell, None, tuple(coarser))
    weights = division.cell_weights
    largest = max((float(m.variances.max(initial=0.0)) for m in coarser), default=1.0)
    loose = LOOSE * largest * weights / weights.min()
    return Reduced(fit.totals, loose, every_cell, None, tuple(coarser))
