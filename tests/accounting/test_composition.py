"""The mathematics of μ: exact composition, the attacker's power, (ε, δ), and two publishers."""

import math
from decimal import Decimal
from fractions import Fraction
from itertools import permutations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from gedp.accounting.composition import (
    PrivacyLoss,
    Promise,
    compose,
    compose_publishers,
    delta,
    epsilon,
    exact,
    mu_for,
    mu_for_epsilon_delta,
    power,
    significance,
    trade_off,
)
from gedp.errors import DomainError
from gedp.neighbors import Linear, Protection, Signed, Sqrt

decimals = st.decimals(0, 100, places=4)
mus = st.floats(0.01, 12)
probabilities = st.floats(1e-6, 1 - 1e-6)


def test_decimals_are_what_they_say() -> None:
    assert exact("0.7") == exact(0.7) == exact(Decimal("0.70")) == Fraction(7, 10)
    assert PrivacyLoss.of("0.7").mu_squared == Fraction(49, 100)
    assert PrivacyLoss.of("0.3") + PrivacyLoss.of("0.4") == PrivacyLoss.of("0.5")


def test_numpy_numbers_are_numbers() -> None:
    assert PrivacyLoss.of(np.int32(70_000)).mu_squared == 4_900_000_000  # type: ignore[arg-type]
    assert PrivacyLoss.of(np.float64(0.7)) == PrivacyLoss.of("0.7")
    PrivacyLoss.of(mu_for(0.8, 0.05))  # type: ignore[arg-type]  # what the library returns, it takes
    assert PrivacyLoss.of("0.5").group(np.int64(3)) == PrivacyLoss.of("1.5")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        PrivacyLoss.of("0.5").group(2.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", ["much", "nan", "inf", "", "-0.1", None])
def test_what_is_no_decimal_is_refused(bad: str) -> None:
    with pytest.raises(DomainError):
        PrivacyLoss.of(bad)


def test_a_loss_below_zero_is_refused() -> None:
    assert PrivacyLoss(Fraction(0)).mu == 0
    with pytest.raises(DomainError, match="a privacy loss is 0 or more"):
        PrivacyLoss(Fraction(-1, 10**30))


@given(st.lists(decimals, max_size=8), st.randoms())
def test_composition_is_exact_in_any_order(parts: list[Decimal], random: object) -> None:
    losses = [PrivacyLoss.of(part) for part in parts]
    total = compose(losses)
    random.shuffle(losses)  # type: ignore[attr-defined]
    assert compose(losses) == total
    assert total.mu_squared * 10**8 == sum(int(part * 10**4) ** 2 for part in parts)


@given(decimals, st.integers(1, 30), st.integers(1, 30))
def test_group_privacy_multiplies_mu(mu: Decimal, m: int, n: int) -> None:
    loss = PrivacyLoss.of(mu)
    assert loss.group(m) == PrivacyLoss.of(mu * m)
    assert loss.group(m).group(n) == loss.group(m * n)
    with pytest.raises(DomainError):
        loss.group(0)


def test_power_is_known_at_mu_1() -> None:
    assert float(power(1, 0.05)) == pytest.approx(0.259511, abs=1e-6)
    assert float(power(0, 0.05)) == pytest.approx(0.05, rel=1e-12)


@given(mus, probabilities)
def test_power_and_significance_take_each_other_back(mu: float, alpha: float) -> None:
    reached = power(mu, alpha)
    if reached < 1 - 1e-9:
        assert float(significance(mu, reached)) == pytest.approx(alpha, rel=1e-5)
        assert float(mu_for(reached, alpha)) == pytest.approx(mu, rel=1e-6, abs=1e-6)
    assert float(trade_off(mu, alpha)) == pytest.approx(1 - float(reached), abs=1e-12)


#: mu at which more than 1e-12 is missed, beside the rate of false alarms.
not_certain = probabilities.flatmap(
    lambda alpha: st.tuples(st.floats(0.01, min(12, float(7 - ndtri(alpha)))), st.just(alpha))
)


@given(not_certain)
def test_trade_off_curve_is_its_own_inverse(mu_and_alpha: tuple[float, float]) -> None:
    mu, alpha = mu_and_alpha
    assert float(trade_off(mu, trade_off(mu, alpha))) == pytest.approx(alpha, rel=1e-4)


def oracle_delta(mu: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(80):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


@given(st.floats(1e-5, 20), st.floats(0, 60))
def test_delta_is_exact(mu: float, eps: float) -> None:
    assert delta(mu, eps) == pytest.approx(float(oracle_delta(mu, eps)), rel=1e-8, abs=1e-300)


@given(st.floats(0.01, 20), st.floats(-30, -1).map(lambda e: 10.0**e))
def test_epsilon_is_the_least_and_never_too_small(mu: float, d: float) -> None:
    eps = epsilon(mu, d)
    assert delta(mu, eps) <= d
    if eps > 1e-6:
        assert delta(mu, eps * (1 - 1e-7)) > d
    largest = mu_for_epsilon_delta(eps, d)
    assert delta(largest, eps) <= d
    if eps > 0:
        assert largest == pytest.approx(mu, rel=1e-6)


def test_epsilon_is_zero_where_delta_covers_all() -> None:
    assert epsilon(0.01, 0.5) == 0.0
    for bad in (0.0, 1.0, -1.0):
        with pytest.raises(DomainError):
            epsilon(1.0, bad)
    with pytest.raises(DomainError):
        mu_for_epsilon_delta(-1.0, 0.1)


def test_tiny_losses_are_rounded_to_the_safe_side() -> None:
    for d in (1e-14, 1e-20):
        largest = mu_for_epsilon_delta(0.0, d)
        assert largest > 0
        assert oracle_delta(largest, 0.0) <= d * (1 + 1e-9)
    with pytest.raises(DomainError):
        delta(1.0, float("nan"))


def test_publishers_with_contradicting_signs_are_named() -> None:
    names = ["profit", *"hgfedcba"]
    a = Promise(dict.fromkeys(names, Protection(Signed(Sqrt()), 1.0)), PrivacyLoss.of(1))
    b = Promise(dict.fromkeys(names, Protection(Sqrt(), 1.0)), PrivacyLoss.of(1))
    with pytest.raises(DomainError, match=r"^profit: "):  # the first, every time
        compose_publishers(a, b)


def test_impossible_power_is_refused() -> None:
    with pytest.raises(DomainError, match="guessing"):
        mu_for(0.01, 0.05)
    with pytest.raises(DomainError, match="between 0 and 1"):
        power(1, 1.5)
    with pytest.raises(DomainError, match="0 or more"):
        power(-1, 0.5)


def test_probabilities_and_losses_are_allowed_up_to_their_ends() -> None:
    assert power(1, [0.0, 1.0]).tolist() == [0, 1]
    assert significance(1, [0.0, 1.0]).tolist() == [0, 1]
    assert trade_off(1, [0.0, 1.0]).tolist() == [1, 0]
    assert float(mu_for(0.3, 0.3)) == 0
    assert (delta(0.0, 1.0), delta(0.0, 0.0)) == (0, 0)
    for probability in (-1e-9, 1 + 1e-9, math.nan):
        with pytest.raises(DomainError, match="between 0 and 1"):
            power(1, probability)
    for mu in (-1e-9, math.inf, math.nan):
        with pytest.raises(DomainError, match="0 or more"):
            power(mu, 0.5)
        with pytest.raises(DomainError, match="0 or more"):
            delta(mu, 1.0)
    for eps in (-1e-9, math.inf):
        with pytest.raises(DomainError, match="epsilon must"):
            delta(1.0, eps)
    with pytest.raises(DomainError, match="at least 1 member"):
        PrivacyLoss.of(1).group(0)
    assert PrivacyLoss.of(1).group(1) == PrivacyLoss.of(1)


def test_two_publishers_narrow_what_they_share_and_compose_their_losses() -> None:
    bls = Promise({"emp": Protection(Sqrt(), 0.5), "wage": Protection(Sqrt(), 50)}, PrivacyLoss.of("1.5"))
    state = Promise({"emp": Protection(Linear(), 20), "hours": Protection(Sqrt(), 2)}, PrivacyLoss.of("2"))
    both = compose_publishers(bls, state)
    assert both.loss == PrivacyLoss.of("2.5")
    assert both.protections["wage"] == bls.protections["wage"]
    assert both.protections["hours"] == state.protections["hours"]
    x = np.array([1.0, 10.0, 1e4])
    shared = both.protections["emp"].interval(x)
    for publisher in (bls, state):
        own = publisher.protections["emp"].interval(x)
        assert (own.low <= shared.low + 1e-9).all()
        assert (own.high >= shared.high - 1e-9).all()
    same = compose_publishers(bls, bls)
    assert same.protections == bls.protections


def test_any_number_of_publishers_compose_in_any_order() -> None:
    gammas, losses = (0.5, 0.3, 0.4), (1, 2, 2)
    publishers = [
        Promise({"emp": Protection(Sqrt(), gamma), f"own{mu}": Protection(Linear(), 1)}, PrivacyLoss.of(mu))
        for gamma, mu in zip(gammas, losses, strict=True)
    ]
    x = np.array([1.0, 10.0, 1e4])
    narrowest = Protection(Sqrt(), min(gammas)).interval(x)
    for order in permutations(publishers):
        together = compose_publishers(*order)
        assert together.loss == PrivacyLoss.of(3)
        assert together.protections.keys() == {"emp", "own1", "own2"}
        np.testing.assert_allclose(together.protections["emp"].interval(x), narrowest, rtol=1e-9)
    assert compose_publishers(publishers[0]) == publishers[0]
