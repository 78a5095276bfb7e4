"""Workflows beside each other: what the replicates say about every grouping.

Errors are averaged over the groups of a level within a replicate first, so that replicates, which are independent, give
the standard errors. Workflows of the same replicate may share noise, so they are compared replicate by replicate.
"""

import glob
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.special import stdtrit

from gedp.arrays import FloatArray
from gedp.confidential.sealing import sealed
from gedp.errors import GedpError
from gedp_lab.baselines.workflows import BASELINES
from gedp_lab.evaluate.folder import Stamp, filling

CONFIDENCE = 0.95  # of "beyond chance"
PAGE = "comparison.html"

_OF_REPLICATE = ("setting", "workflow", "attribute", "level", "group", "error", "covered", "seconds")
_OF_GROUPS = ("attribute", "level", "group", "keys", "truth")
_IN_ORDER = """ORDER BY list_position($settings, setting), list_position($attributes, attribute),
         list_position($levels, level), list_position($workflows, workflow)"""
_PER_REPLICATE = """
SELECT setting, workflow, attribute, level, filename AS replicate, count(*) AS groups, avg(error) AS bias,
       avg(abs(error)) AS absolute, avg(covered::INT) AS covered, any_value(seconds) AS seconds
FROM read_parquet($files, filename = true)
GROUP BY ALL
"""
_PER_GROUP = f"""
SELECT * FROM (
SELECT setting, workflow, attribute, level, keys, truth, count(*) AS replicates, avg(error) AS bias,
       stddev_samp(error) / sqrt(count(*)) AS bias_se, avg(abs(error)) AS mean_absolute
FROM read_parquet($files) AS errors JOIN read_parquet($groups) AS named USING (attribute, level, "group")
GROUP BY ALL
) {_IN_ORDER}, keys
"""
_SUMMARY = f"""
WITH typical AS (
  SELECT setting, workflow, attribute, level, median(mean_absolute) AS median_absolute,
         avg((abs(bias) > $chance * bias_se)::INT) AS biased
  FROM per_group GROUP BY ALL
)
SELECT * FROM (
SELECT setting, workflow, attribute, level, any_value(groups) AS groups, count(*) AS replicates,
       avg(bias) AS bias, stddev_samp(bias) / sqrt(count(*)) AS bias_se,
       avg(absolute) AS mean_absolute, any_value(median_absolute) AS median_absolute,
       any_value(biased) AS biased, avg(covered) AS coverage, avg(seconds) AS seconds
FROM per_replicate JOIN typical USING (setting, workflow, attribute, level)
GROUP BY ALL
) {_IN_ORDER}
"""


@dataclass(frozen=True)
class ResultOrder:
    """The names in the results, in the order in which they are shown."""

    settings: Sequence[str]
    workflows: Sequence[str]
    attributes: Sequence[str]
    levels: Sequence[str]


@dataclass(frozen=True, repr=False)
class Line:
    """One workflow at one level for one attribute, over all replicates. None where one replicate does not tell."""

    setting: str
    workflow: str
    attribute: str
    level: str
    groups: int
    replicates: int
    bias: float  # mean error of a group
    bias_se: float | None
    mean_absolute: float
    median_absolute: float  # over the groups, of the mean over replicates
    biased: float | None  # share of groups whose mean error is beyond chance; 5% would be by chance alone
    coverage: float | None  # of the intervals from the microdata; None where there are none
    seconds: float  # of one replicate: drawing and fitting this attribute


@dataclass(frozen=True, repr=False)
class Winner:
    """The workflow with the least mean absolute error, and how sure it is of it."""

    setting: str
    attribute: str
    level: str
    workflow: str
    runner_up: str | None
    gain: float  # by how much the runner-up's error is larger
    sure: bool  # whether the difference is more than chance explains


@dataclass(frozen=True, repr=False)
class Comparison:
    """What replicates say. Confidential, unless they are of synthetic data."""

    folder: Path
    stamp: Stamp
    confidence: float
    order: ResultOrder
    replicates: int
    lines: tuple[Line, ...]
    per_group: pa.Table  # bias and mean absolute error of every group
    per_replicate: pa.Table  # mean absolute error and bias of every level
    about: Mapping[str, Any] = field(default_factory=dict)  # what was compared, and when

    def __repr__(self) -> str:
        return f"Comparison({self.folder}, {self.replicates} replicates, {self.stamp.text})"

    @cached_property
    def winners(self) -> tuple[Winner, ...]:
        """One for each setting, attribute and level; oracles do not compete with what can be published."""
        by_level = groupby(self.lines, key=lambda line: (line.setting, line.attribute, line.level))
        return tuple(self._winner(list(lines)) for _, lines in by_level)

    def line(self, workflow: str, attribute: str, level: str, setting: str | None = None) -> Line:
        """One line; of the first setting unless one is named."""
        wanted = (setting or self.order.settings[0], workflow, attribute, level)
        if wanted not in self._lines:
            raise GedpError(f"nothing was compared for {workflow}, {attribute}, {level}")
        return self._lines[wanted]

    def difference(
        self, one: str, other: str, attribute: str, level: str, setting: str | None = None
    ) -> tuple[float, float | None]:
        """How much larger the mean absolute error of `other` is, replicate by replicate, and its standard error."""
        setting = setting or self.order.settings[0]
        first, second = (self._absolute[setting, name, attribute, level] for name in (one, other))
        differences = np.array([second[replicate] - first[replicate] for replicate in first])
        mean, count = float(differences.mean()), len(differences)
        return mean, None if count < 2 else float(differences.std(ddof=1) / np.sqrt(count))

    def absolute_errors(self, workflow: str, attribute: str, level: str, setting: str | None = None) -> FloatArray:
        """The mean absolute error of a level in every replicate; of the first setting unless one is named."""
        return np.array(list(self._absolute[setting or self.order.settings[0], workflow, attribute, level].values()))

    def results(self) -> pa.Table:
        """All lines, tidy: one for each setting, workflow, attribute and level."""
        return pa.Table.from_pylist([asdict(line) for line in self.lines], _SCHEMA)

    def winner_table(self) -> pa.Table:
        """The winners, tidy: a line for each setting, attribute and level."""
        return pa.Table.from_pylist([asdict(winner) for winner in self.winners])

    @sealed
    def write(self, pages: Mapping[str, str] | None = None) -> Path:
        """Writes tables and a page into the folder of the replicates, and further `pages`; returns the page."""
        from gedp_lab.compare.page import comparison_page

        with filling(self.folder, self.stamp) as results:
            results.about.update(command="compare", replicates=self.replicates, **self.about)
            for name, table in (("results", self.results()), ("winners", self.winner_table())):
                results.write_parquet(f"{name}.parquet", table)
                results.write_csv(f"{name}.csv", table)
            results.write_parquet("groups.parquet", self.per_group)
            for name, text in {PAGE: comparison_page(self), **(pages or {})}.items():
                results.write_text(name, text)
        return self.folder / f"{self.stamp.prefix}{PAGE}"

    @cached_property
    def _lines(self) -> Mapping[tuple[str, str, str, str], Line]:
        return {(line.setting, line.workflow, line.attribute, line.level): line for line in self.lines}

    @cached_property
    def _absolute(self) -> Mapping[tuple[str, str, str, str], dict[str, float]]:
        found: dict[tuple[str, str, str, str], dict[str, float]] = {}
        for row in self.per_replicate.to_pylist():
            key = (row["setting"], row["workflow"], row["attribute"], row["level"])
            found.setdefault(key, {})[row["replicate"]] = row["absolute"]
        return found

    def _winner(self, lines: Sequence[Line]) -> Winner:
        ours = [line for line in lines if line.workflow.partition("+")[0] not in BASELINES] or lines
        private = [line for line in ours if not line.workflow.endswith("+oracle")] or ours
        best, *others = sorted(private, key=lambda line: (np.isnan(line.mean_absolute), line.mean_absolute))
        where = (best.setting, best.attribute, best.level, best.workflow)
        if not others:
            return Winner(*where, None, 0.0, False)
        mean, error = self.difference(best.workflow, others[0].workflow, best.attribute, best.level, best.setting)
        gain = others[0].mean_absolute / best.mean_absolute - 1 if best.mean_absolute else 0.0
        sure = error is not None and bool(mean > beyond_chance(self.replicates) * error)
        return Winner(*where, others[0].workflow, gain, sure)


_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("setting", "workflow", "attribute", "level")),
        *((name, pa.int64()) for name in ("groups", "replicates")),
        *((name, pa.float64()) for name in ("bias", "bias_se", "mean_absolute", "median_absolute")),
        *((name, pa.float64()) for name in ("biased", "coverage", "seconds")),
    ]
)


def beyond_chance(replicates: int) -> float:
    """How many standard errors a mean of so many replicates may be off by chance (Student's t, both sides)."""
    return float(stdtrit(replicates - 1, (1 + CONFIDENCE) / 2)) if replicates > 1 else float("inf")


@sealed
def compare_replicates(
    files: Sequence[Path],
    groups: Path,
    order: ResultOrder,
    folder: Path,
    stamp: Stamp,
    confidence: float,
    about: Mapping[str, Any] | None = None,
) -> Comparison:
    """Summarises replicate files. `groups` has the keys and true values of the groups."""
    if not files:
        raise GedpError("no replicate has finished, so there is nothing to compare")
    names = [glob.escape(str(path)) for path in files]
    places = asdict(order)
    try:
        # No folder for temporary files: confidential values stay in memory. One thread: the same sums every time.
        with duckdb.connect(config={"temp_directory": "", "threads": 1}) as connection:

            def found(query: str, **values: Any) -> pa.Table:
                rows: pa.Table = connection.sql(query, params=values).to_arrow_table()
                return rows

            per_replicate = found(_PER_REPLICATE, files=names)
            per_group = found(_PER_GROUP, files=names, groups=glob.escape(str(groups)), **places)
            connection.register("per_replicate", per_replicate)
            connection.register("per_group", per_group)
            summary = found(_SUMMARY, chance=beyond_chance(len(files)), **places)
    except duckdb.Error as error:
        raise _unreadable(files, groups, folder, type(error).__name__) from None
    lines = tuple(Line(**row) for row in summary.to_pylist())
    return Comparison(folder, stamp, confidence, order, len(files), lines, per_group, per_replicate, about or {})


def _unreadable(files: Sequence[Path], groups: Path, folder: Path, kind: str) -> GedpError:
    """Names the damaged files, which can be made again."""
    damaged = [path.name for path in files if not _has(path, _OF_REPLICATE)]
    damaged += [] if _has(groups, _OF_GROUPS) else [groups.name]
    if not damaged:
        return GedpError(f"{folder}: its replicates cannot be read ({kind}). Delete the folder and run again")
    what, these, them = ("file is", "this", "it") if len(damaged) == 1 else ("files are", "these", "them")
    return GedpError(
        f"{groups.parent}: {len(damaged)} {what} damaged: {', '.join(damaged)}. "
        f"Delete just {these}, and the same command makes {them} again"
    )


def _has(path: Path, columns: Collection[str]) -> bool:
    """Whether a Parquet file can be read to its end and has these columns."""
    try:
        with pq.ParquetFile(path) as file:
            return set(columns) <= set(file.read().column_names)
    except (OSError, pa.ArrowException):
        return False
