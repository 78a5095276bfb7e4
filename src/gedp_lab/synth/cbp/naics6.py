"""County x NAICS-6 cells from county x NAICS-4 cells: the paper's Algorithm "County by NAICS-6".

Errata: wages are divided among the cells whose payroll is withheld (the printed index set is empty). Beyond
the paper, whose cells hold fractions and no month 2: figures are rounded so that they add up to the NAICS-4
cell's, and month 2 is divided in proportion to the mean of months 1 and 3.
"""

from dataclasses import dataclass

import numpy as np

from gedp.arrays import BoolArray, FloatArray, IntArray
from gedp_lab.synth.apportion import apportion_within
from gedp_lab.synth.cbp.divide import dirichlet_divider, group_sum, whole_parts
from gedp_lab.synth.cbp.employment import Employment
from gedp_lab.synth.sizes import possible_jobs


@dataclass(frozen=True)
class Naics6Input:
    """NAICS-6 cells of the imputed CBP and CBP inside the NAICS-4 cells, whose index is `parent`."""

    parent: IntArray
    establishments: FloatArray
    imputed_emp: FloatArray
    payroll: FloatArray  # dollars, NaN where withheld
    classes: IntArray | None = None  # establishments by size class, a row per cell, where they are used


@dataclass(frozen=True)
class Naics6Cells:
    """Whole employees of the three months and whole dollars, per NAICS-6 cell."""

    m1: IntArray
    m2: IntArray
    m3: IntArray
    wage: IntArray


def emp_scale(imputed_emp_naics4: FloatArray, m3_naics4: FloatArray) -> FloatArray:
    """The imputed CBP's employment over ours, per NAICS-4 cell; 1 where either is 0."""
    usable = (m3_naics4 > 0) & (imputed_emp_naics4 > 0)
    return np.where(usable, imputed_emp_naics4, 1.0) / np.where(usable, m3_naics4, 1.0)


def scaled_month_three(cells: Naics6Input, imputed_emp_naics4: FloatArray, m3_naics4: FloatArray) -> FloatArray:
    """Month 3 per NAICS-6 cell: the imputed CBP brought to the scale of the NAICS-4 cell's month 3; an only
    child takes its parent's."""
    scaled = cells.imputed_emp / emp_scale(imputed_emp_naics4, m3_naics4)[cells.parent]
    return np.where(_only_child(cells.parent, len(m3_naics4)), m3_naics4[cells.parent], scaled)


def divide_wages(cells: Naics6Input, m3: FloatArray, wage_naics4: FloatArray, rng: np.random.Generator) -> IntArray:
    """Wages per NAICS-6 cell: CBP's payroll where published; what that leaves of the NAICS-4 wage is divided
    among the withheld cells by the Dirichlet divider over month 3; an only child takes its parent's wage."""
    parents = len(wage_naics4)
    alone = _only_child(cells.parent, parents)
    withheld = np.isnan(cells.payroll)
    published = group_sum(np.where(withheld, 0.0, cells.payroll), cells.parent, parents)
    left = np.maximum(np.rint(wage_naics4 - published), 0.0)
    wage = np.where(withheld, 0.0, cells.payroll).astype(np.int64)
    if withheld.any():
        members = cells.parent[withheld]
        parts = dirichlet_divider(m3[withheld], left, members, rng)
        wage[withheld] = whole_parts(parts, left.astype(np.int64), members)
    return np.where(alone, np.rint(wage_naics4)[cells.parent].astype(np.int64), wage)


def within_classes(m3: FloatArray, classes: IntArray, group: IntArray) -> IntArray:
    """Month 3 in whole numbers that each cell's size classes allow, with the sum of the group (ordered, each
    with members) if its classes allow that, else as near to it as they do."""
    least, most = possible_jobs(classes)
    sizes = np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    lowest, highest = np.add.reduceat(least, starts), np.add.reduceat(most, starts)
    total = np.rint(np.add.reduceat(m3, starts)).clip(lowest, highest)
    upper = np.where(np.isinf(most), np.maximum(total[group], least), most)
    return apportion_within(total.astype(np.int64), m3, least.astype(np.int64), upper.astype(np.int64), sizes)


def naics6_cells(
    cells: Naics6Input,
    imputed_emp_naics4: FloatArray,
    employment: Employment,
    wage_naics4: FloatArray,
    rng: np.random.Generator,
) -> Naics6Cells:
    """Algorithm "County by NAICS-6"."""
    parents = len(wage_naics4)
    group = cells.parent
    m3 = scaled_month_three(cells, imputed_emp_naics4, employment.m3)
    m1 = dirichlet_divider(m3, employment.m1, group, rng)
    m3_total = np.rint(group_sum(m3, group, parents)).astype(np.int64)
    m1_whole = whole_parts(m1, np.rint(employment.m1).astype(np.int64), group)
    m3_whole = whole_parts(m3, m3_total, group) if cells.classes is None else within_classes(m3, cells.classes, group)
    m2_whole = whole_parts((m1_whole + m3_whole).astype(np.float64), np.rint(employment.m2).astype(np.int64), group)
    return Naics6Cells(m1_whole, m2_whole, m3_whole, divide_wages(cells, m3, wage_naics4, rng))


def _only_child(parent: IntArray, parents: int) -> BoolArray:
    alone: BoolArray = np.bincount(parent, minlength=parents)[parent] == 1
    return alone
