"""Jobs and wages of the next quarter: each establishment goes on from where it was.

Sizes take one lognormal step per month, from month 3 of one quarter to month 1 of the next as between other months.
They are then brought to the totals, published or extrapolated, in whole numbers. Pay per job goes on in the same way.
"""

import numpy as np

from gedp.arrays import FloatArray, IntArray
from gedp_lab.synth.apportion import apportion
from gedp_lab.synth.series.panel import StatePanel
from gedp_lab.synth.series.turnover import Turnover
from gedp_lab.synth.spreads import PAY_SPREAD, Attributes, SpreadSettings

# Standard deviations of logarithms
MONTHLY_SPREAD = 0.05
PAY_CHANGE = 0.02

IDLE_SIZE = 0.2  # jobs that one without a job counts for
NEW_SIZE = 0.3  # of the average in its cell: the expected size of one that opens


def grow(
    panel: StatePanel,
    turnover: Turnover,
    first_id: int,
    totals: IntArray | None,
    growth: float,
    generator: np.random.Generator,
) -> StatePanel:
    """The panel of the next quarter.

    `totals` (four rows: three months and wages) has a column per cell; None stands for a quarter that is not
    published: then jobs of the state grow by `growth` until month 3, a third of the way each month, and wages follow
    the jobs.
    """
    born = len(turnover.births)
    rows, cell = turnover.rows, np.concatenate([turnover.cell, turnover.births])
    ids = np.concatenate([panel.ids[rows], np.arange(first_id, first_id + born)])
    values = panel.values
    jobs_before = (values.m1emp + values.m2emp + values.m3emp)[rows]
    size = _sizes(cell, np.maximum(values.m3emp[rows], IDLE_SIZE), generator)
    pay = _pay(cell, values.wage[rows] / np.maximum(jobs_before, 1), generator)
    order = np.lexsort((ids, cell))
    ids, cell, size, pay = ids[order], cell[order], size[order], pay[order]
    steps = generator.standard_normal((3, len(ids)))
    months = size * np.exp(MONTHLY_SPREAD * np.cumsum(steps, axis=0))
    if totals is None:
        runs = np.array([len(ids)])
        base = float(values.m3emp.sum())
        targets = [np.array([round(base * (1 + growth) ** (month / 3))]) for month in (1, 2, 3)]
    else:
        there, runs = np.unique(cell, return_counts=True)
        targets = list(totals[:3, there])
    m1emp, m2emp, m3emp = (apportion(target, weights, runs) for target, weights in zip(targets, months, strict=True))
    earned = pay * (m1emp + m2emp + m3emp)
    wages = np.array([round(float(earned.sum()))]) if totals is None else totals[3, there]
    return StatePanel(ids, cell, Attributes(m1emp, m2emp, m3emp, apportion(wages, earned, runs, fallback=size)))


def _sizes(cell: IntArray, known: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Sizes so far, and of births (which come last) a lognormal share of the average in their cells."""
    spread, births = SpreadSettings().size_spread, cell[len(known) :]
    drawn = np.exp(spread * generator.standard_normal(len(births)) - spread**2 / 2)
    return np.concatenate([known, NEW_SIZE * drawn * _averages(cell[: len(known)], known, births)])


def _pay(cell: IntArray, known: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Wages per job and month so far, and the cell's average with the usual spread for births and those without."""
    so_far = np.concatenate([known, np.zeros(len(cell) - len(known))])
    paid = so_far > 0
    fresh = _averages(cell[paid], so_far[paid], cell) * np.exp(PAY_SPREAD * generator.standard_normal(len(cell)))
    change = np.exp(PAY_CHANGE * generator.standard_normal(len(cell)))
    return np.where(paid, so_far * change, fresh)


def _averages(cell: IntArray, values: FloatArray, of_cells: IntArray) -> FloatArray:
    """The average value in each of some cells; the overall one where a cell has none."""
    width = int(max(cell.max(initial=0), of_cells.max(initial=0))) + 1
    counts = np.bincount(cell, minlength=width)
    overall = float(values.mean()) if len(values) else 1.0
    means = np.where(counts > 0, np.bincount(cell, values, width) / np.maximum(counts, 1), overall)
    return means[of_cells]
