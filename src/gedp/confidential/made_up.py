"""Made-up values for a rehearsal: of all sizes, the same for everybody, and from nowhere near the confidential ones."""

from collections.abc import Iterator, Mapping

import numpy as np

from gedp.arrays import IntArray
from gedp.policy import Attribute

MOST_UNITS = 1e6
FEWEST_TRIED, MOST_TRIED = 3, 24  # establishments that are moved
ROWS_TO_GO_OVER = 5_000_000  # in all, roughly
GOLDEN = (5**0.5 - 1) / 2  # multiples of it, without their whole part, fill an interval evenly


def made_up_values(attributes: Mapping[str, Attribute], rows: int) -> dict[str, IntArray]:
    """For each attribute whole units from 1 to a million, small ones as often as large ones; negative too if signed."""
    values = {}
    for place, attribute in enumerate(attributes.values()):
        even = (np.arange(1, rows + 1) * GOLDEN + place / 7) % 1.0
        units = np.floor(MOST_UNITS**even).astype(np.int64)
        values[attribute.name] = units * np.where(np.arange(rows) % 2, -1, 1) if attribute.signed else units
    return values


def neighbors_of(made_up: Mapping[str, IntArray], attributes: Mapping[str, Attribute]) -> Iterator[dict[str, IntArray]]:
    """Tables in which one establishment is at an end of all its intervals: the smallest, the largest, some between."""
    first = next(iter(made_up.values()))
    tried = min(max(ROWS_TO_GO_OVER // len(first), FEWEST_TRIED), MOST_TRIED)
    places = np.linspace(0, len(first) - 1, tried).astype(np.int64)
    for row in np.unique(np.argsort(first, kind="stable")[places]):
        for up in (True, False):
            moved = {name: column.copy() for name, column in made_up.items()}
            for name, column in moved.items():
                column[row] = _end(attributes[name], int(column[row]), up=up)
            yield moved


def _end(attribute: Attribute, units: int, *, up: bool) -> int:
    """The last whole unit inside the interval, upwards or downwards."""
    unit = float(attribute.unit)
    low, high = (float(end) / unit for end in attribute.protection.interval(units * unit))
    return int(np.floor(high * (1 + 1e-12))) if up else int(np.ceil(low * (1 - 1e-12)))
