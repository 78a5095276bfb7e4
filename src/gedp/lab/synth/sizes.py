"""Employment size classes, as in County and ZIP Code Business Patterns: 1-4 jobs, 5-9, …, 1000 and more."""

import numpy as np
from numpy.typing import ArrayLike

from gedp.arrays import IntArray

LOWER_EDGES = (1, 5, 10, 20, 50, 100, 250, 500, 1000)
LABELS = ("1-4", "5-9", "10-19", "20-49", "50-99", "100-249", "250-499", "500-999", "1000+")


def count_by_size(jobs: ArrayLike) -> IntArray:
    """How many establishments have no jobs, then how many are in each class: ten counts."""
    return np.bincount(np.searchsorted(LOWER_EDGES, np.asarray(jobs), side="right"), minlength=10)
