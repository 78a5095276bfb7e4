"""The rows of a cell as one answer for its total, beside the rows one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from gedp.arrays import FloatArray
from gedp.microdata import weights
from gedp.microdata.answers import GroupAnswers, PsiNoise
from gedp.microdata.pooled import RowsInMemory
from gedp.microdata.problem import AttributeProblem, ClippedNoise, pooled
from gedp.microdata.weights import fit_at, fit_attribute
from gedp.neighbors import Log, Protection, Sqrt
from gedp.neighbors.estimates import psi_variance
from gedp.partitions import Partition

SIGMA = 0.8
SLOPE, BASE = Sqrt().variance_line(SIGMA)


def random_cells(rng: np.random.Generator, cells: int, rows: int) -> Partition:
    of_row = np.concatenate([np.arange(cells), rng.integers(cells, size=rows - cells)]).astype(np.int32)
    return Partition(of_row, cells)


def noisy(rng: np.random.Generator, values: FloatArray, sigma: float) -> FloatArray:
    return Sqrt().debiased(np.sqrt(values) + sigma * rng.standard_normal(len(values)), sigma)


def row_by_row(answers: FloatArray, total: float) -> FloatArray:
    """The variances v with x = a + t·v, v = slope·max(x, 0) + base and Σ x = total, for one cell: t by bisection."""

    def variances(t: float) -> FloatArray:
        return np.where(answers + t * BASE <= 0, BASE, (SLOPE * answers + BASE) / (1 - SLOPE * t))

    t = brentq(lambda t: np.sum(answers + t * variances(t)) - total, -1e4, (1 - 1e-13) / SLOPE, xtol=1e-15)
    return variances(t)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.floats(-1.5, 6.0))
def test_variances_are_those_of_the_rows_one_by_one(seed: int, pull: float) -> None:
    rng = np.random.default_rng(seed)
    cells = random_cells(rng, 12, 60)
    answers = noisy(rng, rng.poisson(rng.choice([0.2, 2, 40], size=60)).astype(np.float64), SIGMA)
    rows = RowsInMemory(cells, answers, SLOPE, BASE)
    deviations = np.sqrt(rows.variances_at_answers)
    totals = rows.sums + pull * rng.standard_normal(12) * deviations
    for _ in range(40):  # from round to round it is seen which rows are above 0
        found = rows.at(totals := totals.copy())
    of_rows, highest = rows.of_rows(found), rows.highest(found)
    assert cells.sums(of_rows) == pytest.approx(found.variances, rel=1e-9)
    fitted = answers + ((totals - rows.sums) / found.variances)[cells.group_of] * of_rows
    assert cells.sums(fitted) == pytest.approx(totals, rel=1e-9, abs=1e-9)
    for cell in range(12):
        own = answers[cells.group_of == cell]
        if SLOPE * own.max() + BASE > 1e-6:
            expected = row_by_row(own, float(totals[cell]))
            assert of_rows[cells.group_of == cell] == pytest.approx(expected, rel=1e-6)
        elif SLOPE * own.max() + BASE <= 0:  # so low that nothing says which rows are above 0
            together = len(own) * BASE + SLOPE * max(float(totals[cell]), 0)
            assert of_rows[cells.group_of == cell] == pytest.approx(np.full(len(own), together / len(own)))
        assert highest[cell] == pytest.approx(fitted[cells.group_of == cell].max(), rel=1e-9, abs=1e-9)


def test_at_the_answers_variances_are_those_of_the_answers() -> None:
    rng = np.random.default_rng(1)
    cells = random_cells(rng, 5, 30)
    answers = noisy(rng, rng.poisson(2.0, size=30).astype(np.float64), SIGMA)
    rows = RowsInMemory(cells, answers, SLOPE, BASE)
    expected = cells.sums(psi_variance(Sqrt(), answers, SIGMA))
    assert rows.variances_at_answers == pytest.approx(expected)


def attribute_problem(
    rng: np.random.Generator, cells: Partition, *, clipped: bool, smallest: float
) -> AttributeProblem:
    """Answers for rows, for cells in groups of four, and for all of them, of values of `smallest` and more."""
    protection = Protection(Sqrt(), 0.5)
    truth: FloatArray = smallest + rng.poisson(rng.choice([3.0, 30.0, 300.0], size=len(cells.group_of))).astype(
        np.float64
    )
    answers = noisy(rng, truth, SIGMA)
    own = ClippedNoise(protection, SIGMA, 4.0) if clipped else None
    by_cell, groups = cells.sums(truth), []
    for name, size in (("cells", 1), ("fours", 4), ("all", cells.count)):
        count = -(-cells.count // size)
        of_cells = Partition((np.arange(cells.count) // size).astype(np.int32), count)
        by_psi = np.full(count, True) if own is None else np.arange(count) % 2 == 0
        sums = of_cells.sums(by_cell)
        estimates = noisy(rng, sums, SIGMA)
        variances = np.where(by_psi, psi_variance(Sqrt(), estimates, SIGMA), 900.0)
        estimates = np.where(by_psi, estimates, sums + 30 * rng.standard_normal(count))
        sensitivity = None if own is None else np.full(count, 30.0)
        groups.append(GroupAnswers(of_cells, estimates, variances, name, by_psi, PsiNoise(Sqrt(), SIGMA), sensitivity))
    return AttributeProblem("jobs", cells, tuple(groups), answers, PsiNoise(Sqrt(), SIGMA), own)


@pytest.mark.parametrize("clipped", [False, True])
@pytest.mark.parametrize("smallest", [0.0, 20.0])
def test_the_fit_is_that_of_rounds_over_rows(clipped: bool, smallest: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    problem = attribute_problem(rng, random_cells(rng, 40, 400), clipped=clipped, smallest=smallest)
    monkeypatch.setattr(weights, "TOLERANCE", 1e-13)
    over_cells = fit_attribute(problem, "quasi")
    assert over_cells.change <= 1e-13
    monkeypatch.setattr(weights, "pooled", lambda problem: None)
    over_rows = fit_attribute(problem, "quasi")
    largest = np.max(np.abs(over_rows.values))
    assert np.max(np.abs(over_cells.values - over_rows.values)) <= 1e-8 * largest
    assert over_cells.totals == pytest.approx(over_rows.totals, rel=1e-8)
    assert over_cells.row_variances == pytest.approx(over_rows.row_variances, rel=1e-7)
    for ours, theirs in zip(over_cells.group_variances, over_rows.group_variances, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-8)
    assert fit_at(problem, over_cells.values).values == pytest.approx(over_cells.values, rel=1e-8, abs=1e-8 * largest)


def test_other_variances_are_not_pooled() -> None:
    rng = np.random.default_rng(7)
    cells = random_cells(rng, 8, 30)
    problem = attribute_problem(rng, cells, clipped=False, smallest=1.0)
    assert pooled(problem) is not None
    noise = PsiNoise(Log(1.0), 0.3)
    assert pooled(AttributeProblem("wage", cells, problem.groups, problem.estimates, noise)) is None
    assert pooled(AttributeProblem("wage", cells, problem.groups, None, None)) is None


@pytest.mark.parametrize("shift", [0.0, 2.5])
def test_the_line_of_sqrt_is_its_variance(shift: float) -> None:
    slope, base = Sqrt(shift).variance_line(0.7)
    at = np.array([0.0, 1.0, 1e6])
    assert slope * at + base == pytest.approx(Sqrt(shift).debiased_variance(at, 0.7))
