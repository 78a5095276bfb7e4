"""Numbers rounded to a chosen side, so that every inexactness means more noise."""

import math
from decimal import Decimal
from fractions import Fraction

from gedp.accounting.composition import exact

Number = Fraction | Decimal | float | int


def at_least(number: Number) -> Fraction:
    """The exact number; of a float the larger of what it is and what it says (0.1 is a little more than a tenth)."""
    return max(exact(float(number)), Fraction(number)) if isinstance(number, float) else exact(number)


def at_most(number: Number) -> Fraction:
    """The exact number; of a float the smaller of what it is and what it says."""
    return min(exact(float(number)), Fraction(number)) if isinstance(number, float) else exact(number)


def float_up(number: Fraction) -> float:
    """The least float of at least `number`."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def float_down(number: Fraction) -> float:
    """The greatest float of at most `number`."""
    return -float_up(-number)


def floor_log2(number: Fraction) -> int:
    """The largest e with 2**e ≤ number, for a number above 0."""
    e = number.numerator.bit_length() - number.denominator.bit_length()
    return e if Fraction(2) ** e <= number else e - 1
