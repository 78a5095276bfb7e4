"""The size distribution, as in the paper: establishments by jobs and by wages, counts on a log scale."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from gedp.arrays import FloatArray, IntArray
from gedp.errors import GedpError
from gedp.files import replacing, require_writable

_FORMATS = (".png", ".svg", ".pdf")
_BINS_A_DECADE = 8


def check_plot(path: Path) -> None:
    """Raises now what `plot_sizes` would raise at the end."""
    if path.suffix.lower() not in _FORMATS:
        raise GedpError(f"{path}: no such kind of plot. Use a name that ends in {', '.join(_FORMATS)}.")
    require_writable(path)


def plot_sizes(establishments: Path, out: Path) -> None:
    """Plots the distribution of month-3 jobs and quarterly wages in a file of establishments."""
    from matplotlib.figure import Figure

    edges = {"m3emp": _edges(6), "wage": _edges(11)}
    counts = _histograms(establishments, edges)
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    labels = {"m3emp": "jobs in month 3", "wage": "wages in the quarter, dollars"}
    for axes, (name, (zeros, heights)) in zip(figure.subplots(1, 2), counts.items(), strict=True):
        used = np.flatnonzero(heights)
        axes.stairs(heights, edges[name], fill=True, color="#4c72b0")
        axes.set(xscale="log", yscale="log", xlabel=labels[name], ylabel="establishments", ylim=(0.8, None))
        if len(used):
            axes.set_xlim(1, edges[name][used[-1] + 1])
        axes.set_title(f"{heights.sum():,} with any, {zeros:,} with none", fontsize=9)
    with replacing(out) as temporary:
        figure.savefig(temporary, format=out.suffix[1:].lower(), dpi=150)


def _edges(decades: int) -> FloatArray:
    """Bin edges that part whole numbers: equal on a log scale, rounded up and moved half a unit down."""
    exact = np.logspace(0, decades, decades * _BINS_A_DECADE + 1)
    return np.unique(np.ceil(exact - 1e-9)) - 0.5


def _histograms(establishments: Path, edges: dict[str, FloatArray]) -> dict[str, tuple[int, IntArray]]:
    """Per column: how many zeros, and counts between edges; row group by row group, so memory stays flat."""
    totals = {name: (0, np.zeros(len(bounds) - 1, np.int64)) for name, bounds in edges.items()}
    with pq.ParquetFile(establishments) as file:
        for batch in file.iter_batches(columns=list(edges)):
            for name, bounds in edges.items():
                values = batch.column(name).to_numpy()
                zeros, counts = totals[name]
                totals[name] = (zeros + int((values == 0).sum()), counts + np.histogram(values, bounds)[0])
    return totals
