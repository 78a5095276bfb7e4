"""Which whole number a draw rounds to, decided exactly where floating point cannot.

A draw is a binary fraction that can be lengthened at will: p, the probability of one of the two tails beyond |X|, lies
between m and m + 1 units of 2**-(width + 1). It rounds to k when P(|X| ≥ (k + ½)/scale) < 2p < P(|X| ≥ (k - ½)/scale),
so it takes no inverse of Φ to decide, only two values of erfc and a comparison. Where the interval of 2p holds one of
them inside, p gets 64 more bits.
"""

import math
from collections.abc import Callable
from typing import Literal

from mpmath.libmp import from_rational, mpf_erfc, mpf_sqrt, round_nearest
from scipy.special import ndtri_exp

from gedp.noise.entropy import EntropyError

#: Words of one draw. Still open after so many, it has met only zeros, or followed a boundary, for hundreds of bits.
MOST_WORDS = 16


def settle(m: int, scale: float, spare: Callable[[], int]) -> int:
    """The nearest whole number to scale · |X|, where P(|X| ≥ x) = 2p and p has the 63 bits m so far."""
    width = 63
    for _ in range(MOST_WORDS):
        k = _guess(m, width, scale)
        while m:  # with all bits 0 so far, |X| has no upper end
            above = _side(m, width, 2 * k + 1, scale)
            below = _side(m, width, 2 * k - 1, scale) if k else "less"
            if above == "more" and below == "less":
                return k
            if above == "less":
                k += 1
            elif below == "more":
                k -= 1
            else:
                break
        m, width = (m << 64) | spare(), width + 64
    raise EntropyError("the keystream repeats one pattern: the source of randomness is broken")


def _side(m: int, width: int, halves: int, scale: float) -> Literal["less", "more", "open"]:
    """Whether 2p, between m and m + 1 units of 2**-width, is less or more than P(|X| ≥ b) for b = halves/(2·scale).

    That is erfc(b/√2), computed with twice the bits relied on: its relative error is taken to be 2**-digits at most.
    """
    digits = width + 1
    precision = 2 * digits
    numerator, denominator = scale.as_integer_ratio()
    half_square = from_rational((halves * denominator) ** 2, 8 * numerator**2, precision, round_nearest)
    argument = mpf_sqrt(half_square, precision, round_nearest)
    _, mantissa, exponent, _ = mpf_erfc(argument, precision, round_nearest)
    exponent += width
    probability = int(mantissa) << max(exponent, 0)
    units = digits + max(-exponent, 0)
    if (m + 1) << units <= probability * (2**digits - 1):
        return "less"
    if m << units >= probability * (2**digits + 1):
        return "more"
    return "open"


def _guess(m: int, width: int, scale: float) -> int:
    """Where to start looking: right, or off by little. Nothing relies on it."""
    log_p = math.log(2 * m + 1) - (width + 2) * math.log(2)
    return max(0, round(-float(ndtri_exp(log_p)) * scale))
