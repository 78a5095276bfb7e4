"""How a cell's totals are spread over its establishments: as in the paper (`paper`) or in life (`skewed`).

A spread is two functions: a recipe for the random numbers, and a division that turns them and the cells'
totals into whole numbers that add up to each cell exactly (largest remainders, one attribute at a time).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gedp.arrays import FloatArray, IntArray
from gedp.lab.synth.apportion import apportion
from gedp.lab.synth.draws import Recipe

# The paper's prior of the concentrations, and its noise in month 2 of an establishment.
GAMMA_SHAPE = 10.0
GAMMA_SCALE = 200.0
ETA = 0.5

# Standard deviations of logarithms in `skewed`. SIZE_SPREAD is calibrated on Rhode Island's size classes.
SIZE_SPREAD = 1.3
GROWTH_SPREAD = 0.05
PAY_SPREAD = 0.35


@dataclass(frozen=True)
class Attributes:
    """Three months of employment and the quarter's wages: one value per cell, or per establishment."""

    m1emp: IntArray
    m2emp: IntArray
    m3emp: IntArray
    wage: IntArray


@dataclass(frozen=True)
class Spread:
    """A way to divide cells: what to draw, and how to divide (totals, establishments per cell, draws)."""

    recipe: Recipe
    divide: Callable[[Attributes, IntArray, FloatArray], Attributes]


def draw_paper(generator: np.random.Generator, count: int) -> FloatArray:
    """Gamma(10, 200) concentrations, of each three gamma variables that make Dirichlet shares, and a normal.

    Gamma variables divided by their sum over the cell are one Dirichlet draw: the paper's Dirichlet Divider.
    """
    concentration = GAMMA_SCALE * generator.standard_gamma(GAMMA_SHAPE, count)
    months_and_wage = generator.standard_gamma(concentration, (3, count))
    return np.vstack([months_and_wage, generator.standard_normal((1, count))])


def divide_paper(totals: Attributes, estabs: IntArray, draws: FloatArray) -> Attributes:
    """The paper's Employment and Wages Microdata algorithm, in whole numbers, with the cell's month 2 kept.

    Month 2 comes from the Month 2 Employment algorithm and is then brought to the cell's total in proportion.
    An establishment without a job in any month gets no wages unless nobody in its cell has a job.
    """
    share1, share3, share_wage, normal = draws
    m1emp = apportion(totals.m1emp, share1, estabs)
    m3emp = apportion(totals.m3emp, share3, estabs)
    m2emp = apportion(totals.m2emp, month2(m1emp, m3emp, normal), estabs, fallback=share1)
    has_jobs = (m1emp + m2emp + m3emp) > 0
    wage = apportion(totals.wage, share_wage * has_jobs, estabs, fallback=share_wage)
    return Attributes(m1emp, m2emp, m3emp, wage)


def month2(m1emp: IntArray, m3emp: IntArray, normal: FloatArray, eta: float = ETA) -> FloatArray:
    """The paper's Month 2 Employment, before rounding: midpoint plus noise of variance 2η·|m3−m1|/(m3+m1).

    `normal` is standard. What comes out at zero or below becomes 0 where month 1 or 3 has no jobs, else 1.
    """
    both = (m1emp + m3emp).astype(np.float64)
    variance = 2 * eta * np.abs(m3emp - m1emp) / np.maximum(both, 1)
    value = both / 2 + np.sqrt(variance) * normal
    least = np.where((m1emp == 0) | (m3emp == 0), 0.0, 1.0)
    return np.where(both == 0, 0.0, np.where(value <= 0, least, value))


def draw_skewed(generator: np.random.Generator, count: int) -> FloatArray:
    """Three standard normals: size, growth over the quarter, pay."""
    return generator.standard_normal((3, count))


def divide_skewed(totals: Attributes, estabs: IntArray, draws: FloatArray) -> Attributes:
    """Lognormal shares, so that a few establishments hold most of a cell.

    One size for all months, a small trend from month 1 to month 3, and wages in proportion to the jobs an
    establishment ended up with times a lognormal pay level: no jobs, no wages, unless nobody in the cell has
    a job.
    """
    size = np.exp(SIZE_SPREAD * draws[0])
    half_growth = np.exp((GROWTH_SPREAD / 2) * draws[1])
    m1emp = apportion(totals.m1emp, size / half_growth, estabs)
    m2emp = apportion(totals.m2emp, size, estabs)
    m3emp = apportion(totals.m3emp, size * half_growth, estabs)
    pay = np.exp(PAY_SPREAD * draws[2])
    wage = apportion(totals.wage, (m1emp + m2emp + m3emp) * pay, estabs, fallback=size)
    return Attributes(m1emp, m2emp, m3emp, wage)


SPREADS = {"paper": Spread(draw_paper, divide_paper), "skewed": Spread(draw_skewed, divide_skewed)}
