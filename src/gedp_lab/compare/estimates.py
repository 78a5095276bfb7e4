"""What a workflow says of the groups of any level, however it came by that."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gedp.arrays import FloatArray
from gedp.microdata.cells import Cells
from gedp.microdata.variances import group_variances
from gedp.microdata.weights import AttributeFit


class GroupEstimates(Protocol):
    """What a workflow says of the groups of any level."""

    def of(self, groups: Cells) -> tuple[FloatArray, FloatArray]:
        """The estimates of the groups, and their variances; NaN where it does not tell."""


@dataclass(frozen=True, repr=False)
class RowEstimates:
    """Estimates for the rows, without variances."""

    values: FloatArray

    def of(self, groups: Cells) -> tuple[FloatArray, FloatArray]:
        """Sums over the rows."""
        return groups.sums(self.values), np.full(groups.count, np.nan)


@dataclass(frozen=True, repr=False)
class FittedEstimates:
    """Fitted microdata, and the cells that they were fitted to."""

    fit: AttributeFit
    cells: Cells

    def of(self, groups: Cells) -> tuple[FloatArray, FloatArray]:
        """Sums over the rows, with the variances of the fit."""
        return groups.sums(self.fit.values), group_variances(self.fit, self.cells, groups)
