"""The answers of a release as the fits take them, of whichever query, about an attribute, a count or a combination.

A fit over the rows of the release takes answers for groups of its finest cells. A fit without them takes entries: every
answer is a row of its own, and tables must agree wherever entries add up to the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute

from gedp.arrays import BoolArray, CodeArray, FloatArray
from gedp.errors import Fault, FaultsError
from gedp.microdata.cells import NO_FILTER, Cells, PublicRows, Where, keys_of_groups
from gedp.microdata.keys import TOTAL_KEY
from gedp.microdata.solve import Measurement
from gedp.neighbors import Log, NeighborFunction
from gedp.neighbors.estimates import psi_variance
from gedp.partitions import Partition
from gedp.policy import Attribute, Query, Spec
from gedp.release import ProtectedAnswers
from gedp.release.reader import NOISE


@dataclass(frozen=True)
class PsiNoise:
    """The noise of the answers that the ψ-mechanism gave to one query for one attribute."""

    psi: NeighborFunction
    sigma: float | FloatArray  # one for all answers, or one for each
    least: float = 0.0  # no sum is below: the unit where ψ has no value at 0

    def variance(self, x: FloatArray) -> FloatArray:
        """The variance of an answer where the truth is x, or the least possible value if x is below it."""
        with np.errstate(over="ignore", invalid="ignore"):  # of clipped sums sigma is not that of ψ: nobody takes those
            return psi_variance(self.psi, np.maximum(x, self.least) if self.least else x, self.sigma)

    def at_answers(self, answers: FloatArray) -> FloatArray:
        """The variances if the answers were the truth."""
        return psi_variance(self.psi, answers, self.sigma)

    def highest(self, x: FloatArray, cells: Partition) -> FloatArray:
        """The highest of the values x in every cell."""
        return cells.largest(x)


@dataclass(frozen=True, repr=False)
class GroupAnswers(Measurement):
    """One query's answers about one thing, as released: variances are exact, or for psi those at the estimates."""

    query: str
    by_psi: BoolArray
    noise: PsiNoise | None  # None where nothing is answered by psi
    sensitivity: FloatArray | None = None  # of clipped sums, at the noisy answers; None where nothing is clipped

    @property
    def is_exact(self) -> bool:
        """Whether no variance depends on the truth."""
        return self.noise is None or self.noise.psi.has_constant_variance or not self.by_psi.any()

    def variances_at(self, values: FloatArray, clipped: FloatArray | None = None) -> FloatArray:
        """The variances where these are the true sums; those of clipped sums as released unless given."""
        others = self.variances if clipped is None else clipped
        return others if self.noise is None else np.where(self.by_psi, self.noise.variance(values), others)


@dataclass(frozen=True, repr=False)
class TableEntries(GroupAnswers):
    """Answers that are rows of their own: `public_rows` has their keys, and what else follows from these."""

    by: tuple[str, ...] = field(kw_only=True)  # the keys of the query
    public_rows: PublicRows = field(kw_only=True)

    @property
    def public(self) -> list[str]:
        """The keys of the query that are public, and not classes."""
        return [key for key in self.by if key not in self.public_rows.spec.classes]

    def grouped(self, by: Sequence[str], where: Where = NO_FILTER) -> Cells | None:
        """The entries divided by another grouping; None if its groups are not made of whole entries."""
        return self.public_rows.cells(by, where) if all(map(self.public_rows.knows, (*by, *where))) else None


def read_answers(public_rows: PublicRows, query: Query, asked: str, cells: Cells) -> GroupAnswers:
    """The answers of a query about one thing, for groups of these cells."""
    table = public_rows.answered(query, asked)
    groups = public_rows.placed(table, query.name, query.by, cells)
    return GroupAnswers(groups, *_numbers(table), query.name, *_mechanism(public_rows, query, asked, table))


def read_entries(public_rows: PublicRows, query: Query, asked: str) -> TableEntries:
    """The answers of a query about one thing, each a row of its own. `public_rows` is that of the release."""
    table, spec = public_rows.answered(query, asked), public_rows.spec
    keys = keys_of_groups(table, query.by)
    classes = {name: _class_codes(spec, name, keys) for name in query.by if name in spec.classes}
    public = [name for name in query.by if name not in spec.classes]
    own = PublicRows(public_rows.source, spec, False, True, [keys], dict(classes))
    if public_rows.has_rows and all(map(public_rows.knows, public)):
        keys = _with_constants(public_rows, own, public, query.name)
        own = PublicRows(public_rows.source, spec, False, True, [keys], dict(classes))
    mechanism = _mechanism(public_rows, query, asked, table)
    groups = Partition.single(table.num_rows)
    return TableEntries(groups, *_numbers(table), query.name, *mechanism, by=query.by, public_rows=own)


def noise_of(source: ProtectedAnswers, query: str, attribute: Attribute, own: FloatArray | None = None) -> PsiNoise:
    """The noise of the answers of a query that the ψ-mechanism gave for an attribute; `own` where each has its own."""
    answered = next(a for a in source.manifest.answered if a.query.name == query)
    psi = attribute.protection.psi
    least = float(attribute.unit) if isinstance(psi, Log) and not psi.shift else 0.0
    return PsiNoise(psi, answered.noise[attribute.name].sigma if own is None else own, least)


def class_names(spec: Spec, key: str) -> list[str]:
    """The names of classes in their order; none of a key that is public."""
    classes = spec.classes.get(key)
    return [] if classes is None else classes.labels(spec.policy.attributes[classes.attribute].unit)


def _numbers(table: pa.Table) -> tuple[FloatArray, FloatArray]:
    return table["estimate"].to_numpy(), table["variance"].to_numpy()


def _mechanism(public_rows: PublicRows, query: Query, asked: str, table: pa.Table) -> tuple[BoolArray, PsiNoise | None]:
    """Which answers are by psi, and with which noise."""
    by_psi = pa.compute.equal(table["mechanism"], "psi").to_numpy()
    if not by_psi.any():
        return by_psi, None
    attribute = public_rows.spec.policy.attributes[asked]
    own = None  # the noise on ψ of every sum, where sums have their own; clipped sums have none
    if NOISE in table.column_names:
        own = np.where(by_psi, table[NOISE].to_numpy(), attribute.protection.gamma)
    return by_psi, noise_of(public_rows.source, query.name, attribute, own)


def _with_constants(public_rows: PublicRows, own: PublicRows, by: Sequence[str], query: str) -> pa.Table:
    """The keys of entries, and what else the rows of the release have in common in every group, as county and state."""
    cells, groups, keys = public_rows.cells(by), own.cells(by), own.table
    if cells.count != groups.count:
        problem = Fault(f"query {query!r}", "its groups are not those of the release", "Get a fresh copy")
        raise FaultsError(public_rows.source.name, [problem])
    names = dict.fromkeys((*public_rows.table.column_names, *public_rows.spec.groupers))
    for name in (n for n in names if n not in (*keys.column_names, TOTAL_KEY) and public_rows.knows(n)):
        codes, texts = public_rows.key(name)
        if (of_group := cells.shared(codes)) is not None:
            column = pa.array(texts, pa.string()).take(pa.array(of_group[groups.group_of]))
            keys = keys.append_column(name, column)
    return keys


def _class_codes(spec: Spec, name: str, keys: pa.Table) -> tuple[CodeArray, list[str]]:
    """Classes as codes in their own order, not in that of their names."""
    labels = class_names(spec, name)
    places = pa.compute.index_in(keys[name].combine_chunks(), value_set=pa.array(labels, pa.string()))
    if places.null_count:
        raise FaultsError("the release", [Fault(f"classes {name}", "there are others in a table", "Get a fresh copy")])
    return places.to_numpy().astype(np.int32), labels
