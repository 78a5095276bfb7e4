"""Writes the CBP county file, in the Census Bureau's record layout."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from gedp.arrays import BoolArray, FloatArray, IntArray
from gedp_lab.synth.cbp.codes import padded
from gedp_lab.synth.publish.tabulate import IndustryLevel, dominance, riskiest
from gedp_lab.synth.sizes import CBP_CLASSES

# Lower ends of the employment size classes that stand in for a withheld figure.
EMPLOYMENT_FLAGS = {
    "A": 0,
    "B": 20,
    "C": 100,
    "E": 250,
    "F": 500,
    "G": 1000,
    "H": 2500,
    "I": 5000,
    "J": 10000,
    "K": 25000,
    "L": 50000,
    "M": 100000,
}


@dataclass(frozen=True)
class PublishedLevel:
    """A level of CBP as the public sees it: noisy employment, and which cells are withheld."""

    level: IndustryLevel
    emp: IntArray
    withheld: BoolArray


def publish_levels(
    levels: Mapping[int, IndustryLevel], shares: Mapping[int, float], rng: np.random.Generator
) -> dict[int, PublishedLevel]:
    """Chooses the withheld cells of each level."""
    published = {}
    for digits, level in levels.items():
        risk = dominance(level.floats("max_wage"), level.floats("true_wage"))
        withheld = riskiest(level.integers("est"), risk, shares[digits], rng)
        published[digits] = PublishedLevel(level, level.integers("emp"), withheld)
    return published


def noise_flag(noisy: FloatArray, true: FloatArray, withheld: BoolArray) -> NDArray[np.str_]:
    """G for less than 2% of noise, H for 2 to 5%, J from 5%, D for withheld."""
    relative = np.abs(noisy - true) / np.maximum(true, 1.0)
    flags = np.where(relative < 0.02, "G", np.where(relative < 0.05, "H", "J"))
    return np.where(withheld, "D", flags)


def employment_flag(true_emp: FloatArray, withheld: BoolArray) -> NDArray[np.str_]:
    """The size class that CBP prints beside a withheld figure, else nothing."""
    letters = np.array([*EMPLOYMENT_FLAGS])
    at = np.searchsorted(np.array([*EMPLOYMENT_FLAGS.values()]), true_emp, side="right") - 1
    return np.where(withheld, letters[at], "")


def write_cbp(published: Mapping[int, PublishedLevel], path: Path) -> int:
    """Writes the file, ordered by state, county and industry; returns the number of rows.

    Annual payroll, which nothing here reads, is four times the quarter's. The Census Bureau's own state and
    county codes (`censtate`, `cencty`) stay empty.
    """
    table = pa.concat_tables([_rows(level) for level in published.values()])
    table = table.sort_by([(name, "ascending") for name in ("fipstate", "fipscty", "naics")])
    pacsv.write_csv(table, path, pacsv.WriteOptions(quoting_style="needed"))
    return int(table.num_rows)


def _rows(published: PublishedLevel) -> pa.Table:
    level, withheld = published.level, published.withheld
    emp = published.emp.astype(np.float64)
    payroll = np.rint(level.floats("wage") / 1000)
    wage_flag = noise_flag(level.floats("wage"), level.floats("true_wage"), withheld)
    sizes = {name: level.integers(name) for name in CBP_CLASSES}
    largest = [name for name in CBP_CLASSES if name.startswith("n1000_")]
    small = {name: counts for name, counts in sizes.items() if name not in largest}
    columns: dict[str, pa.Array | pa.ChunkedArray | IntArray] = {
        "fipstate": level.table["state"],
        "fipscty": level.table["cnty"],
        "naics": pa.array([padded(code) for code in level.table["code"].to_pylist()]),
        "empflag": pa.array(employment_flag(level.floats("true_emp"), withheld)),
        "emp_nf": pa.array(noise_flag(emp, level.floats("true_emp"), withheld)),
        "emp": _shown(emp, withheld),
        "qp1_nf": pa.array(wage_flag),
        "qp1": _shown(payroll, withheld),
        "ap_nf": pa.array(wage_flag),
        "ap": _shown(4 * payroll, withheld),
        "est": level.integers("est"),
        **small,
        "n1000": sum((sizes[name] for name in largest), np.zeros(len(emp), np.int64)),
        **{name: sizes[name] for name in largest},
        "censtate": pa.array([""] * len(emp)),
        "cencty": pa.array([""] * len(emp)),
    }
    return pa.table(columns)


def _shown(figures: FloatArray, withheld: BoolArray) -> IntArray:
    return np.where(withheld, 0, figures).astype(np.int64)
