"""Small charts as plain SVG, for pages with many of them.

Text stays text, and points that fall on one spot are drawn once. A panel is as wide as a phone; its style is in
page.css.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape

import numpy as np
import numpy.typing as npt

from gedp.arrays import FloatArray
from gedp.numbers import short

MOST_POINTS = 3000  # of one kind in a panel; beyond that, spots get larger
MOST_TICKS = 6
TITLE, CHARACTER = 24, 7.5  # the room that the title of the axis takes, and a character of a tick
RING = 5  # its radius
LEFT, RIGHT, TOP, BOTTOM = 46, 20, 8, 36  # the last tick's text is half beyond the axis


@dataclass(frozen=True)
class Axis:
    """A logarithmic scale from low to high; with `linear` above 0, linear up to there on both sides of 0."""

    title: str
    low: float
    high: float
    linear: float = 0.0
    text: Callable[[float], str] = short

    def at(self, values: npt.ArrayLike) -> FloatArray:
        """Where values are, from 0 to 1; those beyond the ends are at the ends."""
        inside = np.clip(np.asarray(values, dtype=np.float64), self.low, self.high)
        low, high = self._scaled(np.array([self.low, self.high]))
        place: FloatArray = (self._scaled(inside) - low) / (high - low)
        return place

    def ticks(self) -> list[float]:
        """Powers of ten, not too many; and 0 with its neighbors on both sides."""
        least = self.linear or self.low
        exponents = np.arange(np.ceil(np.log10(least) - 1e-9), np.floor(np.log10(max(self.high, -self.low)) + 1e-9) + 1)
        sides = 2 if self.low < 0 else 1
        step = max(int(np.ceil(len(exponents) * sides / MOST_TICKS)), 1)
        powers = [float(10.0**exponent) for exponent in exponents[(len(exponents) - 1) % step :: step]]
        every = [*(-power for power in reversed(powers)), 0.0, *powers] if self.linear else powers
        return [value for value in every if self.low <= value <= self.high]

    def _scaled(self, values: FloatArray) -> FloatArray:
        if self.linear:
            return np.asarray(np.sign(values) * np.log10(1 + np.abs(values) / self.linear))
        return np.asarray(np.log10(values))


@dataclass(frozen=True)
class Panel:
    """Two axes and what is drawn between them."""

    x: Axis
    y: Axis
    width: int = 330
    height: int = 260

    def points(self, x: FloatArray, y: FloatArray, kind: str) -> str:
        """Adds dots; those that fall on one spot are drawn once."""
        across, down = self._across(x), self._down(y)
        spot, wide = 0.5, 1 << 16
        while len(spots := np.unique(np.rint(across / spot) * wide + np.rint(down / spot))) > MOST_POINTS:
            spot *= 2
        found = zip(spots // wide * spot, spots % wide * spot, strict=True)
        return f'<path class="{kind}" d="{"".join(f"M{a:g} {b:g}h0" for a, b in found)}"/>'

    def ring(self, x: float, y: float, kind: str) -> str:
        """Adds a ring that can be seen around a dot on a line."""
        return f'<circle class="{kind}" cx="{float(self._across(x)):.1f}" cy="{float(self._down(y)):.1f}" r="{RING}"/>'

    def line(self, x: FloatArray, y: FloatArray, kind: str) -> str:
        """Adds a line through points."""
        return f'<polyline class="{kind}" points="{self._listed(x, y)}"/>'

    def area(self, x: FloatArray, low: FloatArray, high: FloatArray, kind: str) -> str:
        """Adds the area between two lines."""
        return f'<polygon class="{kind}" points="{self._listed(x, low)} {self._listed(x[::-1], high[::-1])}"/>'

    def drawn(self, marks: Sequence[str], label: str) -> str:
        """The panel with `label` as its alternative text."""
        bottom, middle = self.height - BOTTOM, (self._left + self.width - RIGHT) / 2
        parts = []
        for tick in self.x.ticks():
            at = f"{float(self._across(tick)):.1f}"
            parts.append(f'<path class="grid" d="M{at} {TOP}V{bottom}"/>')
            parts.append(f'<text x="{at}" y="{bottom + 14}" text-anchor="middle">{escape(self.x.text(tick))}</text>')
        for tick in self.y.ticks():
            at = f"{float(self._down(tick)):.1f}"
            parts.append(f'<path class="grid" d="M{self._left} {at}H{self.width - RIGHT}"/>')
            parts.append(
                f'<text x="{self._left - 5}" y="{at}" dy="4" text-anchor="end">{escape(self.y.text(tick))}</text>'
            )
        parts += marks
        parts.append(f'<path class="axis" fill="none" d="M{self._left} {TOP}V{bottom}H{self.width - RIGHT}"/>')
        parts.append(f'<text x="{middle}" y="{self.height - 6}" text-anchor="middle">{escape(self.x.title)}</text>')
        turned = f'transform="translate(11 {(TOP + bottom) / 2}) rotate(-90)"'
        parts.append(f'<text {turned} text-anchor="middle">{escape(self.y.title)}</text>')
        return svg(self.width, self.height, parts, label)

    @cached_property
    def _left(self) -> int:
        """Where the axis is, with room for the texts of its ticks between it and its title."""
        longest = max((len(self.y.text(tick)) for tick in self.y.ticks()), default=0)
        return max(LEFT, round(TITLE + CHARACTER * longest))

    def _across(self, x: npt.ArrayLike) -> FloatArray:
        return self._left + self.x.at(x) * (self.width - self._left - RIGHT)

    def _down(self, y: npt.ArrayLike) -> FloatArray:
        return self.height - BOTTOM - self.y.at(y) * (self.height - TOP - BOTTOM)

    def _listed(self, x: FloatArray, y: FloatArray) -> str:
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(self._across(x), self._down(y), strict=True))


def svg(width: int, height: int, parts: Sequence[str], label: str) -> str:
    """A whole drawing as an SVG element, with `label` as its alternative text."""
    return f'<svg role="img" aria-label="{escape(label)}" viewBox="0 0 {width} {height}">{"".join(parts)}</svg>'


def box_plot(rows: Sequence[tuple[str, FloatArray]], axis: Axis, label: str, width: int = 480) -> str:
    """Horizontal boxes: median, quartiles, whiskers to the last value within 1.5 times their distance, and outliers."""
    step, parts = 34, []
    height = step * len(rows) + BOTTOM + 4
    room = width - 2 * RIGHT

    def across(values: npt.ArrayLike) -> FloatArray:
        return RIGHT + axis.at(values) * room

    for tick in axis.ticks():
        at = f"{float(across(tick)):.1f}"
        parts.append(f'<path class="{"axis" if tick == 0 else "grid"}" d="M{at} 4V{height - BOTTOM}"/>')
        parts.append(f'<text x="{at}" y="{height - BOTTOM + 14}" text-anchor="middle">{escape(axis.text(tick))}</text>')
    for place, (name, values) in enumerate(rows):
        top = step * place + 18
        middle = top + 7
        lower, median, upper = np.quantile(values, [0.25, 0.5, 0.75])
        reach = 1.5 * (upper - lower)
        inside = values[(values >= lower - reach) & (values <= upper + reach)]
        ends, box = across([inside.min(), inside.max()]), across([lower, upper])
        out = values[(values < lower - reach) | (values > upper + reach)]
        spots = np.unique(np.round(across(out) * 2) / 2)
        parts += [
            f'<text x="{RIGHT}" y="{top - 4}">{escape(name)}</text>',
            f'<path class="whisker" d="M{ends[0]:.1f} {middle}H{ends[1]:.1f}"/>',
            f'<rect class="box" x="{box[0]:.1f}" y="{top}" width="{max(box[1] - box[0], 1):.1f}" height="14"/>',
            f'<path class="median" d="M{float(across(median)):.1f} {top}v14"/>',
            f'<path class="point-out" d="{"".join(f"M{spot:g} {middle}h0" for spot in spots)}"/>',
        ]
    parts.append(f'<text x="{width / 2}" y="{height - 6}" text-anchor="middle">{escape(axis.title)}</text>')
    return svg(width, height, parts, label)
