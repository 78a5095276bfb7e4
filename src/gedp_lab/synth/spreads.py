"""How a cell's totals are spread over its establishments: as in the paper (`paper`), in life (`skewed`), or by
published size classes (`classes`).

A spread is two functions: a recipe for the random numbers, and a division that turns them and the cells'
totals into whole numbers that add up to each cell exactly (largest remainders, one attribute at a time).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial

import numpy as np

from gedp.arrays import FloatArray, IntArray
from gedp.errors import GedpError
from gedp_lab.synth.apportion import apportion, apportion_within
from gedp_lab.synth.draws import Recipe
from gedp_lab.synth.sizes import LEAST_JOBS, MOST_JOBS

# Standard deviations of logarithms in `skewed` and `classes`.
GROWTH_SPREAD = 0.05
PAY_SPREAD = 0.35

IDLE_WEIGHT = 0.5  # jobs that one without a job in month 3 counts for when months 1 and 2 are divided by class


@dataclass(frozen=True)
class SpreadSettings:
    """Numbers that spreads depend on.

    `paper`: shape and scale of the Gamma prior of the concentrations, and η, the noise in month 2 of an
    establishment; the defaults are the paper's. `skewed`: the standard deviation of the logarithm of size,
    calibrated on Rhode Island's size classes.
    """

    gamma_shape: float = 10.0
    gamma_scale: float = 200.0
    eta: float = 0.5
    size_spread: float = 1.3

    def __post_init__(self) -> None:
        for field in fields(self):
            if not 0 < getattr(self, field.name) < np.inf:
                raise GedpError(f"{field.name}: must be a number above 0.")


@dataclass(frozen=True)
class Attributes:
    """Three months of employment and the quarter's wages: one value per cell, or per establishment."""

    m1emp: IntArray
    m2emp: IntArray
    m3emp: IntArray
    wage: IntArray


@dataclass(frozen=True)
class DividedCells:
    """Cells to divide: their totals, their numbers of establishments, and how many of these are in each of CBP's
    size classes (a row per cell), where that is known."""

    totals: Attributes
    estabs: IntArray
    classes: IntArray | None = None


@dataclass(frozen=True)
class Spread:
    """A way to divide cells: what to draw, and how to divide cells by the draws (a column per establishment)."""

    recipe: Recipe
    divide: Callable[[DividedCells, FloatArray], Attributes]
    by_class: bool = False  # whether it needs the size classes of the cells


def draw_paper(settings: SpreadSettings, generator: np.random.Generator, count: int) -> FloatArray:
    """Gamma concentrations, of each three gamma variables that make Dirichlet shares, and a normal.

    Gamma variables divided by their sum over the cell are one Dirichlet draw: the paper's Dirichlet Divider.
    """
    concentration = settings.gamma_scale * generator.standard_gamma(settings.gamma_shape, count)
    months_and_wage = generator.standard_gamma(concentration, (3, count))
    return np.vstack([months_and_wage, generator.standard_normal((1, count))])


def divide_paper(settings: SpreadSettings, cells: DividedCells, draws: FloatArray) -> Attributes:
    """The paper's Employment and Wages Microdata algorithm, in whole numbers, with the cell's month 2 kept.

    Month 2 comes from the Month 2 Employment algorithm and is then brought to the cell's total in proportion.
    An establishment without a job in any month gets no wages unless nobody in its cell has a job.
    """
    totals, estabs = cells.totals, cells.estabs
    share1, share3, share_wage, normal = draws
    m1emp = apportion(totals.m1emp, share1, estabs)
    m3emp = apportion(totals.m3emp, share3, estabs)
    m2emp = apportion(totals.m2emp, month2(m1emp, m3emp, normal, settings.eta), estabs, fallback=share1)
    has_jobs = (m1emp + m2emp + m3emp) > 0
    wage = apportion(totals.wage, share_wage * has_jobs, estabs, fallback=share_wage)
    return Attributes(m1emp, m2emp, m3emp, wage)


def month2(m1emp: IntArray, m3emp: IntArray, normal: FloatArray, eta: float) -> FloatArray:
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


def divide_skewed(settings: SpreadSettings, cells: DividedCells, draws: FloatArray) -> Attributes:
    """Lognormal shares, so that a few establishments hold most of a cell.

    One size for all months, a small trend from month 1 to month 3, and wages in proportion to the jobs an
    establishment ended up with times a lognormal pay level.
    """
    totals, estabs = cells.totals, cells.estabs
    size = np.exp(settings.size_spread * draws[0])
    half_growth = np.exp((GROWTH_SPREAD / 2) * draws[1])
    m1emp = apportion(totals.m1emp, size / half_growth, estabs)
    m2emp = apportion(totals.m2emp, size, estabs)
    m3emp = apportion(totals.m3emp, size * half_growth, estabs)
    return Attributes(m1emp, m2emp, m3emp, _paid(cells, m1emp + m2emp + m3emp, draws[2], size))


def _paid(cells: DividedCells, jobs: IntArray, normal: FloatArray, size: FloatArray) -> IntArray:
    """Wages in proportion to jobs times a lognormal pay level: no jobs, no wages, unless nobody in the cell has
    a job."""
    return apportion(cells.totals.wage, np.exp(PAY_SPREAD * normal) * jobs, cells.estabs, fallback=size)


def draw_classes(generator: np.random.Generator, count: int) -> FloatArray:
    """Two uniforms, for the place in the cell and the size in the class, and two normals: growth, pay."""
    return np.vstack([generator.random((2, count)), generator.standard_normal((2, count))])


def divide_classes(cells: DividedCells, draws: FloatArray) -> Attributes:
    """Month 3 by the cell's size classes: as many establishments in each as are published, in random order.

    Sizes begin as draws from Zipf's law inside the class, and move up or down in it until the cell's total is
    reached. Those of the least class have a job, unless the total is too small even for that.
    Months 1 and 2 follow month 3 with the trend of `skewed`, wages the jobs.
    """
    if cells.classes is None:
        raise GedpError("the spread classes needs the size classes of the cells.")
    totals, estabs = cells.totals, cells.estabs
    in_place, in_class, growth, pay = draws
    member = np.repeat(np.arange(len(estabs)), estabs)
    size_class = np.empty(len(member), np.int64)
    size_class[np.lexsort((in_place, member))] = np.repeat(
        np.tile(np.arange(len(LEAST_JOBS)), len(estabs)), cells.classes.ravel()
    )
    with_a_job = np.maximum(LEAST_JOBS[size_class], 1)
    most = MOST_JOBS[size_class]
    upper = np.where(np.isinf(most), np.maximum(totals.m3emp[member], with_a_job), most)
    enough = (np.bincount(member, weights=with_a_job) <= totals.m3emp)[member]
    lower = np.where(enough, with_a_job, LEAST_JOBS[size_class])
    wanted = np.where(enough, zipf(with_a_job, upper, in_class), with_a_job)
    m3emp = apportion_within(totals.m3emp, wanted, lower, upper.astype(np.int64), estabs)
    size = np.maximum(m3emp, IDLE_WEIGHT)
    half_growth = np.exp((GROWTH_SPREAD / 2) * growth)
    m1emp = apportion(totals.m1emp, size / half_growth**2, estabs)
    m2emp = apportion(totals.m2emp, size / half_growth, estabs)
    return Attributes(m1emp, m2emp, m3emp, _paid(cells, m1emp + m2emp + m3emp, pay, size))


def zipf(least: IntArray, most: FloatArray, uniform: FloatArray) -> FloatArray:
    """Whole sizes between bounds, by Zipf's law (Axtell, "Zipf Distribution of U.S. Firm Sizes", Science 2001): the
    share of establishments of x jobs or more falls as 1/x."""
    return np.minimum(np.floor(least / (1 - uniform * (1 - least / (most + 1)))), most)


def _paper(settings: SpreadSettings) -> Spread:
    return Spread(partial(draw_paper, settings), partial(divide_paper, settings))


def _skewed(settings: SpreadSettings) -> Spread:
    return Spread(draw_skewed, partial(divide_skewed, settings))


def _classes(settings: SpreadSettings) -> Spread:
    return Spread(draw_classes, divide_classes, by_class=True)


SPREADS: Mapping[str, Callable[[SpreadSettings], Spread]] = {"paper": _paper, "skewed": _skewed, "classes": _classes}
