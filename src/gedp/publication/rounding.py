"""Figures rounded to what their errors support: the margin to two digits, everything else to the same place.

It is the rule of the report (`gedp.margins.with_margin`), for whole columns.
"""

from collections.abc import Callable

import numpy as np

from gedp.arrays import FloatArray, IntArray
from gedp.margins import DIGITS

MOST_WHOLE = 2.0**53  # from where on a float has no digits left to round
NEARLY = 1e-9  # of a place: an end of an interval that is so close to a round number is that number


def places_of(margin: FloatArray, estimate: FloatArray) -> IntArray:
    """How many decimals the margins of estimates allow, negative for tens and hundreds.

    As many as there are where a margin is 0, and a few digits of the estimate where it is unknown.
    """
    known = np.where(np.isfinite(margin) & (margin > 0), margin, 1e-12)
    places = 1 - np.floor(np.log10(known)).astype(np.int64)
    again = rounded(known, places)  # 0.0996 becomes 0.10
    places = 1 - np.floor(np.log10(again)).astype(np.int64)
    return np.clip(np.where(np.isfinite(margin), places, _first(estimate, DIGITS)), -300, 12)


def rounded(values: FloatArray, places: IntArray) -> FloatArray:
    """Values to so many decimals each, a half to the even digit."""
    return _at(values, places, np.rint)


def outward(low: FloatArray, high: FloatArray, places: IntArray) -> tuple[FloatArray, FloatArray]:
    """An interval with round ends that contains the one before; an end beyond 0 has as many places as keep it there."""
    return (
        _at(low, _beyond_0(low, places), lambda scaled: np.floor(scaled + NEARLY)),
        _at(high, _beyond_0(-high, places), lambda scaled: np.ceil(scaled - NEARLY)),
    )


def _beyond_0(values: FloatArray, places: IntArray) -> IntArray:
    """As many places, or for a value above 0 as many as its first digit needs."""
    above = np.where(np.isfinite(values) & (values > NEARLY * 10.0**-places), values, 1e300)
    return np.maximum(places, -np.floor(np.log10(above)).astype(np.int64))


def digits(values: FloatArray, count: int) -> FloatArray:
    """Values to so many significant digits."""
    return rounded(values, _first(values, count))


def _first(values: FloatArray, count: int) -> IntArray:
    """The places that the first digits of values need."""
    known = np.where(np.isfinite(values) & (values != 0), np.abs(values), 1.0)
    places: IntArray = count - 1 - np.floor(np.log10(known)).astype(np.int64)
    return places


def _at(values: FloatArray, places: IntArray, to_whole: Callable[[FloatArray], FloatArray]) -> FloatArray:
    up, down = 10.0 ** np.maximum(places, 0), 10.0 ** np.maximum(-places, 0)
    scaled = values * up / down
    made: FloatArray = np.where(np.abs(scaled) < MOST_WHOLE, to_whole(scaled) * down / up, values)
    return made + 0.0  # no minus before 0
