"""Two answers for every establishment: the weights that fitted values lead to."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from gedp.arrays import FloatArray
from gedp.individual import clipping_bounds
from gedp.microdata.second import GroupPrice, SecondAnswers, reach_below
from gedp.neighbors.estimates import PsiAnswers
from gedp.partitions import Partition
from gedp.policy import Attribute, Closeness

JOBS = Attribute("jobs", Closeness("sqrt", Decimal("0.5")))
FIRST, POOL, TAU = 0.25, 1.0, 4.0
SIGMA = JOBS.protection.gamma / np.sqrt(FIRST)


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
    price = GroupPrice("all", Partition.whole(len(zeros)), np.array([False]), np.array([precision]))
    drawn = np.full(len(fitted), gamma / np.sqrt(0.5))
    both = SecondAnswers(JOBS, zeros, gamma / np.sqrt(FIRST), zeros, drawn, POOL, TAU, 0.0, (price,))
    return np.asarray(both.at(fitted)[0].sigma)


def reach_at(omega: FloatArray) -> FloatArray:
    return reach_below(JOBS, PsiAnswers(JOBS.protection.psi, omega, SIGMA).upper_bounds(TAU))


def drawn(omega: FloatArray, left: FloatArray, price: GroupPrice, truth: FloatArray) -> SecondAnswers:
    second_sigma = JOBS.protection.gamma / np.sqrt(left)
    second = np.sqrt(truth) + second_sigma * np.random.default_rng(4).standard_normal(len(omega))
    return SecondAnswers(JOBS, omega, SIGMA, second, second_sigma, POOL, TAU, 0.0, (price,))


def releases(weighed: str, count: int = 40_000) -> FloatArray:
    """Estimates of an establishment of 40 in as many releases. How precise its group's sum is, a giant decides."""
    truth = np.append(np.full(count, 40.0), 400.0)
    noise = np.append(np.random.default_rng(3).standard_normal(count), 0.0)
    omega, precision = np.sqrt(truth) + SIGMA * noise, 0.006
    left = np.maximum(POOL - precision * reach_at(omega) ** 2, 0.02)
    price = GroupPrice("all", Partition.whole(len(omega)), np.array([False]), np.array([precision]))
    both = drawn(omega, left, price, truth)
    found = both.as_drawn() if weighed == "as drawn" else both.at(truth)[0]
    errors: FloatArray = found.estimate() - truth
    return errors[:count]


def test_weights_at_the_fit_leave_no_bias_and_weights_as_drawn_do() -> None:
    """Five standard errors, which a right program misses once in two million seeds; the seed is fixed."""
    for weighed, is_biased in (("at the fit", False), ("as drawn", True)):
        errors = releases(weighed)
        off = errors.mean() / (errors.std() / np.sqrt(len(errors)))
        assert (off > 5) == is_biased, (weighed, off)
        assert is_biased or off > -5


def test_the_one_that_pays_most_gets_its_own_precision_back() -> None:
    """Its group's sum took 60% of what it had, whatever its first answer was: so it would have at the true value."""
    truth = np.full(1000, 40.0)
    omega = np.sqrt(truth) + SIGMA * np.random.default_rng(3).standard_normal(len(truth))
    groups, precision = Partition.single(len(truth)), 0.6 * POOL / reach_at(omega) ** 2
    price = GroupPrice("alone", groups, np.zeros(len(truth), dtype=bool), precision)
    answers, precisions = drawn(omega, np.full(len(truth), 0.4 * POOL), price, truth).at(truth)
    at_truth = 0.6 * POOL / reach_at(np.sqrt(truth)) ** 2
    is_near = np.abs(np.log(precision / at_truth)) < np.log(4)
    assert is_near.mean() > 0.5
    assert precisions["alone"][is_near] == pytest.approx(at_truth[is_near])
    assert np.asarray(answers.sigma)[is_near] == pytest.approx(JOBS.protection.gamma / np.sqrt(FIRST + 0.4 * POOL))


def test_where_all_pay_alike_what_is_left_is_known() -> None:
    """For ψ of the sum the size of an establishment does not matter."""
    truth = np.array([1.0, 40.0, 3_000.0])
    omega = np.sqrt(truth) + SIGMA
    price = GroupPrice("psi", Partition.whole(3), np.array([True]), np.array([0.7]))
    answers, precisions = drawn(omega, np.full(3, 0.3), price, truth).at(truth)
    assert precisions["psi"] == pytest.approx([0.7])
    assert np.asarray(answers.sigma) == pytest.approx(np.full(3, JOBS.protection.gamma / np.sqrt(FIRST + 0.3)))
