"""Releases group by group: those of the confidential experiment, drawn many times, and one of the baseline budget.

A figure of groups shows one release, the first. What is claimed is checked over all of them: the groups and levels of
one release share its noise, so one release is one observation.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from gedp.arrays import FloatArray
from gedp.policy.examples import find_spec
from gedp_lab.compare import Comparison
from gedp_lab.compare.replicates import ReplicateFolder
from gedp_lab.evaluate.groups import MICRODATA, ComparedGroups
from gedp_lab.evaluate.levels import QCEW_LEVELS, Level
from gedp_lab.reproduce.compared import JOBS, WAGES
from gedp_lab.reproduce.context import Context, State

WORKFLOWS = ("psi", "pnc", "auto")
CONFIDENTIAL_LEVELS = (
    *("state total", "supersector", "NAICS-3", "NAICS-5"),
    *("county total", "county x supersector", "county x NAICS-3", "county x NAICS-5"),
)
NAMES = {"psi": "sqrt", "pnc": "pnc", "auto": "auto with quasi weights"}


def confidential_releases(context: Context, state: State) -> Comparison:
    """Drawn with the budget of the paper's confidential experiment, for all items that repeat it."""
    return context.compare(
        "confidential",
        state,
        find_spec("paper-confidential"),
        workflows=WORKFLOWS,
        attributes=(JOBS,),
        by=[level.by for level in QCEW_LEVELS if level.name in CONFIDENTIAL_LEVELS],
    )


def baseline_release(context: Context, state: State) -> Comparison:
    """Drawn once with the baseline budget of the appendix, for all items that look at a single release."""
    return context.compare(
        "baseline",
        state,
        find_spec("paper-baseline"),
        workflows=WORKFLOWS,
        attributes=(JOBS, WAGES),
        by=[level.by for level in QCEW_LEVELS],
        replicates=1,
    )


@dataclass(frozen=True, repr=False)
class Releases:
    """The groups of one level under one workflow, in every release."""

    level: Level
    attribute: str
    keys: pa.Array  # with commas between them
    truth: FloatArray
    differences: FloatArray  # protected − true: one row per release

    @property
    def first(self) -> ComparedGroups:
        """The groups of the first release, without intervals."""
        none = np.full(len(self.truth), np.nan)
        parts = pa.compute.split_pattern(self.keys, ",")
        keys = {key: pa.compute.list_element(parts, place) for place, key in enumerate(self.level.by)}
        protected = self.truth + self.differences[0]
        return ComparedGroups(self.level, self.attribute, MICRODATA, keys, self.truth, protected, none, none)


def releases(found: Comparison, workflow: str, attribute: str, level: str) -> Releases:
    """Reads the releases of a comparison from its folder."""
    folder = ReplicateFolder(found.folder, found.stamp)
    where = {"attribute": attribute, "level": level}
    groups = _rows(folder.groups, **where)
    files = [folder.file(number) for number in range(found.replicates)]
    errors = [_rows(file, workflow=workflow, **where)["error"].to_numpy() for file in files]
    of_level = next(each for each in QCEW_LEVELS if each.name == level)
    keys = groups["keys"].combine_chunks()
    return Releases(of_level, attribute, keys, groups["truth"].to_numpy(), np.array(errors))


def _rows(path: Path, **wanted: str) -> pa.Table:
    """The rows of a file with these texts, in the order of their groups."""
    rows = pq.read_table(path)
    for column, text in wanted.items():
        rows = rows.filter(pa.compute.equal(rows[column], text))
    return rows.sort_by("group")
