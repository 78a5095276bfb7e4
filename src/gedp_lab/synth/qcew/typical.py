"""The typical size and pay of an industry in a state, among establishments of undisclosed counties."""

from dataclasses import dataclass

import numpy as np

from gedp.arrays import FloatArray
from gedp.errors import Fault, FaultsError
from gedp_lab.synth.qcew.tree import Tree


@dataclass(frozen=True)
class Typical:
    """Per state and ownership (level 0 of the tree) and industry."""

    jobs: FloatArray  # shape (3, states, industries): jobs per establishment in each month
    pay: FloatArray  # shape (states, industries): dollars a quarter for a job held in one month


def typical_sizes(tree: Tree) -> Typical:
    """What the undisclosed establishments of an industry have on average, as far as the published rows tell.

    Where the state's own row is disclosed, what it leaves after the disclosed counties is exactly what the
    others hold together. Otherwise the average of the disclosed counties stands in, and where there is none
    that of the industry one level up.
    """
    states, industries = len(tree.levels[0].area), len(tree.industries)
    width = states * industries
    state_of_area = tree.state_of_area()
    everything = np.zeros(width)  # establishments in all counties
    disclosed = np.zeros((5, width))  # establishments and values of the disclosed county rows
    for level in tree.levels[1:]:
        key = state_of_area[level.area] * industries + level.industry
        everything += np.bincount(key, level.estabs, width)
        for place, numbers in enumerate((level.estabs, *level.values)):
            disclosed[place] += np.bincount(key[level.known], numbers[level.known], width)
    rows = tree.state_rows.take(tree.state_rows.known & (state_of_area[tree.state_rows.area] >= 0))
    published = np.full((5, width), np.nan)
    published[:, state_of_area[rows.area] * industries + rows.industry] = np.vstack([rows.estabs, rows.values])
    rest = published - disclosed
    usable = (published[0] == everything) & (rest[0] > 0) & (rest >= 0).all(axis=0)
    numbers = np.where(usable, rest, disclosed).reshape(5, states, industries)
    rates = numbers[1:] / np.where(numbers[0] > 0, numbers[0], np.nan)
    return _inherit(tree, rates)


def _inherit(tree: Tree, rates: FloatArray) -> Typical:
    """Fills the gaps from the industry one level up, from the total downwards."""
    jobs, wage = rates[:3], rates[3]
    months = jobs.sum(axis=0)
    pay = wage / np.where(months > 0, months, np.nan)
    order = np.argsort([_steps_up(tree, industry) for industry in range(len(tree.industries))], kind="stable")
    for industry in order.tolist():
        above = tree.parent_industry[industry]
        if above >= 0:
            gap = np.isnan(jobs[0, :, industry])
            jobs[:, gap, industry] = jobs[:, gap, above]
            gap = np.isnan(pay[:, industry])
            pay[gap, industry] = pay[gap, above]
    leaves = tree.levels[-1]
    state = tree.state_of_area()[leaves.area]
    if (lost := ~leaves.known & np.isnan(jobs[0, state, leaves.industry])).any():
        codes = sorted({tree.areas[area][0][:2] for area in leaves.area[lost].tolist()})
        problem = "nothing is disclosed to estimate the suppressed figures from"
        raise FaultsError("QCEW rows", [Fault(f"state {code}", problem, "Add its state file") for code in codes])
    return Typical(np.nan_to_num(jobs), np.nan_to_num(pay, nan=1.0))


def _steps_up(tree: Tree, industry: int) -> int:
    steps = 0
    while (industry := int(tree.parent_industry[industry])) >= 0:
        steps += 1
    return steps
