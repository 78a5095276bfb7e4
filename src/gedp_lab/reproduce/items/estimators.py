"""Plot the errors of the sqrt and log estimators by size.

From the variances alone, as in the paper's figure.
"""

import numpy as np

from gedp.documents import Chart
from gedp.neighbors import Log, Sqrt
from gedp.neighbors.estimates import psi_variance
from gedp.numbers import short, short_share
from gedp.web.svg import Axis, Panel
from gedp_lab.reproduce.claims import Check, claim
from gedp_lab.reproduce.context import Context
from gedp_lab.reproduce.results import Item, Result

SIZES = np.geomspace(1, 1e6, 61)


def run(context: Context) -> Result:
    """Standard deviations for sqrt (γ = 0.5) and log (γ = 0.1) at μ = 1."""
    sqrt, log = (np.sqrt(psi_variance(psi, SIZES, sigma)) for psi, sigma in ((Sqrt(), 0.5), (Log(), 0.1)))
    crossing = float(SIZES[np.argmax(log > sqrt)])
    largest = (f"{100 * sqrt[-1] / SIZES[-1]:.2g}%", f"{100 * log[-1] / SIZES[-1]:.2g}%")
    stated = claim(
        "log has larger errors for large aggregates",
        [
            Check(f"{size:,.0f} jobs", bool(b > a), f"sqrt {a:,.0f}, log {b:,.0f}")
            for size, a, b in zip(SIZES[40::10], sqrt[40::10], log[40::10], strict=True)
        ],
    )
    panels = []
    for title, first, second, text in (
        ("standard deviation", sqrt, log, short),
        ("relative to the truth", sqrt / SIZES, log / SIZES, short_share),
    ):
        both = np.concatenate([first, second])
        ends = 10.0 ** np.floor(np.log10(both.min())), 10.0 ** np.ceil(np.log10(both.max()))
        panel = Panel(Axis("true answer", 1, 1e6), Axis(title, float(ends[0]), float(ends[1]), text=text))
        marks = [panel.line(SIZES, first, "line-now"), panel.line(SIZES, second, "line-spec")]
        words = f"The {title} of the sqrt (solid) and log (dashed) estimators against the true answer."
        panels.append(Chart(panel.drawn(marks, f"{words} log is larger from {crossing:,.0f} on."), words))
    return Result(
        "Two curves: log is worse for large aggregates",
        f"log is worse from {crossing:,.0f} jobs on; at a million {largest[1]} against {largest[0]}",
        stated.outcome,
        claims=[stated],
        figures=panels,
    )


ITEM = Item("estimators", "Errors of the two estimators (figure in the appendix on mechanisms)", 40, run)
