"""How well an attacker who knows everything else can tell a value from a larger one, by size: the μ of it."""

import numpy as np

from gedp.arrays import FloatArray
from gedp.neighbors import Protection
from gedp.numbers import short
from gedp.policy import Spec, pools
from gedp_lab.baselines.formal import LaplaceLog
from gedp_lab.baselines.translation import laplace_mu
from gedp_lab.baselines.workflows import EZS, EZS_BALANCED, FITTED, SMOOTH_GAMMA, affordable, noise_of, pool_mu

GDP = "gdp"  # the workflow whose ψ is linear, with the largest establishment as γ


def strength(mechanism: str, spec: Spec, attribute: str, sizes: FloatArray, alpha: float) -> FloatArray:
    """The μ between x and (1 + α)x, all answers about an attribute together; infinite where some values are certain."""
    larger = (1 + alpha) * sizes
    if mechanism in (EZS, EZS_BALANCED):
        return np.full(len(sizes), np.inf)
    if mechanism == SMOOTH_GAMMA:  # its neighbors are just these values
        return np.full(len(sizes), pool_mu(spec, attribute))
    if mechanism not in FITTED:
        mu = float(pools(spec)[attribute].mu_squared) ** 0.5 if spec.is_individual else pool_mu(spec, attribute)
        return mu * _steps(spec.policy.attributes[attribute].protection, sizes, larger, mechanism in ("psi", GDP))
    noise = noise_of(mechanism, spec, attribute)
    moved, squares = noise.psi.distance(sizes, larger), np.zeros(len(sizes))
    for mu in affordable(spec, attribute, noise).values():
        shift = moved / noise.scale(mu)
        if isinstance(noise.psi, LaplaceLog):
            shift = np.array([laplace_mu(each) for each in shift])
        squares += shift**2
    return np.sqrt(squares)


def strength_text(mu: float) -> str:
    """μ as it is shown; ∞ where some values are certain."""
    return short(mu, 2) if np.isfinite(mu) else "∞"


def _steps(protection: Protection, smaller: FloatArray, larger: FloatArray, psi_alone: bool) -> FloatArray:
    """How many steps of γ lie between values: in ψ, or in a clipped sum whose noise hides the larger one's interval."""
    in_psi = protection.psi.distance(smaller, larger) / protection.gamma
    if psi_alone:
        return in_psi
    in_sum = (larger - smaller) / (larger - protection.low(larger))
    return np.maximum(in_psi, in_sum)
