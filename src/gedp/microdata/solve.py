"""Weighted least squares over finest cells: direct answers for every cell, and answers for groups of cells.

Minimise Σ_c (s_c − z_c)²/V_c + Σ_i (Σ_{c∈i} s_c − b_i)²/w_i over the cell totals s. With B the 0/1 matrix of which
cells are in which groups, V and W diagonal,

    s = z + V Bᵀ λ,    (W + B V Bᵀ) λ = b − B z,    Cov(s) = V − V Bᵀ (W + B V Bᵀ)⁻¹ B V.

Groups of one query are disjoint, so every query's own block of the system is diagonal. The query with the most groups
is eliminated exactly; what is left is dense and small for ordinary workloads, and solved by Cholesky factors. Larger
systems are solved by conjugate gradients, preconditioned by a sweep over the queries and back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from gedp.arrays import CodeArray, FloatArray
from gedp.errors import DomainError, GedpError
from gedp.partitions import Partition

DIRECT_LIMIT = 4_000  # unknowns left after elimination, up to which they are solved directly
MOST_DENSE_ENTRIES, DENSE_FROM = 50_000_000, 0.02  # when overlaps with the eliminated query are multiplied densely
CG_TOLERANCE = 1e-13
MOST_CG_STEPS = 5_000
#: Relative to the right-hand side, both scaled by the diagonal: what is left is far below the noise of the answers.
ACCEPTED_RESIDUAL = 1e-6
#: What is stated of a residual that is rounding error: it would differ from run to run, and with it the file.
ROUNDING = 1e-13
REFINEMENTS = 2


class ConvergenceError(GedpError):
    """An iteration did not reach its tolerance."""


@dataclass(frozen=True, repr=False)
class Measurement:
    """Answers for groups of cells, and their variances."""

    groups: Partition
    answers: FloatArray
    variances: FloatArray


def require_variances(variances: FloatArray, what: str) -> None:
    """Rejects variances that are zero, negative or not numbers: an exact answer cannot be weighed against others."""
    bad = int(variances.size - np.count_nonzero((variances > 0) & np.isfinite(variances)))
    if bad:
        raise DomainError(f"{what}: {bad} of {variances.size} variances are not positive numbers")


def pool(answers: Sequence[FloatArray], variances: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Several answers to the same questions as one: the mean by inverse variance, and its variance."""
    if len(answers) == 1:
        return answers[0], variances[0]
    precision = sum((1 / v for v in variances), np.zeros_like(variances[0]))
    weighted = sum((a / v for a, v in zip(answers, variances, strict=True)), np.zeros_like(answers[0]))
    return weighted / precision, 1 / precision


def gather(measurements: Sequence[Measurement], by_cell: FloatArray) -> FloatArray:
    """The sum over the cells of every group, of one measurement after the other."""
    return np.concatenate([*(each.groups.sums(by_cell) for each in measurements), np.empty(0)])


def spread(measurements: Sequence[Measurement], by_group: FloatArray, cells: int) -> FloatArray:
    """For every cell the sum over its groups, which are those of one measurement after the other."""
    result, start = np.zeros(cells), 0
    for groups in (each.groups for each in measurements):
        result += by_group[start : start + groups.count][groups.group_of]
        start += groups.count
    return result


def of_single_cells(
    measurements: Sequence[Measurement],
) -> tuple[list[tuple[FloatArray, FloatArray]], list[Measurement]]:
    """Answers for single cells with their variances, in the order of the cells, and the measurements of groups."""
    single = [each for each in measurements if each.groups.is_single]
    found = [(each.answers[each.groups.group_of], each.variances[each.groups.group_of]) for each in single]
    return found, [each for each in measurements if not each.groups.is_single]


class MarginalSystem:
    """W + B V Bᵀ, with the queries in descending order of their numbers of groups."""

    def __init__(self, cell_variances: FloatArray, measurements: Sequence[Measurement], direct_limit: int) -> None:
        self.measurements = sorted(measurements, key=lambda each: -each.groups.count)
        self.variances = cell_variances
        self.starts = np.cumsum([0, *(each.groups.count for each in self.measurements)])
        self.size = int(self.starts[-1])
        self.steps = 0  # of conjugate gradients, over all solutions so far
        self.residual = ROUNDING  # the largest of all solutions so far
        self.diagonals = [m.variances + m.groups.sums(cell_variances) for m in self.measurements]
        self._scale = 1 / np.sqrt(np.concatenate([*self.diagonals, np.empty(0)]))
        # _below[p][q], p > q: what groups of query p and of query q have in common.
        self._below = [[self._overlap(p, q) for q in range(p)] for p in range(len(self.measurements))]
        self._factor = None
        first = self.measurements[0].groups.count if self.measurements else 0
        if 0 < self.size - first <= direct_limit:
            self._factor = self._eliminate(first)

    @property
    def is_direct(self) -> bool:
        """Whether it is solved by factors and not by iteration."""
        return self._factor is not None or len(self.measurements) < 2

    def gather(self, by_cell: FloatArray) -> FloatArray:
        """B x: the sum over the cells of every group."""
        return gather(self.measurements, by_cell)

    def spread(self, by_group: FloatArray) -> FloatArray:
        """Bᵀ λ: for every cell, the sum over its groups."""
        return spread(self.measurements, by_group, len(self.variances))

    def apply(self, unknowns: FloatArray) -> FloatArray:
        """(W + B V Bᵀ) λ, for one column or several."""
        parts = self._parts(unknowns)
        result = [rows_times(d, part) for d, part in zip(self.diagonals, parts, strict=True)]
        for p, row in enumerate(self._below):
            for q, block in enumerate(row):
                result[p] = result[p] + block @ parts[q]
                result[q] = result[q] + block.T @ parts[p]
        return np.concatenate(result)

    def solve(self, right: FloatArray) -> FloatArray:
        """λ, for one right-hand side or for several as columns. The residual is checked."""
        if not self.measurements or right.size == 0:
            return right
        attempt = self._direct if self.is_direct else self._iterate
        unknowns = attempt(right)
        for _ in range(REFINEMENTS if self.is_direct else 0):
            unknowns = unknowns + attempt(right - self.apply(unknowns))
        norms = self._norms(right)
        residuals = self._norms(right - self.apply(unknowns)) / np.where(norms > 0, norms, 1)
        residual = float(np.max(residuals))
        if not residual <= self.residual:
            terms = self._norms(self.apply(np.abs(unknowns)) + np.abs(right)) / np.where(norms > 0, norms, 1)
            above = residuals[~(residuals <= self._rounding * terms)]
            self.residual = float(np.max(above, initial=self.residual))
        if not residual <= ACCEPTED_RESIDUAL:
            raise ConvergenceError(
                f"the least-squares system of {self.size:,} groups was solved only to {residual:.1e}, not to "
                f"{ACCEPTED_RESIDUAL:.0e}: its variances differ too much"
            )
        return unknowns

    @cached_property
    def inverse(self) -> "MarginalInverse":
        """Those entries of (W + B V Bᵀ)⁻¹ that the variances of groups and cells take; for direct systems only."""
        if not self.is_direct:
            raise ConvergenceError(f"the inverse of a system of {self.size:,} groups is too large")
        first = 1 / self.diagonals[0]
        if self._factor is None:
            return MarginalInverse(first, np.zeros((0, len(first))), np.zeros((0, 0)))
        rest = cho_solve(self._factor, np.eye(self.size - len(first)))
        between = rows_times(first, np.asarray(self._to_first.T @ rest, dtype=np.float64)).T
        along = sparse.csr_array(self._to_first.multiply(between)).sum(axis=0)
        return MarginalInverse(first + first * np.asarray(along).astype(np.float64), between, rest)

    def _norms(self, right: FloatArray) -> FloatArray:
        """Of the columns, scaled by the diagonal."""
        return np.atleast_1d(np.linalg.norm(rows_times(self._scale, right), axis=0))

    @cached_property
    def _rounding(self) -> float:
        """By how much `apply` and a difference may be off, as a part of the absolute terms that are added up.

        A row has a term for its own group and one for each that overlaps; each is rounded as a product and as it is
        added. No entry is negative, so the absolute terms are `apply` of absolute unknowns.
        """
        terms = [np.ones(each.groups.count) for each in self.measurements]
        for p, row in enumerate(self._below):
            for q, block in enumerate(row):
                terms[p] += np.diff(block.indptr)
                terms[q] += np.bincount(block.indices, minlength=len(terms[q]))
        return (max(float(each.max()) for each in terms) + 2) * 2.0**-53

    def _parts(self, by_group: FloatArray) -> list[FloatArray]:
        return [by_group[low:high] for low, high in zip(self.starts[:-1], self.starts[1:], strict=True)]

    def _overlap(self, p: int, q: int) -> "sparse.csr_array[np.float64]":
        rows, columns = self.measurements[p].groups, self.measurements[q].groups
        shape = (rows.count, columns.count)
        return sparse.coo_array((self.variances, (rows.group_of, columns.group_of)), shape=shape).tocsr()

    def _eliminate(self, first: int) -> tuple[FloatArray, bool] | None:
        """Cholesky factors of what is left when the first query is eliminated; None where rounding prevents it."""
        rest = np.zeros((self.size - first, self.size - first))
        starts = self.starts[1:] - first
        for p in range(1, len(self.measurements)):
            at = slice(starts[p - 1], starts[p])
            np.fill_diagonal(rest[at, at], self.diagonals[p])
            for q in range(1, p):
                block = self._below[p][q].toarray()
                rest[at, starts[q - 1] : starts[q]] = block
                rest[starts[q - 1] : starts[q], at] = block.T
        self._to_first = sparse.vstack([row[0] for row in self._below[1:]], format="csr")
        scaled = self._to_first @ sparse.diags_array(1 / np.sqrt(self.diagonals[0]))
        entries = scaled.shape[0] * scaled.shape[1]
        if entries <= MOST_DENSE_ENTRIES and scaled.nnz > DENSE_FROM * entries:  # as of crossing groupings
            full = scaled.toarray()
            rest -= full @ full.T
        else:
            rest -= (scaled @ scaled.T).toarray()
        try:
            factor: tuple[FloatArray, bool] = cho_factor(rest, lower=True, overwrite_a=True)
        except np.linalg.LinAlgError:
            return None
        return factor

    def _direct(self, right: FloatArray) -> FloatArray:
        first = self.measurements[0].groups.count
        if self._factor is None:
            return rows_times(1 / self.diagonals[0], right)
        scaled = rows_times(1 / self.diagonals[0], right[:first])
        rest = cho_solve(self._factor, right[first:] - self._to_first @ scaled)
        top = scaled - rows_times(1 / self.diagonals[0], self._to_first.T @ rest)
        return np.concatenate([top, rest])

    def _iterate(self, right: FloatArray) -> FloatArray:
        if right.ndim == 2:
            return np.column_stack([self._iterate(column) for column in right.T])
        shape = (self.size, self.size)
        matrix = LinearOperator(shape, matvec=self.apply, dtype=np.float64)
        sweep = LinearOperator(shape, matvec=self._sweep, dtype=np.float64)

        def count(_: FloatArray) -> None:
            self.steps += 1

        unknowns, _ = cg(matrix, right, rtol=CG_TOLERANCE, maxiter=MOST_CG_STEPS, M=sweep, callback=count)
        result: FloatArray = unknowns
        return result

    def _sweep(self, right: FloatArray) -> FloatArray:
        """Symmetric Gauss-Seidel by queries: (D + L) D⁻¹ (D + Lᵀ) x = right."""
        parts = self._parts(right)
        forward: list[FloatArray] = []
        for p, row in enumerate(self._below):
            rest = parts[p]
            for q, block in enumerate(row):
                rest = rest - block @ forward[q]
            forward.append(rest / self.diagonals[p])
        backward = list(forward)
        for p in reversed(range(len(parts))):
            for above in range(p + 1, len(parts)):
                carried = np.asarray(self._below[above][p].T @ backward[above], dtype=np.float64)
                backward[p] = backward[p] - carried / self.diagonals[p]
        return np.concatenate(backward)


@dataclass(frozen=True, repr=False)
class MarginalInverse:
    """Parts of the inverse: the diagonal of the first query's block, minus its block with the others, and theirs."""

    first: FloatArray
    between: FloatArray
    rest: FloatArray

    @property
    def diagonal(self) -> FloatArray:
        """The diagonal, in the order of the system."""
        return np.concatenate([self.first, np.diagonal(self.rest)])

    def over_groups(self, places: Sequence[CodeArray]) -> FloatArray:
        """For every cell the sum of the entries of all pairs of its groups. `places` are its groups in the system."""
        first, others = places[0], [place - len(self.first) for place in places[1:]]
        total = self.first[first]
        for one in others:
            total = total - 2 * self.between[one, first]
            for other in others:
                total = total + self.rest[one, other]
        return total


def rows_times(factors: FloatArray, values: FloatArray) -> FloatArray:
    """Every row times its factor."""
    return factors * values if values.ndim == 1 else factors[:, None] * values


@dataclass(frozen=True, repr=False)
class CellFit:
    """Fitted cell totals, and what their covariance is made of."""

    totals: FloatArray
    variances: FloatArray  # of the pooled direct answers
    system: MarginalSystem

    @cached_property
    def incidence(self) -> "sparse.csr_array[np.float64]":
        """B: which cells are in which groups of the system."""
        blocks = [incidence(each.groups) for each in self.system.measurements]
        return sparse.csr_array(sparse.vstack(blocks, format="csr"))


def incidence(groups: Partition, values: FloatArray | None = None) -> "sparse.csr_array[np.float64]":
    """Which members are in which groups: a line for every group, with 1 or the value of every member."""
    members = len(groups.group_of)
    entries, places = np.ones(members) if values is None else values, (groups.group_of, np.arange(members))
    return sparse.coo_array((entries, places), shape=(groups.count, members)).tocsr()


def fit_cells(
    direct: Sequence[tuple[FloatArray, FloatArray]],
    measurements: Sequence[Measurement],
    direct_limit: int = DIRECT_LIMIT,
) -> CellFit:
    """The cell totals that fit best. `direct` has answers and variances for all cells, one pair at least.

    Queries that are the partition into cells are pooled with the direct answers, and queries with the same groups with
    each other, which makes the system smaller and better conditioned and changes nothing else.
    """
    for _, of_cells in direct:
        require_variances(of_cells, "direct answers")
    for each in measurements:
        require_variances(each.variances, "answers for groups")
    finest, others = of_single_cells(measurements)
    answers, variances = zip(*direct, *finest, strict=True)
    coarser: list[Measurement] = []
    for each in others:
        for place, other in enumerate(coarser):
            if other.groups.is_same(each.groups):
                pooled = pool([other.answers, each.answers], [other.variances, each.variances])
                coarser[place] = Measurement(other.groups, *pooled)
                break
        else:
            coarser.append(each)
    pooled_answers, pooled_variances = pool(answers, variances)
    system = MarginalSystem(pooled_variances, coarser, direct_limit)
    wanted = np.concatenate([*(m.answers for m in system.measurements), np.empty(0)])
    multipliers = system.solve(wanted - system.gather(pooled_answers))
    return CellFit(pooled_answers + pooled_variances * system.spread(multipliers), pooled_variances, system)
