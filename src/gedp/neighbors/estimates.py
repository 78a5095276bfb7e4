"""What a noisy value of ψ says: estimate, variance, interval, bounds. Formulas alone, no truth and no randomness.

Measuring uses them on the answers it has just drawn, and what comes after the release uses them on published ones.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from gedp.arrays import FloatArray
from gedp.neighbors.functions import NeighborFunction, Signed
from gedp.normal import normal_reach

#: The chance that any bound lies below its value, where the spec does not say.
ZETA = Fraction(1, 100)
#: From this σ on, the variance of N(0, σ²) rounded to a whole number is σ² + 1/12 to 15 digits.
WIDE = 2.0


@dataclass(frozen=True, repr=False)
class PsiAnswers:
    """Noisy values of ψ: ω = ψ(x) + N(0, σ²)."""

    psi: NeighborFunction
    omega: FloatArray
    sigma: float | FloatArray  # one for all, or one for each

    def estimate(self) -> FloatArray:
        """Unbiased for sqrt, log and linear; for other ψ corrected to the second order of σ (the delta method)."""
        return self.psi.debiased(self.omega, self.sigma)

    def variance(self) -> FloatArray:
        """The variance of the estimate, itself estimated: at the estimate, but never below that at 0."""
        return psi_variance(self.psi, self.estimate(), self.sigma)

    def interval(self, confidence: float) -> tuple[FloatArray, FloatArray]:
        """A confidence interval: that of ψ, cut off at ψ(0) and taken back."""
        reach = normal_reach(confidence) * self.sigma
        low, high = (np.maximum(self.omega + side * reach, self.psi.lowest) for side in (-1, 1))
        return self.psi.inverse(low), self.psi.inverse(high)

    def upper_bounds(self, tau: float) -> FloatArray:
        """What the true magnitude exceeds with probability Φ(−τ) at most (twice that where it may be negative)."""
        high = self.psi.inverse(np.maximum(self.omega + tau * self.sigma, self.psi.lowest))
        if not isinstance(self.psi, Signed):
            return high
        return np.maximum(np.abs(high), np.abs(self.psi.inverse(self.omega - tau * self.sigma)))


def combined(
    psi: NeighborFunction,
    first: tuple[FloatArray, float | FloatArray],
    second: tuple[FloatArray, FloatArray],
    weight: FloatArray | None = None,
) -> PsiAnswers:
    """Two noisy values of the same ψ, each with its σ, as one; weighed by their precision unless told otherwise.

    `weight` is that of the first. It must not depend on the noise of either.
    """
    (one, sigma), (other, sigmas) = first, second
    share = sigmas**2 / (sigma**2 + sigmas**2) if weight is None else weight
    deviation = np.sqrt((share * sigma) ** 2 + ((1 - share) * sigmas) ** 2)
    return PsiAnswers(psi, share * one + (1 - share) * other, deviation)


def psi_variance(psi: NeighborFunction, x: npt.ArrayLike, sigma: float | FloatArray) -> FloatArray:
    """The variance of the estimate where the truth is x: exact for sqrt, log and linear, else to order σ⁴."""
    x = np.asarray(x, dtype=np.float64)
    return psi.debiased_variance(x if isinstance(psi, Signed) else np.maximum(x, 0.0), sigma)


def no_clipping_tau(establishments: int, attributes: int, zeta: Fraction, *, signed: bool = False) -> float:
    """τ such that no bound of any establishment and attribute fails, with probability 1 − ζ."""
    each = -np.expm1(np.log1p(-float(zeta)) / (establishments * attributes))
    return float(-ndtri(each / 2 if signed else each))


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
