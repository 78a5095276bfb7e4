"""How much each answer weighs: by its variance, which for the ψ-mechanism depends on the truth that nobody may know.

`plug-in` (the paper's) takes the variance at the answer itself. An answer that came out low then seems precise, weighs
too much, and totals are pulled down. `quasi` takes the variance at the fitted value of the query and repeats to the
fixed point, where the quasi-score Σ (a_i − q_i(x)) / v_i(q_i(x)) · ∂q_i is 0; that is unbiased at the truth
(Wedderburn 1974).

Variances of clipped sums are public and exact, but large where the answer of the largest establishment came out high.
Plug-in takes them as they are, quasi at the bound that the fitted values give.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import lsmr

from gedp.arrays import FloatArray
from gedp.errors import DomainError
from gedp.microdata.pooled import RowVariances
from gedp.microdata.problem import AttributeProblem, pooled
from gedp.microdata.solve import (
    CellFit,
    ConvergenceError,
    Measurement,
    fit_cells,
    incidence,
    of_single_cells,
    require_variances,
)
from gedp.partitions import Partition

#: Of the last step of a query's fitted values (root mean square), in standard deviations of its answers.
TOLERANCE = 1e-4
MOST_ROUNDS = 200
#: After so many rounds the precisions of individual accounting stay as they are. They have settled but for a few that
#: would swing for long, and a weight need only be independent of the answer that it weighs.
VISITS = 4
NEAREST, FURTHEST = 1 / 3, 10.0  # how far an answer's aim is brought near or moved away, at most
LEAST_SHARE, MOST_SHARE = 0.1, 2.0  # of a step


@dataclass(frozen=True, repr=False)
class AttributeFit:
    """Fitted values of all rows, the variances that were used, and how the fixed point was reached."""

    values: FloatArray  # of the rows
    totals: FloatArray  # of the cells
    row_answers: FloatArray | None  # the identity answers, both of an establishment together; None without them
    row_variances: FloatArray | None  # their variances
    cell_variances: FloatArray | None  # their sums
    cell_fit: CellFit | None  # None where the answers do not determine the cells
    detail: str  # what the values of the rows rest on: identity | cells | undetermined
    group_variances: tuple[FloatArray, ...]  # of the answers for groups, in the order of the problem
    exact: bool  # whether no variance depends on the truth
    rounds: int = 0
    change: float = 0.0  # in the last round: the root mean square over the fitted values of the query that moved most
    largest_change: float = 0.0  # of a single fitted value
    each_row: RowVariances | None = None  # how those of the rows follow from their answers, where rows are on file
    constrained: Mapping[str, Any] = field(default_factory=dict)  # which constraints hold, and what they took


def fit_attribute(problem: AttributeProblem, weights: str, row_weights: FloatArray | None = None) -> AttributeFit:
    """The values that fit the answers best. `row_weights` divide cells that have no answers for establishments."""
    require_weights(weights)
    division = Division(problem.cells, row_weights)
    if weights == "plug-in" or variances_are_known(problem):
        return _fit(problem, _answers(problem), _plug_in(problem), division)
    as_released, sums, each_row = _answers(problem), None, None
    if (found := pooled(problem)) is None:
        settled = _settle(problem, division)
        answers, variances = settled.weighed.answers, settled.weighed.variances
    else:
        small, rows = found
        settled = _settle(small, Division(small.cells, None))
        answers, sums = as_released.each(), rows.sums
        at = rows.at(settled.at[0])
        variances, each_row = [rows.of_rows(at), *settled.weighed.variances[1:]], rows.each(at)
    return replace(
        _fit(problem, as_released.with_each(answers), as_released.with_each(variances), division, sums),
        rounds=settled.rounds,
        change=settled.change,
        largest_change=settled.largest_change,
        each_row=each_row,
    )


def _settle(problem: AttributeProblem, division: "Division") -> "Settled":
    """The quasi weights of a problem."""
    answers, here, visits = _answers(problem), problem, 0

    def weighed(at: Sequence[FloatArray]) -> Weighed:
        nonlocal here, visits
        if visits < VISITS:
            here = problem.at(None if problem.noise is None else at[0])
            visits += 1
        variances = _variances(here, answers.with_each(at)).each()
        return Weighed(_answers(here).each(), _plug_in(here).each(), variances)

    def fitted(aims: Sequence[FloatArray], widths: Sequence[FloatArray]) -> Sequence[FloatArray]:
        towards = _fit(problem, answers.with_each(aims), answers.with_each(widths), division)
        return _fitted(problem, towards).each()

    start = _fitted(problem, _fit(problem, answers, _plug_in(problem), division))
    return settle(weighed, start.each(), fitted)


def require_weights(weights: str) -> None:
    """Rejects weights other than quasi and plug-in."""
    if weights not in ("quasi", "plug-in"):
        raise DomainError(f"weights are quasi or plug-in, not {weights!r}")


@dataclass(frozen=True, repr=False)
class Weighed:
    """All answers, one array per query, and their variances at the answers and at some fitted values."""

    answers: Sequence[FloatArray]
    plug_in: Sequence[FloatArray]
    variances: Sequence[FloatArray]


@dataclass(frozen=True, repr=False)
class Settled:
    """The variances of all answers at the fixed point, and how it was reached."""

    weighed: Weighed
    at: Sequence[FloatArray]  # the fitted values
    rounds: int
    change: float
    largest_change: float


def settle(
    weighed_at: Callable[[Sequence[FloatArray]], Weighed],
    at: Sequence[FloatArray],
    fitted: Callable[[Sequence[FloatArray], Sequence[FloatArray]], Sequence[FloatArray]],
) -> Settled:
    """The quasi weights: from the fitted values `at` to those whose variances give them again. One array per query.

    `fitted` are the values that fit answers with given variances best.
    """
    rounds, stride = 0, Stride()
    changes: list[Change] = []
    while rounds < MOST_ROUNDS and not (changes and max(change.typical for change in changes) <= TOLERANCE):
        weighed = weighed_at(at)
        variances = weighed.variances
        aims, widths = zip(*map(quasi_step, weighed.answers, at, weighed.plug_in, variances), strict=True)
        steps = [there - here for there, here in zip(fitted(aims, widths), at, strict=True)]
        changes = list(map(Change.of, steps, variances))
        share = stride.share_of(steps, variances)
        at = [here + share * step for here, step in zip(at, steps, strict=True)]
        rounds += 1
    typical, largest = max(change.typical for change in changes), max(change.largest for change in changes)
    return Settled(weighed_at(at), at, rounds, typical, largest)


def fit_at(problem: AttributeProblem, values: FloatArray) -> AttributeFit:
    """The best fit with the variances that the answers have where these row values are the truth."""
    totals = problem.cells.sums(values)
    groups = tuple(group.groups.sums(totals) for group in problem.groups)
    at = _PerAnswer(None if problem.noise is None else values, groups)
    problem = problem.at(at.rows)
    return _fit(problem, _answers(problem), _variances(problem, at), Division(problem.cells, None))


def quasi_step(
    answers: FloatArray, fitted: FloatArray, at_answers: FloatArray, at_fitted: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Answers and variances whose weighted least squares are a step towards a zero of the quasi-score (a − x)/v(x).

    Taken for a line of slope −1/v(x), the score would make values oscillate or creep. With the slope of v taken from x
    to a, its own slope is v(a)/v(x) times as steep: for sqrt, where v is a line itself, that is Newton's method. This
    shapes the steps, never where they end.
    """
    ratio = at_fitted / at_answers
    np.clip(ratio, NEAREST, FURTHEST, out=ratio)
    aims = answers - fitted  # in place from here on: there may be millions
    aims *= ratio
    aims += fitted
    ratio *= at_fitted
    return aims, ratio


@dataclass(frozen=True)
class Change:
    """How long a step of the fitted values of a query is, in standard deviations of its answers."""

    typical: float  # the root mean square
    largest: float

    @classmethod
    def of(cls, step: FloatArray, variances: FloatArray) -> "Change":
        """The length of a step, with the deviations that answers have where it begins."""
        squares = step * step
        squares /= variances
        return cls(float(np.sqrt(np.mean(squares))), float(np.sqrt(np.max(squares))))


class Stride:
    """How much of each step to take, from what became of the one before (Aitken's relaxation, for vectors).

    Steps that turn back went too far: two values that answer each other, such as a bound and the sum that it clips, may
    swing forever. Steps that go on the same way, but shorter, could be longer. Where they grow, all of it is taken.
    """

    def __init__(self) -> None:
        self._share = 1.0
        self._last: Sequence[FloatArray] = ()

    def share_of(self, steps: Sequence[FloatArray], variances: Sequence[FloatArray]) -> float:
        """Of a step of every query, in standard deviations of its answers. All queries count alike."""
        along = length = 0.0
        for last, step, variance in zip(self._last, steps, variances, strict=False):
            turned = last - step
            scaled = turned / variance
            along += float(scaled @ last) / len(step)
            length += float(scaled @ turned) / len(step)
        self._last = steps
        self._share = min(max(self._share * along / length, LEAST_SHARE), MOST_SHARE) if along > 0 else 1.0
        return self._share


@dataclass(frozen=True, repr=False)
class _PerAnswer:
    """One number for every answer: of the rows, if they have answers, and of the groups of every query."""

    rows: FloatArray | None
    groups: tuple[FloatArray, ...]

    def each(self) -> tuple[FloatArray, ...]:
        """All of them, the rows' first."""
        return self.groups if self.rows is None else (self.rows, *self.groups)

    def with_each(self, values: Sequence[FloatArray]) -> "_PerAnswer":
        """Others in the same order."""
        return _PerAnswer(None, tuple(values)) if self.rows is None else _PerAnswer(values[0], tuple(values[1:]))


def _answers(problem: AttributeProblem) -> _PerAnswer:
    """The answers themselves."""
    return _PerAnswer(problem.estimates, tuple(group.answers for group in problem.groups))


def _plug_in(problem: AttributeProblem) -> _PerAnswer:
    """The variances at the answers themselves."""
    rows = None
    if problem.estimates is not None and problem.noise is not None:
        rows = problem.noise.at_answers(problem.estimates)
    return _PerAnswer(rows, tuple(group.variances for group in problem.groups))


def _fitted(problem: AttributeProblem, fit: AttributeFit) -> _PerAnswer:
    """What the fit says instead of every answer."""
    groups = tuple(group.groups.sums(fit.totals) for group in problem.groups)
    return _PerAnswer(None if problem.noise is None else fit.values, groups)


def _variances(problem: AttributeProblem, at: _PerAnswer) -> _PerAnswer:
    """The variances where the fitted values are the truth."""
    rows = None if problem.noise is None or at.rows is None else problem.noise.variance(at.rows)
    pairs = zip(problem.groups, _clipped_variances(problem, at.rows), at.groups, strict=True)
    return _PerAnswer(rows, tuple(group.variances_at(x, clipped) for group, clipped, x in pairs))


def _clipped_variances(problem: AttributeProblem, rows: FloatArray | None) -> Iterator[FloatArray]:
    """Of clipped sums, if the bounds came from the fitted values of the establishments and not from noisy answers.

    The noise of a clipped sum was drawn at its released variance. But that is large where the answer of the largest
    establishment came out high, so weighing by it would trust just those answers too much.
    """
    if problem.clipped is None or problem.noise is None or rows is None:
        yield from (group.variances for group in problem.groups)
        return
    largest = problem.noise.highest(rows, problem.cells)
    for group in problem.groups:
        if group.sensitivity is None or group.by_psi.all():
            yield group.variances
            continue
        fitted = np.maximum(group.groups.largest(largest), problem.noise.least)
        at_fitted = problem.clipped.sensitivity(problem.noise.psi(fitted))
        is_known = np.isfinite(at_fitted) & (at_fitted > 0) & (group.sensitivity > 0)
        ratio = np.divide(at_fitted, group.sensitivity, out=np.ones_like(at_fitted), where=is_known)
        yield group.variances * ratio**2


@dataclass(frozen=True, repr=False)
class Division:
    """How cells without answers for their establishments are divided; worked out if there are such."""

    cells: Partition
    row_weights: FloatArray | None

    @cached_property
    def cell_weights(self) -> FloatArray:
        """What the rows of every cell weigh together."""
        weights, by_cell = self._weights, self.cells.sums(self._weights)
        if not (np.isfinite(weights).all() and (weights >= 0).all() and (by_cell > 0).all()):
            raise DomainError("public weights must be numbers of 0 or more, and above 0 somewhere in every cell")
        return by_cell

    @cached_property
    def shares(self) -> FloatArray:
        """Of each row in its cell."""
        return self._weights / self.cell_weights[self.cells.group_of]

    @cached_property
    def _weights(self) -> FloatArray:
        if self.row_weights is None:
            return np.ones(len(self.cells.group_of))
        return np.asarray(self.row_weights, dtype=np.float64)


def _fit(
    problem: AttributeProblem,
    answers: _PerAnswer,
    variances: _PerAnswer,
    division: Division,
    sums: FloatArray | None = None,
) -> AttributeFit:
    """The best fit with these variances. `sums` of the rows' answers over the cells, where they are known already."""
    cells, of_row = problem.cells, problem.cells.group_of
    known = variances.groups, variances_are_known(problem)
    groups = zip(problem.groups, answers.groups, variances.groups, strict=True)
    measurements = [Measurement(group.groups, a, v) for group, a, v in groups]
    if answers.rows is not None and variances.rows is not None:
        require_variances(variances.rows, f"{problem.name}, answers for establishments")
        sums = cells.sums(answers.rows) if sums is None else sums
        sum_variances = cells.sums(variances.rows)
        fit = fit_cells([(sums, sum_variances)], measurements)
        values = ((fit.totals - sums) / sum_variances)[of_row]
        values *= variances.rows
        values += answers.rows
        return AttributeFit(values, fit.totals, answers.rows, variances.rows, sum_variances, fit, "identity", *known)
    direct, coarser = of_single_cells(measurements)
    if direct:
        fit = fit_cells(direct, coarser)
        values = fit.totals[of_row] * division.shares
        return AttributeFit(values, fit.totals, None, None, None, fit, "cells", *known)
    totals = least_norm(measurements, division.cell_weights)
    return AttributeFit(totals[of_row] * division.shares, totals, None, None, None, None, "undetermined", *known)


def least_norm(measurements: Sequence[Measurement], cell_weights: FloatArray) -> FloatArray:
    """Where groups alone do not determine the cells: of all best fits the one with the least Σ s_c²/weight_c.

    Under one query this divides every group in proportion to the weights of its cells.
    """
    cells, scale = len(cell_weights), np.sqrt(cell_weights)
    blocks, wanted = [], []
    for each in measurements:
        require_variances(each.variances, "answers for groups")
        precision = 1 / np.sqrt(each.variances)
        blocks.append(incidence(each.groups, precision[each.groups.group_of] * scale))
        wanted.append(each.answers * precision)
    matrix = sparse.vstack(blocks, format="csr")
    result = lsmr(matrix, np.concatenate(wanted), atol=1e-14, btol=1e-14, conlim=0, maxiter=20 * sum(matrix.shape))
    if result[1] == 7:
        raise ConvergenceError(f"the least-squares problem of {cells:,} cells was not solved in {result[2]:,} steps")
    totals: FloatArray = result[0] * scale
    return totals


def variances_are_known(problem: AttributeProblem) -> bool:
    """Whether no variance depends on the truth."""
    rows_are_known = problem.noise is None or problem.noise.psi.has_constant_variance
    return rows_are_known and problem.second is None and all(group.is_exact for group in problem.groups)
