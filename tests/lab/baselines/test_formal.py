"""Every formula of the formal baselines: unbiased, with the stated variance, at the stated privacy."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr, ndtri
from scipy.stats import kstest

from gedp.arrays import FloatArray
from gedp.errors import DomainError
from gedp.neighbors import Log, Protection, Sqrt, check_neighbor_function
from gedp.neighbors.functions import BUILT_IN
from gedp.noise.entropy import SeededEntropy
from gedp.policy.examples import find_spec
from gedp.policy.keys import MECHANISMS
from gedp_lab.baselines import draws
from gedp_lab.baselines.formal import (
    FourthRoot,
    LaplaceLog,
    log_laplace_scale,
    smooth_gamma_rate,
    smooth_gamma_scale,
)
from gedp_lab.baselines.translation import (
    Reference,
    laplace_epsilon,
    laplace_mu,
    pure_epsilon,
)
from gedp_lab.baselines.workflows import BASELINES, noise_of, reference_of

ALPHAS = (0.05, 0.15, 0.5)
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(20)  # exact for the polynomials here
GRID = np.linspace(1e-6, 1 - 1e-6, 20_001)  # significance levels


def test_no_release_can_be_made_with_a_baseline() -> None:
    assert not set(BASELINES) & set(MECHANISMS)
    assert not {FourthRoot, LaplaceLog} & set(BUILT_IN.values())
    assert not set(BASELINES) & set(BUILT_IN)


@pytest.mark.parametrize("x", [0.0, 1.0, 40.0, 1e6])
@pytest.mark.parametrize("shift", [0.0, 2.0])
@pytest.mark.parametrize("sigma", [0.1, 0.7])
def test_the_fourth_root_has_an_unbiased_estimate_of_the_stated_variance(x: float, shift: float, sigma: float) -> None:
    psi = FourthRoot(shift)
    estimates = psi.debiased(psi(x) + sigma * NODES, sigma)
    mean = float(WEIGHTS @ estimates / WEIGHTS.sum())
    variance = float(WEIGHTS @ (estimates - x) ** 2 / WEIGHTS.sum())
    assert mean == pytest.approx(x, abs=1e-9 * (1 + x))
    assert variance == pytest.approx(float(psi.debiased_variance(np.array(x), sigma)), rel=1e-9)


def test_the_fourth_root_is_a_neighbor_function() -> None:
    check_neighbor_function(FourthRoot(1.0))


@pytest.mark.parametrize("scale", [0.05, 0.25, 0.4])
@pytest.mark.parametrize("x", [0.0, 30.0])
def test_log_laplace_has_an_unbiased_estimate_of_the_stated_variance(scale: float, x: float) -> None:
    psi = LaplaceLog(1 / 0.15)

    def moment(power: int) -> float:
        """Of the error, by numerical integration on both sides of the peak."""

        def weighed(noise: float) -> float:
            estimate = float(psi.debiased(psi(x) + noise, scale))
            return float((estimate - x) ** power * math.exp(-abs(noise) / scale) / (2 * scale))

        below, above = quad(weighed, -200 * scale, 0, limit=400), quad(weighed, 0, 600 * scale, limit=400)
        return float(below[0] + above[0])

    assert moment(1) == pytest.approx(0, abs=1e-6 * (x + psi.shift))
    assert moment(2) == pytest.approx(float(psi.debiased_variance(np.array(x), scale)), rel=1e-5)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_log_laplace_keeps_its_epsilon_for_all_neighbors_and_wastes_nothing(alpha: float) -> None:
    epsilon, n = 0.8, np.arange(0, 100_000, dtype=np.float64)
    neighbor = np.maximum((1 + alpha) * n, n + 1)
    loss = Log(1 / alpha).distance(n, neighbor) / log_laplace_scale(alpha, epsilon)
    assert loss.max() <= epsilon * (1 + 1e-12)
    assert loss.max() >= 0.99 * epsilon


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_laplace_noise_is_exactly_as_private_as_its_mu_says(epsilon: float) -> None:
    mu = laplace_mu(epsilon)
    assert laplace_epsilon(mu) == pytest.approx(epsilon, rel=1e-12)
    level, e = GRID, math.exp(epsilon)
    middle = np.where(level <= 0.5, 1 / (4 * e * level), (1 - level) / e)
    missed = np.where(level < 0.5 / e, 1 - e * level, middle)  # of the best test at every level
    assert _is_private(missed, mu)
    assert not _is_private(missed, 0.99 * mu)


def pure_mu(epsilon: float) -> float:
    """The μ of any ε-DP mechanism: 2Φ⁻¹(e^ε/(1 + e^ε))."""
    return float(-2 * ndtri(1 / (1 + np.exp(epsilon))))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_every_pure_mechanism_is_as_private_as_its_mu_says(epsilon: float) -> None:
    mu = pure_mu(epsilon)
    assert pure_epsilon(mu) == pytest.approx(epsilon, rel=1e-12)
    missed = np.maximum(1 - math.exp(epsilon) * GRID, math.exp(-epsilon) * (1 - GRID))
    assert _is_private(missed, mu)
    assert not _is_private(missed, 0.99 * mu)


def test_translations_have_the_values_of_the_literature() -> None:
    assert pure_mu(1) == pytest.approx(1.232, abs=5e-4)
    assert laplace_mu(1) == pytest.approx(1.030, abs=5e-4)
    assert laplace_mu(2) == pytest.approx(1.801, abs=5e-4)


@pytest.mark.parametrize(("alpha", "epsilon"), [(0.05, 0.5), (0.15, 1.0), (0.15, 3.0), (0.5, 2.0)])
def test_smooth_gamma_keeps_its_epsilon_for_all_neighbors(alpha: float, epsilon: float) -> None:
    """The sum moves by up to S, and S by a factor of up to 1 + α, with the density (√2/π)/(1 + z⁴)."""
    rate, z = smooth_gamma_rate(alpha, epsilon), np.concatenate([-np.geomspace(1e4, 1e-4, 4000), [0]])
    z = np.concatenate([z, -z])
    worst = 0.0
    for stretch in (1 / (1 + alpha), 1.0, 1 + alpha):
        for moved in (-1.0, 0.0, 1.0):  # of S
            shift = moved * rate * min(1.0, stretch)  # by the smaller S of the two: α of the smaller value, or 1
            other = (z - shift) / stretch
            loss = np.log1p(other**4) + np.log(stretch) - np.log1p(z**4)
            worst = max(worst, float(np.abs(loss).max()))
    assert worst <= 1.01 * epsilon
    assert worst >= 0.6 * epsilon  # the worst shift and the worst stretch are not at the same z


@pytest.mark.parametrize(("alpha", "epsilon"), [(0.05, 0.5), (0.15, 1.0), (0.5, 2.0)])
def test_smooth_gamma_hides_every_neighbor_of_every_establishment_of_a_cell(alpha: float, epsilon: float) -> None:
    """One of two establishments takes the value of a neighbor: the total moves, and the scale may."""
    values, z = [0.0, 1.0, 3.0, 6.6, 20.0, 1000.0, 1e6], np.concatenate([-np.geomspace(1e4, 1e-4, 2000), [0]])
    z = np.concatenate([z, -z])
    for own, other in product(values, values):
        neighbor = max((1 + alpha) * own, own + 1)
        scales = smooth_gamma_scale(np.array([max(own, other), max(neighbor, other)]), alpha, epsilon)
        moved = (z * scales[0] - (neighbor - own)) / scales[1]
        loss = np.log1p(moved**4) + np.log(scales[1]) - np.log1p(z**4) - np.log(scales[0])
        assert np.abs(loss).max() <= 1.01 * epsilon


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0])
@pytest.mark.parametrize("x", [1.0, 48.0, 1e4])
def test_the_fourth_root_loses_as_much_about_a_member_as_its_transformation_moves(order: float, x: float) -> None:
    """Rényi divergence α·ρ with ρ = (f(x + a) − f(a))²/(2σ²), by numerical integration."""
    psi, sigma = FourthRoot(2.0), 0.7
    rho = float(psi.distance(0.0, x)) ** 2 / (2 * sigma**2)
    here, there = float(psi(x)), float(psi(0.0))
    peak = order * here + (1 - order) * there

    def powers(y: float) -> float:
        logs = -order * (y - here) ** 2 - (1 - order) * (y - there) ** 2 + (peak - here) ** 2 * order
        logs += (1 - order) * (peak - there) ** 2
        return math.exp(logs / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))

    outside = -(order * (peak - here) ** 2 + (1 - order) * (peak - there) ** 2) / (2 * sigma**2)
    inside = math.log(quad(powers, peak - 12 * sigma, peak + 12 * sigma)[0])
    assert (inside + outside) / (order - 1) == pytest.approx(order * rho, rel=1e-6)


@pytest.mark.parametrize("x", np.geomspace(0.01, 1e6, 25))
def test_splitting_promises_every_piece_its_mu_and_an_establishment_as_many(x: float) -> None:
    """An establishment that leaves moves a sum by x; noise of T/μ then gives away x·μ/T, at most ⌈x/T⌉·μ."""
    spec = find_spec("paper-equal")
    noise, piece, mu = noise_of("splitting", spec, "m3emp"), reference_of(spec, "m3emp").half_width, 0.7
    assert float(noise.psi.distance(0.0, piece)) / noise.scale(mu) == pytest.approx(mu)
    pieces = math.ceil(x / piece)
    lost = float(noise.psi.distance(0.0, x)) / noise.scale(mu)
    assert lost <= pieces * mu * (1 + 1e-12)
    assert lost > (pieces - 1) * mu  # not one piece fewer would do


def test_smooth_gamma_needs_more_epsilon_than_stretching_costs() -> None:
    with pytest.raises(DomainError, match="needs an epsilon above"):
        smooth_gamma_rate(0.15, 0.4)
    assert smooth_gamma_scale(np.array([0.0, 1000.0]), 0.15, 1.0)[1] == pytest.approx(
        150 * 3**0.75 / (1 - 3 * math.log(1.15))
    )


def test_its_noise_has_variance_1_and_the_stated_density() -> None:
    def density(z: float) -> float:
        return math.sqrt(2) / math.pi / (1 + z**4)

    assert quad(density, -np.inf, np.inf)[0] == pytest.approx(1)
    assert quad(lambda z: z * z * density(z), -np.inf, np.inf)[0] == pytest.approx(1)
    assert quad(lambda z: abs(z) * density(z), -np.inf, np.inf)[0] == pytest.approx(1 / math.sqrt(2))
    drawn = draws.fourth_power(100_000, SeededEntropy(7))
    assert kstest(_fourth_power_below(drawn), "uniform").pvalue > 1e-3
    assert kstest(_fourth_power_below(0.9 * drawn), "uniform").pvalue < 1e-9
    assert kstest(_fourth_power_below(1.1 * drawn), "uniform").pvalue < 1e-9


def test_laplace_and_ramp_are_drawn_as_stated() -> None:
    drawn = draws.laplace(100_000, SeededEntropy(8))
    assert kstest(drawn, "laplace").pvalue > 1e-3
    assert kstest(1.1 * drawn, "laplace").pvalue < 1e-9
    ramp = draws.ramp(100_000, 0.1, 0.25, SeededEntropy(9))
    assert kstest(ramp, lambda d: 1 - ((0.25 - d) / 0.15) ** 2).pvalue > 1e-3
    assert kstest(ramp, "uniform", (0.1, 0.15)).pvalue < 1e-9


def test_gaussian_noise_is_that_of_the_one_door() -> None:
    drawn = draws.gaussian(100_000, SeededEntropy(8))
    assert kstest(drawn, "norm").pvalue > 1e-3
    assert np.array_equal(drawn, draws.gaussian(100_000, SeededEntropy(8)))


def test_at_the_reference_all_methods_protect_the_same() -> None:
    protection = Protection(Sqrt(), 0.5)
    found = Reference.of(protection, 1.0, typical=7.0)
    assert found.alpha == pytest.approx(0.15)
    low, high = protection.interval(found.size)
    assert high == pytest.approx(1.15 * found.size)
    assert 2 * found.half_width == pytest.approx(high - low)
    thousands = Reference.of(Protection(Sqrt(), 50.0), 1.0, typical=7.0)
    assert thousands.size == pytest.approx(10_000 * found.size)  # γ scales with √x


@pytest.mark.parametrize("protection", [Protection(Log(), 0.05), Protection(Log(), 0.2), Protection(Log(1), 0.2)])
def test_where_the_reach_is_nowhere_as_asked_the_reference_is_a_typical_size(protection: Protection) -> None:
    found = Reference.of(protection, 1.0, typical=40.0)
    assert found.size == 40.0
    assert found.alpha == pytest.approx(protection.interval(40.0).high / 40.0 - 1)


def _is_private(missed: FloatArray, mu: float) -> bool:
    """Whether no test misses less often than the best one between N(0,1) and N(μ,1)."""
    return bool((missed >= ndtr(ndtri(1 - GRID) - mu) - 1e-12).all())


def _fourth_power_below(z: FloatArray) -> FloatArray:
    root = math.sqrt(2) * z
    square = z * z
    logs = np.log((square + root + 1) / (square - root + 1)) / (4 * math.pi)
    below: FloatArray = 0.5 + logs + (np.arctan(root + 1) + np.arctan(root - 1)) / (2 * math.pi)
    return below
