"""Sums that do not depend on the order of what is added up: whole numbers alone."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from gedp.arrays import MOST_UNITS, CodeArray, FloatArray, IntArray
from gedp.passes import Key

BITS_OF_HALF = 31


def sums_of_whole(places: npt.NDArray[np.integer], values: npt.NDArray[np.generic], count: int) -> IntArray:
    """Exact sums of whole numbers by place."""
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, places, values.astype(np.int64, copy=False))
    return sums


def exact_halves(name: str, places: CodeArray, values: FloatArray, count: int, steps: int = 1) -> dict[Key, IntArray]:
    """Sums of values of at most MOST_UNITS, rounded to so many steps in each unit; in halves that cannot overflow."""
    whole = np.rint(np.clip(np.nan_to_num(values), -MOST_UNITS, MOST_UNITS) * steps).astype(np.int64)
    return {
        (name, "low"): sums_of_whole(places, whole & (2**BITS_OF_HALF - 1), count),
        (name, "high"): sums_of_whole(places, whole >> BITS_OF_HALF, count),
    }


def from_halves(added: Mapping[Key, IntArray], name: str, steps: int = 1) -> FloatArray:
    """The sums that `exact_halves` took."""
    high, low = (added[name, half].astype(np.float64) for half in ("high", "low"))
    sums: FloatArray = (high * 2**BITS_OF_HALF + low) / steps
    return sums
