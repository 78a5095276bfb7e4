"""What is drawn about single establishments: identity answers, and both answers of individual accounting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from gedp.arrays import FloatArray
from gedp.confidential.engines import Drawn
from gedp.confidential.individual_rows import PlannedRows
from gedp.confidential.mechanisms import PsiMechanism
from gedp.confidential.varied import VariedPsi
from gedp.neighbors.estimates import combined
from gedp.noise.entropy import Entropy
from gedp.passes import Batch, Reads
from gedp.passes.lookup import Lookup
from gedp.policy import Data
from gedp.policy.model import PSI_SUFFIX, SECOND_PSI_SUFFIX, SECOND_SIGMA_SUFFIX

#: Two rows of a nation have the same 128 bits with probability below 1e-24.
WORDS_FOR_TIES = 2


@dataclass(frozen=True, repr=False)
class PublishedRows:
    """A drawing whose rows are published: with the public columns as they are, in an order that says nothing."""

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

    def drawn(self, columns: Sequence[pa.Array], names: Sequence[str], batch: Batch, entropy: Entropy) -> Drawn:
        """The public columns of a batch and these, with random words for the order of equal rows."""
        kept = [batch.plain[name] for name in self.kept]
        ties = [entropy.words(batch.rows) for _ in range(self.ties)]
        return Drawn(pa.Table.from_arrays([*kept, *columns], list(names)), ties)


@dataclass(frozen=True, repr=False)
class IdentityAnswers(PublishedRows):
    """The drawing of identity answers: public columns of establishments, ψ of their values with noise, estimates."""

    mechanisms: Mapping[str, PsiMechanism]
    units: Mapping[str, Fraction]

    @property
    def columns(self) -> Sequence[str]:
        """Those that are published as they are, and two for each attribute."""
        return [*self.kept, *(name + end for name in self.mechanisms for end in (PSI_SUFFIX, ""))]

    @property
    def reads(self) -> Reads:
        """What is published as it is, and what is answered."""
        return Reads({name: self.units[name] for name in self.mechanisms}, self.kept)

    def __call__(self, batch: Batch, entropy: Entropy) -> Drawn:
        """The answers for some establishments."""
        columns = list[pa.Array]()
        with np.errstate(over="ignore", invalid="ignore"):  # under enormous noise, answers may be infinite
            for name, mechanism in self.mechanisms.items():
                answers = mechanism.answer(batch.amounts[name], entropy)
                columns += map(pa.array, (answers.omega, answers.estimate()))
        return self.drawn(columns, self.columns, batch, entropy)


@dataclass(frozen=True, repr=False)
class FirstDrawing:
    """The drawing of first answers: ψ of values with noise."""

    mechanisms: Mapping[str, PsiMechanism]
    units: Mapping[str, Fraction]
    ties: int = 0
    public: Sequence[str] = ()
    keys: Sequence[str] = ()
    of_units: "FirstOfUnits | None" = None  # None where every record is a unit by itself

    @property
    def reads(self) -> Reads:
        """The values; the cells of the rows, where their noise depends on the unit."""
        return Reads(self.units, cells=self.of_units.cells if self.of_units else None)

    @property
    def columns(self) -> Sequence[str]:
        """One for each attribute."""
        return [f"{name}{PSI_SUFFIX}" for name in self.mechanisms]

    def __call__(self, batch: Batch, entropy: Entropy) -> Drawn:
        """The answers for some establishments."""
        with np.errstate(over="ignore", invalid="ignore"):  # under enormous noise, answers may be infinite
            answers = [self._answer(name, batch, entropy) for name in self.mechanisms]
        return Drawn(pa.Table.from_arrays([pa.array(each) for each in answers], list(self.columns)))

    def _answer(self, name: str, batch: Batch, entropy: Entropy) -> FloatArray:
        mechanism, amounts = self.mechanisms[name], batch.amounts[name]
        if self.of_units is None:
            return mechanism.answer(amounts, entropy).omega
        sigma = mechanism.sigma * self.of_units.noise[batch.cells]
        return self.of_units.varied[name].answer(amounts, sigma, entropy).omega


@dataclass(frozen=True, repr=False)
class FirstOfUnits:
    """How first answers are drawn where units of several records divide their price equally."""

    cells: Lookup
    noise: FloatArray  # by cell, how many times as much as for a record that is a unit by itself
    varied: Mapping[str, VariedPsi]


@dataclass(frozen=True, repr=False)
class SecondDrawing(PublishedRows):
    """The drawing of second answers: public columns, both answers, the noise of the second, an estimate from both."""

    cells: Lookup
    planned: Mapping[str, PlannedRows]
    first: Mapping[str, PsiMechanism]
    units: Mapping[str, Fraction]

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
        columns = list[pa.Array]()
        with np.errstate(over="ignore", invalid="ignore"):
            for name, plan in self.planned.items():
                omega, first = batch.plain[f"{name}{PSI_SUFFIX}"].to_numpy(), self.first[name]
                sigma = plan.second_sigma(batch.cells, omega)
                second = plan.varied.answer(batch.amounts[name], sigma, entropy).omega
                noise = (
                    first.sigma if plan.units is None else first.sigma * np.sqrt(plan.units.cells.members[batch.cells])
                )
                both = combined(first.psi, (omega, noise), (second, sigma))
                columns += map(pa.array, (omega, second, sigma, both.estimate()))
        return self.drawn(columns, self.columns, batch, entropy)
