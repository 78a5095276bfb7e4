"""What other accounting frameworks need for the same protection (paper, appendix on power and significance).

Fix what the attacker may achieve: at significance α no more than a given power, over m counting queries. Each
framework then allows its own total loss, and its standard mechanism needs a variance per query:

    Gaussian DP   μ = Φ⁻¹(power) − Φ⁻¹(α)                       Gaussian noise, m/μ²
    ρ-zCDP        ρ = sup over η > 1 of D_η/η                   Gaussian noise, m/(2ρ)
    ε-DP          ε = max(log(power/α), log((1−α)/(1−power)))   Laplace noise, 2(m/ε)²

D_η is the Rényi divergence between the two outcomes of the test; neighbours are symmetric, so both directions count
(the paper writes one). The Laplace variance has the total ε in it, as our errata note.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gedp.accounting.composition import mu_for
from gedp.arrays import FloatArray
from gedp.errors import DomainError


@dataclass(frozen=True)
class QueryVariances:
    """The variance that each framework's mechanism needs per query of sensitivity 1."""

    gaussian: FloatArray
    zcdp: FloatArray
    pure: FloatArray


def query_variances(power: npt.ArrayLike, significance: npt.ArrayLike, queries: int) -> QueryVariances:
    """Per-query variances that hold an attacker to this power at this significance over all the queries."""
    power, alpha = _pair(power, significance)
    mu = mu_for(power, alpha)
    return QueryVariances(
        gaussian=queries / mu**2,
        zcdp=queries / (2 * rho_for(power, alpha)),
        pure=2 * (queries / epsilon_for(power, alpha)) ** 2,
    )


def epsilon_for(power: npt.ArrayLike, significance: npt.ArrayLike) -> FloatArray:
    """The largest ε that keeps the attacker at or below `power`."""
    power, alpha = _pair(power, significance)
    epsilon: FloatArray = np.maximum(np.log(power / alpha), np.log1p(-alpha) - np.log1p(-power))
    return epsilon


def rho_for(power: npt.ArrayLike, significance: npt.ArrayLike) -> FloatArray:
    """The largest ρ that keeps the attacker at or below `power`: the supremum by a grid that closes in on it."""
    power, alpha = _pair(power, significance)
    rho: FloatArray = np.maximum(_largest_ratio(alpha, power), _largest_ratio(power, alpha))
    return rho


def _pair(power: npt.ArrayLike, significance: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    power, alpha = np.broadcast_arrays(np.asarray(power, dtype=np.float64), np.asarray(significance, dtype=np.float64))
    if not np.all((alpha > 0) & (alpha < power) & (power < 1)):
        raise DomainError("the significance must be above 0, and the power above it and below 1")
    return power, alpha


def _largest_ratio(p: FloatArray, q: FloatArray) -> FloatArray:
    """sup over η > 1 of D_η(Bernoulli(p) ‖ Bernoulli(q)) / η."""
    p, q = p[..., None], q[..., None]

    def ratio(log_excess: FloatArray) -> FloatArray:
        eta = 1 + np.exp(log_excess)
        log_sum = np.logaddexp(eta * np.log(p) + (1 - eta) * np.log(q), eta * np.log1p(-p) + (1 - eta) * np.log1p(-q))
        values: FloatArray = log_sum / (eta * (eta - 1))
        return values

    divergence = p * np.log(p / q) + (1 - p) * (np.log1p(-p) - np.log1p(-q))  # the limit η → 1
    low, high = np.full(p.shape, np.log(1e-4)), np.full(p.shape, np.log(1e4))
    best: FloatArray = divergence[..., 0]
    for _ in range(5):
        grid = low + (high - low) * np.linspace(0, 1, 41)
        values = ratio(grid)
        at = values.argmax(axis=-1, keepdims=True)
        best = np.maximum(best, np.take_along_axis(values, at, axis=-1)[..., 0])
        low, high = (np.take_along_axis(grid, np.clip(at + side, 0, 40), axis=-1) for side in (-1, 1))
    return best
