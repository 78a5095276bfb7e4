"""From county x NAICS-6 sums to every level of the industry tree, and the choice of what to withhold."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from gedp.arrays import BoolArray, FloatArray, IntArray
from gedp_lab.synth import columns
from gedp_lab.synth.cbp.codes import LEVELS, parent_sql
from gedp_lab.synth.database import database
from gedp_lab.synth.publish.leaves import LEAF_SQL


@dataclass(frozen=True)
class IndustryLevel:
    """Cells of one level of the industry tree, ordered by state, county and code."""

    digits: int
    table: pa.Table

    def floats(self, name: str) -> FloatArray:
        """A column as floats, nulls as NaN."""
        return columns.floats(self.table, name)

    def integers(self, name: str) -> IntArray:
        """A column as whole numbers."""
        return columns.integers(self.table, name)

    def texts(self, name: str) -> columns.TextArray:
        """A column as text."""
        return columns.texts(self.table, name)


def levels_of(leaves: pa.Table, present: str, wanted: Sequence[int] = LEVELS) -> dict[int, IndustryLevel]:
    """The wanted levels by their digits, each rolled up from the one below it, with the cells in which the
    count `present` (`est` or `qwi_est`) is positive.
    """
    levels = {}
    with database() as connection:
        connection.register("leaves", leaves)
        connection.execute(
            f"CREATE TEMP TABLE level6 AS SELECT * RENAME (naics AS code) FROM leaves WHERE {present} > 0"
        )
        for below, digits in pairwise(reversed(LEVELS)):
            connection.execute(f"""
                CREATE TEMP TABLE level{digits} AS
                SELECT state, cnty, {parent_sql("code")} AS code, {LEAF_SQL} FROM level{below}
                GROUP BY state, cnty, {parent_sql("code")}""")
        for digits in wanted:
            ordered = connection.sql(f"FROM level{digits} ORDER BY state, cnty, code")
            levels[digits] = IndustryLevel(digits, ordered.to_arrow_table())
    return levels


def riskiest(
    establishments: IntArray, dominance: FloatArray, share: float, rng: np.random.Generator, jitter: float = 0.0
) -> BoolArray:
    """Marks a share of the cells as withheld: first those of one or two establishments, then those in which
    one establishment dominates most; ties at random. `jitter` blurs the order by that part of its length,
    so that different variables withhold different cells.
    """
    count = len(establishments)
    order = np.lexsort((rng.random(count), -dominance, establishments >= 3))
    rank = np.empty(count)
    rank[order] = np.arange(count)
    rank += rng.standard_normal(count) * jitter * count
    withheld = np.zeros(count, dtype=bool)
    withheld[np.argsort(rank, kind="stable")[: round(share * count)]] = True
    return withheld


def dominance(largest: FloatArray, total: FloatArray) -> FloatArray:
    """The largest establishment's share of its cell; 1 where the cell is empty."""
    return np.where(total > 0, largest / np.where(total > 0, total, 1.0), 1.0)
