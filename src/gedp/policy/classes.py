"""Classes of confidential attributes, such as sizes of establishments, and the queries that group by them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from gedp.arrays import MOST_UNITS, IntArray
from gedp.policy.fields import read_fields
from gedp.policy.keys import CLASSES
from gedp.policy.section import Section, did_you_mean

#: What a table calls the number of establishments, in the place of an attribute.
COUNT = "establishments"
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


@dataclass(frozen=True)
class ClassQuery:
    """Numbers of establishments, or sums of attributes, by public groups and classes of confidential attributes.

    As a `Query`, it has a price or an importance for everything that it asks for; the number of establishments goes
    by the name of `COUNT`.
    """

    name: str
    by: tuple[str, ...]
    classes: tuple[str, ...]  # those of its keys that are classes
    mu: Mapping[str, Decimal] = field(default_factory=dict)
    importance: Mapping[str, Decimal] = field(default_factory=dict)
    title: str | None = None  # what people call its table

    @property
    def public(self) -> tuple[str, ...]:
        """The keys that anybody may know."""
        return tuple(key for key in self.by if key not in self.classes)

    @property
    def asked(self) -> tuple[str, ...]:
        """The attributes whose sums it asks for, and `COUNT`."""
        return tuple(self.mu or self.importance)

    @property
    def sums(self) -> tuple[str, ...]:
        """The attributes whose sums it asks for."""
        return tuple(name for name in self.asked if name != COUNT)

    @property
    def is_individual(self) -> bool:
        """Whether it has no price of its own, but is paid for by individual accounting."""
        return not self.mu

    def classed(self, classes: Mapping[str, Classes]) -> tuple[str, ...]:
        """The attributes that decide about the classes of an establishment."""
        return tuple(classes[name].attribute for name in self.classes)

    def payer(self, asked: str, classes: Mapping[str, Classes]) -> str:
        """The attribute under which an answer is priced: that of the sums, or for numbers that of the first classes."""
        return self.classed(classes)[0] if asked == COUNT else asked


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


def check_combinations(section: Section, query: ClassQuery, classes: Mapping[str, Classes]) -> None:
    """What classes of one query must be: of different attributes, and not too many."""
    known = [classes[name] for name in query.classes]
    attributes = [each.attribute for each in known]
    if len(set(attributes)) < len(attributes):
        section.fault("by", "two of its classes are of one attribute", "Give one class with the edges of both")
    if prod(each.count for each in known) > MOST_COMBINATIONS:
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
