"""What a manifest says about tables of combinations."""

from dataclasses import dataclass
from typing import Any, ClassVar

from gedp.policy import CombinationQuery
from gedp.policy.section import Section
from gedp.release.answered import FRESH, MECHANISMS, known_queries


@dataclass(frozen=True)
class CombinationsAnswered:
    """One query for combinations, and the number of its groups."""

    query: CombinationQuery
    groups: int
    mechanisms: ClassVar[tuple[str, ...]] = MECHANISMS

    @property
    def lines(self) -> dict[str, int]:
        """How many lines of the table everything asked for has."""
        return dict.fromkeys(self.query.asked, self.groups)

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
