"""Workflows beside each other: what the replicates say about every grouping.

Errors are averaged over the groups of a level within a replicate first, so that replicates, which are independent, give
the standard errors. Workflows of the same replicate may share noise, so they are compared replicate by replicate.
"""

import glob
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from gedp.confidential.sealing import sealed
from gedp.errors import GedpError
from gedp_lab.compare.document import comparison_page
from gedp_lab.compare.results import ComparisonResults, Line, ResultOrder, beyond_chance
from gedp_lab.evaluate.folder import Stamp, filling

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


@dataclass(frozen=True, repr=False)
class Comparison(ComparisonResults):
    """What replicates say. Confidential, unless they are of synthetic data."""

    @sealed
    def write(self, pages: Mapping[str, str] | None = None) -> Path:
        """Writes tables and a page into the folder of the replicates, and further `pages`; returns the page."""
        with filling(self.folder, self.stamp) as results:
            results.about.update(command="compare", replicates=self.replicates, **self.about)
            for name, table in (("results", self.results()), ("winners", self.winner_table())):
                results.write_parquet(f"{name}.parquet", table)
                results.write_csv(f"{name}.csv", table)
            results.write_parquet("groups.parquet", self.per_group)
            for name, text in {PAGE: comparison_page(self), **(pages or {})}.items():
                results.write_text(name, text)
        return self.folder / f"{self.stamp.prefix}{PAGE}"


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
