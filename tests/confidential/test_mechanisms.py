"""The mechanisms: noise of the right size, unbiased estimates, honest intervals, and sensitivities that hold."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest, norm

from gedp.arrays import FloatArray
from gedp.confidential.mechanisms import (
    estab_gaussian,
    pnc_grid,
    pnc_range,
    psi_mechanism,
)
from gedp.errors import DomainError
from gedp.individual.bounds import clipping_bounds
from gedp.neighbors import Linear, Log, Protection, Signed, Sqrt, widen
from gedp.neighbors.estimates import PsiAnswers, no_clipping_tau, psi_variance
from gedp.noise.entropy import SeededEntropy
from gedp.policy import Attribute, Closeness

DRAWS = 200_000


def attribute(psi: str, gamma: str, shift: str = "0", **more: object) -> Attribute:
    return replace(Attribute("x", Closeness(psi, Decimal(gamma), Decimal(shift))), **more)  # type: ignore[arg-type]


WIDENED = attribute("sqrt", "0.5", at_least=(Closeness("linear", Decimal(20)),))
ATTRIBUTES = {
    "sqrt": attribute("sqrt", "0.5"),
    "sqrt shifted": attribute("sqrt", "2", "3"),
    "log": attribute("log", "0.1"),
    "log shifted": attribute("log", "0.3", "1"),
    "linear": attribute("linear", "10"),
    "widened": WIDENED,
    "in cents": attribute("sqrt", "5", unit=Decimal("0.01")),
    "signed": attribute("sqrt", "5", signed=True),
}
MUS = ("0.179", "0.7", "3")


def standard_noise_psi(name: str, mu: str) -> FloatArray:
    """What the ψ-mechanism added, in units of γ/μ, which is what the paper says it should be."""
    chosen = ATTRIBUTES[name]
    sums = np.full(DRAWS, 1234, dtype=np.int64)
    answers = psi_mechanism(chosen, Fraction(mu)).answer(sums, SeededEntropy(5))
    protection = chosen.protection
    exact = float(protection.psi(1234 * float(chosen.unit)))
    return (answers.omega - exact) / (protection.gamma / float(mu))


def standard_noise_pnc(name: str, mu: str) -> FloatArray:
    """What the pnc-mechanism added, in units of Δ/μ at a bound of 400."""
    chosen = ATTRIBUTES[name]
    unit = float(chosen.unit)
    low = float(chosen.protection.interval(400.0).low)
    bounds = clipping_bounds(chosen, np.full(DRAWS, 400.0 * (1 - 1e-10)))
    noisy = pnc_grid(bounds.sensitivity, Fraction(mu)).noisy(np.full(DRAWS, 999_999, dtype=np.int64), SeededEntropy(6))
    return (noisy - 999_999) * unit / ((400.0 - low) / float(mu))


def standard_noise_general(name: str, mu: str) -> FloatArray:
    answer = estab_gaussian(DRAWS, 2.0, Fraction(mu), largest=1e6).noisy(np.full(DRAWS, 3.5), SeededEntropy(8))
    return (answer - 3.5) / (2.0 / float(mu))


CASES: list[tuple[Callable[[str, str], FloatArray], str]] = [
    *((standard_noise_psi, name) for name in ATTRIBUTES),
    *((standard_noise_pnc, name) for name in ATTRIBUTES),
    (standard_noise_general, ""),
]


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize(("noise", "name"), CASES)
def test_noise_is_normal_with_the_stated_scale_and_no_other(
    noise: Callable[[str, str], FloatArray], name: str, mu: str
) -> None:
    drawn = noise(name, mu)
    assert kstest(drawn, norm.cdf).pvalue > 1e-4
    for wrong in (0.9, 1.1):
        assert kstest(drawn * wrong, norm.cdf, method="asymp").pvalue < 1e-12
    # The charges for grid and floating point may only add to it.
    assert 0.99 < drawn.std() < 1.02


@pytest.mark.parametrize("mu", ["0.7", "2"])
@pytest.mark.parametrize("x", [5, 60, 1_000, 1_000_000])
@pytest.mark.parametrize("name", ["sqrt", "sqrt shifted", "log", "log shifted", "linear"])
def test_estimates_are_unbiased_with_the_stated_variance_and_coverage(name: str, x: int, mu: str) -> None:
    chosen = ATTRIBUTES[name]
    mechanism = psi_mechanism(chosen, Fraction(mu))
    answers = mechanism.answer(np.full(DRAWS, x, dtype=np.int64), SeededEntropy(x))
    estimates = answers.estimate()
    variance = float(psi_variance(mechanism.psi, float(x), mechanism.sigma))
    assert abs(estimates.mean() - x) < 4.5 * np.sqrt(variance / DRAWS)
    assert estimates.var() == pytest.approx(variance, rel=0.03)
    low, high = answers.interval(0.95)
    assert 0.945 < np.mean((low <= x) & (x <= high)) < 0.955


@pytest.mark.parametrize("name", ["widened", "signed"])
@pytest.mark.parametrize("x", [1_000, 1_000_000])
def test_other_functions_have_a_small_bias(name: str, x: int) -> None:
    mechanism = psi_mechanism(ATTRIBUTES[name], Fraction(1))
    answers = mechanism.answer(np.full(DRAWS, x, dtype=np.int64), SeededEntropy(3))
    estimates, deviation = answers.estimate(), np.sqrt(psi_variance(mechanism.psi, float(x), mechanism.sigma))
    assert abs(estimates.mean() - x) < 0.02 * deviation
    assert estimates.std() == pytest.approx(float(deviation), rel=0.03)


def test_the_formulas_of_the_paper() -> None:
    sigma = 0.8
    omega = np.array([3.0, -0.5])
    np.testing.assert_allclose(PsiAnswers(Sqrt(), omega, sigma).estimate(), omega**2 - sigma**2)
    np.testing.assert_allclose(PsiAnswers(Log(), omega, sigma).estimate(), np.exp(omega - sigma**2 / 2))
    assert float(psi_variance(Sqrt(), 10.0, sigma)) == pytest.approx(2 * sigma**2 * (20 + sigma**2))
    assert float(psi_variance(Log(), 10.0, sigma)) == pytest.approx(100 * np.expm1(sigma**2))
    # Evaluated at 0 where the estimate is negative: at least 2σ⁴ for sqrt.
    assert PsiAnswers(Sqrt(), omega, sigma).variance()[1] == pytest.approx(2 * sigma**4)
    low, high = PsiAnswers(Sqrt(), omega, sigma).interval(0.95)
    assert low.tolist()[1] == 0.0  # clamped before it is squared
    assert high[1] == pytest.approx((-0.5 + 1.959964 * sigma) ** 2, rel=1e-5)
    assert PsiAnswers(Sqrt(), np.array([-9.0]), sigma).upper_bounds(3.0)[0] == 0.0


def test_delta_estimates_agree_with_the_exact_ones() -> None:
    """A widened function that is sqrt where it matters must give sqrt's own estimate and variance."""
    psi = widen(Protection(Sqrt(), 0.5), Protection(Linear(), 1)).psi
    ours = PsiAnswers(psi, psi(np.array([100.0, 5_000.0])) + 0.3, 0.4)
    plain = PsiAnswers(Sqrt(), Sqrt()(np.array([100.0, 5_000.0])) + 0.3 * 0.5, 0.4 * 0.5)
    np.testing.assert_allclose(ours.estimate(), plain.estimate(), rtol=1e-9)
    np.testing.assert_allclose(ours.variance(), plain.variance(), rtol=1e-9)


@pytest.mark.parametrize("signed", [False, True])
def test_bounds_fail_as_rarely_as_promised(signed: bool) -> None:
    chosen = attribute("sqrt", "0.5", signed=signed)
    establishments, zeta = 400, Fraction(1, 10)
    tau = no_clipping_tau(establishments, 3, zeta, signed=signed)
    mechanism = psi_mechanism(chosen, Fraction("0.6"))
    truth = np.tile(np.array([-7 if signed else 3, 40], dtype=np.int64), 3 * establishments // 2)
    failed = 0
    entropy = SeededEntropy(11)
    for _ in range(1000):
        bounds = mechanism.answer(truth, entropy).upper_bounds(tau)
        failed += bool((np.abs(truth) > bounds).any())
    assert failed / 1000 < 0.1 + 4 * np.sqrt(0.1 * 0.9 / 1000)
    if not signed:  # both sides are charged where one is nearly impossible, so there it is rarer
        assert failed / 1000 > 0.1 - 4 * np.sqrt(0.1 * 0.9 / 1000)


attributes = st.sampled_from(list(ATTRIBUTES.values()))
unsigned = st.sampled_from([each for each in ATTRIBUTES.values() if not each.signed])


@given(attributes, st.integers(0, 3_000), st.data())
@settings(max_examples=300)
def test_clipped_values_of_close_records_differ_by_at_most_the_sensitivity(
    chosen: Attribute, upper: int, data: st.DataObject
) -> None:
    """Brute force: x anywhere up to twice the bound, y at the edges of its interval, whole units inside it."""
    unit, protection = float(chosen.unit), chosen.protection
    bounds = clipping_bounds(chosen, np.array([upper * unit]))
    bound = int(bounds.bounds[0])
    assert bound >= upper
    signed = isinstance(protection.psi, Signed)
    x = data.draw(st.integers(-2 * bound if signed else 1, 2 * bound))
    low, high = protection.interval(x * unit)
    ends = [int(np.ceil(low / unit)), int(np.floor(high / unit))]
    for y in ends:
        if y != 0 or np.isfinite(protection.psi.at_zero):
            moved = abs(np.clip(x, -bound, bound) - np.clip(y, -bound, bound))
            assert moved <= bounds.sensitivity[0]


@given(unsigned, st.integers(1, 10**6), st.integers(0, 10**9), st.sampled_from(MUS))
@settings(max_examples=300)
def test_psi_of_neighbouring_sums_moves_by_at_most_mu_sigma_on_the_grid(
    chosen: Attribute, x: int, rest: int, mu: str
) -> None:
    """As computed: in floats, after rounding to the grid."""
    unit, protection = float(chosen.unit), chosen.protection
    mechanism = psi_mechanism(chosen, Fraction(mu))
    low, high = protection.interval(x * unit)
    for y in (int(np.ceil(low / unit)), int(np.floor(high / unit))):
        sums, grid = np.array([rest + x, rest + y], dtype=np.int64), mechanism.grid
        steps = grid.to_steps(sums if isinstance(mechanism.psi, Linear) else mechanism.psi(sums * unit))
        assert abs(int(steps[0]) - int(steps[1])) * float(grid.step) <= float(mu) * float(grid.sigma)


@given(
    st.sampled_from(["sqrt", "log shifted", "linear", "widened", "in cents", "signed"]),
    st.floats(-12, 3).map(lambda exponent: Fraction(10.0**exponent)),
    st.floats(-9, 6).map(lambda exponent: Decimal(10.0**exponent)),
    st.lists(st.floats(0, 1e300), min_size=1, max_size=4),
)
def test_clipped_sums_are_never_without_a_grid(name: str, mu: Fraction, gamma: Decimal, upper: list[float]) -> None:
    """Bounds are found after the identity answers were paid for; whatever they are, the sums can be answered."""
    chosen = ATTRIBUTES[name]
    chosen = replace(chosen, closeness=replace(chosen.closeness, gamma=min(gamma, Decimal(50))))
    most, least = pnc_range(mu)
    bounds = clipping_bounds(chosen, np.array(upper), most=most, least=least)
    plain = clipping_bounds(chosen, np.array(upper))
    assert (bounds.bounds <= plain.bounds).all()
    kept = bounds.bounds == plain.bounds
    assert (bounds.sensitivity >= plain.sensitivity)[kept].all()
    if mu > Fraction(1, 1000) and gamma > Decimal("0.01"):
        assert kept[np.array(upper) / float(chosen.unit) < 1e11].all()
    grid = pnc_grid(bounds.sensitivity, mu)
    assert np.isfinite(grid.noisy(np.zeros(len(upper), dtype=np.int64), SeededEntropy(1))).all()
    assert (grid.variance >= (bounds.sensitivity / float(mu)) ** 2).all()


def test_the_general_mechanism_charges_the_rounding_of_every_entry() -> None:
    """With d entries, neighbours at the stated L2 distance stay within μσ after rounding."""
    d, mu, sensitivity = 400, Fraction("0.5"), 1.0
    rng = np.random.default_rng(1)
    start = rng.uniform(-100, 100, d)
    towards = rng.normal(size=d)
    end = start + sensitivity * towards / np.linalg.norm(towards)
    answers = [
        estab_gaussian(d, sensitivity, mu, largest=200.0).noisy(values, SeededEntropy(4)) for values in (start, end)
    ]
    # The same noise on both, so the difference is that of the rounded statistics.
    moved = float(np.linalg.norm(answers[1] - answers[0]))
    spread = estab_gaussian(d, sensitivity, mu, largest=200.0).noisy(np.zeros(DRAWS), SeededEntropy(4)).std()
    assert moved <= float(mu) * spread * 1.01
    assert spread == pytest.approx(2.0, rel=0.01)
    with pytest.raises(DomainError, match="missing or beyond"):
        estab_gaussian(1, 1.0, mu, largest=1.0).noisy([np.nan], SeededEntropy(4))
