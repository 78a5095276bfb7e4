"""Draw the distribution of jobs and wages over the establishments of the synthetic states."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from gedp.arrays import FloatArray
from gedp.documents import Chart, PrintedTable
from gedp.numbers import short, short_share
from gedp_lab.reproduce.claims import Check, claim
from gedp_lab.reproduce.compared import JOBS, WAGES
from gedp_lab.reproduce.context import Context, State
from gedp_lab.reproduce.results import Item, Result

CLASSES = 50
VISIBLE = 300  # a bar is one pixel high if the highest has so many
NAMES = {JOBS: "jobs in month 3", WAGES: "quarterly wages, dollars"}


@dataclass(frozen=True)
class Distribution:
    """How many establishments are in each of 50 classes of equal width, from 0 to the largest."""

    state: State
    attribute: str
    counts: npt.NDArray[np.int64]
    edges: FloatArray
    mean: float
    median: float

    @property
    def first(self) -> float:
        """The share of establishments in the lowest class."""
        return float(self.counts[0] / self.counts.sum())

    @property
    def hidden(self) -> int:
        """Classes that have establishments, but would be lower than a pixel on a plain scale."""
        return int(((self.counts > 0) & (self.counts * VISIBLE < self.counts.max())).sum())


def distribution(state: State, attribute: str) -> Distribution:
    """Counts one attribute of a state."""
    values = pq.read_table(state.path, columns=[attribute])[attribute].to_numpy()
    counts, edges = np.histogram(values, bins=CLASSES, range=(0, float(values.max())))
    return Distribution(state, attribute, counts, edges, float(values.mean()), float(np.median(values)))


def run(context: Context) -> Result:
    """Every state, jobs and wages; whether the tail needs a logarithmic scale to be seen."""
    found = [distribution(state, attribute) for state in context.states for attribute in (JOBS, WAGES)]
    tail = claim(
        "The tail is so heavy that counts of large establishments are visible on a transformed scale only",
        [
            Check(
                f"{each.state.name} {each.attribute}",
                each.hidden >= (each.counts > 0).sum() / 2,
                f"{each.hidden} of {(each.counts > 0).sum()} classes lower than a pixel",
            )
            for each in found
        ],
    )
    rows = [
        [
            f"{each.state.title}, {each.attribute}",
            f"{each.counts.sum():,}",
            short(each.median, 3),
            short(each.mean, 3),
            short(float(each.edges[-1]), 3),
            short_share(each.first, 4),
        ]
        for each in found
    ]
    headings = ["state, attribute", "establishments", "median", "mean", "largest", "in the lowest of 50 classes"]
    return Result(
        "Histograms of wages and employment of Syn-NJ and Syn-RI, with a transformed axis of counts",
        tail.evidence,
        tail.outcome,
        context.of_demo,
        claims=[tail],
        tables=[PrintedTable("Establishments", headings, rows)],
        figures=[
            Chart(_drawn(found), "Establishments in classes of equal width; counts on a logarithmic scale", "wide")
        ],
    )


def _drawn(found: list[Distribution]) -> str:
    from matplotlib.figure import Figure as Drawing

    from gedp.web.figures import inline_svg

    figure = Drawing(figsize=(8.5, 2.8 * (len(found) // 2)), layout="constrained")
    axes = figure.subplots(len(found) // 2, 2, squeeze=False)
    for axis, each in zip(axes.ravel(), found, strict=True):
        axis.stairs(each.counts, each.edges, fill=True)
        axis.set_yscale("log")
        axis.set_ylim(bottom=0.5)
        axis.xaxis.set_major_formatter(lambda value, _: short(value, 3))
        axis.set(title=each.state.title, xlabel=NAMES[each.attribute], ylabel="establishments")
    listed = "; ".join(
        f"{each.state.title}, {each.attribute}: {each.first:.2%} of the establishments in the lowest of {CLASSES} "
        f"classes, largest {short(float(each.edges[-1]), 3)}"
        for each in found
    )
    return inline_svg(figure, f"Histograms of establishments by size, counts on a logarithmic scale. {listed}.")


ITEM = Item("distribution", "Distribution of jobs and wages (figure in the appendix)", 85, run)
