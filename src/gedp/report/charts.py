"""Figures of the report as plain SVG: small, sharp, in the fonts of the page, whatever script the labels are in."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from gedp.arrays import FloatArray
from gedp.markup import Html
from gedp.numbers import in_words
from gedp.report.errors import Curve, ErrorsOfAlike, curve
from gedp.report.totals import Amount

WIDTH, HEIGHT = 440, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 34, 10, 44  # on the left there is room for 100,000%
MOST_RELATIVE = 3  # decades above 1; figures beyond are drawn at the edge
COLORS = ("#0b62a4", "#c2410c", "#2f7d32", "#7b3fa0", "#8a6d00", "#00838f")
DASHES = ("", "7 3", "2 3", "9 3 2 3")
MOST_DOTS = 150  # of one table
MOST_TICKS = 5


@dataclass(frozen=True)
class LogScale:
    """Powers of ten from `low` to `high`, drawn from `start` to `end`."""

    low: int
    high: int
    start: float
    end: float

    def at(self, values: FloatArray) -> FloatArray:
        """Where values are drawn; those outside at the edge."""
        share = (np.log10(values) - self.low) / (self.high - self.low)
        return self.start + np.clip(share, 0, 1) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Powers of ten, few enough to be labelled."""
        every = math.ceil((self.high - self.low) / MOST_TICKS)
        return [10.0**decade for decade in range(self.low, self.high + 1, every)]

    @classmethod
    def around(cls, values: FloatArray, start: float, end: float) -> "LogScale":
        """A scale over the whole decades that contain the values."""
        low = math.floor(math.log10(values.min()) + 1e-9)
        return cls(low, max(math.ceil(math.log10(values.max()) - 1e-9), low + 1), start, end)


def mark(place: int) -> Html:
    """The line of a table in a figure, for its legend."""
    return Html(f'<svg class="mark" width="28" height="10" aria-hidden="true">{_line("M0 5H28", place)}</svg>')


SINGLE_MARK = Html(
    '<svg class="mark" width="28" height="10" aria-hidden="true"><path class="single" d="M0 5H28"/></svg>'
)


def error_chart(errors: ErrorsOfAlike, label: str) -> Html:
    """Relative standard error by size, both on logarithmic scales: medians, the middle 80% of figures, some figures."""
    edges, curves = errors.edges(), [curve(table) for table in errors.tables]
    seen = [table for table in errors.tables if table.sizes.size]
    shown = [np.clip(c.sizes, edges[0] / 10, None) for c in curves if c.sizes.size]
    shown += [np.array([table.sizes.max()]) for table in seen]
    across = LogScale.around(np.concatenate(shown), LEFT, WIDTH - RIGHT)
    spread = np.concatenate([np.percentile(table.relative, [1, 99]) for table in seen])
    upwards = LogScale.around(np.minimum(spread, 10.0**MOST_RELATIVE), HEIGHT - BOTTOM, TOP)
    parts = [*_axes(across, upwards)]
    single_at = np.geomspace(10.0**across.low, 10.0**across.high, 40)
    single = errors.single(single_at)
    for place, (table, of_table) in enumerate(zip(errors.tables, curves, strict=True)):
        color = COLORS[place % len(COLORS)]
        parts.append(f'<path class="around" d="{_band(of_table, across, upwards)}" style="fill: {color}"/>')
        order = np.argsort(table.sizes)
        some = order[np.unique(np.linspace(0, len(order) - 1, MOST_DOTS).astype(int))] if len(order) else order
        dots = _points(table.sizes[some], table.relative[some], across, upwards)
        circles = "".join(f"M{x:.0f} {y:.0f}h0" for x, y in dots)
        parts.append(f'<path class="dots" d="{circles}" style="stroke: {color}"/>')
    if single is not None:
        inside = single <= 10.0**upwards.high
        points = _points(single_at[inside], single[inside], across, upwards)
        parts.append(f'<path class="single" d="{_polyline(points)}"/>')
    for place, of_table in enumerate(curves):
        points = _points(of_table.sizes, of_table.median, across, upwards)
        if len(points) == 1:
            ((x, y),) = points
            color = COLORS[place % len(COLORS)]
            parts.append(f'<circle class="series" cx="{x:.1f}" cy="{y:.1f}" r="3" style="stroke: {color}"/>')
        elif points:
            parts.append(_line(_polyline(points), place))
    opening = f'<svg class="chart" role="img" aria-label="{escape(label)}" viewBox="0 0 {WIDTH} {HEIGHT}">'
    return Html(f"{opening}{''.join(parts)}</svg>")


def bar(amount: Amount, low: float, high: float) -> Html:
    """One bar with its interval, on a scale from `low` to `high`. Its numbers stand beside it."""

    def at(value: float) -> float:
        return 100 * (value - low) / (high - low)

    zero, end = at(0.0), at(amount.estimate)
    parts = [f'<rect x="{min(zero, end):.2f}%" width="{abs(end - zero):.2f}%" y="3" height="12"/>']
    if amount.margin is not None:
        ends = [at(amount.estimate - amount.margin), at(amount.estimate + amount.margin)]
        parts.append(f'<line x1="{ends[0]:.2f}%" x2="{ends[1]:.2f}%" y1="9" y2="9"/>')
        parts += [f'<line x1="{x:.2f}%" x2="{x:.2f}%" y1="5" y2="13"/>' for x in ends]
    return Html(f'<svg class="bar" width="100%" height="18" aria-hidden="true">{"".join(parts)}</svg>')


def bar_scale(amounts: Iterable[Amount]) -> tuple[float, float]:
    """The least and the most that bars of these amounts reach, 0 among them."""
    ends = [a.estimate + side * (a.margin or 0.0) for a in amounts for side in (-1, 1)]
    low, high = min([0.0, *(a for a in ends if a < 0)]), max([0.0, *ends])
    return low, high if high > low else low + 1.0


def _axes(across: LogScale, upwards: LogScale) -> Iterable[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    for tick, x in zip(across.ticks(), across.at(np.array(across.ticks())), strict=True):
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{in_words(tick)}</text>'
    for tick, y in zip(upwards.ticks(), upwards.at(np.array(upwards.ticks())), strict=True):
        yield f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{100 * tick:,.9g}%</text>'
    yield f'<line class="axis" x1="{LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}"/>'
    yield f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 8}" text-anchor="middle">size of the figure</text>'


def _points(x: FloatArray, y: FloatArray, across: LogScale, upwards: LogScale) -> list[tuple[float, float]]:
    inside = (x >= 10.0**across.low) & (x <= 10.0**across.high)
    x, y = x[inside], y[inside]
    return list(zip(across.at(x).tolist(), upwards.at(y).tolist(), strict=True))


def _polyline(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) if points else ""


def _band(of_table: Curve, across: LogScale, upwards: LogScale) -> str:
    if len(of_table.sizes) < 2:
        return ""
    above = _points(of_table.sizes, of_table.high, across, upwards)
    below = _points(of_table.sizes, of_table.low, across, upwards)
    return _polyline([*above, *reversed(below)]) + "Z"


def _line(path: str, place: int) -> str:
    color, dash = COLORS[place % len(COLORS)], DASHES[place % len(DASHES)]
    return f'<path class="series" d="{path}" style="stroke: {color}" stroke-dasharray="{dash}"/>'
