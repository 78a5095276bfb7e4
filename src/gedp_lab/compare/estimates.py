"""What a baseline without a fit says of the groups of any level."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gedp.arrays import FloatArray
from gedp.microdata.cells import PublicRows
from gedp.microdata.combinations import with_split_columns
from gedp_lab.evaluate.groups import MICRODATA, ComparedGroups, compared_lines
from gedp_lab.evaluate.levels import Level
from gedp_lab.evaluate.truth import Truth, parts_of


@dataclass(frozen=True, repr=False)
class RowEstimates:
    """Estimates for the rows, without variances."""

    public_rows: PublicRows
    values: Mapping[str, FloatArray]  # by attribute

    def beside(self, truth: Truth, level: Level, figures: Sequence[str]) -> Iterator[ComparedGroups]:
        """Sums over the rows, beside the truth; nothing of combinations and classes."""
        spec = self.public_rows.spec
        possible = with_split_columns(list(self.values), spec)
        if all(map(self.public_rows.knows, level.by)):
            groups = self.public_rows.cells(level.by)
            keys = {key: self.public_rows.texts(key, groups) for key in level.by}
            unknown = pa.array(np.full(groups.count, np.nan))
            for name in (name for name in figures if name in possible):
                values = sum(sign * self.values[part] for part, sign in parts_of(spec, name).items())
                sums = pa.array(groups.sums(np.asarray(values)))
                columns = {"attribute": pa.repeat(name, groups.count), "estimate": sums}
                lines = pa.table({**keys, **columns, "ci_low": unknown, "ci_high": unknown})
                yield from compared_lines(level, [name], MICRODATA, lines, truth)
