"""Tables by classes, fitted to the public number of establishments or the fitted totals of groups, and to each other.

The answers b of the tables by classes of one thing (establishments, or the sums of an attribute) have variances W, of
which some are 0. Their public groups have known totals T, and tables must agree wherever they add up to the same. With
U the groups of the entries and V the variances of their sums,

    y₁ = b + W U V⁻¹ (T − Uᵀb),    Σ = W − W U V⁻¹ UᵀW                     fits every group to its total, and
    y = y₁ − Σ Aᵀ (A Σ Aᵀ)⁺ A y₁,  Cov(y) = Σ − Σ Aᵀ (A Σ Aᵀ)⁺ A Σ           where A has a line for each agreement.

Together that is generalised least squares with all constraints. Where T has an error of its own, which is independent
of that of b, what it adds is W U V⁻¹ Var(T) V⁻¹ UᵀW, carried through the second step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute
from scipy import sparse
from scipy.linalg import pinvh

from gedp.arrays import CodeArray, FloatArray, sum_by
from gedp.errors import Fault, FaultsError
from gedp.microdata.cells import Cells, PublicRows
from gedp.microdata.measured import INDEPENDENT, Agreement
from gedp.microdata.variances import ROUNDING
from gedp.policy import Query, Spec

Matrix: TypeAlias = "sparse.csr_array[np.float64]"


@dataclass(frozen=True, repr=False)
class ClassAnswers:
    """The answers of one query by classes about one thing; its public_rows has a row for every entry."""

    query: Query
    public_rows: PublicRows
    answers: FloatArray
    variances: FloatArray

    @property
    def groups(self) -> Cells:
        """The public group of every entry."""
        return self.public_rows.cells(self.query.public)


@dataclass(frozen=True, repr=False)
class Known:
    """Totals that the entries of every public group add up to, and the variances of these totals."""

    totals: FloatArray
    variances: FloatArray


@dataclass(frozen=True, repr=False)
class ClassTotalsBy:
    """Totals of a grouping with their variances. The rows of `public_rows` are entries; `groups` joins them."""

    public_rows: PublicRows
    groups: Cells
    totals: FloatArray
    variances: FloatArray


class ClassFit:
    """The entries of all tables by classes of one thing that fit the answers best, add up and agree."""

    def __init__(self, tables: Sequence[ClassAnswers], known: Sequence[Known | None]) -> None:
        self.tables = tuple(tables)
        self._agreement = Agreement(tables)
        self.starts = self._agreement.starts
        self._w = np.concatenate([each.variances for each in tables])
        self._of_groups, self._totals = self._with_totals(known)
        b = np.concatenate([each.answers for each in tables])
        self._fitted_to_totals = b + self._gain @ (self._totals.totals - self._of_groups.T @ b)

    def _with_totals(self, known: Sequence[Known | None]) -> tuple[Matrix, Known]:
        """U for all tables, one below the other, and what is known; groups without a total are left out."""
        blocks, found = [], [each for each in known if each is not None]
        for table, each in zip(self.tables, known, strict=True):
            groups, entries = table.groups, len(table.answers)
            places = np.arange(entries), groups.of_row
            whole = sparse.csr_array((np.ones(entries), places), shape=(entries, groups.count))
            blocks.append(whole if each is not None else sparse.csr_array((entries, 0), dtype=np.float64))
        parts = [np.concatenate([np.zeros(0), *(part(each) for each in found)]) for part in (_totals, _variances)]
        return sparse.csr_array(sparse.block_diag(blocks, format="csr")), Known(*parts)

    @cached_property
    def _gain(self) -> Matrix:
        """W U V⁻¹: how entries share what is missing from the total of their group."""
        together = np.asarray(self._of_groups.T @ self._w, dtype=np.float64)
        inverse = np.divide(1.0, together, out=np.zeros_like(together), where=together > 0)
        return sparse.csr_array(sparse.diags_array(self._w) @ self._of_groups @ sparse.diags_array(inverse))

    def _covariance_times(self, matrix: Matrix) -> Matrix:
        """Σ times a matrix."""
        weighed = sparse.csr_array(sparse.diags_array(self._w) @ matrix)
        return sparse.csr_array(weighed - self._gain @ (self._of_groups.T @ weighed))

    @cached_property
    def _lines(self) -> Matrix:
        """A Σ."""
        return sparse.csr_array(self._covariance_times(sparse.csr_array(self._agreement.matrix.T)).T)

    @cached_property
    def _inverse(self) -> FloatArray:
        """(A Σ Aᵀ)⁺: lines that follow from totals and other lines, or have no error, say nothing new."""
        system = (self._lines @ self._agreement.matrix.T).toarray()
        largest = np.sqrt(np.maximum(np.diag(system), 0.0), dtype=np.float64)
        scale = np.divide(1.0, largest, out=np.zeros_like(largest), where=largest > ROUNDING * largest.max(initial=0.0))
        scaled = np.asarray(system * scale[:, None] * scale, dtype=np.float64)
        return np.asarray(pinvh(scaled, rtol=INDEPENDENT) * scale[:, None] * scale, dtype=np.float64)

    @cached_property
    def fitted(self) -> tuple[FloatArray, ...]:
        """The entries of every table."""
        y = self._fitted_to_totals
        if self._agreement.matrix.shape[0]:
            y = y - self._lines.T @ (self._inverse @ (self._agreement.matrix @ y))
        return tuple(np.split(y, self.starts[1:-1]))

    def table(self, by: Sequence[str]) -> ClassTotalsBy:
        """The groups of a grouping, which the entries of some table make up."""
        place = self._place(by)
        public_rows = self.tables[place].public_rows
        groups, start = public_rows.cells(by), int(self.starts[place])
        entries = np.arange(start, start + len(groups.of_row))
        shape = int(self.starts[-1]), groups.count
        gather = sparse.csr_array((np.ones(len(entries)), (entries, groups.of_row)), shape=shape)
        totals = sum_by(groups.of_row, self.fitted[place], groups.count)
        return ClassTotalsBy(public_rows, groups, totals, self._variances(gather))

    def _place(self, by: Sequence[str]) -> int:
        """The table with the fewest entries among those whose entries make up the groups."""
        possible = [p for p, each in enumerate(self.tables) if all(map(each.public_rows.knows, by))]
        return min(possible, key=lambda place: len(self.tables[place].answers))

    def _variances(self, gather: Matrix) -> FloatArray:
        """Of sums of entries."""
        covariance = self._covariance_times(gather)
        plain = np.asarray(gather.multiply(sparse.diags_array(self._w) @ gather).sum(axis=0), dtype=np.float64).ravel()
        found = np.asarray(gather.multiply(covariance).sum(axis=0), dtype=np.float64).ravel()
        carried = (gather.T @ self._gain).toarray() if self._totals.variances.any() else None
        if self._agreement.matrix.shape[0]:
            moved = (self._lines @ gather).toarray()
            known = self._inverse @ moved
            found = found - np.einsum("ij,ij->j", moved, known)
            if carried is not None:
                carried = carried - known.T @ (self._agreement.matrix @ self._gain).toarray()
        if carried is not None:
            found = found + carried**2 @ self._totals.variances
        return np.where(found > ROUNDING * plain, found, 0.0)


def read_class_answers(public_rows: PublicRows, query: Query, asked: str) -> ClassAnswers:
    """The answers of a query by classes about one thing. `public_rows` is that of the release."""
    table = public_rows.answered(query, asked)
    keys = table.select(list(query.by))
    spec = public_rows.spec
    codes = {name: _codes(spec, name, keys) for name in query.classes}
    own = PublicRows(public_rows.source, spec, False, True, [keys], dict(codes))
    if public_rows.has_rows and query.public and all(map(public_rows.knows, query.public)):
        keys = _with_constants(public_rows, query.public, keys, own.cells(query.public))
        own = PublicRows(public_rows.source, spec, False, True, [keys], dict(codes))
    return ClassAnswers(query, own, table["estimate"].to_numpy(), table["variance"].to_numpy())


def _with_constants(public_rows: PublicRows, by: Sequence[str], keys: pa.Table, groups: Cells) -> pa.Table:
    """The keys of entries, and what else the rows of the release have in common in every group, as county and state."""
    cells, spec = public_rows.cells(by), public_rows.spec
    if cells.count != groups.count:  # which is a fault of its own
        return keys
    for name in dict.fromkeys((*spec.data.public, *spec.groupers)):
        if name not in keys.column_names and public_rows.knows(name):
            codes, texts = public_rows.key(name)
            of_group = np.zeros(cells.count, dtype=np.int32)
            of_group[cells.of_row] = codes
            if np.array_equal(of_group[cells.of_row], codes):
                column = pa.array(texts, pa.string()).take(pa.array(of_group[groups.of_row]))
                keys = keys.append_column(name, column)
    return keys


def class_names(spec: Spec, key: str) -> list[str]:
    """The names of classes in their order; none of a key that is public."""
    classes = spec.classes.get(key)
    return [] if classes is None else classes.labels(spec.policy.attributes[classes.attribute].unit)


def _codes(spec: Spec, name: str, keys: pa.Table) -> tuple[CodeArray, list[str]]:
    """Classes as codes in their own order, not in that of their names."""
    labels = class_names(spec, name)
    places = pa.compute.index_in(keys[name].combine_chunks(), value_set=pa.array(labels, pa.string()))
    if places.null_count:
        raise FaultsError("the release", [Fault(f"classes {name}", "there are others in a table", "Get a fresh copy")])
    return places.to_numpy().astype(np.int32), labels


def public_numbers(public_rows: PublicRows, by: Sequence[str]) -> Known | None:
    """The public number of establishments in every public group; None where the release does not list them."""
    if not by:
        return _exactly(np.array([float(public_rows.source.manifest.establishments)]))
    counts = public_rows.establishments_in(public_rows.cells(by)) if public_rows.lists_establishments else None
    return None if counts is None else _exactly(counts.astype(np.float64))


def require_same_groups(table: ClassAnswers, known: Known | None) -> None:
    """Refuses a table with other public groups than the rows of the release have."""
    if known is not None and len(known.totals) != table.groups.count:
        problem = Fault(f"query {table.query.name!r}", "its groups are not those of the release", "Get a fresh copy")
        raise FaultsError(table.public_rows.source.name, [problem])


def _exactly(totals: FloatArray) -> Known:
    return Known(totals, np.zeros(len(totals)))


def _totals(known: Known) -> FloatArray:
    return known.totals


def _variances(known: Known) -> FloatArray:
    return known.variances
