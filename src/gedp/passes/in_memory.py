"""Rows whose cells and numbers are in memory, for passes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

import pyarrow as pa

from gedp.arrays import CodeArray, FloatArray, slices
from gedp.passes import Batch, PartialResults, Pass, nothing

ROWS_AT_ONCE = 2**20


@dataclass(frozen=True, repr=False)
class NumbersInMemory:
    """Cells and columns of numbers, in one order."""

    cells: CodeArray
    columns: Mapping[str, FloatArray]

    def reduce(self, run: Pass) -> PartialResults:
        """The results of a pass."""
        return reduce(
            or_, (run(self._batch(rows, run)) for rows in slices(len(self.cells), ROWS_AT_ONCE)), nothing(run)
        )

    def _batch(self, rows: slice, run: Pass) -> Batch:
        arrays = [pa.array(self.columns[name][rows]) for name in run.reads.plain]
        plain = pa.RecordBatch.from_arrays(arrays, names=list(run.reads.plain))
        return Batch({}, {}, plain, plain.num_rows, self.cells[rows])
