"""Polygons in well-known text, as far as a map of areas needs them: rings of points, in degrees."""

import re
from collections.abc import Sequence

Ring = tuple[tuple[float, float], ...]

_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_POINT = rf"\s*{_NUMBER}\s+{_NUMBER}\s*"
_RING = rf"\s*\({_POINT}(?:,{_POINT}){{3,}}\)\s*"
_RINGS = rf"\s*\({_RING}(?:,{_RING})*\)\s*"
_POLYGON = re.compile(rf"\s*POLYGON{_RINGS}", re.IGNORECASE)
_MULTIPOLYGON = re.compile(rf"\s*MULTIPOLYGON\s*\({_RINGS}(?:,{_RINGS})*\)\s*", re.IGNORECASE)
MOST_CHARACTERS = 1_000_000  # of one shape


def read_shape(text: str) -> tuple[Ring, ...]:
    """The rings of a POLYGON or MULTIPOLYGON, holes among them; none of an empty text. Rejects anything else.

    >>> read_shape("POLYGON ((0 0, 2 0, 2 1, 0 0))")
    (((0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (0.0, 0.0)),)
    """
    if not text.strip():
        return ()
    if len(text) > MOST_CHARACTERS or not (_POLYGON.fullmatch(text) or _MULTIPOLYGON.fullmatch(text)):
        raise ValueError("no polygon")
    return tuple(_points(ring) for ring in re.findall(r"\(([^()]*)\)", text))


def shape_text(rings: Sequence[Ring]) -> str:
    """Rings as text that `read_shape` reads back, each as a polygon of its own; holes are drawn alike."""
    if not rings:
        return ""
    polygons = ["((" + ", ".join(f"{x:.10g} {y:.10g}" for x, y in ring) + "))" for ring in rings]
    return f"MULTIPOLYGON ({', '.join(polygons)})" if len(polygons) > 1 else f"POLYGON {polygons[0]}"


def _points(ring: str) -> Ring:
    points = tuple((float(x), float(y)) for x, y in (point.split() for point in ring.split(",")))
    if not all(abs(x) <= 180 and abs(y) <= 90 for x, y in points):
        raise ValueError("not degrees")
    return points
