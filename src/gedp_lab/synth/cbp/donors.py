"""Imputation from donors: a cell whose figure is withheld takes over how that figure relates to month 3 in a
published cell of the same sector and about the same size (a random hot deck within classes).

Unlike a draw from the paper's regressions, whose error is as large for a cell of 3 jobs as for one of 3,000, what is
taken over is a ratio that some cell of that size has.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gedp.arrays import BoolArray, FloatArray
from gedp.errors import Fault, FaultsError
from gedp_lab.synth.cbp.regression import Labels

NEAREST = 10  # donors among which one is drawn, as many smaller as larger ones where there are


@dataclass(frozen=True)
class Donors:
    """Published cells: their sectors, their jobs in month 3, and the ratio of the figure to those."""

    sector: Labels
    month3: FloatArray
    ratio: FloatArray

    def give(self, sector: Labels, month3: FloatArray, rng: np.random.Generator) -> FloatArray:
        """A donor's ratio for each receiver, from its sector, or from all sectors where that has no donor."""
        given = np.empty(len(month3))
        draws = rng.random(len(month3))
        everybody = np.arange(len(self.month3))
        for one in np.unique(sector):
            receivers = sector == one
            able = np.flatnonzero(self.sector == one)
            given[receivers] = self._nearest(able if len(able) else everybody, month3[receivers], draws[receivers])
        return given

    def _nearest(self, able: NDArray[np.intp], month3: FloatArray, draws: FloatArray) -> FloatArray:
        ordered = able[np.argsort(self.month3[able], kind="stable")]
        nearest = min(NEAREST, len(ordered))
        place = np.searchsorted(self.month3[ordered], month3)
        first = np.clip(place - nearest // 2, 0, len(ordered) - nearest)
        chosen: FloatArray = self.ratio[ordered[first + np.floor(draws * nearest).astype(np.int64)]]
        return chosen


def donors_among(name: str, published: BoolArray, sector: Labels, month3: FloatArray, figure: FloatArray) -> Donors:
    """The published cells with jobs in month 3."""
    able = published & (month3 > 0)
    if not able.any():
        fault = Fault(
            "disclosed cells", "none with jobs in month 3", "Add states: withheld cells learn from published ones"
        )
        raise FaultsError(f"the donors of {name}", [fault])
    return Donors(sector[able], month3[able], figure[able] / month3[able])
