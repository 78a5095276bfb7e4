"""Grids: neighbours never move further than what was charged, after rounding, in float, as computed."""

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from gedp.errors import DomainError
from gedp.neighbors import Linear, Log, Protection, Signed, Sqrt, widen
from gedp.neighbors.functions import NeighborFunction
from gedp.noise import Grid, SeededEntropy, SumGrid, SystemEntropy, grid_for, psi_grid, sum_grid_for
from gedp.noise.gaussian import MOST_BITS
from gedp.noise.grid import BASIC_ERROR, LARGEST_SUM, _relative_error
from tests.noise.exact import chi_square_p, ks_p

CANARY = 123454321.0
sensitivities = st.floats(1e-3, 1e6)
mus = st.fractions(Fraction(1, 100), 20, max_denominator=10**6)
#: mu with bits of which the coarsest leave a step of at most a twentieth of the sensitivity.
mus_and_bits = mus.flatmap(
    lambda mu: st.tuples(st.just(mu), st.integers(max(1, math.ceil(math.log2(20 / mu))), MOST_BITS))
)
sums = st.integers(0, 63).flatmap(lambda e: st.integers(0, 2**e))


def nudged(value: Fraction, by: Fraction) -> float:
    """A float as far from value as `by` allows, on the side of by's sign."""
    result = float(value + by)
    while abs(Fraction(result) - value) > abs(by):
        result = math.nextafter(result, float(value))
    return result


# Real numbers


@st.composite
def computed(draw: st.DrawFn) -> tuple[float, float, float]:
    """A sensitivity, a larger bound on values, and a relative error: of a float or more, at most 1% of the former."""
    sensitivity, times = draw(sensitivities), draw(st.floats(1.1, 2.0**40))
    return sensitivity, sensitivity * times, draw(st.floats(2.0**-51, 0.01 / times))


@given(computed(), mus, st.integers(12, MOST_BITS), st.floats(-1, 1))
def test_neighbours_stay_within_what_is_charged(
    values: tuple[float, float, float], mu: Fraction, bits: int, place: float
) -> None:
    """True values `sensitivity` apart, both computed with the largest error allowed, in opposite directions."""
    sensitivity, largest, relative_error = values
    grid = grid_for(sensitivity, mu, bits, largest, relative_error)
    error = Fraction(largest) * Fraction(relative_error)
    low = Fraction(place) * (Fraction(largest) - Fraction(sensitivity) - 2 * error)
    steps = grid.to_steps([nudged(low, -error), nudged(low + Fraction(sensitivity), error)])
    assert int(steps[1]) - int(steps[0]) <= mu * Fraction(grid.scale)
    assert abs(Fraction(int(steps[0])) * Fraction(grid.step) - Fraction(nudged(low, -error))) <= Fraction(grid.step) / 2


@given(sensitivities, mus_and_bits, st.floats(1e-6, 2.0**44))
def test_a_grid_means_what_it_says(sensitivity: float, mu_and_bits: tuple[Fraction, int], times: float) -> None:
    (mu, bits), largest = mu_and_bits, sensitivity * times
    grid = grid_for(sensitivity, mu, bits, largest, 2.0**-52)
    delta, step, sigma = Fraction(sensitivity), Fraction(grid.step), Fraction(grid.sigma)
    assert sigma * mu >= delta + step + 2 * Fraction(largest) * Fraction(1, 2**52)
    assert sigma * mu <= (delta + step + 2 * Fraction(largest) * Fraction(1, 2**52)) * (1 + Fraction(1, 2**50))
    assert math.frexp(grid.step)[0] == 0.5
    assert Fraction(grid.scale) == sigma / step
    assert Fraction(largest) / step <= 2**62
    assert step <= max(delta / mu / 2**bits, 2 * Fraction(largest) / 2**62)
    assert grid.charge <= 1 / 16


@given(st.integers(1, 10**6), sensitivities, st.fractions(Fraction(1, 10**7), 5), st.floats(1, 2.0**40))
@example(10**6, 1.0, Fraction(1, 10**5), 1000.0)
@example(10**6, 1.0, Fraction(1, 10**6), 1000.0)
@example(10**4, 1.0, Fraction(1, 10**6), 1000.0)
def test_the_rounding_of_every_entry_of_a_vector_is_charged(
    entries: int, sensitivity: float, mu: Fraction, largest: float
) -> None:
    """Each moves by half a step and its error, both ways, so the L2 norm by √entries times as much; exactly."""
    try:
        grid = grid_for(sensitivity, mu, 24, largest, 1e-14, entries)
    except DomainError:
        return
    moved = Fraction(grid.step) + 2 * Fraction(largest) * Fraction(1e-14)
    left = Fraction(grid.sigma) * mu - Fraction(sensitivity)
    assert left >= 0
    assert left**2 >= entries * moved**2
    assert grid.charge <= 1 / 16


def test_long_vectors_have_noise_hardly_larger_than_single_numbers() -> None:
    one, many = (grid_for(1.0, Fraction("0.001"), 24, 1000.0, 0.0, entries) for entries in (1, 10**6))
    assert many.sigma <= one.sigma * 1.001
    with pytest.raises(DomainError, match="there must be entries"):
        grid_for(1.0, 1, 24, 1000.0, 0.0, 0)


def test_a_step_is_exact_division_at_every_size() -> None:
    grid = grid_for(0.5, 1, bits=24, largest=2.0**32)
    values = np.array([0.0, -grid.step / 4, 0.3, 1 / 3, -(2.0**31) - 0.1, 2.0**32])
    for value, step in zip(values, grid.to_steps(values), strict=True):
        assert int(step) == round(Fraction(value) / Fraction(grid.step))


def farthest(psi: NeighborFunction, total: int, gamma: float) -> int:
    """The largest whole number within γ of the sum, from 400 bits."""
    with mpmath.workprec(400):
        shift, reach = mpmath.mpf(getattr(psi, "shift", 0)), mpmath.mpf(gamma)
        match psi:
            case Sqrt():
                end = (mpmath.sqrt(total + shift) + reach) ** 2 - shift
            case Log():
                end = (total + shift) * mpmath.exp(reach) - shift
            case _:
                end = mpmath.mpf(total) + reach
        return int(mpmath.floor(end))


@given(
    st.one_of(st.floats(0, 1e6).map(Sqrt), st.floats(1e-3, 1e6).map(Log), st.just(Sqrt())),
    st.sampled_from([0.05, 0.1, 0.5, 0.7]),
    st.sampled_from([Fraction(1, 10), Fraction(611, 1000), Fraction(3)]),
    sums,
    sums,
)
def test_psi_of_neighbouring_sums_stays_within_what_is_charged(
    psi: NeighborFunction, gamma: float, mu: Fraction, own: int, rest: int
) -> None:
    """One establishment moves to the edge of closeness, alone or with a group around it; ψ as floats compute it."""
    grid = psi_grid(Protection(psi, gamma), mu)
    moved = farthest(psi, own, gamma)
    for total, other in ((own, moved), (own + rest, moved + rest)):
        assume(other <= LARGEST_SUM)
        steps = grid.to_steps(psi(np.array([total, other], dtype=np.float64)))
        assert 0 <= int(steps[1]) - int(steps[0]) <= mu * Fraction(grid.scale)


def exact_psi(psi: NeighborFunction, x: int) -> mpmath.mpf:
    match psi:
        case Sqrt():
            return mpmath.sqrt(x + mpmath.mpf(psi.shift))
        case Log():
            return mpmath.log(x + mpmath.mpf(psi.shift))
    return mpmath.mpf(x)


@given(st.one_of(st.floats(0, 1e9).map(Sqrt), st.floats(1e-9, 1e9).map(Log), st.just(Linear())), sums)
def test_psi_is_as_accurate_as_charged(psi: NeighborFunction, x: int) -> None:
    with mpmath.workprec(200):
        error = abs(mpmath.mpf(float(psi(x))) - exact_psi(psi, x))
        assert error <= BASIC_ERROR / 2 * max(abs(psi.at_zero), float(psi(LARGEST_SUM)))


@given(st.floats(0.01, 100), st.floats(0.01, 1000), sums)
def test_widened_psi_is_as_accurate_as_charged(gamma: float, linear: float, x: int) -> None:
    """sqrt and linear: ψ' is the smaller of 1/(2√x·γ) and 1/L, which cross at x = (L/2γ)²."""
    both = widen(Protection(Sqrt(), gamma), Protection(Linear(), linear)).psi
    with mpmath.workprec(200):
        g, ell = mpmath.mpf(gamma), mpmath.mpf(linear)
        crossing = (ell / (2 * g)) ** 2
        true = min(x, crossing) / ell + (max(mpmath.sqrt(x), mpmath.sqrt(crossing)) - mpmath.sqrt(crossing)) / g
        error = abs(mpmath.mpf(float(both(float(x)))) - true)
        assert error <= _relative_error(both) / 2 * float(both(float(LARGEST_SUM)))


def test_what_is_charged_is_little() -> None:
    for protection, most in [
        (Protection(Sqrt(), 0.5), 3e-5),
        (Protection(Sqrt(), 50), 1e-6),
        (Protection(Log(1), 0.1), 1e-6),
        (Protection(Log(), 0.1), 1e-6),
        (widen(Protection(Sqrt(), 0.5), Protection(Linear(), 10)), 1e-4),
    ]:
        assert psi_grid(protection, Fraction(179, 1000)).charge < most
    assert _relative_error(Signed(Sqrt())) == 1e-12


def test_a_grid_that_would_cost_too_much_is_refused() -> None:
    with pytest.raises(DomainError, match="of the sensitivity"):
        psi_grid(Protection(Linear(), 10), 1)  # float steps are wider than 10 at 2**63
    with pytest.raises(DomainError, match="of the sensitivity"):
        grid_for(0.5, Fraction(1, 10**7))  # the grid is as coarse as the sensitivity
    with pytest.raises(DomainError, match="of the sensitivity"):
        grid_for(1e-3, 1, largest=2.0**53)
    with pytest.raises(DomainError, match="steps wide"):
        grid_for(1, 10**12, largest=2.0**58, relative_error=0)
    for bad in ({"mu": 0}, {"sensitivity": -1.0}, {"bits": 50}, {"largest": math.inf}, {"relative_error": -1.0}):
        with pytest.raises(DomainError):
            grid_for(**({"sensitivity": 1.0, "mu": 1} | bad))
    with pytest.raises(DomainError, match=r"sensitivity.*mu.*bits"):
        grid_for(0, 0, 0)


def refusal(make: Callable[..., object], **settings: float | Fraction) -> str:
    """What is said where there is no grid; nothing where there is one."""
    try:
        make(**({"sensitivity": 1.0, "mu": 1} | settings))
    except DomainError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("setting", "allowed", "refused", "words"),
    [
        ("bits", (1, 44), (0, 45), "bits must"),
        ("sensitivity", (Fraction(1e-60), Fraction(1e60)), (Fraction(1, 10**61), Fraction(10**61)), "sensitivity must"),
        ("mu", (Fraction(1e-60), Fraction(1e60)), (Fraction(1, 10**61), Fraction(10**61)), "mu must"),
        ("largest", (1e-59, 1e59), (1e-61, 1e61), "largest value must"),
        ("relative_error", (0.0, 0.1), (-1e-9,), "relative error must"),
        ("entries", (1, 2), (0,), "must be entries"),
    ],
)
def test_every_setting_of_a_grid_is_allowed_up_to_its_limits(
    setting: str, allowed: tuple[float, ...], refused: tuple[float, ...], words: str
) -> None:
    assert all(words not in refusal(grid_for, **{setting: value}) for value in allowed)
    assert all(words in refusal(grid_for, **{setting: value}) for value in refused)


@pytest.mark.parametrize(
    ("setting", "allowed", "refused", "words"),
    [
        ("bits", (1, 44), (0, 45), "bits must"),
        ("sensitivity", (5e-324, 1.7e308), (0.0, math.inf), "sensitivity must"),
        ("mu", (Fraction(1, 10**20),), (0,), "mu must"),
        ("largest", (1, 2**62), (0, 2**62 + 1), "largest sum must"),
    ],
)
def test_every_setting_of_a_grid_for_sums_is_allowed_up_to_its_limits(
    setting: str, allowed: tuple[float, ...], refused: tuple[float, ...], words: str
) -> None:
    with np.errstate(over="ignore"):
        assert all(words not in refusal(sum_grid_for, **{setting: value}) for value in allowed)
    assert all(words in refusal(sum_grid_for, **{setting: value}) for value in refused)


def test_the_largest_values_and_sums_are_within_their_grids() -> None:
    grid, sums_grid = grid_for(0.5, 1, largest=100), sum_grid_for(1, 1, largest=100)
    assert (grid.to_steps([100.0, -100.0]) * grid.step).tolist() == [100.0, -100.0]
    assert (sums_grid.to_steps([100, -100]) * sums_grid.step).tolist() == [100.0, -100.0]
    for total in (101, -101):
        with pytest.raises(DomainError, match="1 of 1"):
            sums_grid.to_steps([total])


def test_a_grid_without_settings_has_steps_of_24_bits_and_room_for_psi_of_every_sum() -> None:
    grid = grid_for(1.0, 1)
    assert (grid.step, grid.largest) == (2.0**-24, 2.0**32)
    assert grid == grid_for(1.0, 1, 24, 2.0**32, 2.0**-49, 1)
    assert psi_grid(Protection(Sqrt(), 0.5), 1) == psi_grid(Protection(Sqrt(), 0.5), 1, 24, 2.0**63, 1.0)
    logs = Protection(Log(), 0.1)  # falls without bound at 0, so the smallest value matters
    assert psi_grid(logs, 1, largest_sum=1.5) == psi_grid(logs, 1, 24, 1.5, 1.0)
    sums_grid = sum_grid_for(1, 1)
    assert (float(sums_grid.step), sums_grid.largest) == (2.0**-9, 2**53)  # 2**53 at 2**-9 are 62 bits


def test_variances_of_grids_are_those_of_noise_and_rounding() -> None:
    assert Grid(3.0, 0.5, 1.0, 0.0).variance == 9 + 0.25 / 12
    assert SumGrid(np.array(3.0), np.array(0.5), 1).variance == 9 + 0.25 / 12


def test_values_beyond_the_bound_are_refused_and_not_shown() -> None:
    grid = grid_for(0.5, 1, largest=100)
    for value in (CANARY, -CANARY, math.nan):
        with pytest.raises(DomainError, match="1 of 3") as caught:
            grid.noisy([1.0, value, 2.0], SystemEntropy())
        assert "123454321" not in str(caught.value)
    with pytest.raises(DomainError, match="1 of 2") as caught:
        sum_grid_for(1, 1, largest=100).noisy([1, int(CANARY)], SystemEntropy())
    assert "123454321" not in str(caught.value)


@pytest.mark.parametrize("mu", [Fraction(1, 10), Fraction(611, 1000), Fraction(2)])
def test_noise_on_psi_has_its_scale(mu: Fraction) -> None:
    grid = psi_grid(Protection(Sqrt(), 0.5), mu)
    assert grid.sigma == pytest.approx(0.5 / float(mu), rel=1e-4)
    values = np.sqrt(np.arange(100_000.0)).reshape(100, 1000)
    errors = (grid.noisy(values, SeededEntropy(int(mu * 1000))) - values).ravel()
    assert ks_p(errors, 0.5 / float(mu)) > 1e-3
    assert errors.var() == pytest.approx(grid.variance, rel=0.02)
    for wrong in (0.9, 1.1):
        assert ks_p(errors, wrong * 0.5 / float(mu)) < 1e-9


# Whole numbers


@given(
    st.lists(st.floats(0.1, 1e8), min_size=1, max_size=20),
    mus,
    st.integers(1, 44),
    st.integers(1, 62).map(lambda e: 2**e),
    st.data(),
)
def test_sums_are_exact_and_move_no_further_than_their_sensitivity(
    sensitivity: list[float], mu: Fraction, bits: int, largest: int, data: st.DataObject
) -> None:
    try:
        grid = sum_grid_for(sensitivity, mu, bits, largest)
    except DomainError:
        assume(False)
    totals = data.draw(st.lists(st.integers(-largest, largest), min_size=len(sensitivity), max_size=len(sensitivity)))
    steps = grid.to_steps(totals)
    for total, taken, step, sigma, delta in zip(totals, steps, grid.step, grid.sigma, sensitivity, strict=True):
        assert Fraction(int(taken)) * Fraction(step) == total
        assert Fraction(delta) <= mu * Fraction(sigma) <= Fraction(delta) * (1 + Fraction(1, 2**48))
        assert step <= 1
        assert abs(int(taken)) <= 2**62


def test_noise_on_sums_has_its_scale() -> None:
    n = 200_000
    totals = np.arange(n) * 10**9
    sensitivity = np.geomspace(1, 1e6, n)
    grid = sum_grid_for(sensitivity, Fraction(1, 2))
    errors = (grid.noisy(totals, SeededEntropy(1)) - totals) / (2 * sensitivity)
    assert ks_p(errors) > 1e-3
    for wrong in (0.9, 1.1):
        assert ks_p(errors, wrong) < 1e-9


@pytest.mark.parametrize("sensitivity", [0.75, 1.0, 1.5, 40.0, 1000.0])
def test_steps_of_sums_are_the_coarsest_that_are_fine_enough(sensitivity: float) -> None:
    grid = sum_grid_for(sensitivity, 1, bits=8)
    coarsest = min(1.0, 2.0 ** (math.floor(math.log2(float(grid.sigma))) - 8))
    assert float(grid.step) == coarsest


def test_the_finest_step_of_sums_leaves_room_for_the_largest() -> None:
    """2^53 and one more take one bit more than 2^53, which is then missing for steps."""
    steps = [float(sum_grid_for(1, 1, 44, largest).step) for largest in (2**53, 2**53 + 1, 2**54)]
    assert steps == [2.0**-9, 2.0**-8, 2.0**-8]


def test_noise_on_the_largest_sums_is_whole() -> None:
    grid = sum_grid_for(1, Fraction(1, 2), largest=2**62)
    assert float(grid.step) == 1
    assert float(grid.sigma) == pytest.approx(2)
    totals = np.full(200_000, 1000)
    errors = (grid.noisy(totals, SeededEntropy(1)) - totals).astype(np.int64)
    assert chi_square_p(errors, 2.0) > 1e-3
    assert errors.var() == pytest.approx(float(grid.variance), rel=0.02)


def test_what_is_no_sum_of_whole_numbers_is_refused() -> None:
    grid = sum_grid_for([1, 2], 1)
    assert isinstance(grid, SumGrid)
    with pytest.raises(DomainError, match="whole numbers"):
        grid.noisy([1.0, 2.0], SystemEntropy())
    with pytest.raises(DomainError, match="3 sums"):
        sum_grid_for([1, 2, 3, 4], 1).noisy([1, 2, 3], SystemEntropy())
    for bad in ({"mu": 0}, {"sensitivity": [1.0, 0.0]}, {"bits": 0}, {"largest": 2**63}, {"sensitivity": math.nan}):
        with pytest.raises(DomainError):
            sum_grid_for(**({"sensitivity": 1.0, "mu": 1} | bad))
    with pytest.raises(DomainError, match="no grid: noise"):
        sum_grid_for(1e-9, 1)


def test_a_grid_says_nothing_of_the_data() -> None:
    grid = psi_grid(Protection(Sqrt(), 0.5), 1)
    assert set(Grid.__dataclass_fields__) == {"sigma", "step", "largest", "charge"}
    assert grid == psi_grid(Protection(Sqrt(), 0.5), 1)
