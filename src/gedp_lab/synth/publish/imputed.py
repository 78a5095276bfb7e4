"""Writes an imputed CBP: employment in every cell, filled from what CBP publishes and from nothing else.

As in Eckert, Fort, Schott and Yang's data the figures add up. Top-down, what a cell's employment leaves after
what is known of its children is divided among those that are withheld, by the employment that their
establishments' size classes suggest, held inside the class that the employment flag names. Theirs is a linear
program over all constraints at once; this division may leave a flag's class where the remainder demands it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from gedp.arrays import BoolArray, FloatArray, IntArray
from gedp_lab.synth.cbp.codes import LEVELS, padded, parent_of
from gedp_lab.synth.cbp.divide import group_sum, whole_parts
from gedp_lab.synth.publish.county_patterns import EMPLOYMENT_FLAGS, PublishedLevel

SLIVER = 1e-6  # weight of a cell whose size classes suggest no more than is known to be inside

# Typical employment inside each size class.
TYPICAL_SIZE = {
    "n1_4": 1.8,
    "n5_9": 6.6,
    "n10_19": 13.5,
    "n20_49": 30.0,
    "n50_99": 68.0,
    "n100_249": 150.0,
    "n250_499": 340.0,
    "n500_999": 680.0,
    "n1000_1": 1200.0,
    "n1000_2": 1900.0,
    "n1000_3": 3400.0,
    "n1000_4": 8000.0,
}


def suggested_employment(published: PublishedLevel) -> FloatArray:
    """Employment by the establishments' size classes, held inside the class of the employment flag."""
    level = published.level
    total = sum((level.floats(name) * size for name, size in TYPICAL_SIZE.items()), np.zeros(len(published.emp)))
    lower = np.array([*EMPLOYMENT_FLAGS.values(), np.inf])
    at = np.searchsorted(lower, level.floats("true_emp"), side="right") - 1  # what the flag tells the public
    return np.clip(total, lower[at], np.minimum(lower[at + 1] - 1, 1e9))


@dataclass(frozen=True)
class _Known:
    """What the published figures in a cell say of it: at least `least`, and exactly that where `exact`."""

    least: IntArray
    exact: BoolArray


def impute(published: Mapping[int, PublishedLevel]) -> dict[int, IntArray]:
    """Employment of every cell of every level: bottom-up what must be there, then top-down the rest of it."""
    parents = {digits: _parents(published[above], published[digits]) for above, digits in pairwise(LEVELS)}
    known = {LEVELS[-1]: _from_published(published[LEVELS[-1]])}
    for above, digits in pairwise(reversed(LEVELS)):
        known[digits] = _from_children(published[digits], known[above], parents[above])
    result = {0: published[0].emp}
    for above, digits in pairwise(LEVELS):
        result[digits] = _divide(result[above], published[digits], known[digits], parents[digits])
    return result


def _parents(above: PublishedLevel, below: PublishedLevel) -> IntArray:
    """The index of each cell's parent."""
    places = {key: at for at, key in enumerate(zip(*_keys(above), strict=True))}
    states, counties, codes = _keys(below)
    keys = zip(states, counties, map(parent_of, codes), strict=True)
    return np.array([places[key] for key in keys], dtype=np.int64)


def _from_published(level: PublishedLevel) -> _Known:
    return _Known(np.where(level.withheld, 0, level.emp), ~level.withheld)


def _from_children(level: PublishedLevel, children: _Known, parent: IntArray) -> _Known:
    count = len(level.emp)
    inside = group_sum(children.least.astype(np.float64), parent, count).astype(np.int64)
    open_children = group_sum((~children.exact).astype(np.float64), parent, count)
    least = np.where(level.withheld, inside, level.emp)
    return _Known(least, ~level.withheld | (open_children == 0))


def _divide(total: IntArray, level: PublishedLevel, known: _Known, parent: IntArray) -> IntArray:
    left = total - group_sum(known.least.astype(np.float64), parent, len(total)).astype(np.int64)
    unknown = ~known.exact
    result = known.least.copy()
    if unknown.any():
        wanted = np.maximum(suggested_employment(level) - known.least, SLIVER)
        result[unknown] += whole_parts(wanted[unknown], np.maximum(left, 0), parent[unknown])
    return result


def _keys(published: PublishedLevel) -> tuple[list[str], list[str], list[str]]:
    table = published.level.table
    return table["state"].to_pylist(), table["cnty"].to_pylist(), table["code"].to_pylist()


def write_efsy(published: Mapping[int, PublishedLevel], path: Path) -> int:
    """Writes the file, ordered by state, county and industry; returns the number of rows."""
    tables = []
    for digits, emp in impute(published).items():
        states, counties, codes = _keys(published[digits])
        naics = pa.array([padded(code) for code in codes], pa.string())
        tables.append(pa.table({"fipstate": states, "fipscty": counties, "naics": naics, "emp": emp}))
    table = pa.concat_tables(tables)
    table = table.sort_by([(name, "ascending") for name in ("fipstate", "fipscty", "naics")])
    pacsv.write_csv(table, path, pacsv.WriteOptions(quoting_style="needed"))
    return int(table.num_rows)
