"""One picture of the demonstration: protected totals against the truth, which is synthetic."""

from pathlib import Path
from typing import TYPE_CHECKING

from gedp.files import replacing
from gedp.microdata import Microdata
from gedp_lab.cli.demo.truth import Beside, beside_truth

if TYPE_CHECKING:
    from matplotlib.axes import Axes

JOBS, BAND, EDGE = "m3emp", 3, 12  # percent


def draw(microdata: Microdata, establishments: Path, out: Path) -> Path:
    """Draws how far the totals of counties and industries are from the truth, with their confidence intervals."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    figure = Figure(figsize=(9, 3.7), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    groupings = {"counties": ["cnty"], "industries, 3-digit NAICS": ["naics3"]}
    found = {name: beside_truth(microdata, establishments, by, JOBS) for name, by in groupings.items()}
    for axis, (name, groups), color in zip(axes, found.items(), ("#0b62a4", "#c2410c"), strict=True):
        _panel(axis, groups, f"{len(groups.truth)} {name}", color)
        axis.xaxis.set_major_formatter(FuncFormatter(lambda jobs, _: f"{jobs:,.0f}"))
    axes[0].set_ylabel("protected against true total, %")
    figure.suptitle("Protected jobs, with 95% intervals, against the truth of a synthetic state", fontsize=11)
    with replacing(out) as temporary:
        figure.savefig(temporary, format="png", dpi=120)
    return out


def _panel(axis: "Axes", groups: Beside, title: str, color: str) -> None:
    some = groups.truth > 0
    truth, off, reach = groups.truth[some], 100 * groups.off[some], 100 * groups.margin[some] / groups.truth[some]
    axis.axhspan(-BAND, BAND, color="#e8eef4", zorder=0)
    axis.axhline(0, color="#5a6675", linewidth=0.8)
    near = abs(off) <= EDGE
    axis.errorbar(truth[near], off[near], reach[near], fmt="o", markersize=4, linewidth=1.2, capsize=2, color=color)
    for side, marker in ((1, "^"), (-1, "v")):  # further away than the picture is high
        beyond = truth[side * off > EDGE]
        axis.plot(beyond, [0.96 * side * EDGE] * len(beyond), marker, markersize=6, color=color)
    further = "" if near.all() else " (triangles: further off)"
    axis.set(xscale="log", xlabel=f"true jobs{further}", ylim=(-EDGE, EDGE))
    inside = int((abs(off) <= BAND).sum())
    axis.set_title(f"{title}: {inside} within ±{BAND}%", fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)
