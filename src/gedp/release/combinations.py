"""What a manifest says about tables of combinations."""

from dataclasses import dataclass
from typing import Any

from gedp.policy import CombinationQuery
from gedp.policy.section import Section
from gedp.release.answered import FRESH, known_queries


@dataclass(frozen=True)
class CombinationsAnswered:
    """One query for combinations, and the number of its groups."""

    query: CombinationQuery
    groups: int

    @property
    def file(self) -> str:
        """The Parquet file of the answers, relative to the folder of the release."""
        return f"tables/{self.query.name}.parquet"


def combinations_content(answered: CombinationsAnswered) -> dict[str, Any]:
    """As JSON."""
    query = answered.query
    stated, numbers = ("importance", query.importance) if query.is_individual else ("mu", query.mu)
    return {
        "name": query.name,
        "by": list(query.by),
        "groups": answered.groups,
        "file": answered.file,
        "asked": {name: {stated: str(number)} for name, number in numbers.items()},
    }


def read_combination_tables(
    root: Section, entries: list[Section], queries: tuple[CombinationQuery, ...]
) -> tuple[CombinationsAnswered, ...]:
    """From JSON; faults are collected."""
    found = []
    for entry, query in known_queries(root, "combination_tables", entries, queries):
        answered = CombinationsAnswered(query, entry.whole("groups", low=1))
        if entry.content != combinations_content(answered):
            entry.fault("asked", "it is not that of the spec", FRESH)
        found.append(answered)
    return tuple(found)
