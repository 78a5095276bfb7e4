"""What one method's parameters are in terms of another's, so that methods are compared at the same promise.

Where a translation of the budget exists, every method spends the same μ. What is protected is another matter: gedp's
intervals grow with √x, say, and those of others in proportion to x or not at all. They are made equal at one size, the
*reference*: where gedp's interval reaches 15% above the value, or a typical size where it reaches as far at none.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr, ndtri

from gedp.neighbors import Protection

ALPHA = 0.15  # of a value: how far gedp's interval reaches above it at the reference
SIZES = (1e-3, 1e15)  # where the reference is looked for, in units


def laplace_epsilon(mu: float) -> float:
    """The ε at which Laplace noise of scale (sensitivity/ε) is μ-GDP: ε = −2 ln(2Φ(−μ/2))."""
    return float(-2 * (np.log(2) + log_ndtr(-mu / 2)))


def laplace_mu(epsilon: float) -> float:
    """The μ of Laplace noise: 2Φ⁻¹(1 − e^(−ε/2)/2)."""
    return float(-2 * ndtri(np.exp(-epsilon / 2) / 2))


def pure_epsilon(mu: float) -> float:
    """The ε at which every ε-DP mechanism is μ-GDP: the logit of Φ(μ/2)."""
    return float(log_ndtr(mu / 2) - log_ndtr(-mu / 2))


def told_apart(mu: float) -> float:
    """How often the better of two guesses is right where two values are μ apart."""
    return float(ndtr(mu / 2))


@dataclass(frozen=True)
class Reference:
    """The size at which methods protect the same, and how far intervals reach there."""

    size: float
    alpha: float  # relative, upwards
    half_width: float

    @classmethod
    def of(cls, protection: Protection, unit: float, typical: float, alpha: float = ALPHA) -> "Reference":
        """Where the interval reaches `alpha` above the value; a typical size where it does nowhere, as with log."""
        low, high = (np.log(end * unit) for end in SIZES)

        def too_far(size: float) -> float:
            value = np.exp(size)
            return float(protection.interval(value).high / value - 1 - alpha)

        is_somewhere = too_far(low) > 0 > too_far(high)
        value = float(np.exp(brentq(too_far, low, high, xtol=1e-13))) if is_somewhere else typical
        interval = protection.interval(value)
        return cls(value, float(interval.high / value - 1), float(interval.width) / 2)
