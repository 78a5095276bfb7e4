"""Employment size classes, as in County and ZIP Code Business Patterns: 1-4 jobs, 5-9, …, 1000 and more."""

import numpy as np
from numpy.typing import ArrayLike

from gedp.arrays import FloatArray, IntArray

LOWER_EDGES = (1, 5, 10, 20, 50, 100, 250, 500, 1000)
LABELS = ("1-4", "5-9", "10-19", "20-49", "50-99", "100-249", "250-499", "500-999", "1000+")

# The columns of CBP's county file with their least jobs; the last four split "1,000 or more". CBP counts an
# establishment that pays wages in the year but has nobody in mid-March among those of 1 to 4.
CBP_CLASSES = {
    "n1_4": 0,
    "n5_9": 5,
    "n10_19": 10,
    "n20_49": 20,
    "n50_99": 50,
    "n100_249": 100,
    "n250_499": 250,
    "n500_999": 500,
    "n1000_1": 1000,
    "n1000_2": 1500,
    "n1000_3": 2500,
    "n1000_4": 5000,
}
LEAST_JOBS: IntArray = np.array([*CBP_CLASSES.values()], dtype=np.int64)
MOST_JOBS: FloatArray = np.array([*(LEAST_JOBS[1:] - 1), np.inf])


def count_by_size(jobs: ArrayLike) -> IntArray:
    """How many establishments have no jobs, then how many are in each class: ten counts."""
    return np.bincount(np.searchsorted(LOWER_EDGES, np.asarray(jobs), side="right"), minlength=10)


def cbp_class(jobs: ArrayLike) -> IntArray:
    """The place of each establishment's class in CBP_CLASSES."""
    return np.searchsorted(LEAST_JOBS, np.asarray(jobs), side="right") - 1


def possible_jobs(counts: IntArray) -> tuple[FloatArray, FloatArray]:
    """The least and the most jobs of cells, by how many establishments each has in each of CBP's classes
    (a row per cell); the most is infinite where one is in the open class."""
    least: FloatArray = counts.astype(np.float64) @ LEAST_JOBS
    most: FloatArray = counts[:, :-1].astype(np.float64) @ MOST_JOBS[:-1]
    return least, np.where(counts[:, -1] > 0, np.inf, most)
