"""What a manifest says about tables by classes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from gedp.policy import COUNT, ClassQuery
from gedp.policy.section import Section
from gedp.release.answered import FRESH, known_queries

#: What a table calls the mechanism of counts.
COUNTED = "count"
#: The mechanisms of tables by classes: sums are of clipped values.
CLASS_MECHANISMS = (COUNTED, "pnc")


@dataclass(frozen=True)
class ClassesAnswered:
    """One query by classes, and how many entries it has: every class of every public group."""

    query: ClassQuery
    entries: int
    certain: Mapping[str, int]  # for everything that is asked for, in how many entries nobody can change anything
    mechanisms: ClassVar[tuple[str, ...]] = CLASS_MECHANISMS

    @property
    def lines(self) -> dict[str, int]:
        """How many lines of the table everything asked for has."""
        return dict.fromkeys(self.certain, self.entries)

    @property
    def file(self) -> str:
        """The Parquet file of the answers, relative to the folder of the release."""
        return f"tables/{self.query.name}.parquet"


def classes_content(answered: ClassesAnswered) -> dict[str, Any]:
    """As JSON."""
    query = answered.query
    stated, numbers = ("importance", query.importance) if query.is_individual else ("mu", query.mu)
    return {
        "name": query.name,
        "by": list(query.by),
        "classes": list(query.classes),
        "entries": answered.entries,
        "file": answered.file,
        "asked": {name: {stated: str(numbers[name]), "certain": n} for name, n in answered.certain.items()},
    }


def read_class_tables(
    root: Section, entries: list[Section], queries: tuple[ClassQuery, ...]
) -> tuple[ClassesAnswered, ...]:
    """From JSON; faults are collected."""
    found = []
    for entry, query in known_queries(root, "class_tables", entries, queries):
        asked = entry.table("asked")
        certain = {name: asked.table(name).whole("certain", 0) for name in asked.content}
        answered = ClassesAnswered(query, entry.whole("entries", low=1), certain)
        if certain.keys() != set(query.asked) or entry.content != classes_content(answered):
            entry.fault("asked", "it is not that of the spec", FRESH)
        found.append(answered)
    return tuple(found)


def mechanism_of(asked: str) -> str:
    """What answers it, by classes."""
    return COUNTED if asked == COUNT else "pnc"
