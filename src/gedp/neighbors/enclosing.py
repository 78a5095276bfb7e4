"""Fractions below and above a root or a logarithm, for what floats cannot decide."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import isqrt
from typing import SupportsFloat

#: At least ψ, at most ψ; equal where ψ is known exactly.
Enclosure = tuple[Fraction, Fraction]
GUARD = 10  # digits before the point, and more: no logarithm of a quotient of floats is beyond 2,000


def as_written(number: SupportsFloat) -> Fraction:
    """A float as the decimal that it is written as: 0.1 is a tenth."""
    return Fraction(repr(float(number)))


def root(x: Fraction, digits: int) -> Enclosure:
    """√x; exactly where it is a fraction."""
    scale = 10**digits
    square = x.numerator * x.denominator * scale**2
    whole = isqrt(square)
    below = Fraction(whole, x.denominator * scale)
    return below, below if whole**2 == square else Fraction(whole + 1, x.denominator * scale)


def logarithm(x: Fraction, digits: int) -> Enclosure:
    """log x, of which `Decimal.ln` rounds correctly the two parts."""
    with localcontext(prec=digits + GUARD):
        parts = [Fraction(Decimal(part).ln()) for part in (x.numerator, x.denominator)]
    nearly, off = parts[0] - parts[1], Fraction(1, 10**digits)
    return nearly - off, nearly + off
