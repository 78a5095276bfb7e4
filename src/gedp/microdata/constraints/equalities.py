"""Totals held fixed: equality constraints, as answers of variance 0.

In the system of `gedp.microdata.solve`, W is 0 for the groups that are held. It stays positive definite as long as no
constraint follows from others, so the ones that do are found first, checked for contradiction, and let go (with them
the cells that no constraint names: a group of a variance so large that it does not count). The covariance of the fit is
then that of the constrained one: 0 for what is held.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dpstrf
from scipy.sparse.linalg import splu

from gedp.arrays import BoolArray, FloatArray
from gedp.errors import Fault
from gedp.microdata.constraints.reduced import Reduced
from gedp.microdata.solve import DIRECT_LIMIT, CellFit, MarginalSystem, Measurement, incidence
from gedp.partitions import Partition

LET_GO = 1e20  # variance of what is not held, in variances of its cells
DEPENDENT = 1e-9  # what is left of a group, relatively, when all others are taken away
CORRECTIONS = 3


@dataclass(frozen=True, repr=False)
class Fixed:
    """Public totals for groups of one grouping. Cells in none of them are the rest."""

    by: tuple[str, ...]
    groups: Partition
    totals: FloatArray
    names: tuple[str, ...]  # of the groups, for messages

    def sums(self, totals: FloatArray) -> FloatArray:
        """What these cells add up to in every group that has a total."""
        return self.groups.sums(totals)[self.groups.asked_for]

    def measurement(self, held: BoolArray, cell_variances: FloatArray) -> Measurement:
        """As answers: those held with a variance of 0, the others with one that makes them count for nothing."""
        rest = [0.0] * self.groups.has_rest
        variances = np.where(np.append(held, rest), 0.0, LET_GO * self.groups.sums(cell_variances))
        return Measurement(self.groups, np.append(self.totals, rest), variances)


def independent(fixed: Sequence[Fixed], unit: float) -> tuple[list[BoolArray], list[Fault]]:
    """Which totals of each grouping do not follow from the others, and faults where those that do contradict them."""
    order = sorted(range(len(fixed)), key=lambda place: -len(fixed[place].totals))
    held = [np.ones(len(each.totals), dtype=bool) for each in fixed]
    if len(fixed) < 2:
        return held, []
    rest = sum(len(fixed[place].totals) for place in order[1:])
    if rest > DIRECT_LIMIT:
        most = f"Fix at most {DIRECT_LIMIT:,} besides those of the grouping with the most"
        return held, [Fault("fixed", f"there are {rest:,} totals, which are too many to compare", most)]
    blocks = [incidence(groups)[groups.asked_for] for groups in (fixed[place].groups for place in order)]
    first, others = blocks[0], sparse.csr_array(sparse.vstack(blocks[1:], format="csr"))
    totals = np.concatenate([fixed[place].totals for place in order])
    over_first = sparse.diags_array(1 / np.asarray(first.sum(axis=1), dtype=np.float64))
    overlap = sparse.csr_array(others @ first.T)
    left = (others @ others.T - overlap @ over_first @ overlap.T).toarray()
    scale = 1 / np.sqrt(np.asarray(others.sum(axis=1), dtype=np.float64))
    left *= scale[:, None] * scale
    chosen = np.zeros(rest, dtype=bool)
    if left.diagonal().max() > DEPENDENT:  # the first pivot is taken whatever the tolerance
        _, pivots, rank, _ = dpstrf(left, tol=DEPENDENT, lower=1)
        chosen[pivots[:rank] - 1] = True
    for place, mask in zip(order[1:], _split(chosen, [len(fixed[p].totals) for p in order[1:]]), strict=True):
        held[place] = mask
    # The cell values of least norm with the chosen totals have the others too, unless they contradict each other.
    kept = sparse.csr_array(sparse.vstack([first, others[np.flatnonzero(chosen)]], format="csr"))
    reached = _least_norm(kept, totals[np.concatenate([np.ones(len(held[order[0]]), dtype=bool), chosen])])
    gaps = np.abs(sparse.vstack(blocks, format="csr") @ reached - totals)
    wrong = np.flatnonzero(gaps > 0.01 * unit + 1e-11 * np.abs(totals).max())
    if not wrong.size:
        return held, []
    names = [name for place in order for name in fixed[place].names]
    most, first = f"{gaps[wrong].max():.6g}", names[wrong[0]]
    said = f"totals that contradict the others: {wrong.size}, by at most {most}; the first is {first}"
    return held, [Fault("fixed", said, "Give totals that add up")]


def hold(problem: Reduced, totals: FloatArray, fixed: Sequence[Measurement]) -> CellFit:
    """The best fit that has the fixed totals, from the best fit without them.

    Only multipliers change: with Δ the solution of (W + B V Bᵀ) Δ = (0, d − C s), the cells become s + V Bᵀ Δ.
    """
    variances = problem.cell_variances(problem.cells.sums(problem.variances))
    system = MarginalSystem(variances, [*problem.measurements, *fixed], DIRECT_LIMIT)
    for _ in range(CORRECTIONS):
        gaps = [
            _gaps(m, totals) if any(m is f for f in fixed) else np.zeros(m.groups.count) for m in system.measurements
        ]
        totals = totals + variances * system.spread(system.solve(np.concatenate(gaps)))
    return CellFit(totals, variances, system)


def _gaps(held: Measurement, totals: FloatArray) -> FloatArray:
    """What the held groups are short of."""
    gaps: FloatArray = np.where(held.variances > 0, 0.0, held.answers - held.groups.sums(totals))
    return gaps


def _least_norm(matrix: "sparse.csr_array[np.float64]", totals: FloatArray) -> FloatArray:
    gram = sparse.csc_array(matrix @ matrix.T)
    factors = splu(gram)
    cells = np.zeros(matrix.shape[1])
    for _ in range(CORRECTIONS):
        cells = cells + matrix.T @ factors.solve(totals - matrix @ cells)
    return cells


def _split(mask: BoolArray, sizes: Sequence[int]) -> list[BoolArray]:
    return np.split(mask, np.cumsum(sizes)[:-1])
