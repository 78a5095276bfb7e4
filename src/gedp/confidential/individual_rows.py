"""What individual accounting does with rows: answers them, cuts them off, finds what each of them pays.

Whatever a row needs follows from its first answer and from its cell, so it can be worked out wherever the row is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gedp.arrays import CodeArray, FloatArray, IntArray, max_by
from gedp.confidential.tally import ROWS
from gedp.confidential.varied import VariedPsi
from gedp.individual import Bills, ClippingBounds, FirstAnswer
from gedp.individual.answers import members_of
from gedp.individual.bounds import For
from gedp.individual.charges import charge
from gedp.individual.units import UnitCells
from gedp.passes import Batch, Key, PartialResults, Reads
from gedp.passes.lookup import Lookup
from gedp.passes.sums import sums_of_whole
from gedp.policy.model import PSI_SUFFIX

#: Beside the name of an attribute: the sums of its values, each cut off at a bound of its own.
CLIPPED = "clipped"
CHARGED: Key = "charged"


@dataclass(frozen=True, repr=False)
class PlannedRows:
    """For one attribute what follows from its first answers: for groups, and for the rows of every cell."""

    first: FirstAnswer
    tau: float
    varied: VariedPsi
    planned: Bills  # in the attribute's own measure
    drawn: Bills  # in units, by the noise itself
    units: "PlannedUnits | None" = None  # None where every record is a unit by itself

    def bounds(self, cells: CodeArray, omega: FloatArray, use: For) -> ClippingBounds:
        """Where values are cut off, and how far they can move below."""
        return self.first.bounds(
            omega, self.tau, use, members_of(None if self.units is None else self.units.cells, cells)
        )

    def second_sigma(self, cells: CodeArray, omega: FloatArray) -> FloatArray:
        """The noise of second answers: by what is left after the tables."""
        price = self._left(cells, self.bounds(cells, omega, For.PLANNING))
        if self.units is not None:
            reach = self.bounds(cells, omega, For.CLIPPING).sensitivity * self.varied.unit
            price = price * self.units.share(cells, reach)
        return self.varied.sigma(price)

    def _left(self, cells: CodeArray, bounds: ClippingBounds) -> FloatArray:
        return self.planned.left(cells, bounds.sensitivity * self.varied.unit, self.first.terms)

    def charges(self, cells: CodeArray, omega: FloatArray) -> FloatArray:
        """What records that are units by themselves pay for everything after the first answers, by the noise drawn."""
        bounds = self.bounds(cells, omega, For.CHARGING)
        of_tables = self.drawn.paid(cells, bounds.sensitivity)
        return of_tables + charge(self.varied.sensitivity, self.varied.sigma(self._left(cells, bounds)))

    def left_to_parts(self) -> FloatArray:
        """Relative to its share, what the tables leave to every part of a unit of several records."""
        if self.units is None:
            return np.zeros(0)
        cells = self.units.cells.shared
        return self.planned.left(cells, np.zeros(len(cells)), self.first.terms)


@dataclass(frozen=True, repr=False)
class PlannedUnits:
    """How units of several records divide what is left among them: half by how far each moves, half alike."""

    cells: UnitCells
    reach: FloatArray  # of the whole unit, by finest cell, in the attribute's own measure

    def share(self, cells: CodeArray, reach: FloatArray) -> FloatArray:
        """Of what its unit has left, the share of every record."""
        share: FloatArray = (reach / self.reach[cells] + 1 / self.cells.members[cells]) / 2
        return np.where(self.cells.alone[cells], 1.0, share)


@dataclass(frozen=True, repr=False)
class OwnClipping:
    """The pass that adds up values cut off at bounds of their own; and the values again, as they are."""

    cells: Lookup
    units: Mapping[str, Fraction]
    planned: Mapping[str, PlannedRows]

    @property
    def reads(self) -> Reads:
        """The values, first answers, and the cells of the rows."""
        return Reads(self.units, tuple(f"{name}{PSI_SUFFIX}" for name in self.planned), self.cells)

    def __call__(self, batch: Batch) -> PartialResults:
        """The sums of these rows."""
        added: dict[Key, IntArray] = {ROWS: sums_of_whole(batch.cells, np.ones(batch.rows), self.cells.count)}
        for name, plan in self.planned.items():
            amounts = batch.amounts[name]
            omega = batch.plain[f"{name}{PSI_SUFFIX}"].to_numpy()
            bounds = plan.bounds(batch.cells, omega, For.CLIPPING).bounds
            added[name] = sums_of_whole(batch.cells, amounts, self.cells.count)
            added[name, CLIPPED] = sums_of_whole(batch.cells, np.clip(amounts, -bounds, bounds), self.cells.count)
        return PartialResults(added)


@dataclass(frozen=True, repr=False)
class Charges:
    """The pass over first answers that finds the most that anybody in a cell pays for what is still to be drawn."""

    cells: Lookup
    column: str
    plan: PlannedRows

    @property
    def reads(self) -> Reads:
        """First answers, and the cells of the rows."""
        return Reads(plain=(self.column,), cells=self.cells)

    def __call__(self, batch: Batch) -> PartialResults:
        """The most in every cell; NaN is treated as infinite."""
        charges = self.plan.charges(batch.cells, batch.plain[self.column].to_numpy())
        most = np.where(np.isnan(charges), np.inf, charges)
        return PartialResults(highest={CHARGED: max_by(batch.cells, most, self.cells.count)})
