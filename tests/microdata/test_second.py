"""Two answers for every establishment: the weights that fitted values lead to."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from gedp.arrays import FloatArray
from gedp.individual import clipping_bounds
from gedp.microdata.second import Prices, SecondAnswers, reach_below
from gedp.policy import Attribute, Closeness
from gedp.release.estimates import PsiAnswers

JOBS = Attribute("jobs", Closeness("sqrt", Decimal("0.5")))
FIRST, POOL, TAU = 0.25, 1.0, 4.0


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("psi", [("sqrt", "0.5"), ("linear", "3"), ("log", "0.1")])
def test_reach_is_that_of_the_bounds_but_for_whole_units(psi: tuple[str, str], signed: bool) -> None:
    closeness = Closeness(psi[0], Decimal(psi[1]), Decimal(1 if psi[0] == "log" else 0))
    attribute = replace(JOBS, closeness=closeness, signed=signed)
    whole = np.array([1.0, 2.0, 5.0, 40.0, 3_000.0])
    in_units = clipping_bounds(attribute, whole * (1 - 1e-9)).sensitivity  # just below, so that rounding up ends there
    assert reach_below(attribute, whole) == pytest.approx(in_units, rel=1e-6)


def test_weights_do_not_jump() -> None:
    """Fitted values that differ by little get weights that do: bounds in whole units would jump by 10% here."""
    fitted = np.linspace(0.0, 30.0, 3001)
    sigmas = weights_at(fitted, precision=0.02)
    assert np.abs(np.diff(sigmas)).max() < 0.01 * sigmas.max()


def weights_at(fitted: FloatArray, precision: float) -> FloatArray:
    gamma, zeros = JOBS.protection.gamma, np.zeros(len(fitted))
    prices = Prices(zeros.astype(np.int32), np.zeros(1), np.array([precision]))
    drawn = np.full(len(fitted), gamma / np.sqrt(0.5))
    both = SecondAnswers(JOBS, zeros, gamma / np.sqrt(FIRST), zeros, drawn, POOL, TAU, 0.0, prices)
    return np.asarray(both.at(fitted).sigma)


def releases(weighed: str, count: int = 40_000) -> FloatArray:
    """Estimates of an establishment of 40 in as many releases, in all of which it is the largest of its group."""
    rng, truth, gamma = np.random.default_rng(3), 40.0, JOBS.protection.gamma
    sigma, precision = gamma / np.sqrt(FIRST), 0.006
    omega = np.sqrt(truth) + sigma * rng.standard_normal(count)
    reach = reach_below(JOBS, PsiAnswers(JOBS.protection.psi, omega, sigma).upper_bounds(TAU))
    left = np.maximum(POOL - precision * reach**2, 0.02)
    second_sigma = gamma / np.sqrt(left)
    second = np.sqrt(truth) + second_sigma * rng.standard_normal(count)
    prices = Prices(np.zeros(count, dtype=np.int32), np.zeros(1), np.array([precision]))
    both = SecondAnswers(JOBS, omega, sigma, second, second_sigma, POOL, TAU, 0.0, prices)
    found = both.as_drawn() if weighed == "as drawn" else both.at(np.full(count, truth))
    return found.estimate() - truth


def test_weights_at_the_fit_leave_no_bias_and_weights_as_drawn_do() -> None:
    """Five standard errors, which a right program misses once in two million seeds; the seed is fixed."""
    for weighed, is_biased in (("at the fit", False), ("as drawn", True)):
        errors = releases(weighed)
        off = errors.mean() / (errors.std() / np.sqrt(len(errors)))
        assert (off > 5) == is_biased, (weighed, off)
        assert is_biased or off > -5
