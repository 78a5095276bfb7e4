"""Linear programs that differ a little from the one before: each starts where the last one ended (HiGHS)."""

from types import ModuleType

import numpy as np
from scipy import sparse

from gedp.arrays import FloatArray, IntArray
from gedp.errors import GedpError, how_to_install

LARGEST = 1e5  # what the largest number of a program is scaled to: HiGHS works to 1e-7


class Program:
    """Values between `low` and `high` that satisfy matrix·x = right; the objective and bounds may change."""

    def __init__(self, matrix: sparse.csr_array, right: FloatArray, low: FloatArray, high: FloatArray) -> None:
        highs = _highs()
        finite = [np.abs(each[np.isfinite(each)]).max(initial=0.0) for each in (right, low, high)]
        self._scale = max(max(finite), 1e-300) / LARGEST
        self._model = highs.Highs()
        for option, value in (("output_flag", False), ("presolve", "off"), ("solver", "simplex"), ("threads", 1)):
            self._model.setOptionValue(option, value)
        by_column = sparse.csc_array(matrix)
        lp = highs.HighsLp()
        lp.num_row_, lp.num_col_ = by_column.shape
        lp.col_cost_ = np.zeros(lp.num_col_)
        lp.col_lower_, lp.col_upper_ = low / self._scale, high / self._scale
        lp.row_lower_ = lp.row_upper_ = right / self._scale
        lp.a_matrix_.format_ = highs.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_ = by_column.indptr, by_column.indices
        lp.a_matrix_.value_ = by_column.data
        self._every = np.arange(lp.num_col_, dtype=np.int32)
        self._model.passModel(lp)

    def least(self, costs: FloatArray) -> FloatArray | None:
        """Values with the least costs; None where costs fall without end."""
        self._model.changeColsCost(len(costs), self._every, np.asarray(costs, dtype=np.float64))
        return self.solved()

    def change_costs(self, places: IntArray, costs: FloatArray) -> None:
        """Changes the costs of some values for the next `solved`."""
        self._model.changeColsCost(len(places), np.asarray(places, dtype=np.int32), costs)

    def bound(self, place: int, low: float, high: float) -> None:
        """Changes what one value may be."""
        self._model.changeColBounds(place, low / self._scale, high / self._scale)

    def solved(self) -> FloatArray | None:
        """Values with the least costs as they stand; None where costs fall without end."""
        status = _highs().HighsModelStatus
        self._model.run()
        if self._model.getModelStatus() not in (status.kOptimal, status.kUnbounded):
            self._model.clearSolver()  # numerical trouble on the way: once more from the beginning
            self._model.run()
        found = self._model.getModelStatus()
        if found in (status.kUnbounded, status.kUnboundedOrInfeasible):
            self._model.clearSolver()
            return None
        if found != status.kOptimal:
            raise GedpError(f"a linear program was not solved ({self._model.modelStatusToString(found)})")
        values: FloatArray = np.array(self._model.getSolution().col_value) * self._scale
        return values


def _highs() -> ModuleType:
    try:
        import highspy
    except ImportError:
        raise GedpError(f"linear programs need the package highspy: {how_to_install('suppression')}") from None
    module: ModuleType = highspy
    return module
