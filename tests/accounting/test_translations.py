"""μ in the terms of other frameworks and back: against integrals and multiprecision, always on the safe side."""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from gedp import PrivacyLoss, gamma_for_sampling, sampling_fraction
from gedp.accounting.translations import mu_of_epsilon_delta, mu_of_rho, translations
from gedp.errors import DomainError

decimals = st.decimals(Decimal("1e-9"), Decimal("1e6"), places=9)


@given(decimals)
@example(Decimal("0.245"))
@example(Decimal("0.5"))
@example(Decimal("1e-12"))
@example(Decimal("1e15"))
@example(Decimal("0.244" + "9" * 60))  # so close to 0.7 that decimals of the usual length take it for that
def test_mu_of_rho_is_the_largest_of_its_digits(rho: Decimal) -> None:
    mu = mu_of_rho(rho)
    above = mu + Decimal(1).scaleb(mu.adjusted() - 14)
    assert Fraction(mu) ** 2 <= 2 * Fraction(rho) < Fraction(above) ** 2
    assert len(mu.as_tuple().digits) <= 15


def test_a_rho_whose_mu_is_a_decimal_gives_exactly_that() -> None:
    assert mu_of_rho(Decimal("0.245")) == Decimal("0.7")
    assert PrivacyLoss.of_rho("0.245") == PrivacyLoss.of("0.7")
    assert PrivacyLoss.of("0.7").rho == Fraction("0.245")


@settings(deadline=None, max_examples=40)
@given(st.decimals(Decimal("1e-6"), 50, places=6), st.integers(1, 12), st.integers(1, 5))
@example(Decimal("1e-12"), 12, 1)
@example(Decimal("1e15"), 12, 1)
def test_mu_of_epsilon_delta_is_the_largest_of_its_digits(epsilon: Decimal, places: int, digit: int) -> None:
    epsilon, delta = max(epsilon, Decimal("1e-12")), Decimal(digit).scaleb(-places)
    mu = mu_of_epsilon_delta(epsilon, delta)

    def delta_of(m: Decimal) -> mpmath.mpf:
        with mpmath.workdps(80):
            m, e = mpmath.mpf(str(m)), mpmath.mpf(str(epsilon))
            return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)

    assert delta_of(mu) <= mpmath.mpf(str(delta)) < delta_of(mu + Decimal(1).scaleb(mu.adjusted() - 11))
    assert len(mu.as_tuple().digits) <= 12


@pytest.mark.parametrize(("epsilon", "delta"), [("0", "0.1"), ("1", "0"), ("1", "1"), ("-1", "0.1")])
def test_what_is_no_epsilon_or_delta_is_refused(epsilon: str, delta: str) -> None:
    with pytest.raises(DomainError):
        mu_of_epsilon_delta(Decimal(epsilon), Decimal(delta))


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.31])
@pytest.mark.parametrize("order", [1.5, 2, 8])
def test_renyi_is_the_divergence_of_the_two_gaussians(mu: float, order: float) -> None:
    p, q = stats.norm(0, 1), stats.norm(mu, 1)
    integral, _ = integrate.quad(lambda x: math.exp(order * p.logpdf(x) + (1 - order) * q.logpdf(x)), -40, 40)
    assert PrivacyLoss.of(mu).renyi(order) == pytest.approx(math.log(integral) / (order - 1), rel=1e-6)


def test_every_translation_is_that_of_the_same_mu() -> None:
    loss = PrivacyLoss.of("2.31")
    said = translations(loss)
    assert said.rho == Fraction("2.31") ** 2 / 2
    assert all(value == pytest.approx(order * float(said.rho)) for order, value in said.renyi)
    for delta, epsilon in said.epsilons:
        assert loss.delta(epsilon) <= delta == pytest.approx(loss.delta(epsilon), rel=1e-6)
    for alarms, missed in said.trade_off:
        assert missed == pytest.approx(1 - loss.power(alarms))
    words = " ".join(said.sentences)
    for part in ("ρ = 2.6681", "5.3361 of order 2", "ε = 13.1078 at δ = 1e-06", "25.2% at 5.0%"):
        assert part in words, part
    assert "30.0% at 5.0%" in replace(said, trade_off=((0.05, 0.3),)).sentences[-1]  # down, but not from a whole
    assert "29.9% at 5.0%" in replace(said, trade_off=((0.05, 0.29999),)).sentences[-1]
    for order in (1, 0, math.inf, math.nan):
        with pytest.raises(DomainError, match="order"):
            loss.renyi(order)


@given(st.floats(1e-2, 1e3), st.floats(1e-2, 1e3))
def test_the_sample_leads_back_to_gamma(gamma: float, person: float) -> None:
    sample = sampling_fraction(gamma, person)
    assert 0 < sample.without_replacement < 1
    again = gamma_for_sampling(sample.without_replacement, person, replacement=False)
    assert again == pytest.approx(gamma, rel=1e-6)
    if sample.with_replacement <= 1:
        assert gamma_for_sampling(sample.with_replacement, person) == pytest.approx(gamma)


@pytest.mark.parametrize("replacement", [True, False])
def test_a_sample_of_that_size_is_as_uncertain_as_the_interval(replacement: bool) -> None:
    """People of a region are asked; the estimate of an establishment's 900 has the standard deviation 2γ√900."""
    people, x, gamma, trials = 2_000_000, 900, 1.5, 20_000
    sample = sampling_fraction(gamma)
    q = sample.with_replacement if replacement else sample.without_replacement
    rng, n = np.random.default_rng(4), round(q * people)
    found = rng.binomial(n, x / people, trials) if replacement else rng.hypergeometric(x, people - x, n, trials)
    deviation = float(np.std(found / q))
    assert deviation == pytest.approx(2 * gamma * math.sqrt(x), rel=4 / math.sqrt(2 * trials) + x / people)


@pytest.mark.parametrize("gamma", [0.0, -1.0, math.inf, math.nan])
def test_what_is_no_gamma_or_fraction_is_refused(gamma: float) -> None:
    with pytest.raises(DomainError):
        sampling_fraction(gamma)
    with pytest.raises(DomainError):
        sampling_fraction(1.0, gamma)
    with pytest.raises(DomainError):
        gamma_for_sampling(gamma)
    with pytest.raises(DomainError):
        gamma_for_sampling(1.0, replacement=False)
