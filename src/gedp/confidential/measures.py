"""What is asked besides sums by group, all in one form: counts and sums by classes, and combinations of attributes.

A measure adds up what rows contribute to the entries of a table, and hides what one establishment can move in them.
Which classes are possible and where values are cut off follows from identity answers: for a whole group under the
paper's rule (gedp.confidential.by_group), for every row under individual accounting (gedp.confidential.by_row). What
follows from there is the same for both, and stands here. docs/proofs/classes.md and docs/proofs/combinations.md have
the arguments.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gedp.accounting.composition import exact
from gedp.arrays import CodeArray, FloatArray, IntArray
from gedp.confidential.addends import Addend, addend_of
from gedp.confidential.answers import AnswerWriter, answer_table
from gedp.confidential.mechanisms import PsiMechanism
from gedp.confidential.table import FinestCells, Groups
from gedp.individual.classes import (
    ClassInterval,
    ClassTable,
    Possible,
    class_of,
    class_table,
)
from gedp.neighbors.estimates import no_clipping_tau
from gedp.noise.entropy import Entropy
from gedp.passes import Batch, Key, PartialResults, Reads
from gedp.passes.lookup import Lookup
from gedp.passes.sums import sums_of_whole
from gedp.policy import Query, Spec, set_aside
from gedp.release.answered import Answered, AttributeNoise

#: What noise is drawn for is less than was set aside by this part, so that rounding up the noise is never too much.
MARGIN = Fraction(1, 10**8)
_BITS_OF_ROOT = 64


@dataclass(frozen=True, repr=False)
class MeasuredQuery:
    """A query for more than plain sums, as it is measured: its entries, and what is added up in them."""

    query: Query
    table: ClassTable
    groups: Groups
    addends: tuple[Addend, ...]
    #: Of pools, in μ²: by what is asked, and by attribute. Empty under the paper's rule.
    parts: Mapping[str, Mapping[str, Fraction]]

    @property
    def entries(self) -> int:
        """Every combination of classes in every public group."""
        return self.groups.count * self.table.combinations

    def write(
        self,
        totals: PartialResults,
        reach: Mapping[str, FloatArray],
        confidence: float,
        writer: AnswerWriter,
        entropy: Entropy,
    ) -> Answered:
        """Draws the noise of all entries and writes the answers; returns what the manifest says of them."""
        answers = {
            addend.name: addend.answer(totals.added[addend.name], reach[addend.name], confidence, entropy)
            for addend in self.addends
        }
        writer.write_answers(self.query.name, answer_table(self.query, self._keys, answers))
        noise = {
            addend.name: AttributeNoise(None, {addend.mechanism: self.entries}, int((reach[addend.name] == 0).sum()))
            for addend in self.addends
        }
        return Answered(self.query, self.entries, noise)

    @property
    def _keys(self) -> dict[str, pa.Array]:
        """The keys of every entry: those of its group, and the names of its classes."""
        group, place = np.divmod(np.arange(self.entries), self.table.combinations)
        public = {key: pa.array(texts, pa.string()).take(pa.array(group)) for key, texts in self.groups.keys.items()}
        named = {
            each.name: pa.array(labels, pa.string()).take(pa.array(codes[place]))
            for each, labels, codes in zip(self.table.classes, self.table.labels, self.table.codes, strict=True)
        }
        return public | named


class Placing(Protocol):
    """How rows are read for a measure: the entries that they are in, and the bounds of their values."""

    @property
    def measure(self) -> MeasuredQuery:
        """What is measured."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The first answers that it reads of every row."""

    def possible(self, batch: Batch, group: CodeArray) -> Possible:
        """The classes that are possible for each of these rows."""

    def bounds(self, addend: Addend, batch: Batch, place: IntArray) -> Mapping[str, IntArray]:
        """Where the values of each of these rows are cut off in the entry that it is in."""


@dataclass(frozen=True, repr=False)
class MeasureTotals:
    """The pass that adds up a measure. Classes are moved to possible ones, and values are cut off at their bounds."""

    cells: Lookup
    placing: Placing
    units: Mapping[str, Fraction]  # of all attributes that it depends on

    @property
    def reads(self) -> Reads:
        """The attributes, what bounds depend on, and the cells of the rows."""
        return Reads(self.units, self.placing.columns, self.cells)

    def __call__(self, batch: Batch) -> PartialResults:
        """Partial results for this batch."""
        measure = self.placing.measure
        group, table = measure.groups.of_cell[batch.cells], measure.table
        classes = [
            class_of(edges, batch.amounts[each.attribute])
            for each, edges in zip(table.classes, table.edges, strict=True)
        ]
        place = table.places(group, self.placing.possible(batch, group).clipped(classes))
        added: dict[Key, IntArray] = {}
        for addend in measure.addends:
            bounds = self.placing.bounds(addend, batch, place)
            added[addend.name] = sums_of_whole(
                place, addend.contributions(batch.amounts, bounds, batch.rows), measure.entries
            )
        return PartialResults(added)


def measures_of(spec: Spec, cells: FinestCells) -> list[MeasuredQuery]:
    """All that a spec asks for besides plain sums, in the order in which it is answered."""
    return [_measured(spec, query, cells) for query in spec.queries if not query.is_plain]


def _measured(spec: Spec, query: Query, cells: FinestCells) -> MeasuredQuery:
    table, prices = class_table(query.classes, spec.policy.attributes), _prices(spec, query)
    addends = (
        addend_of(measure, prices[name], table, spec.policy.attributes, cells.rows)
        for name, measure in query.measures.items()
    )
    return MeasuredQuery(query, table, cells.groups(query.public), tuple(addends), _parts(spec, query))


def class_intervals(
    table: ClassTable, identity: Mapping[str, PsiMechanism], rows: int, zeta: Fraction
) -> dict[str, ClassInterval]:
    """What identity answers say about classes, for the attributes that have them: on both sides with chance 1 − ζ."""
    tau = no_clipping_tau(rows, len(identity), zeta, signed=True) if identity else 0.0
    return {
        each.attribute: ClassInterval(
            identity[each.attribute].psi, identity[each.attribute].sigma, tau, np.array(each.edges, dtype=np.float64)
        )
        for each in table.classes
        if each.attribute in identity
    }


def by_entry(combinations: Iterable[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Numbers for every group, given combination by combination, in the order of the entries."""
    return np.stack(list(combinations), axis=1).ravel()


def units_of(spec: Spec, names: Iterable[str]) -> dict[str, Fraction]:
    """The units of some attributes."""
    return {name: exact(spec.policy.attributes[name].unit) for name in names}


def _prices(spec: Spec, query: Query) -> dict[str, Fraction]:
    """The μ that noise is drawn with, for everything that is asked for."""
    if not spec.is_individual:
        return {asked: exact(mu) for asked, mu in query.mu.items()}
    parts = _parts(spec, query)
    return {asked: _mu_within(sum(parts[asked].values(), Fraction(0))) for asked in query.asked}


def _parts(spec: Spec, query: Query) -> dict[str, dict[str, Fraction]]:
    return {
        asked: {name: part.mu_squared for name, part in parts.items()}
        for asked, parts in set_aside(query, spec).items()
    }


def _mu_within(part: Fraction) -> Fraction:
    """The μ to draw noise with, where so much of pools was set aside, in μ²."""
    scale, squared = 2**_BITS_OF_ROOT, part * (1 - MARGIN)
    return Fraction(math.isqrt(squared.numerator * scale**2 // squared.denominator), scale)
