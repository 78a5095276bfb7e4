"""The types of arrays that everything computes with, and texts as codes."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
CodeArray = npt.NDArray[np.int32]  # positions among the values or groups of a column
BoolArray = npt.NDArray[np.bool_]
Number = TypeVar("Number", np.float64, np.int64)
NumberArray: TypeAlias = npt.NDArray[Number]

#: No sum of magnitudes may exceed this many units: floats are exact up to here, and noise has room in 64 bits.
MOST_UNITS = 2**53


def label_codes(texts: Sequence[str]) -> tuple[list[str], CodeArray]:
    """The distinct texts in order, and the position of every text among them."""
    labels = sorted(set(texts))
    position = {label: place for place, label in enumerate(labels)}
    return labels, np.array([position[text] for text in texts], dtype=np.int32)


def slices(rows: int, at_once: int = 2**17) -> Iterator[slice]:
    """All rows in parts: what is worked out for one part stays in the cache, and takes little memory."""
    return (slice(start, start + at_once) for start in range(0, rows, at_once))


def sum_by(codes: CodeArray, values: NumberArray[Number], count: int) -> NumberArray[Number]:
    """The sum of the values of every code from 0 to count − 1; of whole numbers it is exact."""
    sums = np.zeros(count, dtype=values.dtype)
    for rows in slices(len(codes)):
        np.add.at(sums, codes[rows], values[rows])
    return sums


def max_by(codes: CodeArray, values: FloatArray, count: int) -> FloatArray:
    """The largest value of every code from 0 to count − 1; −inf where there is none."""
    largest = np.full(count, -np.inf)
    for rows in slices(len(codes)):
        np.maximum.at(largest, codes[rows], values[rows])
    return largest


def find_in(known: IntArray, values: IntArray) -> tuple[IntArray, BoolArray]:
    """The place of every value among known ones, and whether it is there.

    >>> [found.tolist() for found in find_in(np.array([5, 3, 9]), np.array([9, 4, 5]))]
    [[2, 0, 0], [True, False, True]]
    """
    if not len(known):
        return np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=bool)
    order = np.argsort(known)
    places = order[np.minimum(np.searchsorted(known[order], values), len(known) - 1)]
    return places, known[places] == values


def multiples(values: FloatArray, unit: Decimal) -> FloatArray:
    """The nearest whole multiples of a unit: of each, the float that is nearest to it as a decimal.

    >>> multiples(np.array([3 * 0.1, 7.9999]), Decimal("0.1")).tolist()
    [0.3, 8.0]
    """
    up, down = map(float, unit.as_integer_ratio())
    return np.rint(values * down / up) * up / down + 0.0  # no minus before 0
