"""Errors by size of cell, from all groups of all levels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow.compute

from gedp.arrays import BoolArray, FloatArray
from gedp.numbers import short
from gedp_lab.compare import Comparison

MOST_CLASSES = 6


@dataclass(frozen=True)
class CellSizes:
    """Classes of true values, each ten times as large as the one before; the last two are open."""

    edges: tuple[float, ...]

    @classmethod
    def of(cls, values: FloatArray) -> "CellSizes":
        """Decades that end with that of the largest value."""
        top = int(np.floor(np.log10(max(float(values.max(initial=1.0)), 10.0))))
        return cls(tuple(10.0**power for power in range(max(top - MOST_CLASSES + 2, 1), top + 1)))

    @property
    def names(self) -> list[str]:
        """As headings."""
        texts = [short(edge, 2) for edge in self.edges]
        between = [f"{low}–{high}" for low, high in pairwise(texts)]
        return [f"below {texts[0]}", *between, f"from {texts[-1]}"]

    def medians(self, sizes: FloatArray, of: FloatArray) -> list[float]:
        """The median of something over the cells of each class; NaN where there are none."""
        place = np.digitize(sizes, self.edges)
        found = (of[place == number] for number in range(len(self.edges) + 1))
        return [float(np.median(each)) if len(each) else float("nan") for each in found]

    def shares(self, sizes: FloatArray, marked: BoolArray) -> list[float]:
        """The share of marked cells in each class."""
        place = np.digitize(sizes, self.edges)
        found = (marked[place == number] for number in range(len(self.edges) + 1))
        return [float(each.mean()) if len(each) else float("nan") for each in found]


def errors_by_size(comparison: Comparison, attribute: str) -> tuple[CellSizes, Mapping[str, Sequence[float]]]:
    """For every workflow the median relative error of cells of each size: the mean over replicates, over the truth."""
    rows = comparison.per_group
    rows = rows.filter(pyarrow.compute.equal(rows["attribute"], attribute))
    rows = rows.filter(pyarrow.compute.greater(rows["truth"], 0))
    classes = CellSizes.of(rows["truth"].to_numpy())
    found = {}
    for workflow in comparison.order.workflows:
        own = rows.filter(pyarrow.compute.equal(rows["workflow"], workflow))
        truth = own["truth"].to_numpy()
        found[workflow] = classes.medians(truth, own["mean_absolute"].to_numpy() / truth)
    return classes, found
