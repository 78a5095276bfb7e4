"""What every establishment pays, from the noise that is drawn and not from the plan that led to it."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from gedp.arrays import FloatArray
from gedp.errors import GedpError

#: Exceeds what rounding can take off a sum of squares of quotients, as long as there are fewer than a million.
_ROUND_UP = 1 + 2.0**-30


class OverchargedError(GedpError):
    """Somebody would pay more than was recorded. Nothing may be drawn."""


def charge(sensitivity: FloatArray | float, sigma: FloatArray) -> FloatArray:
    """μ² of an answer that one establishment moves by at most this much, under this noise."""
    return (np.asarray(sensitivity, dtype=np.float64) / sigma) ** 2


def largest_share(first: Fraction, charges: Sequence[FloatArray], pool: Fraction) -> float:
    """The largest part of the pool that any establishment pays, rounded up; rejects what would be above all of it.

    `first` is what everybody paid already; `charges` are further ones, each with one number for every establishment.
    """
    paid = np.zeros_like(charges[0])
    for each in charges:
        paid = paid + each
    most = Fraction(float(np.max(paid)) * _ROUND_UP) if np.isfinite(paid).all() else None
    if most is None or first + most > pool:
        raise OverchargedError("an establishment would pay more than its pool: nothing more is drawn")
    share = float((first + most) / pool)
    return min(float(np.nextafter(share, 2.0)), 1.0)
