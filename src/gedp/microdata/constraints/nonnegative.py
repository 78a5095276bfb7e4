"""The best fit without negative values: exact, not by cutting them off.

Let t_c be what one more in cell c would gain in fit elsewhere. A unit is then x_j = max(0, a_j + v_j t_c), so all that
is unknown are the multipliers: one per group, and one per cell that has an answer of its own. The best ones maximise a
concave function that is quadratic as long as the same units are 0. Each of Newton's steps therefore solves the
unconstrained system over the units that are above 0 now, and the iteration ends at the exact solution once none of them
changes. A step that would go past the maximum is cut short, so no cycle is possible.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gedp.arrays import FloatArray
from gedp.microdata.constraints.reduced import Reduced
from gedp.microdata.solve import DIRECT_LIMIT, ConvergenceError, MarginalSystem, Measurement, gather, spread

TOLERANCE = 1e-14  # of the optimality conditions, relative to what is added up in them
ACCEPTED = 1e-10  # where a further step no longer helps
MOST_STEPS = 100
SLACK = 1e-6  # keeps a step finite where no free unit is left to meet a fixed total; changes steps, not the solution
OVERSHOOT = 1e-6  # of the slope at the start of a step, allowed at its end


@dataclass(frozen=True, repr=False)
class NonnegativeFit:
    """Values of 0 or more, and how well they meet the conditions of the optimum (Karush, Kuhn, Tucker)."""

    values: FloatArray  # of the units
    steps: int
    violation: float  # largest, relative


@dataclass(frozen=True, repr=False)
class _Point:
    """Multipliers, with what they give: cell sums, and how far groups and cells are from their conditions."""

    groups: FloatArray
    cells: FloatArray  # 0 where cells have no answers of their own
    pull: FloatArray  # t
    sums: FloatArray
    group_gaps: FloatArray
    cell_gaps: FloatArray


def fit_nonnegative(problem: Reduced, fixed: Sequence[Measurement] = ()) -> NonnegativeFit:
    """Minimises the same sum of squares over values of 0 or more, with the fixed totals (variance 0) met exactly."""
    every = sorted([*problem.measurements, *fixed], key=lambda m: -m.groups.count)
    full = problem.cells.sums(problem.variances)
    answers, variances = (
        np.concatenate([*(getattr(m, k) for m in every), np.empty(0)]) for k in ("answers", "variances")
    )
    own_sizes = problem.cells.sums(np.abs(problem.answers)) + np.finfo(np.float64).tiny

    def at(groups: FloatArray, cells: FloatArray, values: Callable[[FloatArray], FloatArray]) -> _Point:
        pull = spread(every, groups, problem.cells.count) + cells
        sums = problem.cells.sums(values(pull))
        gaps = answers - variances * groups - gather(every, sums)
        cell_gaps = np.zeros(problem.cells.count)
        if problem.finest is not None:
            cell_gaps = problem.finest[0] - problem.finest[1] * cells - sums
        return _Point(groups, cells, pull, sums, gaps, cell_gaps)

    def unbounded(pull: FloatArray) -> FloatArray:
        moved: FloatArray = problem.answers + problem.variances * pull[problem.cells.group_of]
        return moved

    def bounded(pull: FloatArray) -> FloatArray:
        return np.maximum(unbounded(pull), 0.0)

    # The first step, from nothing and with every unit free, gives the fit without the bound.
    point = at(np.zeros(len(answers)), np.zeros(problem.cells.count), unbounded)
    free = full
    violation = np.inf
    for step in range(MOST_STEPS):
        groups, cells = _newton(problem, _steady(every, free, full), point, free)
        if step == 0:
            point = at(point.groups + groups, point.cells + cells, bounded)
        else:
            point = _searched(point, groups, cells, lambda g, c: at(g, c, bounded))
        free = problem.cells.sums(np.where(unbounded(point.pull) > 0, problem.variances, 0.0))
        sizes = own_sizes + free * np.abs(point.pull)  # of what is added up, and so of what rounding leaves
        group_gaps = point.group_gaps / (np.abs(answers) + gather(every, sizes) + np.finfo(np.float64).tiny)
        before, violation = violation, _largest(group_gaps, point.cell_gaps / sizes)
        if violation <= TOLERANCE or before / 2 < violation <= ACCEPTED:
            return NonnegativeFit(bounded(point.pull), step + 1, violation)
    raise ConvergenceError(
        f"the fit without negative values was not reached in {MOST_STEPS} steps ({violation:.0e} left)"
    )


def _newton(
    problem: Reduced, slack: Sequence[Measurement], point: _Point, free: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The step to the best multipliers if the same units stay free; `free` are their variances, added up by cell."""
    system = MarginalSystem(problem.cell_variances(free), slack, DIRECT_LIMIT)
    if problem.finest is None:
        return system.solve(point.group_gaps), np.zeros(problem.cells.count)
    both = free + problem.finest[1]
    groups = system.solve(point.group_gaps - system.gather(free / both * point.cell_gaps))
    return groups, (point.cell_gaps - free * system.spread(groups)) / both


def _searched(
    start: _Point, groups: FloatArray, cells: FloatArray, at: Callable[[FloatArray, FloatArray], _Point]
) -> _Point:
    """As far along the step as the concave function still rises: all of it, or until its slope is half or less."""

    def reached(length: float) -> tuple[_Point, float]:
        point = at(start.groups + length * groups, start.cells + length * cells)
        return point, float(point.group_gaps @ groups + point.cell_gaps @ cells)

    first = float(start.group_gaps @ groups + start.cell_gaps @ cells)
    point, slope = reached(1.0)
    if slope >= -OVERSHOOT * first:
        return point
    low, high, at_low, at_high = 0.0, 1.0, first, slope
    best = start
    for _ in range(MOST_STEPS):
        # Between the chord's zero and the middle: sure to shrink, quick where the slope is nearly straight.
        length = low + (high - low) * min(max(at_low / (at_low - at_high), 0.01), 0.5)
        point, slope = reached(length)
        if slope < 0:
            high, at_high = length, slope
            continue
        low, at_low, best = length, slope, point
        if slope <= first / 2:
            break
    return best


def _steady(measurements: Sequence[Measurement], free: FloatArray, full: FloatArray) -> list[Measurement]:
    """The same with a small variance where it is 0: the free units may not be able to meet every fixed total."""
    steady = []
    for m in measurements:
        own = m.groups.sums(free)
        small = SLACK * np.where(own > 0, own, m.groups.sums(full))
        steady.append(Measurement(m.groups, m.answers, np.where(m.variances > 0, m.variances, small)))
    return steady


def _largest(*parts: FloatArray) -> float:
    return max(float(np.abs(part).max(initial=0.0)) for part in parts)
