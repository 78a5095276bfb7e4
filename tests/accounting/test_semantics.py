"""What the promise means to establishments, firms, people and membership."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import ndtr

from gedp.accounting.composition import PrivacyLoss, Promise
from gedp.accounting.semantics import (
    Statement,
    chance_within,
    establishment,
    existence_mu,
    firm_loss,
    hidden_existence,
    mu_for_chance,
    person,
    record_distance,
    record_mu,
)
from gedp.errors import DomainError
from gedp.neighbors import Log, Protection, Signed, Sqrt, narrow
from tests.helpers.builder import rehearsed, spec_of, table_of
from tests.helpers.strategies import positive_values, protections, values

WAGES = Protection(Sqrt(), 100)
LOSS = PrivacyLoss.of("0.5")


def membership_mu(protection: Protection, loss: PrivacyLoss, x: float) -> float:
    """That of the existence of an establishment with one attribute."""
    return existence_mu({"x": protection}, loss, {"x": x})


def test_establishment_of_a_million() -> None:
    assert establishment(WAGES, LOSS, 1_000_000) == Statement(810_000, 1_210_000, 0.5)


def test_wider_intervals_cost_more() -> None:
    assert establishment(WAGES, LOSS, 1_000_000, k=3) == Statement(490_000, 1_690_000, 1.5)


def test_firm_pays_for_each_of_its_establishments() -> None:
    assert firm_loss(LOSS, 4).mu == 2.0


def test_person_alone_and_in_a_crowd() -> None:
    alone = person(WAGES, LOSS, 20_000, 20_000)
    assert (alone.low, alone.high) == pytest.approx((1_715.7, 58_284.3), abs=0.05)
    assert person(WAGES, LOSS, 20_000, 1_000_000) == Statement(0, 230_000, 0.5)
    assert person(WAGES, LOSS, 200_000, 1_000_000) == Statement(10_000, 410_000, 0.5)
    assert person(WAGES, LOSS, 20_000, 1_000_000, k=2).mu == 1.0
    assert person(WAGES, LOSS, 0, 1_000_000) == Statement(0, 210_000, 0.5)
    for value in (20_001, -1):
        with pytest.raises(DomainError, match="share"):
            person(WAGES, LOSS, value, 20_000)


def test_membership_counts_the_steps_to_zero() -> None:
    employment = Protection(Sqrt(), 0.5)
    assert membership_mu(employment, LOSS, 1) == 1.0  # two steps
    assert membership_mu(employment, LOSS, 36) == 6.0  # twelve
    assert membership_mu(employment, LOSS, 0.2) == 0.5
    assert membership_mu(employment, LOSS, 0) == 0.0
    assert membership_mu(Protection(Log(), 0.1), LOSS, 3) == math.inf
    assert membership_mu(Protection(Log(), 0.1), LOSS, 0) == 0.0


@given(protections, protections, values, values, values)
def test_records_are_as_far_apart_as_their_furthest_attribute(
    one: Protection, other: Protection, x: float, y: float, same: float
) -> None:
    both = {"one": one, "other": other}
    alone = membership_mu(one, LOSS, x)
    together = existence_mu(both, LOSS, {"one": x, "other": y})
    assert together == max(alone, membership_mu(other, LOSS, y))
    assert record_mu(both, LOSS, {"one": same, "other": y}, {"one": same, "other": y}) == 0


@given(protections, st.integers(1, 40))
def test_what_hides_from_nothing_in_k_steps_is_within_k_steps(protection: Protection, k: int) -> None:
    largest = hidden_existence(protection, k)
    assert membership_mu(protection, LOSS, largest * (1 - 1e-11)) <= k * LOSS.mu * (1 + 1e-12)
    if math.isfinite(protection.psi.at_zero):
        assert membership_mu(protection, LOSS, 1.001 * largest) > k * LOSS.mu


PROMISE = Promise({"emp": Protection(Sqrt(), 0.5), "wage": WAGES}, LOSS)


def test_records_are_as_far_apart_as_the_attribute_that_differs_most() -> None:
    apart = record_distance(PROMISE, {"emp": 36, "wage": 500_000}, {"emp": 40, "wage": 1_000_000})
    assert apart.steps_of == {"emp": 1, "wage": 3}
    assert (apart.steps, apart.furthest, apart.mu, apart.is_close) == (3, ("wage",), 1.5, False)
    close = record_distance(PROMISE, {"emp": 36, "wage": 500_000}, {"emp": 40, "wage": 600_000})
    assert (close.steps, close.furthest, close.mu, close.is_close) == (1, ("emp", "wage"), 0.5, True)
    same = record_distance(PROMISE, {"emp": 0, "wage": 1}, {"emp": 0, "wage": 1})
    assert (same.steps, same.furthest, same.mu, same.is_close) == (0, (), 0.0, True)
    log = Promise({"emp": Protection(Log(), 0.1)}, LOSS)
    assert record_distance(log, {"emp": 0}, {"emp": 1}).mu == math.inf
    assert record_distance(log, {"emp": 0}, {"emp": 0}).mu == 0


@given(protections, protections, values, values, values, values)
@example(WAGES, narrow(Protection(Sqrt(), 1.0), Protection(Log(), 0.25)), 0.0, 0.0, 0.0, 0.0)
def test_the_metric_is_that_of_the_definition(
    first: Protection, second: Protection, a: float, b: float, c: float, d: float
) -> None:
    """The largest ⌈|ψ(x) − ψ(y)|/γ⌉, symmetric; close if and only if every attribute is."""
    promise = Promise({"a": first, "b": second}, LOSS)
    x, y = {"a": a, "b": b}, {"a": c, "b": d}
    apart = record_distance(promise, x, y)
    assert apart == record_distance(promise, y, x)
    assert apart.steps == max(float(first.steps(a, c)), float(second.steps(b, d)))
    assert apart.is_close == bool(first.is_close(a, c) and second.is_close(b, d))
    if math.isfinite(apart.steps):
        assert apart.mu == pytest.approx(apart.steps * LOSS.mu)


def test_every_fault_of_two_records_is_named_at_once() -> None:
    with pytest.raises(DomainError) as refused:
        record_distance(PROMISE, {"emp": -1, "pay": 3}, {"emp": math.nan, "wage": 3})
    for part in ("pay is not an attribute", "wage has no value", "emp is not signed", "emp must be a finite number"):
        assert part in str(refused.value)
    signed = Promise({"emp": Protection(Signed(Sqrt()), 0.5)}, LOSS)
    assert record_distance(signed, {"emp": -1}, {"emp": 1}).steps == 4


def test_what_is_wrong_with_a_record_is_said_in_the_order_of_the_attributes() -> None:
    promise = Promise(dict.fromkeys("hgfedcba", WAGES), LOSS)
    with pytest.raises(DomainError) as raised:
        record_distance(promise, dict.fromkeys("abcdefgh", math.inf), dict.fromkeys("abcdefgh", 1.0))
    assert [part.split()[0] for part in str(raised.value).split("; ")] == list("hgfedcba")


shares = st.floats(0.001, 0.9)


@given(protections, positive_values, shares, st.floats(0.01, 10), st.floats(-3, 3))
def test_no_estimate_from_one_answer_is_more_likely_to_be_near(
    protection: Protection, x: float, share: float, mu: float, shift: float
) -> None:
    """Of all estimates ψ⁻¹(ω + c), the one whose stretch of ω lies around the truth is within the share most often."""
    low, high = (float(protection.psi.distance(x, x * (1 + side * share))) for side in (-1, 1))
    sigma, middle = protection.gamma / mu, (low + high) / 2
    chances = [float(ndtr((high - c) / sigma) - ndtr((low - c) / sigma)) for c in (middle, middle + shift * sigma, 0.0)]
    stated = chance_within(protection, mu, x, share)
    assert chances[0] == pytest.approx(stated, rel=1e-6, abs=1e-9)
    assert max(chances) <= stated * (1 + 1e-6) + 1e-9
    assert stated <= chance_within(protection, 1.5 * mu, x, share)
    assert stated <= chance_within(protection, mu, x, 1.1 * share)


@given(protections, positive_values, shares, st.floats(0.01, 0.99))
def test_the_mu_for_a_chance_has_that_chance(protection: Protection, x: float, share: float, chance: float) -> None:
    assert chance_within(protection, mu_for_chance(protection, chance, x, share), x, share) == pytest.approx(chance)


@given(protections, st.floats(0.001, 1e6), shares, st.floats(0, 5))
def test_a_clipped_sum_tells_no_more_than_an_answer_on_psi(
    protection: Protection, x: float, share: float, further: float
) -> None:
    """Where its bound lies an interval or more above all values within the share, as docs/privacy-model.md argues."""
    low, high = x * (1 - share), x * (1 + share)
    bound = float(protection.psi.moved(high, (1 + further) * protection.gamma))
    moved_in_noise = (high - low) / (bound - float(protection.low(bound)))
    assert moved_in_noise <= float(protection.psi.distance(low, high)) / protection.gamma * (1 + 1e-6)


@pytest.mark.parametrize(
    ("settings", "x"),
    [({"psi": "log", "gamma": 0.106}, 50_000), ({"psi": "sqrt", "gamma": 0.489, "shift": 10}, 100)],
)
@pytest.mark.parametrize("mu", [0.6, 2])
def test_figures_of_single_establishments_are_as_near_as_stated(
    settings: dict[str, float | str], x: int, mu: float
) -> None:
    """Within 4 standard errors over 10,000 cells; 15% more or less noise would show."""
    rows, share = 10_000, 0.1
    query = {"name": "cells", "by": ["cnty"], "mu": mu, "mechanism": "psi"}
    spec = spec_of(data={"id": None}, groupers={}, attributes={"emp": settings}, queries=[query])
    table = table_of(rows, cnty=[f"{i:05}" for i in range(rows)], emp=np.full(rows, x))
    estimates = rehearsed(spec, table).answers("cells")["estimate"].to_numpy()
    near = float(np.mean(np.abs(estimates - x) <= share * x))
    protection = spec.policy.attributes["emp"].protection
    for factor, is_right in ((1, True), (0.85, False), (1.15, False)):
        stated = chance_within(protection, factor * mu, x, share)
        assert (abs(near - stated) <= 4 * math.sqrt(stated * (1 - stated) / rows)) == is_right


def test_within_a_share_of_nothing_there_is_nothing() -> None:
    assert chance_within(WAGES, 2, 0, 0.1) == 0
    assert mu_for_chance(WAGES, 0.1, 0, 0.1) == math.inf
    assert chance_within(Protection(Log(), 0.1), 1, 5, 1) == 1  # 0 is within 100% of every value
    signed = Protection(Signed(Sqrt()), 0.5)
    assert chance_within(signed, 1, -36, 0.1) == pytest.approx(chance_within(signed, 1, 36, 0.1))
    for share in (0, math.nan, math.inf):
        with pytest.raises(DomainError, match="share of a value"):
            chance_within(WAGES, 1, 10, share)
    with pytest.raises(DomainError, match="between 0 and 1"):
        mu_for_chance(WAGES, 1, 10, 0.1)


def test_a_promise_about_nothing_has_no_distance() -> None:
    apart = record_distance(Promise({}, PrivacyLoss.of("0.7")), {}, {})
    assert (apart.steps, apart.mu, apart.is_close) == (0.0, 0.0, True)
