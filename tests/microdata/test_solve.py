"""The solver against dense weighted least squares, in which every answer is a row of a matrix."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gedp.arrays import FloatArray
from gedp.errors import DomainError
from gedp.microdata.solve import DIRECT_LIMIT, ROUNDING, ConvergenceError, MarginalSystem, Measurement, fit_cells, pool
from gedp.microdata.weights import least_norm
from gedp.partitions import Partition

Direct = list[tuple[FloatArray, FloatArray]]


def matrix_of(measured: Measurement) -> FloatArray:
    return np.eye(measured.groups.count)[:, measured.groups.group_of]


def dense(direct: Direct, measured: Sequence[Measurement]) -> tuple[FloatArray, FloatArray]:
    """The solution and its covariance."""
    cells = len(direct[0][0])
    design = np.vstack([*(np.eye(cells) for _ in direct), *map(matrix_of, measured)])
    answers = np.concatenate([*(a for a, _ in direct), *(m.answers for m in measured)])
    scale = 1 / np.sqrt(np.concatenate([*(v for _, v in direct), *(m.variances for m in measured)]))
    solution, *_ = np.linalg.lstsq(design * scale[:, None], answers * scale)
    inverse = np.linalg.pinv(design * scale[:, None])
    return solution, inverse @ inverse.T


@st.composite
def problems(draw: st.DrawFn, least: int = 0) -> tuple[Direct, list[Measurement]]:
    """Nested, crossing and repeated groupings, groups without cells, groups of one cell."""
    cells = draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread = draw(st.sampled_from([0.0, 1.0, 3.0]))

    def answers(count: int) -> tuple[FloatArray, FloatArray]:
        return 100 * rng.normal(size=count), 10 ** rng.uniform(-spread, spread, count)

    direct = [answers(cells) for _ in range(draw(st.integers(1, 2)))]
    measured: list[Measurement] = []
    kinds = st.sampled_from(["crossing", "nested", "again", "cells", "total"])
    for kind in draw(st.lists(kinds, min_size=least, max_size=5)):
        groups = draw(st.integers(1, cells + 2))
        of_cell = rng.integers(0, groups, cells).astype(np.int32)
        if kind == "nested" and measured:
            parent = measured[-1].groups
            of_cell = rng.integers(0, groups, parent.count).astype(np.int32)[parent.group_of]
        elif kind == "again" and measured:
            of_cell, groups = measured[-1].groups.group_of, measured[-1].groups.count
        elif kind == "cells":
            of_cell, groups = rng.permutation(cells).astype(np.int32), cells
        elif kind == "total":
            of_cell, groups = np.zeros(cells, dtype=np.int32), 1
        measured.append(Measurement(Partition(of_cell, groups), *answers(groups)))
    return direct, measured


@pytest.mark.parametrize("direct_limit", [DIRECT_LIMIT, 0], ids=["factors", "iteration"])
@given(problem=problems())
@settings(max_examples=100)
def test_cells_are_those_of_dense_least_squares(direct_limit: int, problem: tuple[Direct, list[Measurement]]) -> None:
    direct, measured = problem
    fit = fit_cells(direct, measured, direct_limit)
    expected, covariance = dense(direct, measured)
    np.testing.assert_allclose(fit.totals, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    # Cov(s) = V − V Bᵀ (W + B V Bᵀ)⁻¹ B V
    system, cells = fit.system, len(fit.totals)
    if system.size:
        carried = np.column_stack([system.gather(fit.variances * unit) for unit in np.eye(cells)])
        ours = np.diag(fit.variances) - carried.T @ system.solve(carried)
    else:
        ours = np.diag(fit.variances)
    np.testing.assert_allclose(ours, covariance, rtol=0, atol=1e-8 * np.abs(covariance).max())
    assert system.residual < 1e-9


def contradictory() -> tuple[Direct, list[Measurement]]:
    """Two answers for the total that disagree, much more precise than the cells: most of what is added up cancels."""
    direct, total = [(np.zeros(3), np.array([1.0, 100.0, 300.0]))], Partition.whole(3)
    one = Measurement(total, np.array([-100.0]), np.array([1e-3]))
    second = Partition(total.group_of + 1, 2)
    return direct, [one, Measurement(second, np.array([3.0, 100.0]), np.array([1.0, 1e-3]))]


@given(problem=problems())
@example(problem=contradictory())
def test_a_residual_that_is_rounding_error_is_stated_alike_in_every_run(
    problem: tuple[Direct, list[Measurement]],
) -> None:
    assert fit_cells(*problem, DIRECT_LIMIT).system.residual == ROUNDING


def test_a_residual_that_is_more_than_rounding_error_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver whose steps each leave a ten-thousandth, so that three leave 1e-12."""
    solved = MarginalSystem._direct
    monkeypatch.setattr(MarginalSystem, "_direct", lambda system, right: (1 - 1e-4) * solved(system, right))
    cells, groups = [(np.zeros(3), np.ones(3))], Partition(np.array([0, 0, 1], dtype=np.int32), 2)
    fit = fit_cells(cells, [Measurement(groups, np.array([5.0, 7.0]), np.array([1.0, 2.0]))])
    assert fit.system.residual == pytest.approx(1e-12, rel=0.01)


@given(problem=problems(least=1), seed=st.integers(0, 99))
def test_without_direct_answers_it_is_the_least_norm(problem: tuple[Direct, list[Measurement]], seed: int) -> None:
    _, measured = problem
    weights = np.random.default_rng(seed).uniform(0.2, 5, len(measured[0].groups.group_of))
    scale = 1 / np.sqrt(np.concatenate([m.variances for m in measured]))
    design = np.vstack([matrix_of(m) for m in measured]) * np.sqrt(weights)
    answers = np.concatenate([m.answers for m in measured])
    norm, *_ = np.linalg.lstsq(design * scale[:, None], answers * scale)
    expected = norm * np.sqrt(weights)
    ours = least_norm(measured, weights)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-6 * max(1.0, np.abs(expected).max()))


def test_one_grouping_is_divided_by_weight() -> None:
    groups = Partition(np.array([0, 0, 1], dtype=np.int32), 2)
    measured = Measurement(groups, np.array([30.0, 7.0]), np.array([2.0, 5.0]))
    np.testing.assert_allclose(least_norm([measured], np.array([1.0, 2.0, 9.0])), [10, 20, 7])


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_variances_that_are_no_variances_are_refused(bad: float) -> None:
    good = np.array([1.0, 2.0])
    total = Partition.whole(2)
    with pytest.raises(DomainError, match="1 of 2 variances"):
        fit_cells([(good, np.array([bad, 1.0]))], [])
    with pytest.raises(DomainError, match="1 of 1 variances"):
        fit_cells([(good, good)], [Measurement(total, np.array([1.0]), np.array([bad]))])
    with pytest.raises(DomainError, match="1 of 1 variances"):
        least_norm([Measurement(total, np.array([1.0]), np.array([bad]))], good)


def test_no_convergence_is_an_error_and_not_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    measured = [
        Measurement(
            Partition(rng.integers(0, 40, 500).astype(np.int32), 40), rng.normal(size=40), rng.uniform(0.1, 1, 40)
        )
        for _ in range(3)
    ]
    direct = [(rng.normal(size=500), rng.uniform(1, 9, 500))]
    fit_cells(direct, measured, 0)
    monkeypatch.setattr("gedp.microdata.solve.MOST_CG_STEPS", 2)
    with pytest.raises(ConvergenceError, match="120 groups"):
        fit_cells(direct, measured, 0)


def test_pooling_is_the_mean_by_inverse_variance() -> None:
    answers, variances = pool([np.array([1.0]), np.array([4.0])], [np.array([1.0]), np.array([2.0])])
    assert answers[0] == pytest.approx((1 / 1 + 4 / 2) / 1.5)
    assert variances[0] == pytest.approx(1 / 1.5)
