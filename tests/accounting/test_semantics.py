"""What the promise means to establishments, firms, people and membership."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gedp.accounting.composition import PrivacyLoss, Promise
from gedp.accounting.semantics import (
    Statement,
    establishment,
    existence_mu,
    firm_loss,
    hidden_existence,
    person,
    record_distance,
    record_mu,
)
from gedp.errors import DomainError
from gedp.neighbors import Log, Protection, Signed, Sqrt, narrow
from tests.helpers.strategies import protections, values

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
    assert membership_mu(protection, LOSS, largest) <= k * LOSS.mu * (1 + 1e-12)
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
