"""The protected figures of the demonstration beside the truth, which is synthetic and so may be shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gedp.arrays import BoolArray, FloatArray
from gedp.microdata import Microdata


@dataclass(frozen=True, repr=False)
class Beside:
    """For every group: the truth, the protected estimate, half its confidence interval, and how many establishments."""

    truth: FloatArray
    estimate: FloatArray
    margin: FloatArray
    establishments: FloatArray

    @property
    def off(self) -> FloatArray:
        """Relative differences from the truth; NaN where that is 0."""
        known = np.where(self.truth > 0, self.truth, np.nan)
        off: FloatArray = (self.estimate - known) / known
        return off

    def typical(self, some: BoolArray | slice = slice(None)) -> float:
        """The median relative distance from the truth, over all groups or some."""
        return float(np.nanmedian(np.abs(self.off[some])))


def beside_truth(microdata: Microdata, establishments: Path, by: Sequence[str], attribute: str) -> Beside:
    """The groups of a custom table beside sums of the synthetic establishments, which have all these columns."""
    table = microdata.tabulate(by, [attribute]).arrow
    rows = pq.read_table(establishments, columns=[*by, attribute])
    if by:
        sums = rows.group_by(list(by)).aggregate([(attribute, "sum"), (attribute, "count")])
        joined = table.join(sums, keys=list(by))
    else:
        total = {f"{attribute}_sum": [int(np.sum(rows[attribute].to_numpy()))], f"{attribute}_count": [rows.num_rows]}
        joined = pa.table({**{name: table[name] for name in table.column_names}, **total})
    truth, estimate, low, high, count = (
        joined[name].to_numpy().astype(np.float64)
        for name in (f"{attribute}_sum", "estimate", "ci_low", "ci_high", f"{attribute}_count")
    )
    return Beside(truth, estimate, (high - low) / 2, count)
