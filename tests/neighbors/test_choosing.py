"""ψ and γ from what must be protected: all of it, with no more γ than that takes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.errors import DomainError, FaultsError
from gedp.neighbors import Demand, Log, Protection, Sqrt, choose

sizes = st.floats(0.1, 1e9)
demands = st.builds(
    lambda size, below, above: Demand(size, size * (1 - below), size * (1 + above)),
    sizes,
    st.floats(0.01, 0.9),
    st.floats(0.01, 3),
)


@given(st.lists(demands, min_size=1, max_size=5))
def test_everything_asked_is_close_and_less_gamma_would_not_do(asked: list[Demand]) -> None:
    found = choose(asked)
    assert {type(each.protection.psi) for each in found} == {Sqrt, Log}
    for candidate in found:
        protection = candidate.protection
        for demand in asked:
            assert protection.is_close(demand.size, demand.low)
            assert protection.is_close(demand.size, demand.high)
        less = Protection(protection.psi, protection.gamma * 0.989)  # three digits are rounded up by at most 1%
        assert not all(less.is_close(d.size, end) for d in asked for end in (d.low, d.high))
        assert min(candidate.times) >= 1 - 1e-9
    assert [each.excess for each in found] == sorted(each.excess for each in found)


@pytest.mark.parametrize(("psi", "gamma"), [(Sqrt(), 0.5), (Log(), 0.125), (Log(20), 0.0625), (Sqrt(50), 2.5)])
def test_what_a_protection_gives_leads_back_to_it(psi: Sqrt | Log, gamma: float) -> None:
    protection = Protection(psi, gamma)
    asked = [Demand(size, *map(float, protection.interval(size))) for size in (7.0, 90.0, 1_000.0, 40_000.0)]
    closest = choose(asked)[0].protection
    assert closest.psi == psi
    assert closest.gamma == pytest.approx(gamma, rel=0.01)


def test_ways_to_write_it() -> None:
    assert Demand.parse("10:2") == Demand(10, 8, 12)
    assert Demand.parse("10:+2") == Demand(10, 10, 12)
    assert Demand.parse("10:-2") == Demand(10, 8, 10)
    assert Demand.parse("1000: 5%") == Demand(1000, 950, 1050)
    assert Demand.parse("2:5") == Demand(2, 0, 7)


@pytest.mark.parametrize("text", ["10", "a:2", "-5:1", "10:0", "10:5%%", "1e20:1", "nan:1", "10:inf", "0:10%", ""])
def test_what_is_no_size_and_width(text: str) -> None:
    with pytest.raises(FaultsError, match="SIZE:WIDTH"):
        choose([text])


def test_nothing_asked() -> None:
    with pytest.raises(DomainError, match="at least one size"):
        choose([])


def test_no_gamma_of_log_reaches_zero() -> None:
    assert not any(each.protection.psi == Log() for each in choose(["0:3", "100:10%"]))
    assert any(isinstance(each.protection.psi, Log) for each in choose(["0:3", "100:10%"]))


def test_one_size_says_nothing_about_a_shift() -> None:
    assert [each.protection.psi for each in choose(["10:+2"])] == [Sqrt(), Log()]


def test_only_the_sides_that_were_asked_for_count() -> None:
    (plain, *_) = choose(["10:+2"])
    low, high = plain.protection.interval(10)
    assert plain.times[0] == pytest.approx((float(high) - 10) / 2)
    assert low < 10
    assert math.isclose(float(np.sqrt(12) - np.sqrt(10)), 0.302, rel_tol=0.01)
