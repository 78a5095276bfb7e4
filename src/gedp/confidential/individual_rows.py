"""What individual accounting does with rows: answers them, cuts them off, finds what each of them pays.

Whatever a row needs follows from its first answer and from its cell, so it can be worked out wherever the row is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from gedp.arrays import BoolArray, CodeArray, FloatArray, IntArray, max_by
from gedp.confidential.engines import Drawn
from gedp.confidential.mechanisms import PsiMechanism
from gedp.confidential.tally import ROWS
from gedp.confidential.varied import VariedPsi
from gedp.individual import Bills, ClippingBounds, FirstAnswer
from gedp.individual.bounds import For
from gedp.individual.charges import charge
from gedp.neighbors.estimates import combined
from gedp.noise.entropy import Entropy
from gedp.noise.sums import SumGrid
from gedp.passes import Batch, ByPlace, Key, Reads
from gedp.passes.lookup import Lookup
from gedp.passes.sums import sums_of_whole
from gedp.policy import Data
from gedp.policy.model import PSI_SUFFIX, SECOND_PSI_SUFFIX, SECOND_SIGMA_SUFFIX

#: Beside the name of an attribute: the sums of its values, each cut off at a bound of its own.
CLIPPED = "clipped"
CHARGED: Key = "charged"
#: Two rows of a nation have the same 128 bits with probability below 1e-24.
WORDS_FOR_TIES = 2


@dataclass(frozen=True, repr=False)
class DrawnNoise:
    """The noise of every group of a query: on ψ of its sum, or on its clipped sum, in units."""

    by_psi: BoolArray
    of_psi: FloatArray
    clipped: SumGrid

    def prices(self, varied: VariedPsi) -> FloatArray:
        """What members pay: all alike for ψ of the sum; for a clipped sum, if they can move by one unit."""
        return charge(
            np.where(self.by_psi, varied.sensitivity, 1.0), np.where(self.by_psi, self.of_psi, self.clipped.sigma)
        )


@dataclass(frozen=True, repr=False)
class PlannedRows:
    """For one attribute what follows from its first answers: for groups, and for the rows of every cell."""

    first: FirstAnswer
    tau: float
    varied: VariedPsi
    planned: Bills  # in the attribute's own measure
    drawn: Bills  # in units, by the noise itself
    noise: Mapping[str, DrawnNoise]

    def bounds(self, omega: FloatArray, use: For) -> ClippingBounds:
        """Where values are cut off, and how far they can move below."""
        return self.first.bounds(omega, self.tau, use)

    def second_sigma(self, cells: CodeArray, omega: FloatArray) -> FloatArray:
        """The noise of second answers: by what is left after the tables."""
        return self._sigma_left(cells, self.bounds(omega, For.PLANNING))

    def _sigma_left(self, cells: CodeArray, bounds: ClippingBounds) -> FloatArray:
        reach = bounds.sensitivity * self.varied.unit
        return self.varied.sigma(self.planned.left(cells, reach, self.first.terms))

    def charges(self, cells: CodeArray, omega: FloatArray) -> FloatArray:
        """What establishments pay for everything after the first answers, by the noise that is drawn."""
        bounds = self.bounds(omega, For.CHARGING)
        of_tables = self.drawn.paid(cells, bounds.sensitivity)
        return of_tables + charge(self.varied.sensitivity, self._sigma_left(cells, bounds))


@dataclass(frozen=True, repr=False)
class FirstDrawing:
    """The drawing of first answers: ψ of values with noise."""

    mechanisms: Mapping[str, PsiMechanism]
    units: Mapping[str, Fraction]
    ties: int = 0
    public: Sequence[str] = ()
    keys: Sequence[str] = ()

    @property
    def reads(self) -> Reads:
        """The values."""
        return Reads(self.units)

    @property
    def columns(self) -> Sequence[str]:
        """One for each attribute."""
        return [f"{name}{PSI_SUFFIX}" for name in self.mechanisms]

    def __call__(self, batch: Batch, entropy: Entropy) -> Drawn:
        """The answers for some establishments."""
        with np.errstate(over="ignore", invalid="ignore"):  # under enormous noise, answers may be infinite
            answers = [each.answer(batch.amounts[name], entropy).omega for name, each in self.mechanisms.items()]
        return Drawn(pa.Table.from_arrays([pa.array(each) for each in answers], list(self.columns)))


@dataclass(frozen=True, repr=False)
class SecondDrawing:
    """The drawing of second answers: public columns, both answers, the noise of the second, an estimate from both."""

    cells: Lookup
    planned: Mapping[str, PlannedRows]
    first: Mapping[str, PsiMechanism]
    units: Mapping[str, Fraction]
    data: Data

    @property
    def public(self) -> Sequence[str]:
        """The columns that repeat their values."""
        return self.data.public

    @property
    def keys(self) -> Sequence[str]:
        """What establishments are ordered by."""
        return [self.data.id] if self.data.id else self.data.public

    @property
    def ties(self) -> int:
        """Where ids order the establishments, none are equal."""
        return 0 if self.data.id else WORDS_FOR_TIES

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns of the table that are published as they are."""
        return (*([self.data.id] if self.data.id else []), *self.data.public)

    @property
    def reads(self) -> Reads:
        """What is published as it is, first answers, the values, and the cells of the rows."""
        return Reads(self.units, (*self.kept, *(f"{name}{PSI_SUFFIX}" for name in self.planned)), self.cells)

    @property
    def columns(self) -> Sequence[str]:
        """Those that are published as they are, and four for each attribute."""
        ends = PSI_SUFFIX, SECOND_PSI_SUFFIX, SECOND_SIGMA_SUFFIX, ""
        return [*self.kept, *(f"{name}{end}" for name in self.planned for end in ends)]

    def __call__(self, batch: Batch, entropy: Entropy) -> Drawn:
        """The rows of some establishments."""
        columns = [batch.plain[name] for name in self.kept]
        with np.errstate(over="ignore", invalid="ignore"):
            for name, plan in self.planned.items():
                omega, first = batch.plain[f"{name}{PSI_SUFFIX}"].to_numpy(), self.first[name]
                sigma = plan.second_sigma(batch.cells, omega)
                second = plan.varied.answer(batch.amounts[name], sigma, entropy).omega
                both = combined(first.psi, (omega, first.sigma), (second, sigma))
                columns += map(pa.array, (omega, second, sigma, both.estimate()))
        ties = [entropy.words(batch.rows) for _ in range(self.ties)]
        return Drawn(pa.Table.from_arrays(columns, list(self.columns)), ties)


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

    def __call__(self, batch: Batch) -> ByPlace:
        """The sums of these rows."""
        added: dict[Key, IntArray] = {ROWS: sums_of_whole(batch.cells, np.ones(batch.rows), self.cells.count)}
        for name, plan in self.planned.items():
            amounts = batch.amounts[name]
            bounds = plan.bounds(batch.plain[f"{name}{PSI_SUFFIX}"].to_numpy(), For.CLIPPING).bounds
            added[name] = sums_of_whole(batch.cells, amounts, self.cells.count)
            added[name, CLIPPED] = sums_of_whole(batch.cells, np.clip(amounts, -bounds, bounds), self.cells.count)
        return ByPlace(added)


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

    def __call__(self, batch: Batch) -> ByPlace:
        """The most in every cell; what is not a number counts as endless."""
        charges = self.plan.charges(batch.cells, batch.plain[self.column].to_numpy())
        most = np.where(np.isnan(charges), np.inf, charges)
        return ByPlace(highest={CHARGED: max_by(batch.cells, most, self.cells.count)})
