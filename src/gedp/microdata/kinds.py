"""Establishments with the same public columns together: what a fit to a large release keeps of them in memory.

The rows stay on file. Passes over them, wherever these run, find what the answers for the rows of every kind add up to,
and at the end write the fitted rows. In between, the fit is one of kinds: see `by_kind`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from gedp.arrays import CodeArray, FloatArray, IntArray, label_codes, max_by, sum_by
from gedp.errors import TableChangedError
from gedp.microdata.barrier import BatchingBarrier
from gedp.passes import Batch, Key, OnFile, PartialResults, Pass, Reads, Reducible, StoredRows
from gedp.passes.lookup import Lookup, make_lookup
from gedp.policy import Spec
from gedp.policy.model import PSI_SUFFIX

COUNT, BELOW = "rows", "below"
MOST_IN_MEMORY = 100_000_000  # values of establishments, of about 70 bytes each while they are fitted


@dataclass(frozen=True, repr=False)
class KindSums:
    """By kind: what the answers for its rows add up to, and the highest of any; and the highest ω, often another's."""

    sums: FloatArray
    highest: FloatArray
    highest_omega: FloatArray


@dataclass(frozen=True, repr=False)
class Kinds:
    """The kinds of establishments that occur, and the rows on file that are of these kinds."""

    establishments: Path
    on_file: OnFile
    texts: Mapping[str, Sequence[str]]  # public columns that tell kinds apart: of every kind
    counts: IntArray
    attributes: Sequence[str]

    @cached_property
    def lookup(self) -> Lookup:
        """The kind of every row."""
        count, texts, codes = len(self.counts), dict[str, list[str]](), dict[str, CodeArray]()
        for column, of_kinds in self.texts.items():
            texts[column], codes[column] = label_codes(of_kinds)
        return make_lookup(texts, codes, np.arange(count, dtype=np.int32), count)

    def together(self, attribute: str) -> KindSums:
        """What the answers for an attribute come to."""
        found = self._found
        return KindSums(found.summed[attribute], found.highest[attribute], found.highest[attribute + PSI_SUFFIX])

    @cached_property
    def _found(self) -> PartialResults:
        highest = [name + end for name in self.attributes for end in ("", PSI_SUFFIX)]
        return self.reduced(self.opened(), Sums(self.lookup, self.attributes, highest))

    def opened(self) -> StoredRows:
        """The rows."""
        return self.on_file.open(self.establishments)

    @cached_property
    def parting(self) -> BatchingBarrier["LineUpTo", "tuple[FloatArray, FloatArray]"]:
        """How many rows of every kind are below a line, and what the line comes to there: one pass for many lines."""
        rows = self.opened()

        def parted(lines: Sequence[LineUpTo]) -> list[tuple[FloatArray, FloatArray]]:
            found = self.reduced(rows, _Parted(self.lookup, lines))
            keys = [(number, BELOW) for number in range(len(lines))]
            return [(found.added[key].astype(np.float64), found.summed[key]) for key in keys]

        return BatchingBarrier(parted)

    def sums(self, table: Path, columns: Sequence[str]) -> Mapping[Key, FloatArray]:
        """By kind what columns of another table of these establishments add up to."""
        return self.reduced(self.on_file.open(table), Sums(self.lookup, columns)).summed

    def reduced(self, rows: Reducible, run: Pass) -> PartialResults:
        """The results of a pass, by kind; rejects rows that are not as many of every kind."""
        found = rows.reduce(run)
        if not np.array_equal(found.added[COUNT], self.counts):
            raise TableChangedError
        return found


def stay_on_file(spec: Spec, establishments: int, on_file: OnFile | None) -> bool:
    """Whether the rows of a release stay on file, as far as the release decides."""
    if on_file is None or need_all_rows(spec):
        return False
    return on_file.always or establishments * len(spec.asked) > MOST_IN_MEMORY


def need_all_rows(spec: Spec) -> list[str]:
    """Why the rows of a release cannot stay on file while they are fitted; nothing where they can."""
    by_row = {name for query in spec.identities for name in query.attributes}
    reasons = []
    if spec.is_individual:
        reasons.append("individual accounting has two answers for every establishment, which are weighed row by row")
    if lacking := [name for name in spec.asked if name not in by_row]:
        reasons.append(f"{', '.join(lacking)}: no answers for establishments")
    psis = {name: spec.policy.attributes[name].protection.psi for name in spec.asked}
    if others := [name for name, psi in psis.items() if psi.variance_line(1.0) is None]:
        reasons.append(f"{', '.join(others)}: psi is not sqrt, so variances are no line")
    if not spec.data.public:
        reasons.append("no public columns")
    return reasons


@dataclass(frozen=True, repr=False)
class LineUpTo:
    """slope·a + base of the answers for an attribute, and a limit of it for every kind."""

    attribute: str
    slope: float
    base: float
    limit: FloatArray


@dataclass(frozen=True, repr=False)
class _Parted:
    """The pass that counts the rows where lines are up to their limits, and adds the lines up there."""

    kinds: Lookup
    lines: Sequence[LineUpTo]

    @property
    def reads(self) -> Reads:
        """The estimates, and the kinds of the rows."""
        return Reads(plain=tuple(dict.fromkeys(line.attribute for line in self.lines)), cells=self.kinds)

    def __call__(self, batch: Batch) -> PartialResults:
        """Partial sums for this batch."""
        kind, count = batch.cells, self.kinds.count
        added: dict[Key, IntArray] = {COUNT: np.bincount(kind, minlength=count)}
        summed: dict[Key, FloatArray] = {}
        for number, line in enumerate(self.lines):
            at = line.slope * column_of(batch, line.attribute) + line.base
            below = np.flatnonzero(at <= line.limit[kind])
            added[number, BELOW] = np.bincount(kind[below], minlength=count)
            summed[number, BELOW] = sum_by(kind[below], at[below], count)
        return PartialResults(added, summed=summed)


@dataclass(frozen=True, repr=False)
class Sums:
    """The pass that adds up some columns by kind, and takes the highest of some."""

    kinds: Lookup
    columns: Sequence[str]
    highest: Sequence[str] = ()

    @property
    def reads(self) -> Reads:
        """The columns, and the kinds of the rows."""
        return Reads(plain=tuple(dict.fromkeys((*self.columns, *self.highest))), cells=self.kinds)

    def __call__(self, batch: Batch) -> PartialResults:
        """Partial sums for this batch."""
        kind, count = batch.cells, self.kinds.count
        return PartialResults(
            {COUNT: np.bincount(kind, minlength=count)},
            highest={name: max_by(kind, column_of(batch, name), count) for name in self.highest},
            summed={name: sum_by(kind, column_of(batch, name), count) for name in self.columns},
        )


def column_of(batch: Batch, name: str) -> FloatArray:
    """A column of numbers of some rows."""
    return np.asarray(batch.plain.column(name).to_numpy(zero_copy_only=False), dtype=np.float64)
