"""Answers by individual accounting: first answers for establishments, sums clipped at their own bounds, second answers.

Whatever the first answers were, everything about the noise of the others follows from them and from public values. That
no establishment pays more than its pool is checked on the noise itself, before any of it is drawn.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from gedp.accounting.composition import exact
from gedp.arrays import MOST_UNITS, BoolArray, CodeArray, FloatArray, IntArray
from gedp.confidential.answers import Answers, AnswerWriter, answer_table
from gedp.confidential.engines import Batch, in_order
from gedp.confidential.mechanisms import BITS, PsiMechanism
from gedp.confidential.table import ConfidentialTable, FinestCells, Groups
from gedp.confidential.varied import VariedPsi, clipping_range
from gedp.errors import TableChangedError
from gedp.individual import ClippingBounds, GroupNoise, Partition, Terms
from gedp.individual.charges import charge, largest_share
from gedp.neighbors import Signed
from gedp.noise.entropy import Entropy
from gedp.noise.sums import SumGrid, sum_grid_for
from gedp.planning.choice import Choice, FirstAnswers, choose
from gedp.policy import Attribute, Query, Spec
from gedp.policy.model import PSI_SUFFIX, SECOND_PSI_SUFFIX, SECOND_SIGMA_SUFFIX
from gedp.progress import Progress
from gedp.release import Answered, AttributeNoise, Individual
from gedp.release.estimates import combined, no_clipping_tau

#: What is planned with is less than the pool by this part, so that rounding toward more noise is never too much.
MARGIN = 1e-8
#: What is set aside for tables, in μ²: by attribute and query.
Shares = Mapping[str, Mapping[str, float]]
#: Two rows of a nation have the same 128 bits with probability below 1e-24.
WORDS_FOR_TIES = 2
PLANNERS = 2  # attributes planned at a time


@dataclass(frozen=True)
class AttributePool:
    """What all answers about an attribute may cost, what the first ones do, and their mechanisms."""

    pool: Fraction
    mu_as_decimal: Decimal  # of the first answers
    first: PsiMechanism
    varied: VariedPsi

    @property
    def mu(self) -> Fraction:
        """μ of the first answers, exactly."""
        return exact(self.mu_as_decimal)

    @property
    def rest(self) -> Fraction:
        """What is left for everything after the first answers, in μ²."""
        return self.pool - self.mu**2

    def terms(self, attribute: Attribute) -> Terms:
        """The same as numbers to plan with."""
        return Terms(attribute.protection, float(self.mu**2), float(self.rest) * (1 - MARGIN))


@dataclass(frozen=True, repr=False)
class _GroupNoise:
    """The noise of every group of a query: on ψ of its sum, or on its clipped sum, in units."""

    by_psi: BoolArray
    of_psi: FloatArray
    clipped: SumGrid

    def charges(self, groups: CodeArray, bounds: ClippingBounds, varied: VariedPsi) -> FloatArray:
        """What every establishment pays, given its group and how far it can move."""
        of_psi = charge(varied.sensitivity, self.of_psi[groups])
        return np.where(self.by_psi[groups], of_psi, charge(bounds.sensitivity, self.clipped.sigma[groups]))


@dataclass(frozen=True, repr=False)
class _Planned:
    """For one attribute what follows from its first answers, rows in the order of the table."""

    omega: FloatArray
    bounds: IntArray
    second: FloatArray  # the noise of the second answers
    noise: Mapping[str, _GroupNoise]
    described: Individual


@dataclass(frozen=True, repr=False)
class IndividualJob:
    """Everything that answering needs, put together before the first draw."""

    table: ConfidentialTable
    spec: Spec
    cells: FinestCells
    pools: Mapping[str, AttributePool]
    entropy: Entropy
    zeta: Fraction
    writer: AnswerWriter
    progress: Progress
    shares: Shares = field(default_factory=dict)  # empty: as is chosen

    def draw(self) -> tuple[list[Answered], dict[str, Individual]]:
        """Draws and writes everything. Returns what the manifest says of the queries, and of every attribute."""
        of_row, omegas, sums, seen = self._first_pass()
        groups = {query.name: self.cells.groups(query.by) for query in self._tables}
        planned = {}
        with ThreadPoolExecutor(PLANNERS) as pool:  # nothing is drawn here
            plans = pool.map(lambda name: self._plan(name, omegas[name], of_row, groups), omegas)
            for done, (name, plan) in enumerate(zip(omegas, plans, strict=True), 1):
                planned[name] = plan
                self.progress("plans", done, len(omegas))
        clipped = self._second_pass(planned, seen)
        answered = [self._identity_answered()]
        for done, query in enumerate(self._tables, 1):
            answers = {
                name: self._answer(name, planned[name].noise[query.name], groups[query.name], sums[name], clipped[name])
                for name in query.attributes
            }
            self.writer.write_answers(query.name, answer_table(query, groups[query.name], answers))
            answered.append(self._answered(query, groups[query.name], planned))
            self.progress("queries", done, len(self._tables))
        return answered, {name: each.described for name, each in planned.items()}

    @property
    def _tables(self) -> list[Query]:
        return [query for query in self.spec.queries if not query.is_identity]

    def _scan(self, attributes: Iterable[str], plain: Sequence[str] = ()) -> Iterator[Batch]:
        """All rows in batches, with their cells. They come in one order, since what is planned belongs to places."""
        units, start = {name: exact(self.table.attributes[name].unit) for name in attributes}, 0
        for batch in in_order(self.table.engine).scan(amounts=units, plain=plain, cells=self.cells.lookup):
            yield batch
            start += batch.rows
        if start != self.cells.rows:
            raise TableChangedError

    def _first_pass(self) -> tuple[CodeArray, dict[str, FloatArray], dict[str, IntArray], "_Seen"]:
        """The cells and first answers of all establishments, the exact sums of the cells, and what was seen."""
        rows = self.cells.rows
        of_row = np.empty(rows, dtype=np.int32)
        omegas = {name: np.empty(rows) for name in self.spec.asked}
        sums = {name: np.zeros(self.cells.count, dtype=np.int64) for name in self.spec.asked}
        done, seen = 0, _Seen(self.spec.asked)
        for batch in self._scan(self.spec.asked):
            seen.add(batch.amounts)
            here = slice(done, done + batch.rows)
            of_row[here] = batch.cells
            for name, omega in omegas.items():
                amounts = batch.amounts[name]
                np.add.at(sums[name], batch.cells, amounts)
                omega[here] = self.pools[name].first.answer(amounts, self.entropy).omega
            done += batch.rows
            self.progress("establishments", done, rows)
        return of_row, omegas, sums, seen

    def _plan(self, name: str, omega: FloatArray, of_row: CodeArray, groups: Mapping[str, Groups]) -> _Planned:
        """What the first answers make of the bounds and of all further noise; nobody pays more than the pool."""
        attribute, pool = self.spec.policy.attributes[name], self.pools[name]
        order = np.lexsort((omega, of_row))  # that of the answers, not of the table
        cell = of_row[order]
        terms = pool.terms(attribute)
        answers = FirstAnswers(attribute, cell, omega[order], terms, *clipping_range(attribute, pool.rest))
        with np.errstate(over="ignore", invalid="ignore"):  # what is predicted to be infinite is not chosen
            choice = self._choose(answers, groups)
        noise = {query: _noise(each, pool.varied) for query, each in choice.filling.noise.items()}
        second = pool.varied.sigma(choice.filling.left)
        charges = [
            each.charges(groups[query].of_cell[cell], choice.bounds, pool.varied) for query, each in noise.items()
        ]
        share = largest_share(pool.mu**2, [*charges, charge(pool.varied.sensitivity, second)], pool.pool)
        bounds, described = _back(choice.bounds.bounds, order), _described(choice, pool, share)
        return _Planned(omega, bounds, _back(second, order), noise, described)

    def _choose(self, answers: FirstAnswers, groups: Mapping[str, Groups]) -> Choice:
        name = answers.attribute.name
        asked = {query.name: float(query.importance[name]) for query in self._tables if name in query.importance}
        partitions = [Partition(query, groups[query].of_cell, groups[query].count) for query in asked]
        signed = isinstance(answers.psi, Signed)
        tau = no_clipping_tau(self.cells.rows, len(self.pools), self.zeta, signed=signed)
        return choose(answers, partitions, asked, tau, self.shares.get(name))

    def _second_pass(self, planned: Mapping[str, _Planned], seen: "_Seen") -> dict[str, IntArray]:
        """Writes the establishments with both answers. Returns the sums of the cells, values clipped at their bounds.

        Bounds and noise belong to rows by their place. So the values must come as in the first pass, in its order.
        """
        data = self.spec.data
        plain = [*([data.id] if data.id else []), *data.public]
        clipped = {name: np.zeros(self.cells.count, dtype=np.int64) for name in planned}
        done, rows, again = 0, self.cells.rows, _Seen(planned)
        for batch in self._scan(planned, plain):
            again.add(batch.amounts)
            columns = dict(zip(plain, batch.plain.columns, strict=True))
            here = slice(done, done + batch.rows)
            for name, plan in planned.items():
                amounts, bounds = batch.amounts[name], plan.bounds[here]
                np.add.at(clipped[name], batch.cells, np.clip(amounts, -bounds, bounds))
                columns |= self._establishments(name, plan, here, amounts)
            ties = [] if data.id else [self.entropy.words(batch.rows) for _ in range(WORDS_FOR_TIES)]
            self.writer.write_identity(pa.table(columns), data.public, [data.id] if data.id else data.public, ties)
            done += batch.rows
            self.progress("second answers", done, rows)
        if again.result() != seen.result():
            raise TableChangedError
        self.writer.finish_identity()
        return clipped

    def _establishments(self, name: str, plan: _Planned, here: slice, amounts: IntArray) -> dict[str, pa.Array]:
        """The columns of some establishments: both answers, the noise of the second, and an estimate from both."""
        pool, omega, sigma = self.pools[name], plan.omega[here], plan.second[here]
        second = pool.varied.answer(amounts, sigma, self.entropy).omega
        both = combined(pool.first.psi, (omega, pool.first.sigma), (second, sigma))
        return {
            f"{name}{PSI_SUFFIX}": pa.array(omega),
            f"{name}{SECOND_PSI_SUFFIX}": pa.array(second),
            f"{name}{SECOND_SIGMA_SUFFIX}": pa.array(sigma),
            name: pa.array(both.estimate()),
        }

    def _answer(self, name: str, noise: "_GroupNoise", groups: Groups, sums: IntArray, clipped: IntArray) -> Answers:
        """The answers for the groups of one query: by ψ of their sums, or by clipped sums."""
        unit, confidence = float(self.spec.policy.attributes[name].unit), float(self.spec.output.confidence)
        result = Answers.empty(groups.count)
        by_psi, cut = noise.by_psi, ~noise.by_psi
        if by_psi.any():
            totals = _by_group(groups, sums)[by_psi]
            answers = self.pools[name].varied.answer(totals, noise.of_psi[by_psi], self.entropy)
            estimated = answers.estimate(), answers.variance(), answers.interval(confidence)
            result.put(by_psi, *estimated, "psi", "estimated", noise.of_psi[by_psi])
        if cut.any():
            grid = SumGrid(noise.clipped.sigma[cut], noise.clipped.step[cut], noise.clipped.largest)
            estimate = grid.noisy(_by_group(groups, clipped)[cut], self.entropy) * unit
            variance = grid.variance * unit**2
            reach = float(ndtri((1 + confidence) / 2)) * np.sqrt(variance)
            interval = estimate - reach, estimate + reach
            result.put(cut, estimate, variance, interval, "pnc", "exact", grid.sigma * unit)
        return result

    def _answered(self, query: Query, groups: Groups, planned: Mapping[str, _Planned]) -> Answered:
        by_psi = {name: int(planned[name].noise[query.name].by_psi.sum()) for name in query.attributes}
        noise = {name: AttributeNoise(None, {"psi": n, "pnc": groups.count - n}) for name, n in by_psi.items()}
        return Answered(query, groups.count, noise)

    def _identity_answered(self) -> Answered:
        query = next(query for query in self.spec.queries if query.is_identity)
        noise = {name: AttributeNoise(self.pools[name].first.sigma) for name in query.attributes}
        return Answered(query, self.cells.rows, noise)


class _Seen:
    """Digests of the values of a pass in their order, in memory alone: whether another pass saw the same."""

    def __init__(self, attributes: Iterable[str]) -> None:
        self._digests = {name: blake2b() for name in attributes}

    def add(self, amounts: Mapping[str, IntArray]) -> None:
        """The values of more rows."""
        for name, digest in self._digests.items():
            digest.update(np.ascontiguousarray(amounts[name], dtype=np.int64).data)

    def result(self) -> dict[str, bytes]:
        """Equal for passes that saw the same."""
        return {name: digest.digest() for name, digest in self._digests.items()}


def _noise(planned: GroupNoise, varied: VariedPsi) -> _GroupNoise:
    """The noise as it will be drawn, where a group was promised a precision or a price."""
    by_psi = planned.by_psi
    of_psi = varied.sigma(np.where(by_psi, planned.precision, 1.0))
    deviation = np.where(by_psi, 1.0, 1 / np.sqrt(planned.precision) / varied.unit)  # in units, as the grid has it
    return _GroupNoise(by_psi, of_psi, sum_grid_for(deviation, 1, BITS, MOST_UNITS))


def _described(choice: Choice, pool: AttributePool, share: float) -> Individual:
    """What was chosen and what it predicts, for the manifest."""
    return Individual(
        pool.mu_as_decimal,
        choice.tau,
        dict(choice.portions.fractions),
        dict(choice.portions.reserves),
        share,
        dict(choice.errors),
        dict(choice.floor),
    )


def _by_group(groups: Groups, by_cell: IntArray) -> IntArray:
    sums = np.zeros(groups.count, dtype=np.int64)
    np.add.at(sums, groups.of_cell, by_cell)
    return sums


def _back(values: Any, order: IntArray) -> Any:
    """Values of sorted rows in the order of the table."""
    result = np.empty_like(values)
    result[order] = values
    return result
