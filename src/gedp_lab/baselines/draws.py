"""Noise of other shapes than ours, for comparison alone, from the one door to randomness.

In floating point: what is drawn here is never released, so nothing rests on its last digits.
"""

import numpy as np

from gedp.arrays import FloatArray
from gedp.noise.entropy import Entropy
from gedp.noise.gaussian import rounded_gaussian

BITS = 24  # of Gaussians after the point
MOST = (1 + np.sqrt(2)) / 2  # of (1 + z²)/(1 + z⁴)


def uniform(n: int, entropy: Entropy) -> FloatArray:
    """Numbers between 0 and 1, neither included."""
    return ((entropy.words(n) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def gaussian(n: int, entropy: Entropy) -> FloatArray:
    """Of mean 0 and variance 1."""
    return rounded_gaussian(n, BITS, entropy).astype(np.float64) * 2.0**-BITS


def laplace(n: int, entropy: Entropy) -> FloatArray:
    """Of scale 1: variance 2."""
    u = uniform(n, entropy) - 0.5
    noise: FloatArray = -np.sign(u) * np.log1p(-2 * np.abs(u))
    return noise


def signs(n: int, entropy: Entropy) -> FloatArray:
    """1 or −1, fairly."""
    return np.where(uniform(n, entropy) < 0.5, -1.0, 1.0)


def ramp(n: int, least: float, most: float, entropy: Entropy) -> FloatArray:
    """Between two ends with density 2(most − δ)/(most − least)²: most of them near the lower end."""
    return most - (most - least) * np.sqrt(uniform(n, entropy))


def fourth_power(n: int, entropy: Entropy) -> FloatArray:
    """With density (√2/π)/(1 + z⁴): variance 1. Cauchy draws, of which 83% are kept."""
    kept, missing = [np.empty(0)], n
    while missing:
        z = np.tan(np.pi * (uniform(missing, entropy) - 0.5))
        square = z * z
        fits = uniform(missing, entropy) * MOST * (1 + square * square) < 1 + square
        kept.append(z[fits])
        missing -= int(fits.sum())
    return np.concatenate(kept)
