"""Gaussian noise rounded to whole numbers: its variance."""

import numpy as np
from scipy.special import ndtr

from gedp.arrays import FloatArray

#: From here on, σ² + 1/12 is right to 15 digits.
WIDE = 2.0


def whole_variance(sigma: FloatArray) -> FloatArray:
    """The variance of the nearest whole number to N(0, σ²): Σ (2k − 1)·P(|X| ≥ k − ½) over k ≥ 1.

    >>> float(whole_variance(np.array([3.0]))[0])  # 9 + 1/12
    9.083333333333334
    """
    k = np.arange(1, 40)[:, None]
    narrow = np.minimum(np.ravel(sigma), WIDE)
    summed = ((2 * k - 1) * 2 * ndtr(-(k - 0.5) / narrow)).sum(axis=0).reshape(np.shape(sigma))
    variance: FloatArray = np.where(sigma < WIDE, summed, np.asarray(sigma) ** 2 + 1 / 12)
    return variance
