"""Small tables, any first answers, and everything that is drawn after them: in whole steps, with exact noise.

The real code draws, from the first answers on. Where it would take noise it is asked for a size, and gets none.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import gedp.confidential.individual
import gedp.noise.gaussian
from gedp.accounting.composition import PrivacyLoss, exact
from gedp.arrays import CodeArray, FloatArray, IntArray, label_codes
from gedp.confidential.engines import AnsweredRows, Draw
from gedp.confidential.engines.ordered import draw_first_in_order
from gedp.confidential.individual import IndividualJob
from gedp.confidential.mechanisms import PsiMechanism, psi_mechanism
from gedp.confidential.pools import AttributePool
from gedp.confidential.preparing import Prepared
from gedp.confidential.table import ConfidentialTable, FinestCells, PublicCodes
from gedp.confidential.varied import varied_psi
from gedp.individual import CondensedAnswers
from gedp.individual.bounds import For
from gedp.neighbors.estimates import ZETA, PsiAnswers
from gedp.noise.entropy import Entropy, SeededEntropy
from gedp.noise.gaussian import Steps
from gedp.passes import Batch, Reads
from gedp.passes.in_memory import NumbersInMemory
from gedp.passes.lookup import make_lookup
from gedp.planning.choice import Choice, choose
from gedp.policy import Attribute, Data, Policy, PriceList, Query, Spec
from gedp.policy.model import PSI_SUFFIX
from gedp.progress import silent

Amounts = Mapping[str, IntArray]  # in units, by attribute


@dataclass(frozen=True)
class Asked:
    """Public columns of every row, what is asked, and for every attribute its pool and μ of the first answers."""

    public: Mapping[str, Sequence[str]]
    attributes: tuple[Attribute, ...]
    queries: tuple[Query, ...]
    prices: Mapping[str, tuple[Fraction, Decimal]]

    @property
    def rest(self) -> Fraction:
        """What all answers after the first may cost."""
        return sum((pool - exact(mu) ** 2 for pool, mu in self.prices.values()), Fraction(0))

    def cells(self) -> FinestCells:
        keys = list(self.public)
        rows = list(zip(*self.public.values(), strict=True))
        names, of_row = label_codes(["\t".join(row) for row in rows])
        codes, labels = {}, {}
        for place, key in enumerate(keys):
            labels[key], codes[key] = label_codes([name.split("\t")[place] for name in names])
        counts = np.bincount(of_row, minlength=len(names))
        return FinestCells(counts, make_lookup({}, {}, of_row, len(names)), codes, labels)

    @property
    def of_row(self) -> CodeArray:
        """The cell of every row."""
        return label_codes(["\t".join(row) for row in zip(*self.public.values(), strict=True)])[1]


@dataclass(frozen=True)
class Told(PsiMechanism):
    """First answers as they are told, whatever the truth."""

    omega: FloatArray = field(default_factory=lambda: np.zeros(0))

    def answer(self, sums: IntArray, entropy: Entropy) -> PsiAnswers:
        return PsiAnswers(self.psi, self.omega, self.sigma)


@dataclass(frozen=True)
class _Engine:
    amounts: Amounts
    plain: Mapping[str, Sequence[str]]
    of_row: CodeArray

    def batches(self, reads: Reads) -> Iterator[Batch]:
        columns = pa.table({name: pa.array(values) for name, values in self.plain.items()}).to_batches()[0]
        asked = {name: self.amounts[name] for name in reads.amounts}
        yield Batch({}, asked, columns.select(list(reads.plain)), len(self.of_row), self.of_row)

    def draw_first(self, asked: Draw) -> AnsweredRows:
        return draw_first_in_order(self, asked)


class Kept:
    """A writer that keeps what it is given."""

    def __init__(self) -> None:
        self.identity: list[pa.Table] = []
        self.answers: dict[str, pa.Table] = {}

    def write_identity(self, batch: pa.Table, *_: object) -> None:
        self.identity.append(batch)

    def finish_identity(self) -> None:
        pass

    def write_answers(self, query: str, table: pa.Table) -> None:
        self.answers[query] = table

    def write_map(self, *_: object) -> None:
        pass


def job_of(asked: Asked, amounts: Amounts, omega: Mapping[str, FloatArray] | None = None, seed: int = 1) -> Any:
    """The job that answers about these values; with first answers as told, where there are any."""
    data = Data("memory", tuple(asked.public), "id", synthetic=True)
    attributes = {attribute.name: attribute for attribute in asked.attributes}
    identity = Query("identity", ("establishment",), importance={name: Decimal(0) for name in attributes})
    pools = {}
    for name, (pool, mu) in asked.prices.items():
        first = psi_mechanism(attributes[name], exact(mu))
        if omega is not None:
            first = Told(first.psi, first.unit, first.grid, omega[name])
        pools[name] = AttributePool(pool, mu, first, varied_psi(attributes[name], pool - exact(mu) ** 2))
    cells = asked.cells()
    ids = [f"{row:04}" for row in range(cells.rows)]
    engine = cast(Any, _Engine(amounts, {**asked.public, "id": ids}, asked.of_row))
    table = ConfidentialTable(engine, data, attributes, {}, {}, {}, PublicCodes(engine))
    spec = Spec(data, Policy(attributes, Decimal(1000)), (identity, *asked.queries))
    prepared = Prepared(table, spec, PriceList((), PrivacyLoss.of(1000)), {}, cells, [], pools)
    return IndividualJob(prepared, SeededEntropy(seed), ZETA, cast(Any, Kept()), silent)


@dataclass(frozen=True)
class Drawn:
    """Everything that noise was added to, in whole steps, and the noise in steps."""

    steps: IntArray
    scales: FloatArray

    def squared_distance(self, other: "Drawn") -> Fraction:
        """How far the two are apart, in squared units of noise, exactly."""
        moved = np.flatnonzero(self.steps != other.steps)
        return sum(
            (
                (Fraction(int(self.steps[i]) - int(other.steps[i])) / Fraction(float(self.scales[i]))) ** 2
                for i in moved
            ),
            Fraction(0),
        )


@contextmanager
def recorded() -> Iterator[list[tuple[IntArray, FloatArray]]]:
    """Notes what noise is added to and how large it should be, and adds none."""
    found: list[tuple[IntArray, FloatArray]] = []

    def nothing(steps: Steps, scale: npt.ArrayLike, entropy: Entropy) -> Steps:
        found.append((steps, np.broadcast_to(np.asarray(scale, dtype=np.float64), steps.shape)))
        return steps

    with patch.object(gedp.noise.gaussian, "with_noise", nothing):
        yield found


@contextmanager
def planned_once() -> Iterator[None]:
    """The choice, which follows from the first answers, is made once for the same ones, to save time."""
    known: dict[tuple[bytes, ...], Choice] = {}

    def once(answers: CondensedAnswers, *others: Any) -> Choice:
        rows = cast(NumbersInMemory, answers.answered)
        key = answers.column.encode(), rows.columns[answers.column].tobytes(), rows.cells.tobytes()
        if key not in known:
            known[key] = choose(answers, *others)
        return known[key]

    with patch.object(gedp.confidential.individual, "choose", once):
        yield


def drawn_after(asked: Asked, amounts: Amounts, omega: Mapping[str, FloatArray]) -> Drawn:
    """What is drawn about these values after first answers that came out as told."""
    job = job_of(asked, amounts, omega)
    with recorded() as found, np.errstate(over="ignore", invalid="ignore"):
        job.draw()
    return Drawn(np.concatenate([steps.ravel() for steps, _ in found]), np.concatenate([s for _, s in found]))


def bounds_of(asked: Asked, omega: Mapping[str, FloatArray]) -> dict[str, IntArray]:
    """Where values are cut off, in units, after such first answers."""
    job = job_of(asked, {}, omega)
    with np.errstate(over="ignore", invalid="ignore"):
        answered = NumbersInMemory(asked.of_row, {f"{name}{PSI_SUFFIX}": told for name, told in omega.items()})
        return {
            name: job._plan(name, answered).rows.bounds(asked.of_row, told, For.CLIPPING).bounds
            for name, told in omega.items()
        }
