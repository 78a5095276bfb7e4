"""Tables whose entries are fitted to each other, and to known totals where there are some.

The answers b of all tables of one thing, with variances W of which some may be 0, contradict each other wherever the
entries of two tables add up to the same groups: those by every key that follows from the keys of both. A has a line for
each such group, its entries in one table minus those in the other. Some public groups also have known totals T. With U
the groups of the entries and V the variances of their sums,

    y₁ = b + W U V⁻¹ (T − Uᵀb),    Σ = W − W U V⁻¹ UᵀW                     fits every group to its total, and
    y = y₁ − Σ Aᵀ (A Σ Aᵀ)⁺ A y₁,  Cov(y) = Σ − Σ Aᵀ (A Σ Aᵀ)⁺ A Σ          makes tables agree.

Together that is generalised least squares with all constraints. Where T has an error of its own, which is independent
of that of b, what it adds is W U V⁻¹ Var(T) V⁻¹ UᵀW, carried through the second step.

A table can be made by every grouping whose groups are made of the entries of one table. Which one does not matter: all
give the same totals.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations as pairs
from typing import TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, lapack, pinvh

from gedp.arrays import FloatArray
from gedp.errors import Fault, FaultsError
from gedp.estimates import ESTIMATED, EXACT, Estimates, joined
from gedp.microdata.answers import TableEntries, read_entries
from gedp.microdata.cells import NO_FILTER, Cells, PublicRows, Where
from gedp.microdata.keys import TOTAL_KEY
from gedp.microdata.solve import incidence, require_variances, rows_times
from gedp.microdata.variances import BATCH_NUMBERS, ROUNDING
from gedp.microdata.weights import Weighed, require_weights, settle

MOST_AGREEMENTS = 2_000  # groups in which tables are made to agree, the coarsest groupings first
INDEPENDENT = 1e-9  # relative to a line of A: what must be left of it besides the lines before
Matrix: TypeAlias = "sparse.csr_array[np.float64]"


@dataclass(frozen=True, repr=False)
class GroupTotals:
    """Totals of a grouping. The rows of `public_rows` are what was fitted; `groups` joins them."""

    public_rows: PublicRows
    groups: Cells
    totals: Estimates  # of the groups that were asked for


class Agreement:
    """A: in which groups tables must agree. Lines that follow from others are left out."""

    def __init__(self, tables: Sequence[TableEntries]) -> None:
        self.tables = tuple(tables)
        self.starts = np.cumsum([0, *(len(each.answers) for each in tables)])
        blocks, lines, self.is_complete = [sparse.csr_array((0, int(self.starts[-1])), dtype=np.float64)], 0, True
        for block in sorted(self._blocks(), key=lambda block: block.shape[0]):
            lines += block.shape[0]
            if lines > MOST_AGREEMENTS:
                self.is_complete = False
                break
            blocks.append(block)
        self.matrix = _independent(sparse.csr_array(sparse.vstack(blocks, format="csr")))

    def split(self, entries: FloatArray) -> tuple[FloatArray, ...]:
        """The entries of every table."""
        return tuple(np.split(entries, self.starts[1:-1]))

    def gather(self, place: int, groups: Cells) -> Matrix:
        """Which entries of all tables are in which groups of the entries of one: a line for every group."""
        before, after = int(self.starts[place]), int(self.starts[-1] - self.starts[place + 1])
        around = [sparse.csr_array((groups.count, size), dtype=np.float64) for size in (before, after)]
        return sparse.csr_array(sparse.hstack([around[0], incidence(groups), around[1]], format="csr"))

    def _blocks(self) -> list[Matrix]:
        """For every two tables, a line for each group that the entries of both add up to."""
        blocks = []
        for (p, one), (q, other) in pairs(enumerate(self.tables), 2):
            keys = dict.fromkeys((*one.public_rows.table.column_names, *other.public_rows.table.column_names))
            shared = [
                key for key in keys if key != TOTAL_KEY and one.public_rows.knows(key) and other.public_rows.knows(key)
            ]
            left, right = one.public_rows.cells(shared), other.public_rows.cells(shared)
            if left.count != right.count:
                problem = f"groups of query {one.query!r} or {other.query!r} are missing"
                raise FaultsError(one.public_rows.source.name, [Fault("tables", problem, "Get a fresh copy")])
            blocks.append(sparse.csr_array(self.gather(p, left) - self.gather(q, right)))
        return blocks


@dataclass(frozen=True, repr=False)
class AgreedFit:
    """The entries of all tables of one thing that fit the answers best, add up to what is known, and agree."""

    agreement: Agreement
    answers: Sequence[FloatArray]  # of every table
    variances: Sequence[FloatArray]  # of the answers, as used
    known: Sequence[Estimates | None] = ()  # totals that the entries of the public groups of every table add up to
    exact: bool = True  # whether no variance depends on the truth
    rounds: int = 0
    change: float = 0.0
    largest_change: float = 0.0

    @property
    def tables(self) -> tuple[TableEntries, ...]:
        """What was released."""
        return self.agreement.tables

    @cached_property
    def fitted(self) -> tuple[FloatArray, ...]:
        """The entries of every table."""
        matrix, b = self.agreement.matrix, np.concatenate(self.answers)
        missing = self._known.estimate - np.asarray(self._of_known @ b, dtype=np.float64)
        y = b + np.asarray(self._gain @ missing, dtype=np.float64)
        moved = self._lines.T @ self._solve(np.asarray(matrix @ y, dtype=np.float64))
        return self.agreement.split(y - np.asarray(moved, dtype=np.float64))

    def groups(self, by: Sequence[str]) -> Cells | None:
        """The groups of a grouping, made of entries; None if those of no table make them up."""
        return next((found for each in self.tables if (found := each.grouped(by)) is not None), None)

    def allows(self, by: Sequence[str]) -> bool:
        """Whether the entries of some table make up the groups of this grouping."""
        return self.groups(by) is not None

    def groupings(self) -> list[str]:
        """What was measured, in words."""
        return list(dict.fromkeys(" x ".join(each.by) or "the total" for each in self.tables))

    def table(self, by: Sequence[str], where: Where = NO_FILTER) -> GroupTotals:
        """The groups of a grouping that `allows` lets pass."""
        possible = [place for place, each in enumerate(self.tables) if each.grouped(by, where) is not None]
        if self.agreement.is_complete:  # all give the same, the coarsest with the least work
            possible = [min(possible, key=lambda place: len(self.answers[place]))]
        tables = [self._table(place, by, where) for place in possible]
        return min(tables, key=lambda table: float(table.totals.variance.sum()))

    def _table(self, place: int, by: Sequence[str], where: Where) -> GroupTotals:
        public_rows = self.tables[place].public_rows
        groups = public_rows.cells(by, where)
        variances = self._variances(self.agreement.gather(place, groups))
        found = Estimates.of_kind(groups.sums(self.fitted[place]), variances, EXACT if self.exact else ESTIMATED)
        return GroupTotals(public_rows, groups, found.at(groups.asked_for))

    @cached_property
    def _w(self) -> FloatArray:
        return np.concatenate(self.variances)

    @cached_property
    def _known(self) -> Estimates:
        """T with its variances."""
        return joined([each for each in self.known if each is not None])

    @cached_property
    def _of_known(self) -> Matrix:
        """Uᵀ: a line for every total that is known."""
        lines = [
            self.agreement.gather(place, self.tables[place].public_rows.cells(self.tables[place].public))
            for place, known in enumerate(self.known)
            if known is not None
        ]
        none = sparse.csr_array((0, len(self._w)), dtype=np.float64)
        return sparse.csr_array(sparse.vstack([none, *lines], format="csr"))

    @cached_property
    def _gain(self) -> Matrix:
        """W U V⁻¹: how entries share what is missing from the total of their group."""
        together = np.asarray(self._of_known @ self._w, dtype=np.float64)
        inverse = np.divide(1.0, together, out=np.zeros_like(together), where=together > 0)
        return sparse.csr_array(sparse.diags_array(self._w) @ self._of_known.T @ sparse.diags_array(inverse))

    def _times_covariance(self, matrix: Matrix) -> Matrix:
        """A matrix times Σ."""
        weighed = sparse.csr_array(matrix @ sparse.diags_array(self._w))
        return sparse.csr_array(weighed - (weighed @ self._of_known.T) @ self._gain.T)

    @cached_property
    def _lines(self) -> Matrix:
        """A Σ."""
        return self._times_covariance(self.agreement.matrix)

    @cached_property
    def _solve(self) -> Callable[[FloatArray], FloatArray]:
        """(A Σ Aᵀ)⁺: lines that follow from totals and other lines, or have no error, say nothing new."""
        return solver((self._lines @ self.agreement.matrix.T).toarray())

    def _variances(self, gather: Matrix) -> FloatArray:
        """Of sums of entries."""
        matrix, found = self.agreement.matrix, np.empty(gather.shape[0])
        at_once = max(BATCH_NUMBERS // max(matrix.shape[0] + len(self._known.estimate), 1), 1)
        for start in range(0, gather.shape[0], at_once):
            part = sparse.csr_array(gather[start : start + at_once])
            moved = (part @ self._lines.T).toarray().T
            solved = self._solve(moved)
            own = np.asarray(part.multiply(self._times_covariance(part)).sum(axis=1), dtype=np.float64).ravel()
            own -= np.einsum("ij,ij->j", moved, solved)
            if self._known.variance.any():
                carried = (part @ self._gain).toarray() - solved.T @ (matrix @ self._gain).toarray()
                own += carried**2 @ self._known.variance
            found[start : start + at_once] = own
        return np.where(found > ROUNDING * np.asarray(gather @ self._w, dtype=np.float64), found, 0.0)


def solver(system: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Solves a symmetric system: by Cholesky factors, or without what is lost in rounding where some lines follow."""
    largest = np.sqrt(np.maximum(np.diag(system), 0.0))
    scale = np.divide(1.0, largest, out=np.zeros_like(largest), where=largest > ROUNDING * largest.max(initial=0.0))
    scaled = np.asarray(system * scale[:, None] * scale, dtype=np.float64)
    try:
        factor = cho_factor(scaled, lower=True)
        is_regular = bool((np.diag(factor[0]) ** 2 > ROUNDING).all())
    except np.linalg.LinAlgError:
        is_regular = False
    if is_regular:
        return lambda right: rows_times(scale, cho_solve(factor, rows_times(scale, right)))
    inverse = pinvh(scaled, rtol=INDEPENDENT)
    return lambda right: rows_times(scale, inverse @ rows_times(scale, right))


def _independent(matrix: Matrix) -> Matrix:
    """Lines of a matrix that no others make up, as many as there are: by Cholesky factors with pivots."""
    if not matrix.shape[0]:
        return matrix
    norms = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1), dtype=np.float64).ravel())
    scaled = sparse.diags_array(1 / norms) @ matrix
    _, pivots, rank, _ = lapack.dpstrf((scaled @ scaled.T).toarray(), tol=INDEPENDENT, lower=1)
    kept: Matrix = matrix[np.sort(pivots[:rank] - 1)]
    return kept


def fit_measured(public_rows: PublicRows, attribute: str, weights: str) -> AgreedFit:
    """The measured groups of an attribute, fitted to each other. `public_rows` is that of the release."""
    require_weights(weights)
    asked = public_rows.spec.sums_of(attribute)
    tables = [read_entries(public_rows, query, attribute) for query in asked]
    answers, plug_in = [each.answers for each in tables], [each.variances for each in tables]
    for each in tables:
        require_variances(each.variances, f"{attribute}, query {each.query!r}")
    agreement, exact = Agreement(tables), all(each.is_exact for each in tables)
    start = AgreedFit(agreement, answers, plug_in, exact=exact)
    if exact or weights == "plug-in":
        return start

    def weighed(at: Sequence[FloatArray]) -> Weighed:
        return Weighed(answers, plug_in, [each.variances_at(x) for each, x in zip(tables, at, strict=True)])

    settled = settle(weighed, start.fitted, lambda aims, widths: AgreedFit(agreement, aims, widths).fitted)
    how = settled.rounds, settled.change, settled.largest_change
    return AgreedFit(agreement, answers, settled.weighed.variances, (), exact, *how)
