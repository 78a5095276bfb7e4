"""Classes of confidential attributes, such as sizes of establishments."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from gedp.arrays import MOST_UNITS, IntArray
from gedp.policy.fields import read_fields
from gedp.policy.keys import CLASSES
from gedp.policy.section import Section, did_you_mean

#: Of one query, over all its classes: every combination is answered for every public group.
MOST_COMBINATIONS = 1000


@dataclass(frozen=True)
class Classes:
    """Classes of a confidential attribute: each goes from one edge to the next, which is not in it; the last is open.

    The first edge is 0 and no value is negative, so that every establishment is in one class.
    """

    name: str
    attribute: str
    edges: tuple[Decimal, ...]

    @property
    def count(self) -> int:
        """The number of classes."""
        return len(self.edges)

    def in_units(self, unit: Decimal) -> IntArray:
        """The edges as whole numbers of units."""
        return np.array([int(edge / unit) for edge in self.edges], dtype=np.int64)

    def labels(self, unit: Decimal) -> list[str]:
        """Their names, by the least and the largest value: 0, 1-4, 5-9, 10+."""
        closed = [
            _text(low) if high - low == unit else f"{_text(low)}-{_text(high - unit)}"
            for low, high in pairwise(self.edges)
        ]
        return [*closed, f"{_text(self.edges[-1])}+"]


def read_classes(section: Section, attributes: Mapping[str, Any], names: set[str] | None) -> dict[str, Classes]:
    """The classes of a spec; `names` are those of the attributes, None if unknown."""
    found = {}
    for name in section.content:
        entry = section.table(name)
        if entry.absent:
            continue
        values = read_fields(entry, CLASSES)
        attribute, edges = values["attribute"], values["edges"]
        if attribute and names is not None and attribute not in names:
            hint = did_you_mean(attribute, sorted(names))
            entry.fault("attribute", f"{attribute!r} is not a confidential attribute", hint)
        elif parts := [part.name for part in attributes.values() if attribute == part.column != part.name]:
            entry.fault("attribute", f"{attribute} is split", f"Name one of its parts: {' or '.join(parts)}")
        elif attribute in attributes and attributes[attribute].signed:
            problem = f"{attribute} has values of both signs, which have no classes"
            entry.fault("attribute", problem, "Split the attribute into gain and loss")
        unit = attributes[attribute].unit if attribute in attributes else None
        if edges is not None:
            _check_edges(entry, edges, unit)
        found[name] = Classes(name, attribute, edges or (Decimal(0), Decimal(1)))
    return found


def check_classes(section: Section, classes: Collection[Classes]) -> None:
    """What the classes of one query must be: of different attributes, and not too many."""
    attributes = [each.attribute for each in classes]
    if len(set(attributes)) < len(attributes):
        section.fault("by", "two of its classes are of one attribute", "Give one class with the edges of both")
    if prod(each.count for each in classes) > MOST_COMBINATIONS:
        problem = f"its classes have more than {MOST_COMBINATIONS:,} combinations, all of which are answered"
        section.fault("by", problem, "Group by fewer classes")


def _check_edges(entry: Section, edges: Sequence[Decimal], unit: Decimal | None) -> None:
    if edges[0] != 0:
        entry.fault("edges", "what lies below the first edge would be in no class", "Begin with 0")
    elif len(edges) > MOST_COMBINATIONS:
        entry.fault("edges", f"there are more than {MOST_COMBINATIONS:,} classes", "Give fewer")
    elif unit is not None and edges[-1] / unit > MOST_UNITS:
        entry.fault("edges", "the last is above 2^53 units, which no value can have", "Give smaller edges")
    elif unit is not None and any(edge % unit for edge in edges):
        entry.fault("edges", f"some are not whole multiples of the unit {unit}", "Give edges that values can have")


def _text(number: Decimal) -> str:
    return f"{number.normalize():f}" if number else "0"
