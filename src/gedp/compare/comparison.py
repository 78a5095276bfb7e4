"""Workflows beside each other: what the replicates say about every grouping.

Errors are averaged over the groups of a level within a replicate first, so that replicates, which are independent, give
the standard errors. Workflows of the same replicate may share noise, so they are compared replicate by replicate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from gedp.errors import GedpError

CHANCE = 2.0  # standard errors of a paired difference that chance may explain

_PER_REPLICATE = """
SELECT setting, workflow, attribute, level, filename AS replicate, count(*) AS groups, avg(error) AS bias,
       avg(abs(error)) AS absolute, avg(covered::INT) AS covered, any_value(seconds) AS seconds
FROM read_parquet($files, filename = true)
GROUP BY ALL
"""
_PER_GROUP = """
SELECT setting, workflow, attribute, level, "group", avg(error) AS bias, avg(abs(error)) AS absolute
FROM read_parquet($files)
GROUP BY ALL ORDER BY setting, workflow, attribute, level, "group"
"""
_SUMMARY = f"""
WITH per_replicate AS ({_PER_REPLICATE}), per_group AS ({_PER_GROUP}),
typical AS (SELECT setting, workflow, attribute, level, median(absolute) AS median_absolute FROM per_group GROUP BY ALL)
SELECT setting, workflow, attribute, level, any_value(groups) AS groups, count(*) AS replicates,
       avg(bias) AS bias, coalesce(stddev_samp(bias), 0) / sqrt(count(*)) AS bias_se,
       avg(absolute) AS mean_absolute, any_value(median_absolute) AS median_absolute,
       avg(covered) AS coverage, avg(seconds) AS seconds
FROM per_replicate JOIN typical USING (setting, workflow, attribute, level)
GROUP BY ALL
"""


@dataclass(frozen=True)
class Line:
    """One workflow at one level for one attribute, over all replicates."""

    setting: str
    workflow: str
    attribute: str
    level: str
    groups: int
    replicates: int
    bias: float  # mean error of a group
    bias_se: float
    mean_absolute: float
    median_absolute: float  # over the groups, of the mean over replicates
    coverage: float | None
    seconds: float  # one replicate: drawing and fitting this attribute


@dataclass(frozen=True)
class Winner:
    """The workflow with the least mean absolute error, and how sure it is of it."""

    setting: str
    attribute: str
    level: str
    workflow: str
    runner_up: str | None
    gain: float  # the runner-up's error over the winner's, minus 1
    sure: bool  # whether the difference is more than chance explains


@dataclass(frozen=True, repr=False)
class Comparison:
    """What replicates say."""

    lines: tuple[Line, ...]
    winners: tuple[Winner, ...]
    per_group: pa.Table  # bias and mean absolute error of every group
    per_replicate: pa.Table

    def line(self, workflow: str, attribute: str, level: str, setting: str | None = None) -> Line:
        """One line; of the first setting unless one is named."""
        setting = setting or self.lines[0].setting
        for line in self.lines:
            if (line.setting, line.workflow, line.attribute, line.level) == (setting, workflow, attribute, level):
                return line
        raise GedpError(f"nothing was compared for {workflow}, {attribute}, {level}")

    def difference(self, one: str, other: str, attribute: str, level: str, setting: str) -> tuple[float, float]:
        """How much larger the mean absolute error of `other` is, replicate by replicate, and its standard error."""
        return _paired(self._absolute(one, attribute, level, setting), self._absolute(other, attribute, level, setting))

    def _absolute(self, workflow: str, attribute: str, level: str, setting: str) -> dict[str, float]:
        wanted = (setting, workflow, attribute, level)
        rows = self.per_replicate.to_pylist()
        return {
            row["replicate"]: row["absolute"]
            for row in rows
            if (row["setting"], row["workflow"], row["attribute"], row["level"]) == wanted
        }


def compare_replicates(files: Sequence[Path], order: Sequence[str]) -> Comparison:
    """Summarises replicate files. `order` has the names of the levels, the coarsest first."""
    if not files:
        raise GedpError("no replicate has finished, so there is nothing to compare")
    with duckdb.connect() as connection:
        names = {"files": [str(path) for path in files]}
        summary, per_group, per_replicate = (
            connection.sql(query, params=names).to_arrow_table() for query in (_SUMMARY, _PER_GROUP, _PER_REPLICATE)
        )
    place = {name: i for i, name in enumerate(order)}
    lines = sorted(
        (Line(**row) for row in summary.to_pylist()),
        key=lambda line: (line.setting, line.attribute, place.get(line.level, len(place)), line.mean_absolute),
    )
    partial = Comparison(tuple(lines), (), per_group, per_replicate)
    winners = [
        _winner(partial, list(group))
        for _, group in groupby(lines, key=lambda line: (line.setting, line.attribute, line.level))
    ]
    return Comparison(tuple(lines), tuple(winners), per_group, per_replicate)


def _winner(comparison: Comparison, ranked: Sequence[Line]) -> Winner:
    best, *others = [line for line in ranked if not line.workflow.endswith("+oracle")] or list(ranked)
    if not others:
        return Winner(best.setting, best.attribute, best.level, best.workflow, None, 0.0, False)
    second = others[0]
    mean, error = comparison.difference(best.workflow, second.workflow, best.attribute, best.level, best.setting)
    gain = second.mean_absolute / best.mean_absolute - 1 if best.mean_absolute else 0.0
    sure = bool(mean > CHANCE * error)
    return Winner(best.setting, best.attribute, best.level, best.workflow, second.workflow, gain, sure)


def _paired(one: dict[str, float], other: dict[str, float]) -> tuple[float, float]:
    differences = np.array([other[replicate] - one[replicate] for replicate in one])
    if len(differences) < 2:
        return float(differences.mean()), float("inf")
    return float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(len(differences)))
