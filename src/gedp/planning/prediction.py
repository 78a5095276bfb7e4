"""The errors that tables will have: the covariance of the fit, at what the public knows of the establishments."""

from collections.abc import Mapping, Sequence

import numpy as np

from gedp.arrays import FloatArray
from gedp.individual import Filling, GroupNoise, QueryGroups, Rows, Terms
from gedp.individual.filling import row_variances
from gedp.microdata.solve import DIRECT_LIMIT, MarginalSystem, Measurement
from gedp.partitions import Partition

#: Of the largest matrix that a prediction holds: some 400 MB.
MOST_ENTRIES = 50_000_000
#: An answer with a larger variance, or with none that is a number, says nothing. Sums of these can still be squared.
MOST_VARIANCE = 1e100
#: An answer for a group that varies so much more than the cells of the group together adds nothing to them. With more
#: than that, the difference of the two would be rounding error.
MOST_RATIO = 1e6


def predicted_variances(
    rows: Rows, partitions: Sequence[QueryGroups], terms: Terms, filling: Filling
) -> dict[str, FloatArray]:
    """The variance of every group of every query in the microdata that fit all answers best."""
    return fitted_variances(row_variances(rows, terms, filling.left), rows.sums, partitions, terms, filling.noise)


def fitted_variances(
    alone: FloatArray,
    totals: FloatArray,
    partitions: Sequence[QueryGroups],
    terms: Terms,
    noise: Mapping[str, GroupNoise],
) -> dict[str, FloatArray]:
    """The same where the answers for the establishments of every cell have these variances together.

    With M = W + B V Bᵀ of `microdata.solve`, a measured group has the variance W − W² (M⁻¹)_gg and a cell
    V − V² Σ (M⁻¹)_gh over its groups g and h: nothing but the diagonal and the groups of one cell are needed.
    """
    finest = [partition for partition in partitions if partition.count == len(alone)]
    coarser = sorted((p for p in partitions if p.count != len(alone)), key=lambda partition: partition.count)
    of_noise = {p.query: noise[p.query].variances(terms, p.total(totals)) for p in partitions}
    variances = {query: np.fmin(each, MOST_VARIANCE) for query, each in of_noise.items()}
    cells = 1 / sum((1 / variances[p.query][p.of_cell] for p in finest), 1 / np.fmin(alone, MOST_VARIANCE))
    variances |= {p.query: np.minimum(variances[p.query], MOST_RATIO * p.total(cells)) for p in coarser}
    of_cells, result = cells, {}
    solved = _solvable(coarser)
    groups = {p.query: Partition(p.of_cell, p.count) for p in solved}
    measured = {q: Measurement(of, np.zeros(of.count), variances[q]) for q, of in groups.items()}
    system = MarginalSystem(cells, list(measured.values()), DIRECT_LIMIT)
    if not system.is_direct:  # its variances differ too much; a release must not fail for want of a prediction
        solved = []
    if solved:
        inverse = system.inverse
        diagonals = np.split(inverse.diagonal, system.starts[1:-1])
        starts = zip(system.measurements, system.starts[:-1], strict=True)
        places = [each.groups.group_of + start for each, start in starts]
        of_cells = np.maximum(cells - cells**2 * inverse.over_groups(places), 0.0)
        for query, each in measured.items():
            diagonal = next(d for m, d in zip(system.measurements, diagonals, strict=True) if m is each)
            result[query] = each.variances - each.variances**2 * diagonal
    for partition in coarser[len(solved) :]:
        result[partition.query] = 1 / (1 / variances[partition.query] + 1 / partition.total(of_cells))
    for partition in finest:
        of_group = np.empty(partition.count)
        of_group[partition.of_cell] = of_cells
        result[partition.query] = of_group
    return {p.query: np.maximum(result[p.query], 0.0) for p in partitions}


def _solvable(coarse_to_fine: Sequence[QueryGroups]) -> Sequence[QueryGroups]:
    """As many queries, coarse ones first, as can be solved together; the others are judged by their own cells alone."""
    before = 0
    for place, partition in enumerate(coarse_to_fine):
        if before > DIRECT_LIMIT or before * partition.count > MOST_ENTRIES:
            return coarse_to_fine[:place]
        before += partition.count
    return coarse_to_fine


def mean_errors(variances: Mapping[str, FloatArray]) -> dict[str, float]:
    """The mean standard error of every table."""
    least = float(np.finfo(float).tiny)  # a logarithm follows
    return {query: max(float(np.mean(np.sqrt(each))), least) for query, each in variances.items()}
