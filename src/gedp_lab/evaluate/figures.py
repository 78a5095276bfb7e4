"""The paper's pictures of errors: protected against true, boxes of signed differences, relative error against size."""

from collections.abc import Sequence

import numpy as np

from gedp.arrays import FloatArray
from gedp.numbers import short, short_share
from gedp.web.svg import Axis, Panel, box_plot
from gedp_lab.evaluate.groups import ComparedGroups
from gedp_lab.evaluate.metrics import CLOSER, relative_errors


def scatter(each: ComparedGroups) -> str:
    """Protected against true values on log axes, with a band of ±3%; what is outside is red."""
    close = np.abs(each.protected - each.truth) <= CLOSER * np.abs(each.truth)
    low = _below(np.concatenate([each.truth, each.protected]))
    high = _above(np.concatenate([each.truth, each.protected, [10 * low]]))
    panel = Panel(Axis("true", low, high), Axis("protected", low, high))
    ends = np.geomspace(low, high, 30)
    marks = [
        panel.area(ends, ends * (1 - CLOSER), ends * (1 + CLOSER), "band"),
        panel.line(ends, ends, "equal"),
        panel.points(each.truth[close], each.protected[close], "point-in"),
        panel.points(each.truth[~close], each.protected[~close], "point-out"),
    ]
    return panel.drawn(marks, scatter_label(each))


def scatter_label(each: ComparedGroups) -> str:
    """The scatter plot in words."""
    errors, edge = each.errors(), int(((each.truth < 1) | (each.protected < 1)).sum())
    outside = each.truth[np.abs(each.protected - each.truth) > CLOSER * np.abs(each.truth)]
    parts = [
        f"Protected against true {each.attribute} by {each.level.name}: {errors.within_3:.0%} of {each.groups:,} "
        "groups are inside a band of 3% around the truth"
    ]
    if len(outside):
        parts.append(f"; those outside have a median true value of {short(float(np.median(outside)), 2)}")
    if edge:
        parts.append(f"; {edge:,} with a value below 1 are drawn at the edge")
    return "".join(parts) + "."


def relative_plot(each: ComparedGroups) -> str:
    """Relative error against the true value, both on log axes, with the median of each decade."""
    error = relative_errors(each.truth, each.protected)
    size = np.abs(each.truth)
    low = 10.0 ** np.floor(np.log10(max(float(np.quantile(error, 0.02)), 1e-6)))
    high = _above(np.maximum(error, 10 * low))
    panel = Panel(
        Axis("true", _below(size), _above(np.maximum(size, 10 * _below(size)))),
        Axis("relative error", float(low), float(high), text=short_share),
    )
    middle = _medians(size, error)
    marks = [panel.points(size, error, "point-in"), panel.line(*middle, "median")]
    listed = ", ".join(f"{short_share(float(y))} at {short(float(x), 2)}" for x, y in zip(*middle, strict=True))
    label = (
        f"Relative error against true {each.attribute} by {each.level.name}, {each.groups:,} groups. Medians: {listed}."
    )
    return panel.drawn(marks, label)


def difference_boxes(comparisons: Sequence[ComparedGroups], attribute: str) -> str:
    """Boxes of signed differences, one for each level."""
    rows = [(f"{c.level.name} ({c.groups:,})", c.protected - c.truth) for c in comparisons]
    every = np.concatenate([values for _, values in rows])
    usual = float(np.median(np.abs(every)))
    linear = 10.0 ** np.floor(np.log10(max(usual, 0.1)))
    most = max(float(np.abs(every).max()), linear)
    axis = Axis("protected − true", -1.05 * most, 1.05 * most, linear=float(linear))
    quartiles = "; ".join(
        f"{c.level.name}: {short(e.lower_quartile, 2)}, {short(e.median, 2)}, {short(e.upper_quartile, 2)}"
        for c, e in ((c, c.errors()) for c in comparisons)
    )
    label = (
        f"Signed differences of {attribute}, a box for each level. Lower quartile, median, upper quartile: {quartiles}."
    )
    return box_plot(rows, axis, label)


def _medians(size: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Median size and median error of each half decade with at least three groups."""
    classes = np.floor(2 * np.log10(np.maximum(size, 1)))
    x, y = [], []
    for one in np.unique(classes):
        part = classes == one
        if part.sum() >= 3:
            x.append(float(np.median(size[part])))
            y.append(float(np.median(error[part])))
    return np.array(x), np.array(y)


def _below(values: FloatArray) -> float:
    """The power of ten below the smallest, but not less than 1."""
    return float(10.0 ** np.floor(np.log10(max(float(np.min(values)), 1.0))))


def _above(values: FloatArray) -> float:
    """A little more than the largest."""
    return 1.3 * float(np.max(values))
