"""Columns of Arrow tables as arrays."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gedp.arrays import FloatArray, IntArray

TextArray = NDArray[np.str_]


def floats(table: pa.Table, name: str) -> FloatArray:
    """A column as floats, nulls as NaN."""
    return np.array(table[name].cast(pa.float64()).to_numpy(), dtype=np.float64)


def integers(table: pa.Table, name: str) -> IntArray:
    """A column of whole numbers without nulls."""
    return np.array(table[name].cast(pa.int64()).to_numpy(), dtype=np.int64)


def texts(table: pa.Table, name: str) -> TextArray:
    """A column of texts without nulls."""
    return np.array(table[name].to_pylist(), dtype=np.str_)
