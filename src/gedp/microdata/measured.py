"""Attributes whose answers do not determine cells: the measured groups themselves, fitted to each other.

The answers b of all queries, with variances W, contradict each other wherever the groups of two queries add up to the
same groups: those by every key that follows from the keys of both. With one line of C for each such group, its parts in
one query minus its parts in the other, the values that fit best and agree are

    y = b − W Cᵀ (C W Cᵀ)⁻¹ C b,    Cov(y) = W − W Cᵀ (C W Cᵀ)⁻¹ C W.

A table can be made by every grouping whose groups are made of the groups of one query. Which one does not matter: all
give the same totals.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations as pairs
from typing import Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, lapack, pinvh

from gedp.arrays import BoolArray, FloatArray, IntArray, sum_by
from gedp.errors import Fault, FaultsError
from gedp.microdata.cells import NO_FILTER, Cells, PublicRows, Where, keys_of_groups
from gedp.microdata.keys import TOTAL_KEY
from gedp.microdata.problem import PsiNoise, is_exact, noise_of
from gedp.microdata.solve import require_variances, rows_times
from gedp.microdata.variances import BATCH_NUMBERS, ROUNDING
from gedp.microdata.weights import Weighed, require_weights, settle
from gedp.policy import Query

MOST_AGREEMENTS = 2_000  # groups in which queries are made to agree, the coarsest groupings first
INDEPENDENT = 1e-9  # relative to a line of C: what must be left of it besides the lines before
Solver: TypeAlias = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, repr=False)
class Measurement:
    """The answers of one query for one attribute; its public_rows has a row for every group."""

    query: Query
    public_rows: PublicRows
    answers: FloatArray
    variances: FloatArray  # as released
    by_psi: BoolArray
    noise: PsiNoise

    def groups(self, by: Sequence[str], where: Where = NO_FILTER) -> Cells | None:
        """The group of every measured group in another grouping; None if these are not made of whole ones."""
        return self.public_rows.cells(by, where) if all(map(self.public_rows.knows, (*by, *where))) else None

    def variances_at(self, values: FloatArray) -> FloatArray:
        """Of the answers where these are the truth."""
        return np.where(self.by_psi, self.noise.variance(values), self.variances)


@dataclass(frozen=True, repr=False)
class MeasuredTable:
    """Totals of a grouping with their variances. The rows of `public_rows` are measured groups; `groups` joins them."""

    public_rows: PublicRows
    groups: Cells
    totals: FloatArray
    variances: FloatArray


@dataclass(frozen=True, repr=False)
class MeasuredFit:
    """The totals of all measured groups of one attribute that agree and fit the answers best."""

    measurements: tuple[Measurement, ...]
    agreement: "Agreement"
    totals: tuple[FloatArray, ...]  # of every query's groups
    variances: tuple[FloatArray, ...]  # of the answers, as used
    exact: bool  # whether no variance depends on the truth
    rounds: int = 0
    change: float = 0.0
    largest_change: float = 0.0

    def groups(self, by: Sequence[str]) -> Cells | None:
        """The groups of a grouping, made of measured ones; None if those of no query make them up."""
        return next((found for each in self.measurements if (found := each.groups(by)) is not None), None)

    def allows(self, by: Sequence[str]) -> bool:
        """Whether the groups of some query make up the groups of this grouping."""
        return self.groups(by) is not None

    def groupings(self) -> list[str]:
        """What was measured, in words."""
        return list(dict.fromkeys(" x ".join(each.query.by) or "the total" for each in self.measurements))

    def table(self, by: Sequence[str], where: Where = NO_FILTER) -> MeasuredTable:
        """The groups of a grouping that `allows` lets pass."""
        possible = [place for place, each in enumerate(self.measurements) if each.groups(by, where) is not None]
        if self.agreement.is_complete:  # all give the same, the coarsest with the least work
            possible = [min(possible, key=lambda place: len(self.totals[place]))]
        tables = [self._table(place, by, where) for place in possible]
        return min(tables, key=lambda table: float(table.variances.sum()))

    def _table(self, place: int, by: Sequence[str], where: Where) -> MeasuredTable:
        public_rows = self.measurements[place].public_rows
        groups, variances = public_rows.cells(by, where), self.variances[place]
        totals = sum_by(groups.of_row, self.totals[place], groups.count)
        return MeasuredTable(
            public_rows, groups, totals, self.agreement.variances(place, groups, variances, self._solve)
        )

    @cached_property
    def _solve(self) -> "Solver":
        return self.agreement.solver(np.concatenate(self.variances))


class Grouped(Protocol):
    """Answers of one query, by groups that are the rows of its public_rows."""

    @property
    def query(self) -> Query:
        """What was asked."""

    @property
    def public_rows(self) -> PublicRows:
        """The groups."""

    @property
    def answers(self) -> FloatArray:
        """What was answered."""


class Agreement:
    """C: in which groups queries must agree. Lines that follow from others are left out."""

    def __init__(self, measurements: Sequence[Grouped]) -> None:
        self.sizes = [len(each.answers) for each in measurements]
        self.starts = np.cumsum([0, *self.sizes])
        blocks, lines, self.is_complete = [sparse.csr_array((0, int(self.starts[-1])), dtype=np.float64)], 0, True
        for block in sorted(self._blocks(measurements), key=lambda block: block.shape[0]):
            lines += block.shape[0]
            if lines > MOST_AGREEMENTS:
                self.is_complete = False
                break
            blocks.append(block)
        self.matrix = _independent(sparse.csr_array(sparse.vstack(blocks, format="csr")))

    def fit(self, answers: Sequence[FloatArray], variances: Sequence[FloatArray]) -> tuple[FloatArray, ...]:
        """The totals that agree and are nearest to the answers."""
        b, w = np.concatenate(answers), np.concatenate(variances)
        gaps = np.asarray(self.matrix @ b, dtype=np.float64)
        y = b - w * np.asarray(self.matrix.T @ self.solver(w)(gaps), dtype=np.float64)
        return tuple(np.split(y, self.starts[1:-1]))

    def variances(self, place: int, groups: Cells, of_answers: FloatArray, solve: "Solver") -> FloatArray:
        """Of sums of groups of the query at `place`, from the solver for the variances of all answers."""
        found = sum_by(groups.of_row, of_answers, groups.count)
        block = self.matrix[:, self.starts[place] : self.starts[place + 1]]
        shape = (self.sizes[place], groups.count)
        gather = sparse.csc_array((of_answers, (np.arange(self.sizes[place]), groups.of_row)), shape=shape)
        gathered = sparse.csc_array(block @ gather)
        at_once, rounding = max(BATCH_NUMBERS // max(self.matrix.shape[0], 1), 1), ROUNDING * found
        for start in range(0, groups.count, at_once):
            right = gathered[:, start : start + at_once].toarray()
            found[start : start + at_once] -= np.einsum("ij,ij->j", right, solve(right))
        return np.where(found > rounding, found, 0.0)

    def solver(self, variances: FloatArray) -> "Solver":
        """(C W Cᵀ)⁻¹, by Cholesky factors; where rounding prevents them, without what is lost in it."""
        if not self.matrix.shape[0]:
            return lambda right: right
        system = (self.matrix @ sparse.diags_array(variances) @ self.matrix.T).toarray()
        scale = 1 / np.sqrt(np.diag(system))
        system *= scale[:, None] * scale
        try:
            factor = cho_factor(system, lower=True)
        except np.linalg.LinAlgError:
            inverse = pinvh(system, rtol=INDEPENDENT)
            return lambda right: rows_times(scale, inverse @ rows_times(scale, right))
        return lambda right: rows_times(scale, cho_solve(factor, rows_times(scale, right)))

    def _blocks(self, measurements: Sequence[Grouped]) -> "list[sparse.csr_array[np.float64]]":
        """For every two queries, a line for each group that the groups of both add up to."""
        blocks = []
        for (p, one), (q, other) in pairs(enumerate(measurements), 2):
            keys = dict.fromkeys((*one.public_rows.table.column_names, *other.public_rows.table.column_names))
            shared = [
                key for key in keys if key != TOTAL_KEY and one.public_rows.knows(key) and other.public_rows.knows(key)
            ]
            left, right = one.public_rows.cells(shared), other.public_rows.cells(shared)
            if left.count != right.count:
                problem = f"groups of query {one.query.name!r} or {other.query.name!r} are missing"
                raise FaultsError(one.public_rows.source.name, [Fault("tables", problem, "Get a fresh copy")])
            lines = np.concatenate([left.of_row, right.of_row])
            columns = np.concatenate([self._columns(p), self._columns(q)])
            signs = np.repeat([1.0, -1.0], [self.sizes[p], self.sizes[q]])
            shape = (left.count, int(self.starts[-1]))
            blocks.append(sparse.coo_array((signs, (lines, columns)), shape=shape).tocsr())
        return blocks

    def _columns(self, place: int) -> IntArray:
        return np.arange(self.starts[place], self.starts[place + 1])


def _independent(matrix: "sparse.csr_array[np.float64]") -> "sparse.csr_array[np.float64]":
    """Lines of a matrix that no others make up, as many as there are: by Cholesky factors with pivots."""
    if not matrix.shape[0]:
        return matrix
    norms = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1), dtype=np.float64).ravel())
    scaled = sparse.diags_array(1 / norms) @ matrix
    _, pivots, rank, _ = lapack.dpstrf((scaled @ scaled.T).toarray(), tol=INDEPENDENT, lower=1)
    kept: sparse.csr_array[np.float64] = matrix[np.sort(pivots[:rank] - 1)]
    return kept


def fit_measured(public_rows: PublicRows, attribute: str, weights: str) -> MeasuredFit:
    """The measured groups of an attribute, fitted to each other. `public_rows` is that of the release."""
    require_weights(weights)
    asked = public_rows.spec.sums_of(attribute)
    measurements = tuple(_measurement(public_rows, query, attribute) for query in asked)
    answers, plug_in = [each.answers for each in measurements], [each.variances for each in measurements]
    for each in measurements:
        require_variances(each.variances, f"{attribute}, query {each.query.name!r}")
    agreement = Agreement(measurements)
    exact = all(is_exact(each.noise) or not each.by_psi.any() for each in measurements)
    totals = agreement.fit(answers, plug_in)
    if exact or weights == "plug-in":
        return MeasuredFit(measurements, agreement, totals, tuple(plug_in), exact)

    def weighed(at: Sequence[FloatArray]) -> Weighed:
        variances = [each.variances_at(values) for each, values in zip(measurements, at, strict=True)]
        return Weighed(answers, plug_in, variances)

    settled = settle(weighed, totals, agreement.fit)
    variances = tuple(settled.weighed.variances)
    how = settled.rounds, settled.change, settled.largest_change
    return MeasuredFit(measurements, agreement, agreement.fit(answers, variances), variances, exact, *how)


def _measurement(public_rows: PublicRows, query: Query, attribute: str) -> Measurement:
    table = public_rows.source.answers(query.name)
    table = table.filter(pa.compute.equal(table["attribute"], attribute))
    keys = keys_of_groups(table, query)
    if public_rows.has_rows:
        keys = _with_constants(public_rows, query, attribute, keys)
    return Measurement(
        query,
        PublicRows(public_rows.source, public_rows.spec, False, True, [keys]),
        table["estimate"].to_numpy(),
        table["variance"].to_numpy(),
        pa.compute.equal(table["mechanism"], "psi").to_numpy(),
        noise_of(public_rows.source, query.name, public_rows.spec.policy.attributes[attribute]),
    )


def _with_constants(public_rows: PublicRows, query: Query, attribute: str, keys: pa.Table) -> pa.Table:
    """The keys of groups, and what else the rows of the release have in common in every group, as county and state."""
    cells = public_rows.cells(query.by)
    of_row = public_rows.answers(query, attribute, cells)[1][cells.of_row]
    names = dict.fromkeys((*public_rows.table.column_names, *public_rows.spec.groupers))
    for name in (n for n in names if n not in (*query.by, TOTAL_KEY) and public_rows.knows(n)):
        codes, texts = public_rows.key(name)
        of_group = np.zeros(keys.num_rows, dtype=np.int32)
        of_group[of_row] = codes
        if np.array_equal(of_group[of_row], codes):
            keys = keys.append_column(name, pa.array(texts, pa.string()).take(pa.array(of_group)))
    return keys
