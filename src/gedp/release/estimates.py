"""What a noisy value of ψ says: estimate, variance, interval, bounds. Formulas alone, no truth and no randomness.

Measuring uses them on the answers it has just drawn, and what comes after the release uses them on published ones.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from gedp.arrays import FloatArray
from gedp.neighbors import Linear, Log, NeighborFunction, Signed, Sqrt


@dataclass(frozen=True, repr=False)
class PsiAnswers:
    """Noisy values of ψ: ω = ψ(x) + N(0, σ²)."""

    psi: NeighborFunction
    omega: FloatArray
    sigma: float

    def estimate(self) -> FloatArray:
        """Unbiased for sqrt, log and linear; for other ψ corrected to the second order of σ (the delta method)."""
        match self.psi:
            case Linear():
                return self.omega
            case Sqrt(shift):
                return self.omega**2 - self.sigma**2 - shift
            case Log(shift):
                return np.exp(self.omega - self.sigma**2 / 2) - shift
            case psi:
                x = psi.inverse(np.maximum(self.omega, psi.lowest))
                finite = np.isfinite(x)
                correction = self.sigma**2 / 2 * psi.inverse_curvature(np.where(finite, x, 1.0))
                return np.where(finite, x - correction, x)

    def variance(self) -> FloatArray:
        """The variance of the estimate, itself estimated: at the estimate, but never below that at 0."""
        return psi_variance(self.psi, self.estimate(), self.sigma)

    def interval(self, confidence: float) -> tuple[FloatArray, FloatArray]:
        """A confidence interval: that of ψ, cut off at ψ(0) and taken back."""
        reach = float(ndtri((1 + confidence) / 2)) * self.sigma
        low, high = (np.maximum(self.omega + side * reach, self.psi.lowest) for side in (-1, 1))
        return self.psi.inverse(low), self.psi.inverse(high)

    def upper_bounds(self, tau: float) -> FloatArray:
        """What the true magnitude exceeds with probability Φ(−τ) at most (twice that where it may be negative)."""
        high = self.psi.inverse(np.maximum(self.omega + tau * self.sigma, self.psi.lowest))
        if not isinstance(self.psi, Signed):
            return high
        return np.maximum(np.abs(high), np.abs(self.psi.inverse(self.omega - tau * self.sigma)))


def psi_variance(psi: NeighborFunction, x: npt.ArrayLike, sigma: float) -> FloatArray:
    """The variance of the estimate where the truth is x: exact for sqrt, log and linear, else to order σ⁴."""
    x = np.asarray(x, dtype=np.float64)
    at = x if isinstance(psi, Signed) else np.maximum(x, 0.0)
    if isinstance(psi, Log):
        of_log: FloatArray = (at + psi.shift) ** 2 * np.expm1(sigma**2)
        return of_log
    if isinstance(psi, Sqrt):
        of_sqrt: FloatArray = at * (4 * sigma**2)
        of_sqrt += 4 * sigma**2 * psi.shift + 2 * sigma**4
        return of_sqrt
    if not isinstance(psi, Linear):
        at = np.where(at == 0, np.finfo(float).tiny, at)  # some slopes are infinite at 0
    finite = np.isfinite(at)
    at = np.where(finite, at, 1.0)
    with np.errstate(divide="ignore"):
        variance: FloatArray = (sigma / psi.slope(at)) ** 2 + (sigma**2 * psi.inverse_curvature(at)) ** 2 / 2
    return np.where(finite, variance, np.inf)


def no_clipping_tau(establishments: int, attributes: int, zeta: Fraction, *, signed: bool = False) -> float:
    """τ such that no bound of any establishment and attribute fails, with probability 1 − ζ."""
    each = -np.expm1(np.log1p(-float(zeta)) / (establishments * attributes))
    return float(-ndtri(each / 2 if signed else each))
