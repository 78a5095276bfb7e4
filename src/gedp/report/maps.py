"""A map where the code list has shapes or coordinates: drawn as plain SVG, with nothing fetched.

Totals are circles whose areas are proportional to them, which does not mislead as coloured areas would: a large county
is not a large total.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from gedp.margins import with_margin
from gedp.markup import Html
from gedp.microdata import Microdata
from gedp.policy.codelists import CodeName
from gedp.policy.shapes import Ring
from gedp.release import Labels
from gedp.report.totals import TotalsByGroup

WIDTH, MOST_HIGH, MARGIN = 560.0, 480.0, 26.0
LARGEST = 24.0  # radius
MOST_POINTS = 3_000  # of all outlines together: more would make a heavy page
MOST_NAMED = 30  # places


def map_of(microdata: Microdata, grouping: TotalsByGroup, attribute: str) -> Html:
    """The totals of one attribute on a map; nothing where fewer than two groups have a place."""
    labels = microdata.release.labels
    if len(grouping.by) != 1 or attribute not in grouping.of_attribute:
        return Html("")
    (key,) = grouping.by
    table = microdata.tabulate(grouping.by, [attribute]).arrow
    found = [(row, labels.entry(key, row[key])) for row in table.to_pylist()]
    placed = [(row, entry) for row, entry in found if entry is not None and (entry.point or entry.shape)]
    if len(placed) < 2:
        return Html("")
    return _drawn(labels, grouping, attribute, placed, left=len(found) - len(placed))


def _drawn(
    labels: Labels,
    grouping: TotalsByGroup,
    attribute: str,
    placed: Sequence[tuple[Mapping[str, Any], CodeName]],
    left: int,
) -> Html:
    shapes = [entry.shape for _, entry in placed]
    has_shapes = sum(len(ring) for shape in shapes for ring in shape) <= MOST_POINTS
    project, height = _Projection.of([point for _, e in placed for point in _points(e, has_shapes)])
    parts = []
    if has_shapes:
        parts += [f'<path class="area" d="{"".join(_outline(ring, project) for ring in s)}"/>' for s in shapes if s]
    most = max(abs(row["estimate"]) for row, _ in placed) or 1.0
    scale, unit = labels.scale(attribute), labels.counted_in(attribute)
    for row, entry in sorted(placed, key=lambda pair: -abs(pair[0]["estimate"])):  # small ones in front
        x, y = project(*_place(entry))
        radius = LARGEST * math.sqrt(abs(row["estimate"]) / most)
        margin = None if row["ci_high"] is None else (row["ci_high"] - row["ci_low"]) / 2
        number, around = with_margin(row["estimate"] / scale, None if margin is None else margin / scale)
        said = escape(f"{entry.title}: {number} ± {around} {unit}".strip())
        parts.append(f'<circle class="total" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"><title>{said}</title></circle>')
    if len(placed) <= MOST_NAMED:
        names = _without_common_end([entry.title for _, entry in placed])
        for name, (row, entry) in zip(names, placed, strict=True):
            x, y = project(*_place(entry))
            below = y + LARGEST * math.sqrt(abs(row["estimate"]) / most) + 11
            parts.append(f'<text x="{x:.1f}" y="{below:.1f}" text-anchor="middle">{escape(name)}</text>')
    what = f"{labels.title(attribute)} by {grouping.name}"
    label = f"Map: {what}. The numbers are in the table below it."
    missing = f" {left} without a place are not on it." if left else ""
    caption = f"{what}: the areas of the circles are proportional to the totals.{missing}"
    return Html(
        f'<figure class="map"><svg role="img" aria-label="{escape(label)}" viewBox="0 0 {WIDTH:g} {height:.0f}">'
        f"{''.join(parts)}</svg><figcaption>{escape(caption)}</figcaption></figure>"
    )


@dataclass(frozen=True)
class _Projection:
    """From degrees to the drawing: distances east and north in one scale, right at the middle latitude."""

    west: float
    north: float
    across: float  # units of the drawing for each degree of longitude
    down: float

    @classmethod
    def of(cls, points: Sequence[tuple[float, float]]) -> tuple["_Projection", float]:
        """One that shows all these points, and how high the drawing is then."""
        (west, south), (east, north) = np.min(points, axis=0).tolist(), np.max(points, axis=0).tolist()
        narrow = math.cos(math.radians((south + north) / 2))
        wide, high = max((east - west) * narrow, 1e-6), max(north - south, 1e-6)
        scale = min((WIDTH - 2 * MARGIN) / wide, (MOST_HIGH - 2 * MARGIN) / high)
        west -= ((WIDTH - 2 * MARGIN) / scale - wide) / narrow / 2  # in the middle
        return cls(west, north, scale * narrow, scale), high * scale + 2 * MARGIN

    def __call__(self, lon: float, lat: float) -> tuple[float, float]:
        return MARGIN + (lon - self.west) * self.across, MARGIN + (self.north - lat) * self.down


def _points(entry: CodeName, has_shapes: bool) -> list[tuple[float, float]]:
    return [*(point for ring in entry.shape for point in ring if has_shapes), _place(entry)]


def _place(entry: CodeName) -> tuple[float, float]:
    """Where the circle goes: the point of the code list, or the middle of the largest ring of its shape."""
    if entry.point is not None:
        return entry.point
    largest = np.array(max(entry.shape, key=len)[:-1])
    lon, lat = largest.mean(axis=0).tolist()
    return lon, lat


def _outline(ring: Ring, project: _Projection) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in (project(*point) for point in ring)) + "Z"


def _without_common_end(titles: Sequence[str]) -> list[str]:
    """Names without a last word that all of them share, such as County."""
    ends = {title.rpartition(" ")[2] for title in titles}
    stems = [title.rpartition(" ")[0] for title in titles]
    return stems if len(ends) == 1 and all(stems) else list(titles)
