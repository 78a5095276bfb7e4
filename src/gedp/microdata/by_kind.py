"""The fit of establishments that stay on file, by kind: see `kinds` for the passes over their rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gedp.arrays import CodeArray, FloatArray
from gedp.microdata.cells import PublicRows, columns_alone
from gedp.microdata.kinds import Kinds, LineUpTo, column_of
from gedp.microdata.pooled import CellsAt, RowsOfCells, RowVariances
from gedp.partitions import Partition
from gedp.passes import Batch, OnFile, Reads
from gedp.passes.lookup import Lookup
from gedp.release import ReleaseFolder
from gedp.release.answered import IDENTITY


def read_kinds(release: ReleaseFolder, on_file: OnFile) -> PublicRows:
    """The establishments of a release, by kind; they themselves stay on file."""
    spec = release.manifest.spec
    named = columns_alone(release)
    keys = dict.fromkeys(key for query in spec.tables if not query.classes for key in query.by)
    of_keys = (column for key in keys for column in named.columns_of(key) or ())
    columns = list(dict.fromkeys(of_keys)) or list(spec.data.public[:1])
    texts, counts = on_file.open(release.folder / IDENTITY).combinations(columns)
    kinds = Kinds(release.folder / IDENTITY, on_file, texts, counts, spec.asked)
    return PublicRows(release, spec, True, True, [pa.table(dict(texts))], kinds=kinds)


class RowsOnFile(RowsOfCells):
    """Answers that are looked at in a pass, round after round; fits of several attributes share their passes."""

    def __init__(self, kinds: Kinds, attribute: str, cells: Partition, slope: float, base: float) -> None:
        self._kinds, self._attribute, self._cells = kinds, attribute, cells
        rows = cells.sums(kinds.counts)
        together = kinds.together(attribute)
        self._of_all = slope * together.sums + base * kinds.counts
        super().__init__(rows, cells.sums(together.sums), cells.largest(together.highest), slope, base)
        self.start()

    def seen(self, limit: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Looks at all rows."""
        below, above = map(self._cells.sums, self._by_kind(limit))
        return below, above

    def of_rows(self, at: CellsAt) -> FloatArray:
        """The variance of what the answers of every kind add up to."""
        each, of_kind = self.each(at), self._cells.group_of
        below, above = self._by_kind(self.limits(at.multipliers))
        is_low = each.growth[of_kind] == 0
        return each.least[of_kind] * np.where(is_low, self._kinds.counts, below) + each.growth[of_kind] * above

    def _by_kind(self, limit: FloatArray) -> tuple[FloatArray, FloatArray]:
        line = LineUpTo(self._attribute, self.slope, self.base, limit[self._cells.group_of])
        below, of_below = self._kinds.parting.ask(line)
        return below, self._of_all - of_below


@dataclass(frozen=True, repr=False)
class FittedRows:
    """The rows with fitted values in the place of their answers."""

    kinds: Lookup
    kept: Sequence[str]
    values: "Mapping[str, FittedValues]"

    @property
    def reads(self) -> Reads:
        """Public columns, estimates and the kinds of the rows."""
        return Reads(plain=(*self.kept, *self.values), cells=self.kinds)

    @property
    def numbers(self) -> Sequence[str]:
        """The attributes."""
        return list(self.values)

    def __call__(self, batch: Batch) -> pa.Table:
        """Fitted rows."""
        kept = [batch.plain.column(name) for name in self.kept]
        fitted = [pa.array(of(column_of(batch, name), batch.cells)) for name, of in self.values.items()]
        return pa.Table.from_arrays([*kept, *fitted], [*self.kept, *self.values])


@dataclass(frozen=True, repr=False)
class FittedValues:
    """The fitted values of one attribute: answers, moved by as much as their variances say."""

    cell: CodeArray  # of every kind
    moved: FloatArray  # by cell, in variances
    each_row: RowVariances

    def __call__(self, answers: FloatArray, kind: CodeArray) -> FloatArray:
        """Of some rows of these kinds."""
        cell = self.cell[kind]
        return answers + self.moved[cell] * self.each_row(answers, cell)
