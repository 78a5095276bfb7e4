"""Dividing totals among the members of their groups: the Dirichlet divider, and whole numbers that add up.

Groups are given by an index per member (0 .. number of totals - 1), members in any order.
"""

import numpy as np

from gedp.arrays import FloatArray, IntArray
from gedp_lab.synth.apportion import apportion


def group_sum(values: FloatArray, group: IntArray, groups: int) -> FloatArray:
    """Sum of each group; 0 for a group without members."""
    return np.bincount(group, weights=values, minlength=groups).astype(np.float64)


def proportions(weights: FloatArray, group: IntArray, groups: int) -> FloatArray:
    """Each member's share of its group's weight; equal shares where a group weighs nothing."""
    total = group_sum(weights, group, groups)
    weights = np.where(total[group] > 0, weights, 1.0)
    return weights / group_sum(weights, group, groups)[group]


def dirichlet_divider(
    concentration: FloatArray, totals: FloatArray, group: IntArray, rng: np.random.Generator
) -> FloatArray:
    """The paper's Algorithm "Dirichlet Divider" for many groups at once.

    Each total is multiplied by a draw from Dirichlet(b), b being its members' concentrations, or by one from
    Dirichlet(1, ..., 1) where all of them are 0. A member of concentration 0 beside positive ones gets 0.
    """
    some = group_sum(concentration, group, len(totals)) > 0
    gamma = rng.standard_gamma(np.where(some[group], concentration, 1.0))
    drawn = group_sum(gamma, group, len(totals)) > 0  # gammas of tiny shapes can all underflow to 0
    shares = proportions(np.where(drawn[group], gamma, concentration), group, len(totals))
    return shares * totals[group]


def whole_parts(parts: FloatArray, totals: IntArray, group: IntArray) -> IntArray:
    """Parts scaled to their group's total and rounded so that they add up to it exactly (largest remainder).

    A total of a group without members is lost.
    """
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group, minlength=len(totals))
    result = np.empty(len(parts), np.int64)
    result[order] = apportion(totals[sizes > 0], parts[order], sizes[sizes > 0])
    return result
