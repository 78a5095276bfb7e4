"""Writes an imputed CBP: employment in every cell, filled from what CBP publishes and from nothing else.

Top-down, as in Eckert, Fort, Schott and Yang's data the figures add up: what a parent's employment leaves
after its published children is divided among the withheld ones, by the employment that their
establishments' size classes suggest, held inside the class that the employment flag names. Theirs is a
linear program over all constraints at once; this division may leave a flag's class where the remainder
demands it.
"""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from gedp.synth.cbp.codes import LEVELS, padded, parent_of
from gedp.synth.cbp.divide import Floats, Integers, group_sum, whole_parts
from gedp.synth.publish.county_patterns import EMPLOYMENT_FLAGS, PublishedLevel

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


def suggested_employment(published: PublishedLevel) -> Floats:
    """Employment by the establishments' size classes, held inside the class of the employment flag."""
    level = published.level
    total = sum(
        (level.floats(name) * size for name, size in TYPICAL_SIZE.items()), np.zeros(len(published.emp))
    )
    lower = np.array([*EMPLOYMENT_FLAGS.values(), np.inf])
    at = np.searchsorted(lower, level.floats("true_emp"), side="right") - 1  # what the flag tells the public
    return np.clip(total, lower[at], np.minimum(lower[at + 1] - 1, 1e9))


def impute(published: Mapping[int, PublishedLevel]) -> dict[int, Integers]:
    """Employment of every cell of every level; county totals are published."""
    result = {0: published[0].emp}
    for above, digits in pairwise(LEVELS):
        result[digits] = _impute_level(published[above], result[above], published[digits])
    return result


def _impute_level(parents: PublishedLevel, parent_emp: Integers, children: PublishedLevel) -> Integers:
    keys = {key: at for at, key in enumerate(zip(*_keys(parents), strict=True))}
    states, counties, codes = _keys(children)
    group = np.array(
        [keys[key] for key in zip(states, counties, map(parent_of, codes), strict=True)], dtype=np.int64
    )
    shown = np.where(children.withheld, 0, children.emp)
    left = np.maximum(
        parent_emp - group_sum(shown.astype(np.float64), group, len(parent_emp)).astype(np.int64), 0
    )
    hidden = children.withheld
    if hidden.any():
        shown[hidden] = whole_parts(suggested_employment(children)[hidden], left, group[hidden])
    return shown


def _keys(published: PublishedLevel) -> tuple[list[str], list[str], list[str]]:
    table = published.level.table
    return tuple(table[name].to_pylist() for name in ("state", "cnty", "code"))


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
