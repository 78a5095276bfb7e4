"""One release of each workflow at the paper's baseline budget, as groups beside the truth, for figures of groups."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute

from gedp.lab.compare import Comparison
from gedp.lab.evaluate.groups import MICRODATA, ComparedGroups
from gedp.lab.evaluate.levels import QCEW_LEVELS
from gedp.lab.reproduce.claims import of_groups
from gedp.lab.reproduce.context import Context, State
from gedp.policy.examples import find_spec

JOBS, WAGES = "m3emp", "wage"
WORKFLOWS = ("psi", "pnc", "auto")
NAMES = {"psi": "sqrt", "pnc": "pnc", "auto": "auto with quasi weights"}


def single(context: Context, state: State) -> Comparison:
    """Drawn once for all items that look at single releases."""
    return context.compare(
        "baseline",
        state,
        find_spec("paper-baseline"),
        workflows=WORKFLOWS,
        attributes=(JOBS, WAGES),
        by=[level.by for level in QCEW_LEVELS],
        replicates=1,
    )


def groups_of(found: Comparison, workflow: str, attribute: str, level: str) -> ComparedGroups:
    """The groups of one level, protected beside true; without intervals."""
    of_level = next(each for each in QCEW_LEVELS if each.name == level)
    rows = of_groups(found, workflow, attribute, level)
    truth = rows["truth"].to_numpy()
    none = np.full(len(truth), np.nan)
    keys = dict(zip(of_level.by, _columns(rows["keys"], len(of_level.by)), strict=True))
    return ComparedGroups(of_level, attribute, MICRODATA, keys, truth, truth + rows["bias"].to_numpy(), none, none)


def _columns(keys: pa.ChunkedArray, count: int) -> Sequence[pa.Array]:
    """The parts between the commas."""
    parts = pa.compute.split_pattern(keys.combine_chunks(), ",")
    return [pa.compute.list_element(parts, place) for place in range(count)]
