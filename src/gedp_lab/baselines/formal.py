"""Mechanisms of others with a formal guarantee, as neighbor functions with noise of their own. For comparison alone.

These functions are not among those that a spec can name, so no release can be made with them.

- Log-Laplace (Haney et al. 2017): ln(x + 1/α) with Laplace noise of scale λ = ln(1+α)/ε. The paper has 2 ln(1+α)/ε,
  which also covers a worker who changes cells; with one cell per establishment half of that suffices.
- Smooth gamma (the same): x + (S/a)·Z with density (√2/π)/(1 + z⁴), S = max(α·x_max, 1) with the largest establishment
  of the cell, ε = 3^(3/4)·a + 3 ln(1+α). Constants are tighter than the paper's (5S/ε₁, ε₁ = ε − 5 ln(1+α)).
- Transformation mechanism with the fourth root (Finley et al. 2024): Gaussian noise on (x + a)^¼.
- Splitting (Seeman et al. 2023): values are cut into pieces of at most T, so sums get Gaussian noise of T/μ. The loss
  of an establishment is that of ⌈x/T⌉ pieces.
"""

from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from gedp.arrays import FloatArray
from gedp.errors import DomainError
from gedp.neighbors import Log
from gedp.neighbors.functions import NeighborFunction, as_amounts

STEEPEST = 3**0.75  # of ln(1 + z⁴)
STRETCHED = 3.0  # the most that the density changes with the logarithm of its scale


@dataclass(frozen=True)
class FourthRoot(NeighborFunction):
    """ψ(x) = (x + shift)^¼ with its unbiased estimate."""

    shift: float = 0.0

    is_unbiased = True

    @property
    def at_zero(self) -> float:
        """The fourth root of the shift."""
        return float(self.shift**0.25)

    def __call__(self, x: npt.ArrayLike) -> FloatArray:
        """ψ(x)."""
        return cast(FloatArray, np.sqrt(np.sqrt(as_amounts(x, str(self)) + self.shift)))

    def inverse(self, y: npt.ArrayLike) -> FloatArray:
        """y⁴ − shift."""
        return self._above_lowest(y) ** 4 - self.shift

    def slope(self, x: npt.ArrayLike) -> FloatArray:
        """1 / (4ψ(x)³)."""
        with np.errstate(divide="ignore"):
            return 0.25 / self(x) ** 3

    def debiased(self, omega: FloatArray, sigma: float | FloatArray) -> FloatArray:
        """ω⁴ − 6σ²ω² + 3σ⁴: a Hermite polynomial, whose mean is the fourth power of the mean of ω."""
        square, variance = omega**2, sigma**2
        return square**2 - 6 * variance * square + 3 * variance**2 - self.shift

    def debiased_variance(self, x: FloatArray, sigma: float | FloatArray) -> FloatArray:
        """Exact: 16σ²u⁶ + 72σ⁴u⁴ + 96σ⁶u² + 24σ⁸ with u = ψ(x)."""
        square, variance = np.sqrt(np.maximum(x, 0) + self.shift), sigma**2
        result: FloatArray = variance * (16 * square**3 + variance * (72 * square**2 + variance * 96 * square))
        return result + 24 * variance**4

    def __str__(self) -> str:
        return f"(x + {self.shift:g})^(1/4)" if self.shift else "x^(1/4)"


@dataclass(frozen=True)
class LaplaceLog(Log):
    """ψ(x) = log(x + shift) with Laplace noise of scale λ (here `sigma`) instead of Gaussian noise."""

    def debiased(self, omega: FloatArray, sigma: float | FloatArray) -> FloatArray:
        """e^ω is too large by a factor of 1/(1 − λ²) on average."""
        return np.exp(omega) * (1 - sigma**2) - self.shift

    def debiased_variance(self, x: FloatArray, sigma: float | FloatArray) -> FloatArray:
        """Exact: (x + shift)²·(2λ² + λ⁴)/(1 − 4λ²), for λ below ½."""
        square = sigma**2
        result: FloatArray = (x + self.shift) ** 2 * (square * (2 + square) / (1 - 4 * square))
        return result


def log_laplace_scale(alpha: float, epsilon: float) -> float:
    """λ: neighbors differ by at most ln(1 + α) in ln(x + 1/α)."""
    return float(np.log1p(alpha) / epsilon)


def smooth_gamma_rate(alpha: float, epsilon: float) -> float:
    """a: the noise is S/a times Z. What stretching costs must be less than ε."""
    rate = (epsilon - STRETCHED * np.log1p(alpha)) / STEEPEST
    if not rate > 0:
        needed = STRETCHED * np.log1p(alpha)
        raise DomainError(f"smooth gamma at alpha {alpha:.3g} needs an epsilon above {needed:.3g}, not {epsilon:.3g}")
    return float(rate)


def smooth_gamma_scale(largest: FloatArray, alpha: float, epsilon: float, unit: float = 1.0) -> FloatArray:
    """The standard deviation for cells with these largest establishments."""
    return np.maximum(alpha * largest, unit) / smooth_gamma_rate(alpha, epsilon)
