"""EZS noise: bounded and permanent, and what an attacker makes of that."""

import numpy as np
import pytest

from gedp.noise.entropy import SeededEntropy
from gedp_lab.baselines.ezs import FLAGS, Ezs, attack_permanent, flags

NOISE = Ezs()


def test_every_factor_is_between_its_ends_and_half_are_above_1() -> None:
    factors = NOISE.factors(100_000, SeededEntropy(1))
    off = np.abs(factors - 1)
    assert off.min() >= 0.10
    assert off.max() <= 0.25
    assert abs((factors > 1).mean() - 0.5) < 4 * 0.5 / np.sqrt(100_000)
    assert abs(factors.mean() - 1) < 4 * np.sqrt(NOISE_VARIANCE / 100_000)


def test_its_variance_is_that_of_the_ramp() -> None:
    factors = NOISE.factors(400_000, SeededEntropy(2))
    assert factors.var() == pytest.approx(NOISE_VARIANCE, rel=0.01)
    assert np.log(1.1) / np.sqrt(NOISE_VARIANCE) == pytest.approx(0.62, abs=0.005)  # the mu of equal spread


def test_balanced_noise_cancels_within_cells() -> None:
    chance = np.random.default_rng(4)
    cell = np.sort(chance.integers(0, 500, 20_000)).astype(np.int32)
    values = np.exp(chance.normal(2, 1, 20_000))
    plain, balanced = NOISE.factors(20_000, SeededEntropy(5)), NOISE.balanced(values, cell, SeededEntropy(5))
    off = np.abs(balanced - 1)
    assert off.min() >= 0.10 - 1e-12
    assert off.max() <= 0.25 + 1e-12
    noise = [np.abs(np.bincount(cell, weights=(f - 1) * values)).mean() for f in (plain, balanced)]
    assert noise[1] < 0.1 * noise[0]
    largest = [np.flatnonzero(cell == c)[np.argmax(values[cell == c])] for c in range(500)]
    assert 0.4 < (balanced[largest] > 1).mean() < 0.6  # the signs of the largest are still of chance


def test_an_establishment_alone_is_where_its_interval_says_and_never_near_what_is_published() -> None:
    values = np.full(10_000, 100.0)
    published = values * NOISE.factors(10_000, SeededEntropy(6))
    one, two, three, four = NOISE.possible(published)
    assert (((one <= values) & (values <= two)) | ((three <= values) & (values <= four))).all()
    assert (np.abs(published / values - 1) >= 0.10 - 1e-12).all()


def test_two_values_10_percent_apart_are_told_apart_with_certainty_in_two_thirds_of_cases() -> None:
    assert NOISE.told_apart(1.1, NOISE.factors(400_000, SeededEntropy(7))) == pytest.approx((0.68 + 0.59) / 2, abs=0.01)
    assert NOISE.told_apart(1.7, NOISE.factors(1000, SeededEntropy(7))) == 1


def test_who_knows_one_value_of_an_establishment_alone_finds_the_others() -> None:
    """Wages of ten thousands give the factor to five digits; jobs are published rounded, so some are off by one."""
    chance = np.random.default_rng(8)
    wages, jobs = chance.integers(20_000, 5_000_000, 2000), chance.integers(1, 5000, 2000)
    wages[:10] = 0
    factors = NOISE.factors(2000, SeededEntropy(9))
    found = attack_permanent(wages.astype(float), jobs.astype(float), factors, (1.0, 1.0))
    assert (found.cells, found.near) == (1990, 1990)
    assert found.exact > 0.85 * 1990
    finer = attack_permanent(wages.astype(float), jobs.astype(float), factors, (1.0, 0.001))
    assert finer.near == finer.cells


def test_a_factor_of_another_establishment_finds_nothing() -> None:
    known, other = np.full(500, 10_000.0), np.full(500, 4000.0)
    factors = NOISE.factors(500, SeededEntropy(10))
    published = np.rint(other * factors)
    guess = published / factors[::-1]
    assert (np.abs(guess - other) <= 40).mean() < 0.2
    assert attack_permanent(known, other, factors, (1.0, 1.0)).near == 500


def test_flags_are_those_of_county_business_patterns() -> None:
    true, noisy = np.array([100.0, 100, 100, 100, 0]), np.array([101.9, 97.5, 105.1, 80, 0])
    assert FLAGS[flags(true, noisy)].tolist() == ["G", "H", "S", "S", "G"]


#: E δ² where δ has density 2(b − δ)/(b − a)²: a² + 2a(b − a)/3 + (b − a)²/6.
NOISE_VARIANCE = 0.1**2 + 2 * 0.1 * 0.15 / 3 + 0.15**2 / 6
