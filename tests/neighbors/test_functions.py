"""Built-in neighbor functions against multiprecision arithmetic, and the laws of Theorem 1."""

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gedp.errors import DomainError
from gedp.neighbors import Linear, Log, NeighborFunction, Piecewise, Protection, Signed, Sqrt, gain_and_loss
from tests.helpers.strategies import (
    basic_protections,
    finite_protections,
    functions,
    positive_shifts,
    positive_values,
    protections,
    values,
)

mpmath.mp.dps = 60


def oracle(psi: NeighborFunction, x: float) -> mpmath.mpf:
    match psi:
        case Sqrt(shift):
            return mpmath.sqrt(mpmath.mpf(x) + mpmath.mpf(shift))
        case Log(shift):
            return mpmath.log(mpmath.mpf(x) + mpmath.mpf(shift))
        case _:
            return mpmath.mpf(x)


def oracle_inverse(psi: NeighborFunction, y: mpmath.mpf) -> mpmath.mpf:
    match psi:
        case Sqrt(shift):
            return y * y - mpmath.mpf(shift)
        case Log(shift):
            return mpmath.exp(y) - mpmath.mpf(shift)
        case _:
            return y


def oracle_interval(protection: Protection, x: float) -> tuple[float, float]:
    psi, gamma = protection.psi, mpmath.mpf(protection.gamma)
    low = oracle(psi, x) - gamma
    if np.isfinite(psi.at_zero):
        low = max(low, oracle(psi, 0.0))
    return float(oracle_inverse(psi, low)), float(oracle_inverse(psi, oracle(psi, x) + gamma))


@given(functions, positive_values)
def test_values_and_slopes_are_exact_to_1e_12(psi: NeighborFunction, x: float) -> None:
    assert float(psi(x)) == pytest.approx(float(oracle(psi, x)), rel=1e-12, abs=0)
    slope = mpmath.diff(lambda t: oracle(psi, t), mpmath.mpf(x))
    assert float(psi.slope(x)) == pytest.approx(float(slope), rel=1e-12, abs=0)


@given(functions, positive_values, positive_values)
def test_distances_are_exact_to_1e_12(psi: NeighborFunction, x: float, y: float) -> None:
    exact = float(oracle(psi, y) - oracle(psi, x))
    assert float(psi.distance(x, y)) == pytest.approx(exact, rel=1e-12, abs=0)


@given(basic_protections, positive_values)
def test_interval_ends_are_exact_to_1e_12(protection: Protection, x: float) -> None:
    low, high = oracle_interval(protection, x)
    ours = protection.interval(x)
    assert float(ours.high) == pytest.approx(high, rel=1e-12)
    assert float(ours.low) == pytest.approx(low, rel=1e-12, abs=1e-12 * x)


@given(protections, st.lists(positive_values, min_size=1, max_size=5))
def test_inverse_takes_every_value_back(protection: Protection, x: list[float]) -> None:
    psi = protection.psi
    back = psi.inverse(psi(x))
    # An error of one unit in the last place of ψ moves x by that much over the slope.
    conditioning = np.spacing(np.abs(psi(x))) / psi.slope(x)
    np.testing.assert_allclose(back, x, rtol=1e-12, atol=float(np.max(4 * conditioning)))


@pytest.mark.parametrize("psi", [Sqrt(), Sqrt(2.5), Log(1), Log(0.3), Linear()])
def test_inverse_takes_zero_to_1e12_back(psi: NeighborFunction) -> None:
    x = np.concatenate([[0.0], np.geomspace(1e-2, 1e12, 400)])
    np.testing.assert_allclose(psi.inverse(psi(x)), x, rtol=1e-12, atol=1e-12)
    assert psi.at_zero == psi(0.0)
    assert psi.inverse(psi.at_zero) == 0.0


@given(protections, positive_values, positive_values)
def test_intervals_grow_in_width_and_shrink_relative_to_the_value(protection: Protection, x: float, y: float) -> None:
    x, y = min(x, y), max(x, y)
    at_x, at_y = protection.interval(x).width, protection.interval(y).width
    rounding = 1e-12 * (protection.interval(x).high + protection.interval(y).high)
    assert at_y >= at_x - rounding
    assert at_y / y <= at_x / x + rounding / x


@given(protections, positive_values, st.floats(0, 1))
def test_values_inside_an_interval_are_close(protection: Protection, x: float, share: float) -> None:
    low, high = map(float, protection.interval(x))
    inner = 1e-11 * high  # the ends have an error
    y = min(max(low + share * (high - low), min(low + inner, x)), max(high - inner, x))
    assert protection.is_close(x, y)
    assert protection.is_close(y, x)
    assert protection.steps(x, y) <= 1


@given(protections, positive_values, st.floats(1 + 2e-9, 1e6), st.booleans())
def test_values_outside_an_interval_are_not_close(protection: Protection, x: float, times: float, below: bool) -> None:
    low, high = protection.interval(x)
    y = low / times if below and low > 0 else high * times
    assert not protection.is_close(x, y)
    assert protection.steps(x, y) >= 2


def written(number: float) -> mpmath.mpf:
    """A float as the decimal that it is written as."""
    return mpmath.mpf(repr(float(number)))


def oracle_distance(psi: NeighborFunction, low: mpmath.mpf, high: mpmath.mpf) -> mpmath.mpf:
    match psi:
        case Sqrt(shift):
            return mpmath.sqrt(high + written(shift)) - mpmath.sqrt(low + written(shift))
        case Log(shift):
            return mpmath.log((high + written(shift)) / (low + written(shift)))
        case Signed(base) if low * high > 0:
            return oracle_distance(base, *sorted((abs(low), abs(high))))
        case Signed(base):
            return oracle_distance(base, mpmath.mpf(0), abs(low)) + oracle_distance(base, mpmath.mpf(0), abs(high))
        case Piecewise(pieces):
            ends = [*(written(piece.start) for piece in pieces[1:]), high]
            within = [(p, max(low, written(p.start)), min(high, end)) for p, end in zip(pieces, ends, strict=True)]
            return mpmath.fsum(oracle_distance(p.psi, a, b) / written(p.gamma) for p, a, b in within if a < b)
        case _:
            return high - low


def oracle_steps(protection: Protection, x: float, y: float) -> int:
    """With 60 digits; what 40 of them leave open is taken to be exact."""
    steps = oracle_distance(protection.psi, *sorted((written(x), written(y)))) / written(protection.gamma)
    whole = int(mpmath.nint(steps))
    return whole if abs(steps - whole) < mpmath.mpf("1e-40") else int(mpmath.ceil(steps))


@given(protections, positive_values, st.integers(1, 50), st.booleans(), st.integers(-4, 4))
@example(Protection(Sqrt(), 0.5), 36.0, 2, True, 0)
@example(Protection(Sqrt(), 0.1), 0.25, 1, True, 0)
def test_steps_are_exact_at_the_ends_of_intervals(
    protection: Protection, x: float, k: int, up: bool, floats_further: int
) -> None:
    """Nobody can tell by floats on which side of an end a value lies that is a few floats away from it."""
    low, high = protection.interval(x, k)
    y = float(high if up else low)
    for _ in range(abs(floats_further)):
        y = max(float(np.nextafter(y, np.inf if floats_further > 0 else -np.inf)), 0.0)
    if y or np.isfinite(protection.psi.at_zero):
        assert protection.steps(x, y) == protection.steps(y, x) == oracle_steps(protection, x, y)
        assert protection.is_close(x, y) == (oracle_steps(protection, x, y) <= 1)


@given(finite_protections, values, values, st.integers(1, 9), st.integers(-4, 4))
def test_steps_are_exact_on_both_sides_of_0(
    protection: Protection, x: float, y: float, k: int, floats_further: int
) -> None:
    signed = Protection(Signed(protection.psi), protection.gamma)
    end = float(signed.interval(-x, k).high)
    for other in (y, -y, end + floats_further * float(np.spacing(end))):
        assert signed.steps(-x, other) == oracle_steps(signed, -x, other)


def test_one_unit_beyond_an_interval_is_not_close_however_large_the_value() -> None:
    for large in (1e6, 1e12, 2.0**53 - 1):
        steps = Protection(Linear(), 20.0).steps(large, [large - 20, large - 21, large - 40, large - 41])
        assert steps.tolist() == [1, 2, 2, 3]


def test_values_and_gamma_count_as_they_are_written() -> None:
    """As floats, 0.8 − 0.7 is above 0.1; √0.36 − √0.25 is a tenth."""
    assert Protection(Linear(), 0.1).steps(0.8, [0.7, 0.69]).tolist() == [1, 2]
    assert Protection(Sqrt(), 0.1).steps(0.36, [0.25, 0.2499999999999999]).tolist() == [1, 2]
    assert Protection(Sqrt(), 0.5).steps(0, [0.25, 1, 1.0000000000000002]).tolist() == [1, 2, 3]


def test_different_values_are_at_least_a_step_apart() -> None:
    assert Protection(Sqrt(), 10.0).steps(1e12, np.nextafter(1e12, np.inf)) == 1
    assert Protection(Sqrt(), 10.0).steps(3.0, 3.0) == 0
    with pytest.raises(DomainError, match="positive number of steps"):
        Protection(Sqrt(), 1.0).interval(3.0, k=-1)


@given(basic_protections, positive_values, st.integers(1, 50))
def test_k_steps_reach_the_interval_of_k_gamma(protection: Protection, x: float, k: int) -> None:
    wide = Protection(protection.psi, k * protection.gamma).interval(x)
    assert protection.interval(x, k) == wide
    assert protection.steps(x, max(x, float(wide.high) * (1 - 1e-11))) <= k


@given(protections, values, values, values)
def test_adding_the_rest_of_a_group_never_spreads_two_values(
    protection: Protection, x: float, y: float, rest: float
) -> None:
    psi = protection.psi
    apart, in_group = abs(psi.distance(x, y)), abs(psi.distance(x + rest, y + rest))
    # Adding in floating point may itself move each value by half a unit in the last place.
    moved = float(np.spacing(max(x, y) + rest)) * float(psi.slope(max(min(x, y) + rest, 1e-300)))
    assert in_group <= apart * (1 + 1e-12) + moved


def test_log_without_shift_refuses_zeros_only_where_a_value_is_needed() -> None:
    psi = Log()
    assert psi.at_zero == -np.inf
    with pytest.raises(DomainError, match="2 of 3 values are 0"):
        psi([0.0, 5.0, 0.0])
    with pytest.raises(DomainError, match="no value at 0"):
        Protection(psi, 0.1).interval(0.0)
    assert Protection(psi, 0.1).steps(3.0, 0.0) == np.inf
    assert Protection(psi, 0.1).steps(0.0, 0.0) == 0
    assert psi.slope(0.0) == np.inf


def test_errors_count_bad_values_and_show_none() -> None:
    for psi in (Sqrt(), Log(1), Linear()):
        with pytest.raises(DomainError) as negative:
            psi([1.0, -987654.0])
        assert "1 of 2 are negative" in str(negative.value)
        assert "987654" not in str(negative.value)
        with pytest.raises(DomainError, match="1 of 2 values are missing or infinite"):
            psi([1.0, float("nan")])
        with pytest.raises(DomainError, match="1 of 1"):
            psi.inverse([psi.at_zero - 1])


def test_words_are_refused_without_being_shown() -> None:
    with pytest.raises(DomainError, match="not numbers") as raised:
        Sqrt()(["secret-987"])
    assert "secret" not in str(raised.value)


def test_results_are_copies() -> None:
    x = np.array([1.0, 2.0])
    Linear()(x)[0] = 99
    assert x[0] == 1.0


@given(st.floats(1e-12, 1e-3), positive_shifts)
def test_tiny_values_keep_their_digits(x: float, shift: float) -> None:
    """Where a shift is added and taken off again."""
    for psi in (Sqrt(shift), Log(shift)):
        there = oracle(psi, x)
        assert float(psi.distance(0.0, x)) == pytest.approx(float(there - oracle(psi, 0.0)), rel=1e-12)
        back = oracle_inverse(psi, mpmath.mpf(psi.at_zero) + mpmath.mpf(x))
        assert float(psi.inverse(psi.at_zero + x)) == pytest.approx(
            float(back), abs=4e-16 * (1 + abs(psi.at_zero)) * (shift + 1)
        )


@pytest.mark.parametrize("bad", [-1.0, float("inf"), float("nan")])
def test_parameters_are_checked(bad: float) -> None:
    for make in (Sqrt, Log):
        with pytest.raises(DomainError):
            make(bad)
    with pytest.raises(DomainError):
        Protection(Sqrt(), bad)
    with pytest.raises(DomainError):
        Protection(Sqrt(), 0.0)


signed_values = st.one_of(st.just(0.0), st.floats(-1e9, -1e-3), st.floats(1e-3, 1e9))
signed_functions = st.sampled_from([Sqrt(), Sqrt(3), Log(1), Log(7), Linear()]).map(Signed)


@given(signed_functions, signed_values)
def test_signed_extension_is_odd_with_an_inverse(psi: Signed, x: float) -> None:
    assert psi(-x) == -psi(x)
    assert float(psi.inverse(psi(x))) == pytest.approx(x, rel=1e-9, abs=1e-9)
    if x > 0:
        assert float(psi(x)) == pytest.approx(float(psi.base(x)) - psi.base.at_zero, rel=1e-9, abs=1e-9)


@given(signed_functions, signed_values, signed_values)
def test_signed_distance_is_the_difference(psi: Signed, x: float, y: float) -> None:
    assert float(psi.distance(x, y)) == pytest.approx(float(psi(y)) - float(psi(x)), rel=1e-6, abs=1e-6)


def test_signed_interval_crosses_zero() -> None:
    low, high = Protection(Signed(Sqrt()), 2.0).interval(1.0)
    assert (float(low), float(high)) == (-1.0, 9.0)


def test_signed_extension_does_not_contract_in_sums() -> None:
    """The reason why sums of signed values need another mechanism than ψ of the sum."""
    psi = Signed(Sqrt())
    assert psi.distance(81.0, 100.0) == 1.0
    assert psi.distance(81.0 - 90.0, 100.0 - 90.0) > 6.0
    assert not psi.contracts_in_sums
    assert Sqrt().contracts_in_sums


def test_signed_extension_needs_a_value_at_zero() -> None:
    with pytest.raises(DomainError, match="shift"):
        Signed(Log())
    with pytest.raises(DomainError, match="already"):
        Signed(Signed(Sqrt()))


@given(st.lists(signed_values))
def test_gain_and_loss_are_the_parts_of_a_value(x: list[float]) -> None:
    gain, loss = gain_and_loss(x)
    np.testing.assert_array_equal(gain - loss, x)
    assert (gain >= 0).all()
    assert (loss >= 0).all()
    assert (gain * loss == 0).all()


@given(protections, st.lists(positive_values, min_size=1))
def test_the_low_end_is_that_of_the_interval(protection: Protection, x: list[float]) -> None:
    assert np.array_equal(protection.low(np.array(x)), protection.interval(np.array(x)).low)


@pytest.mark.parametrize("shift", [0.0, 2.5])
def test_answers_with_noise_of_their_own_vary_as_answers_with_that_noise(shift: float) -> None:
    sigma, x = np.array([1e-3, 0.7, 40.0]), np.array([0.0, 9.0, 1e8])
    alone = [float(Sqrt(shift).debiased_variance(x[i : i + 1], float(sigma[i]))[0]) for i in range(3)]
    assert Sqrt(shift).debiased_variance(x, sigma) == pytest.approx(alone, rel=1e-14)


def test_noise_beyond_all_floats_is_infinite_and_nobody_is_warned(recwarn: pytest.WarningsRecorder) -> None:
    assert Log(1).debiased_variance(np.array([5.0]), 200.0) == np.inf
    assert not recwarn.list
