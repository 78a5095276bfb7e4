"""Pictures of a comparison: boxes of groups for every workflow, and lines over what was swept."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gedp.arrays import FloatArray
from gedp.numbers import short, short_share
from gedp.web.svg import Axis, Panel, box_plot

KINDS = 6  # of lines in compare.css; more workflows share them


@dataclass(frozen=True)
class MarkedAxis(Axis):
    """A logarithmic scale with ticks at given values."""

    marks: tuple[float, ...] = ()

    def ticks(self) -> list[float]:
        """Where it is marked."""
        return list(self.marks)


def error_boxes(by_workflow: Mapping[str, FloatArray], attribute: str, level: str) -> str:
    """Mean absolute errors of the groups of one level, a box for each workflow, on a log axis."""
    groups = len(next(iter(by_workflow.values())))
    return _boxes(by_workflow, f"mean absolute error of {attribute}", f"by {level}, {groups:,} groups")


def total_boxes(by_workflow: Mapping[str, FloatArray], attribute: str) -> str:
    """Absolute errors of the state total over replicates, a box for each workflow, on a log axis."""
    replicates = len(next(iter(by_workflow.values())))
    return _boxes(by_workflow, f"absolute error of {attribute}", f"in the state total, {replicates:,} replicates")


def relative_boxes(by_setting: Mapping[str, FloatArray], attribute: str, level: str) -> str:
    """Relative errors of the groups of one level, a box for each setting, on a log axis."""
    groups = len(next(iter(by_setting.values())))
    return _boxes(by_setting, f"relative error of {attribute}", f"by {level}, {groups:,} groups", short_share)


def _boxes(rows: Mapping[str, FloatArray], what: str, where: str, text: Callable[[float], str] = short) -> str:
    medians = "; ".join(f"{name} {text(float(f'{np.median(values):.2g}'))}" for name, values in rows.items())
    axis = _decades(what, np.concatenate(list(rows.values())), text)
    return box_plot(list(rows.items()), axis, f"{what.capitalize()} {where}. Medians: {medians}.", width=330)


def sweep_lines(
    values: Sequence[float], by_workflow: Mapping[str, Sequence[float]], what: str, attribute: str, level: str
) -> str:
    """Mean absolute error against what was swept, a line for each workflow, both axes logarithmic."""
    order = np.argsort(values)
    x = np.asarray(values, dtype=np.float64)[order]
    lines = {name: np.asarray(errors, dtype=np.float64)[order] for name, errors in by_workflow.items()}
    room = 1.1
    across = MarkedAxis(what, float(x[0]) / room, float(x[-1]) * room, marks=tuple(map(float, x)))
    panel = Panel(across, _decades("mean absolute error", np.concatenate(list(lines.values()))))
    marks = []
    for place, errors in enumerate(lines.values()):
        kind = f"flow{place % KINDS}"
        marks += [panel.line(x, errors, f"flow {kind}"), panel.points(x, errors, f"spot {kind}")]
    listed = "; ".join(
        f"{name}: " + ", ".join(f"{short(float(e), 2)} at {v:g}" for v, e in zip(x, errors, strict=True))
        for name, errors in lines.items()
    )
    return panel.drawn(marks, f"Mean absolute error of {attribute} by {level} against {what}. {listed}.")


def _decades(title: str, values: FloatArray, text: Callable[[float], str] = short) -> Axis:
    """Whole decades around all positive values."""
    positive = values[np.isfinite(values) & (values > 0)]
    low, high = (float(positive.min()), float(positive.max())) if len(positive) else (1.0, 1.0)
    first = float(np.floor(np.log10(low)))
    last = max(float(np.ceil(np.log10(high))), first + 1)
    return Axis(title, 10.0**first, 10.0**last, text=text)
