"""Non-negativity and fixed totals against dense solutions in which every answer is a row of a matrix."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse

from gedp.arrays import FloatArray
from gedp.microdata.constraints.equalities import Fixed, hold, independent
from gedp.microdata.constraints.nonnegative import MOST_STEPS, fit_nonnegative
from gedp.microdata.constraints.reduced import Reduced
from gedp.microdata.solve import DIRECT_LIMIT, MarginalSystem, Measurement, fit_cells
from gedp.microdata.variances import _of_cell_totals
from gedp.partitions import Partition


def dense(problem: Reduced) -> tuple[FloatArray, FloatArray]:
    """The scaled design matrix over the units, and the scaled answers."""
    units, cells = len(problem.answers), members(problem.cells)
    design, answers, variances = [np.eye(units)], [problem.answers], [problem.variances]
    if problem.finest is not None:
        design.append(cells)
        answers.append(problem.finest[0])
        variances.append(problem.finest[1])
    for each in problem.measurements:
        design.append(members(each.groups) @ cells)
        answers.append(each.answers)
        variances.append(each.variances)
    scale = 1 / np.sqrt(np.concatenate(variances))
    return np.vstack(design) * scale[:, None], np.concatenate(answers) * scale


def members(groups: Partition) -> FloatArray:
    matrix = np.zeros((groups.count, len(groups.group_of)))
    matrix[groups.group_of, np.arange(len(groups.group_of))] = 1
    return matrix[groups.asked_for]


@st.composite
def problems(draw: st.DrawFn, most_units: int = 25) -> Reduced:
    """Crossing, nested and repeated groupings of cells with answers around 0, so that many would be negative."""
    cells = draw(st.integers(1, 8))
    units = draw(st.integers(cells, max(cells, most_units)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread, centre = draw(st.sampled_from([0.0, 1.0, 2.5])), draw(st.sampled_from([-5.0, 0.0, 5.0, 50.0]))

    def answers(count: int) -> tuple[FloatArray, FloatArray]:
        return centre + 10 * rng.normal(size=count), 10 ** rng.uniform(-spread, spread, count)

    of_unit = np.concatenate([np.arange(cells), rng.integers(0, cells, units - cells)]).astype(np.int32)
    finest = answers(cells) if draw(st.booleans()) else None
    measured = []
    for groups in draw(st.lists(st.integers(1, 4), max_size=4)):
        of_cell = rng.integers(0, groups, cells).astype(np.int32)
        measured.append(Measurement(Partition(of_cell, groups), *answers(groups)))
    return Reduced(*answers(units), Partition(of_unit, cells), finest, tuple(measured))


@given(problem=problems())
@settings(max_examples=80)
def test_without_negatives_it_is_the_dense_nonnegative_least_squares(problem: Reduced) -> None:
    design, answers = dense(problem)
    expected, _ = optimize.nnls(design, answers)
    fit = fit_nonnegative(problem)
    np.testing.assert_allclose(fit.values, expected, rtol=1e-6, atol=1e-6 * max(np.abs(expected).max(), 1e-3))
    assert fit.violation <= 1e-10
    assert fit.steps < MOST_STEPS / 2


@given(problem=problems(60))
@settings(max_examples=60)
def test_the_conditions_of_the_optimum_hold(problem: Reduced) -> None:
    """The gradient is 0 where a value is above 0, and points below 0 where it is 0."""
    design, answers = dense(problem)
    values = fit_nonnegative(problem).values
    gradient = design.T @ (design @ values - answers)
    size = np.abs(design.T) @ (np.abs(design @ values) + np.abs(answers))
    assert (values >= 0).all()
    assert (np.abs(gradient) <= 1e-8 * size)[values > 0].all()
    assert (gradient >= -1e-8 * size)[values == 0].all()


def test_where_nothing_would_be_negative_nothing_changes() -> None:
    rng = np.random.default_rng(0)
    of_units = Partition(np.arange(60, dtype=np.int32) % 7, 7)
    halves = Partition(np.arange(7, dtype=np.int32) % 2, 2)
    measured = Measurement(halves, np.array([4000.0, 3000.0]), np.array([2.0, 3.0]))
    problem = Reduced(rng.uniform(50, 200, 60), np.ones(60), of_units, None, (measured,))
    fit = fit_nonnegative(problem)
    cells = fit_cells([(of_units.sums(problem.answers), of_units.sums(problem.variances))], [measured])
    np.testing.assert_allclose(of_units.sums(fit.values), cells.totals, rtol=1e-12)
    assert fit.steps == 1


@st.composite
def fixed_totals(draw: st.DrawFn, problem: Reduced, most: int) -> list[Fixed]:
    """Totals of hidden values of 0 or more, so that they never contradict each other, for some groups of groupings."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    hidden = problem.cells.sums(np.maximum(problem.answers + rng.normal(size=len(problem.answers)), 0))
    fixed = []
    for groups in draw(st.lists(st.integers(1, 4), min_size=1, max_size=most)):
        codes = rng.integers(0, groups, problem.cells.count)
        chosen = rng.random(groups) < 0.8
        chosen[codes[0]] = True
        named = np.flatnonzero(np.isin(np.arange(groups), codes) & chosen)
        place = np.full(groups, len(named))
        place[named] = np.arange(len(named))
        has_rest = bool((place[codes] == len(named)).any())
        of_cells = Partition(place[codes].astype(np.int32), len(named) + has_rest, has_rest=has_rest)
        totals = of_cells.sums(hidden)[of_cells.asked_for]
        fixed.append(Fixed(("key",), of_cells, totals, tuple(f"key = {n}" for n in named)))
    return fixed


def constraints(problem: Reduced, fixed: list[Fixed]) -> tuple[FloatArray, FloatArray]:
    matrix = np.vstack([members(each.groups) @ members(problem.cells) for each in fixed])
    return matrix, np.concatenate([each.totals for each in fixed])


def dense_equality(problem: Reduced, fixed: list[Fixed], kept: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """The solution of the dense system of the optimum's conditions over the kept units; and the multipliers' rows."""
    design, answers = dense(problem)
    design = design[:, kept]
    matrix, totals = constraints(problem, fixed)
    matrix = matrix[:, kept]
    size = design.shape[1]
    system = np.block([[design.T @ design, matrix.T], [matrix, np.zeros((len(matrix), len(matrix)))]])
    solution = np.linalg.lstsq(system, np.concatenate([design.T @ answers, totals]), rcond=1e-12)[0]
    return solution[:size], solution[size:]


def measured_of(problem: Reduced, fixed: list[Fixed]) -> list[Measurement]:
    held, faults = independent(fixed, 1.0)
    assert not faults
    variances = problem.cells.sums(problem.variances)
    return [each.measurement(mask, variances) for each, mask in zip(fixed, held, strict=True)]


@given(data=st.data(), problem=problems())
@settings(max_examples=60)
def test_fixed_totals_are_the_dense_constrained_fit_with_its_covariance(data: st.DataObject, problem: Reduced) -> None:
    fixed = data.draw(fixed_totals(problem, 3))
    everything = np.arange(len(problem.answers))
    expected, _ = dense_equality(problem, fixed, everything)
    matrix, totals = constraints(problem, fixed)
    start = free_totals(problem)
    cells = hold(problem, start, measured_of(problem, fixed))
    ours = problem.cells.sums(expected)
    size = 1 + np.abs(problem.answers).sum()
    np.testing.assert_allclose(cells.totals, ours, rtol=0, atol=1e-8 * size)
    of_fixed = np.vstack([members(each.groups) for each in fixed])
    np.testing.assert_allclose(of_fixed @ cells.totals, totals, rtol=0, atol=1e-11 * size)
    # Cov = N (Nᵀ H N)⁻¹ Nᵀ over the null space N of the constraints.
    design, _ = dense(problem)
    _, singular, right = np.linalg.svd(matrix)
    null = right[int((singular > 1e-9).sum()) :].T
    covariance = null @ np.linalg.inv(null.T @ design.T @ design @ null) @ null.T
    unit_cells = members(problem.cells)
    dense_variances = np.diag(unit_cells @ covariance @ unit_cells.T)
    our_variances = _of_cell_totals(cells, sparse.csr_array(np.eye(problem.cells.count)))
    np.testing.assert_allclose(our_variances, dense_variances, rtol=1e-6, atol=1e-8 * cells.variances.max())
    np.testing.assert_allclose(_of_cell_totals(cells, sparse.csr_array(of_fixed.T)), 0, atol=1e-10 * size)


def free_totals(problem: Reduced) -> FloatArray:
    """The fit without constraints."""
    design, answers = dense(problem)
    return problem.cells.sums(np.asarray(np.linalg.lstsq(design, answers)[0], dtype=np.float64))


@given(data=st.data(), problem=problems(7))
@settings(max_examples=30)
def test_both_together_are_the_best_of_all_sets_of_zeros(data: st.DataObject, problem: Reduced) -> None:
    units = len(problem.answers)
    fixed = data.draw(fixed_totals(problem, 2))
    design, answers = dense(problem)
    matrix, totals = constraints(problem, fixed)
    best, least = None, np.inf
    for pattern in product([False, True], repeat=units):
        kept = np.flatnonzero(pattern)
        values = np.zeros(units)
        values[kept] = dense_equality(problem, fixed, kept)[0]
        if (values >= -1e-9).all() and np.allclose(matrix @ values, totals, rtol=1e-9, atol=1e-7):
            loss = float(np.sum((design @ values - answers) ** 2))
            if loss < least:
                best, least = values, loss
    assert best is not None
    fit = fit_nonnegative(problem, measured_of(problem, fixed))
    np.testing.assert_allclose(fit.values, best, rtol=1e-6, atol=2e-6 * (1 + np.abs(best).max()))
    np.testing.assert_allclose(matrix @ fit.values, totals, rtol=1e-9, atol=1e-8)


def test_where_full_steps_would_go_in_circles() -> None:
    """Found by search: without cutting steps short, the same two sets of zeros take turns for ever."""
    rng = np.random.default_rng(9265)
    cells = int(rng.integers(3, 8))
    measured = []
    for _ in range(int(rng.integers(2, 6))):
        groups = int(rng.integers(1, 4))
        of_cell = rng.integers(0, groups, cells).astype(np.int32)
        drawn = 10 * rng.normal(size=groups), np.full(groups, 10.0 ** rng.uniform(-4, 0))
        measured.append(Measurement(Partition(of_cell, groups), *drawn))
    answers, variances = rng.normal(size=cells) * 10 - 3, 10.0 ** rng.uniform(-2, 2, cells)
    problem = Reduced(answers, variances, Partition.single(cells), None, tuple(measured))
    fit = fit_nonnegative(problem)
    expected, _ = optimize.nnls(*dense(problem))
    np.testing.assert_allclose(fit.values, expected, rtol=1e-6, atol=1e-6)
    assert fit.steps < 15


def test_many_rows_take_few_steps() -> None:
    rng = np.random.default_rng(1)
    rows, cells = 200_000, 3_000
    truth = rng.lognormal(0, 1.5, rows)
    variances = 1 + truth
    of_rows = Partition(rng.integers(0, cells, rows).astype(np.int32), cells)
    measured = []
    for groups in (1, 20, 150):
        of_cells = Partition(rng.integers(0, groups, cells).astype(np.int32), groups)
        noisy = of_rows.of_groups(of_cells).sums(truth) + 10 * rng.normal(size=groups)
        measured.append(Measurement(of_cells, noisy, np.full(groups, 100.0)))
    answers = truth + np.sqrt(variances) * rng.normal(size=rows)
    problem = Reduced(answers, variances, of_rows, None, tuple(measured))
    fit = fit_nonnegative(problem)
    assert (fit.values == 0).sum() > rows / 20
    assert fit.steps <= 15
    assert fit.violation < 1e-11
    # Both ways raise the total, cutting off by far more.
    added, spread = problem.cells.sums(answers), problem.cells.sums(variances)
    free = answers + variances * ((fit_cells([(added, spread)], measured).totals - added) / spread)[of_rows.group_of]
    assert free.sum() < fit.values.sum() < free.sum() + (np.maximum(free, 0).sum() - free.sum()) / 5


@pytest.mark.parametrize("sizes", [(49, 98, 103), (7, 11), (1,), tuple(range(1, 120))])
def test_totals_given_again_are_let_go_whatever_rounding_leaves_of_them(sizes: tuple[int, ...]) -> None:
    of_cell = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)
    names = tuple(f"group {i}" for i in range(len(sizes)))
    totals = np.array([1000.0 * i for i in range(len(sizes))])
    fixed = Fixed(("key",), Partition(of_cell, len(sizes)), totals, names)
    held, faults = independent([fixed, fixed], 1.0)
    assert not faults
    assert sorted(int(mask.sum()) for mask in held) == [0, len(sizes)]


def test_contradictions_are_found_whichever_way_the_groupings_lie() -> None:
    cells = np.arange(6, dtype=np.int32)
    rows, columns = Partition(cells // 3, 2), Partition(cells % 3, 3)
    by_row = Fixed(("row",), rows, np.array([6.0, 15.0]), ("row = 0", "row = 1"))
    by_column = Fixed(("column",), columns, np.array([5.0, 7.0, 9.0]), ("column = 0", "column = 1", "column = 2"))
    total = Fixed((), Partition.whole(6), np.array([21.0]), ("the total",))
    held, faults = independent([total, by_row, by_column], 1.0)
    assert not faults
    assert sum(int(mask.sum()) for mask in held) == 4
    wrong = Fixed((), total.groups, np.array([22.0]), total.names)
    for order in ([wrong, by_row, by_column], [by_row, wrong], [by_column, by_row, wrong]):
        (fault,) = independent(order, 1.0)[1]
        assert "contradict" in fault.problem


def test_a_system_of_zero_variances_is_solved_by_iteration_too() -> None:
    pairs, turns = (Partition(np.array(codes, dtype=np.int32), 2) for codes in ([0, 0, 1, 1], [0, 1, 0, 1]))
    held, other = Measurement(pairs, np.array([3.0, 5.0]), np.zeros(2)), Measurement(turns, np.ones(2), np.ones(2))
    right = np.array([1.0, 2.0, 3.0, 4.0])
    answers = [MarginalSystem(np.ones(4), [held, other], limit).solve(right) for limit in (DIRECT_LIMIT, 0)]
    assert answers[0] == pytest.approx(answers[1])
