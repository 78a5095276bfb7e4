"""Dividing totals among the members of their groups: the Dirichlet divider, and whole numbers that add up.

Groups are given by an index per member (0 .. number of totals - 1), members in any order.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def group_sum(values: Floats, group: Integers, groups: int) -> Floats:
    """Sum of each group; 0 for a group without members."""
    return np.bincount(group, weights=values, minlength=groups).astype(np.float64)


def proportions(weights: Floats, group: Integers, groups: int) -> Floats:
    """Each member's share of its group's weight; equal shares where a group weighs nothing."""
    total = group_sum(weights, group, groups)
    weights = np.where(total[group] > 0, weights, 1.0)
    return weights / group_sum(weights, group, groups)[group]


def dirichlet_divider(
    concentration: Floats, totals: Floats, group: Integers, rng: np.random.Generator
) -> Floats:
    """The paper's Algorithm "Dirichlet Divider" for many groups at once.

    Each total is multiplied by a draw from Dirichlet(b), b being its members' concentrations, or by one from
    Dirichlet(1, ..., 1) where all of them are 0. A member of concentration 0 beside positive ones gets 0.
    """
    some = group_sum(concentration, group, len(totals)) > 0
    gamma = rng.standard_gamma(np.where(some[group], concentration, 1.0))
    drawn = group_sum(gamma, group, len(totals)) > 0  # gammas of tiny shapes can all underflow to 0
    shares = proportions(np.where(drawn[group], gamma, concentration), group, len(totals))
    return shares * totals[group]


def whole_parts(parts: Floats, totals: Integers, group: Integers) -> Integers:
    """Parts scaled to their group's total and rounded so that they add up to it exactly (largest remainder).

    A total of a group without members is lost.
    """
    exact = proportions(parts, group, len(totals)) * totals[group]
    floors = np.floor(exact)
    left = totals - group_sum(floors, group, len(totals)).astype(np.int64)
    order = np.lexsort((floors - exact, group))
    starts = np.zeros(len(totals), np.int64)
    starts[1:] = np.cumsum(np.bincount(group, minlength=len(totals)))[:-1]
    rank = np.empty(len(parts), np.int64)
    rank[order] = np.arange(len(parts)) - starts[group[order]]
    size = np.bincount(group, minlength=len(totals))[group]
    extra, rest = np.divmod(left[group], size)  # rest is 0 <= rest < size even if float sums overshot
    result: Integers = floors.astype(np.int64) + extra + (rank < rest)
    return result
