"""What other frameworks need for the same power: against direct optimisation and known mechanisms."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import laplace

from gedp.accounting.composition import mu_for
from gedp.accounting.frameworks import epsilon_for, query_variances, rho_for
from gedp.errors import DomainError

pairs = st.tuples(st.floats(0.001, 0.98), st.floats(0.01, 0.99)).map(
    lambda p: (p[0], p[0] + (0.999 - p[0]) * p[1])  # significance, a power above it
)


def papers_rho(alpha: float, power: float) -> float:
    """The display of the paper's appendix, maximised over η by a scalar optimiser from many starts."""
    beta = 1 - power

    def negative(log_excess: float) -> float:
        eta = 1 + np.exp(log_excess)
        terms = (
            eta * np.log(alpha) + (1 - eta) * np.log(power),
            eta * np.log(1 - alpha) + (1 - eta) * np.log(beta),
        )
        return float(-np.logaddexp(*terms) / (eta * (eta - 1)))

    starts = np.linspace(-9, 9, 19)
    return max(-minimize_scalar(negative, bounds=(a, a + 1), method="bounded").fun for a in starts)


@given(pairs)
def test_rho_is_the_supremum_over_both_directions(pair: tuple[float, float]) -> None:
    alpha, power = pair
    ours = float(rho_for(power, alpha))
    other_direction = papers_rho(1 - power, 1 - alpha)  # the same test with the hypotheses exchanged
    assert ours == pytest.approx(max(papers_rho(alpha, power), other_direction), rel=1e-3)
    assert ours >= papers_rho(alpha, power) * (1 - 1e-3)


@given(pairs)
@example((0.05, 0.06))
@example((0.4, 0.9))
def test_rho_is_no_less_than_in_the_limit_of_order_one(pair: tuple[float, float]) -> None:
    alpha, power = pair
    kullback_leibler = [
        p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q)) for p, q in ((alpha, power), (power, alpha))
    ]
    assert float(rho_for(power, alpha)) >= max(kullback_leibler) * (1 - 1e-9)


@given(pairs, st.integers(1, 8))
def test_gaussian_dp_never_needs_more_than_zcdp(pair: tuple[float, float], queries: int) -> None:
    alpha, power = pair
    variances = query_variances(power, alpha, queries)
    assert variances.zcdp >= variances.gaussian * (1 - 1e-9)
    # The same Gaussian noise satisfies ρ-zCDP with ρ = μ²/2, so no ρ above that can be needed.
    assert rho_for(power, alpha) <= mu_for(power, alpha) ** 2 / 2 * (1 + 1e-9)


@given(pairs)
def test_epsilon_is_what_the_best_test_against_laplace_noise_reaches(pair: tuple[float, float]) -> None:
    """With Laplace noise of scale 1/ε no threshold test does better than `power` at `alpha`."""
    alpha, power = pair
    epsilon = float(epsilon_for(power, alpha))
    threshold = laplace.isf(alpha)
    assert laplace.sf(threshold - epsilon) <= power * (1 + 1e-9)


@pytest.mark.parametrize("queries", [1, 3, 5])
def test_variances_grow_with_the_number_of_queries_as_their_composition_says(queries: int) -> None:
    one, many = query_variances(0.8, 0.05, 1), query_variances(0.8, 0.05, queries)
    assert many.gaussian == pytest.approx(queries * one.gaussian)
    assert many.zcdp == pytest.approx(queries * one.zcdp)
    assert many.pure == pytest.approx(queries**2 * one.pure)


def test_known_values() -> None:
    """α = 5% and power 80%: μ = Φ⁻¹(0.8) + 1.6449, ε = log(0.8/0.05); ρ by a fine search over η of the display."""
    variances = query_variances(0.8, 0.05, 3)
    assert float(variances.gaussian) == pytest.approx(3 / (0.8416212 + 1.6448536) ** 2, rel=1e-6)
    assert float(variances.pure) == pytest.approx(2 * (3 / np.log(16)) ** 2, rel=1e-12)
    eta = 1 + np.geomspace(1e-4, 1e4, 1_000_000)
    both_ways = [
        np.logaddexp(eta * np.log(p) + (1 - eta) * np.log(q), eta * np.log1p(-p) + (1 - eta) * np.log1p(-q))
        / (eta * (eta - 1))
        for p, q in ((0.05, 0.8), (0.8, 0.05))
    ]
    assert float(variances.zcdp) == pytest.approx(3 / (2 * np.max(both_ways)), rel=1e-4)
    assert float(epsilon_for(0.2, 0.05)) == pytest.approx(np.log(4))  # false alarms decide
    assert float(epsilon_for(0.95, 0.8)) == pytest.approx(np.log(4))  # misses decide


def test_many_settings_at_once_are_what_each_is() -> None:
    power, alpha = np.array([[0.2, 0.5, 0.8], [0.9, 0.99, 0.3]]), np.array([0.01, 0.05, 0.1])
    for needed in (epsilon_for, rho_for):
        each = [[float(needed(p, a)) for p, a in zip(row, alpha, strict=True)] for row in power]
        assert needed(power, alpha) == pytest.approx(np.array(each), rel=1e-12)


@pytest.mark.parametrize(("power", "alpha"), [(0.05, 0.05), (0.01, 0.05), (1.0, 0.05), (0.5, 0.0)])
def test_impossible_settings_are_refused(power: float, alpha: float) -> None:
    for needed in (epsilon_for, rho_for, lambda p, a: query_variances(p, a, 1)):
        with pytest.raises(DomainError):
            needed(power, alpha)
