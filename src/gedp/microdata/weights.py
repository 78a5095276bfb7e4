"""How much each answer weighs: by its variance, which for the ψ-mechanism depends on the truth that nobody may know.

`plug-in` (the paper's) takes the variance at the answer itself. An answer that came out low then seems precise, weighs
too much, and totals are pulled down. `quasi` takes the variance at the fitted value of the query and repeats to the
fixed point, where the quasi-score Σ (a_i − q_i(x)) / v_i(q_i(x)) · ∂q_i is 0; that is unbiased at the truth
(Wedderburn 1974). Answers of the pnc-mechanism keep their exact variances in both.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import lsmr

from gedp.errors import DomainError
from gedp.estimates import psi_variance
from gedp.microdata.cells import AttributeProblem, is_exact
from gedp.microdata.solve import (
    CellFit,
    ConvergenceError,
    Marginal,
    fit_cells,
    is_partition,
    require_variances,
    sum_by,
)
from gedp.neighbors.functions import FloatArray

TOLERANCE = 1e-5  # of any variance's distance from that at the fitted value, relative
MOST_ROUNDS = 500
SHORTER, LONGER, LONGEST = 0.5, 1.2, 2.0  # factors on the step of a variance, and its limit
_FACTORS = np.array([1.0, LONGER, SHORTER], dtype=np.float32)  # where it begins (0), keeps going (1), turns back (-1)


@dataclass(frozen=True, repr=False)
class AttributeFit:
    """Fitted values of all rows, the variances that were used, and how the fixed point was reached."""

    values: FloatArray  # of the rows
    totals: FloatArray  # of the cells
    row_variances: FloatArray | None  # of the identity answers; None without them
    cell_variances: FloatArray | None  # their sums
    cell_fit: CellFit | None  # None where the answers do not determine the cells
    rounds: int
    change: float  # of the last round
    detail: str  # what the values of the rows rest on: identity | cells | undetermined


def fit_attribute(problem: AttributeProblem, weights: str, row_weights: FloatArray | None = None) -> AttributeFit:
    """The values that fit the answers best. `row_weights` divide cells that have no answers for establishments."""
    if weights not in ("quasi", "plug-in"):
        raise DomainError(f"weights are quasi or plug-in, not {weights!r}")
    division = _division(problem, row_weights)
    used = _plug_in(problem)
    fit = _fit(problem, used, division)
    if weights == "plug-in" or variances_are_known(problem):
        return fit
    relaxed = [Relaxed(variances) for variances in used.each()]
    change = np.inf
    for done in range(1, MOST_ROUNDS + 1):
        wanted = _at(problem, fit)
        distances = [each.approach(target) for each, target in zip(relaxed, wanted.each(), strict=True)]
        change = max(float(distance.max(initial=0.0)) for distance in distances)
        if change <= TOLERANCE:
            return replace(fit, rounds=done - 1, change=change)
        used = used.with_each([each.value for each in relaxed])
        fit = _fit(problem, used, division)
    raise ConvergenceError(
        f"{problem.name}: the weights did not settle in {MOST_ROUNDS} rounds (largest relative change {change:.1e}, "
        f"tolerance {TOLERANCE:.0e}). Use weights = 'plug-in'"
    )


class Relaxed:
    """Variances on their way to a fixed point, each with a step of its own.

    One cell may oscillate where another creeps, so one damping for all would be too much here and too little there: a
    step is halved when its variance turns back, and grows, up to over-relaxation, while it keeps going.
    """

    def __init__(self, value: FloatArray) -> None:
        self.value = value
        self._step = np.ones(value.shape, dtype=np.float32)
        self._last = np.zeros(value.shape)

    def approach(self, target: FloatArray) -> FloatArray:
        """Steps towards the target; returns the relative distance there was."""
        distance = target - self.value
        self._last *= distance
        self._step *= _FACTORS[np.sign(self._last).astype(np.int8)]
        np.minimum(self._step, np.float32(LONGEST), out=self._step)
        relative: FloatArray = np.abs(distance) / self.value
        # An over-relaxed step never takes more than half of the smaller of the two away.
        self.value = np.maximum(self.value + self._step * distance, np.minimum(self.value, target) / 2)
        self._last = distance
        return relative

    def keep(self, which: npt.NDArray[np.bool_]) -> None:
        """Goes on with some of them only."""
        self.value, self._step, self._last = self.value[which], self._step[which], self._last[which]


@dataclass(frozen=True, repr=False)
class _Variances:
    rows: FloatArray | None
    groups: tuple[FloatArray, ...]

    def each(self) -> tuple[FloatArray, ...]:
        """All of them, the rows' first."""
        return self.groups if self.rows is None else (self.rows, *self.groups)

    def with_each(self, values: Sequence[FloatArray]) -> "_Variances":
        """Others in the same order."""
        return _Variances(None, tuple(values)) if self.rows is None else _Variances(values[0], tuple(values[1:]))


def _plug_in(problem: AttributeProblem) -> _Variances:
    rows = None
    if problem.estimates is not None and problem.noise is not None:
        rows = psi_variance(problem.noise.psi, problem.estimates, problem.noise.sigma)
    return _Variances(rows, tuple(group.variances for group in problem.groups))


def _at(problem: AttributeProblem, fit: AttributeFit) -> _Variances:
    """The variances at the fitted values."""
    rows = None if problem.noise is None else problem.noise.variance(fit.values)
    groups = []
    for group in problem.groups:
        fitted = sum_by(group.of_cell, fit.totals, len(group.answers))
        groups.append(np.where(group.by_psi, group.noise.variance(fitted), group.variances))
    return _Variances(rows, tuple(groups))


@dataclass(frozen=True, repr=False)
class _Division:
    """How cells without answers for their establishments are divided."""

    shares: FloatArray  # of each row in its cell
    cell_weights: FloatArray


def _division(problem: AttributeProblem, row_weights: FloatArray | None) -> _Division:
    of_row, cells = problem.cells.of_row, problem.cells.count
    weights = np.ones(len(of_row)) if row_weights is None else np.asarray(row_weights, dtype=np.float64)
    by_cell = sum_by(of_row, weights, cells)
    if not (np.isfinite(weights).all() and (weights >= 0).all() and (by_cell > 0).all()):
        raise DomainError("public weights must be numbers of 0 or more, and above 0 somewhere in every cell")
    return _Division(weights / by_cell[of_row], by_cell)


def _fit(problem: AttributeProblem, used: _Variances, division: _Division) -> AttributeFit:
    of_row, cells = problem.cells.of_row, problem.cells.count
    marginals = [Marginal(g.of_cell, g.answers, v) for g, v in zip(problem.groups, used.groups, strict=True)]
    if problem.estimates is not None and used.rows is not None:
        require_variances(used.rows, f"{problem.name}, answers for establishments")
        answers = sum_by(of_row, problem.estimates, cells)
        variances = sum_by(of_row, used.rows, cells)
        fit = fit_cells([(answers, variances)], marginals)
        values = problem.estimates + used.rows * ((fit.totals - answers) / variances)[of_row]
        return AttributeFit(values, fit.totals, used.rows, variances, fit, 0, 0.0, "identity")
    finest = [m for m in marginals if len(m.answers) == cells and is_partition(m.of_cell, cells)]
    if finest:
        direct = [(m.answers[m.of_cell], m.variances[m.of_cell]) for m in finest]
        fit = fit_cells(direct, [m for m in marginals if not any(m is f for f in finest)])
        return AttributeFit(fit.totals[of_row] * division.shares, fit.totals, None, None, fit, 0, 0.0, "cells")
    totals = least_norm(marginals, division.cell_weights)
    return AttributeFit(totals[of_row] * division.shares, totals, None, None, None, 0, 0.0, "undetermined")


def least_norm(marginals: Sequence[Marginal], cell_weights: FloatArray) -> FloatArray:
    """Where groups alone do not determine the cells: of all best fits the one with the least Σ s_c²/weight_c.

    Under one query this divides every group in proportion to the weights of its cells.
    """
    cells, scale = len(cell_weights), np.sqrt(cell_weights)
    blocks, wanted = [], []
    for marginal in marginals:
        require_variances(marginal.variances, "answers for groups")
        precision = 1 / np.sqrt(marginal.variances)
        entries = precision[marginal.of_cell] * scale
        places = (marginal.of_cell, np.arange(cells))
        blocks.append(sparse.coo_array((entries, places), shape=(marginal.groups, cells)))
        wanted.append(marginal.answers * precision)
    matrix = sparse.vstack(blocks, format="csr")
    result = lsmr(matrix, np.concatenate(wanted), atol=1e-14, btol=1e-14, conlim=0, maxiter=20 * sum(matrix.shape))
    if result[1] == 7:
        raise ConvergenceError(f"the least-squares problem of {cells:,} cells was not solved in {result[2]:,} steps")
    totals: FloatArray = result[0] * scale
    return totals


def variances_are_known(problem: AttributeProblem) -> bool:
    """Whether no variance depends on the truth."""
    groups = all(is_exact(group.noise) or not group.by_psi.any() for group in problem.groups)
    return groups and (problem.noise is None or is_exact(problem.noise))
