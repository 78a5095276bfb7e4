"""Groupings and hierarchies of a spec: each derived from a public column, or from another grouping."""

from collections import Counter
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

from gedp.policy.fields import read_fields
from gedp.policy.keys import DERIVED, JOINED
from gedp.policy.model import Grouper
from gedp.policy.section import Section, check_file_names, did_you_mean, nearest


def misspelt_public(root: Section, public: set[str]) -> set[str]:
    """Names under which everything else asks for a public column that nothing asks for as it is written there.

    It is one mistake, so it is one fault, at the place where it was made.
    """
    used = Counter(_names_in_use(root.content))
    meant = set[str]()
    for name in sorted(public - used.keys()):
        others = [other for other, uses in used.items() if uses > 1 and other not in {*public, *meant}]
        if (other := nearest(name, others)) is not None:
            problem = f"nothing asks for {name!r}, but {used[other]} keys of this file ask for {other!r}"
            root.faults.add(("data", "public"), problem, f"Did you mean {other!r}?")
            meant.add(other)
    return meant


def _names_in_use(content: Mapping[str, Any]) -> Iterator[str]:
    """Public columns as queries, groupings and hierarchies name them, once for each key; groupings are left out."""
    queries, groupers, hierarchies = (content.get(key) for key in ("queries", "groupers", "hierarchies"))
    own = groupers if isinstance(groupers, dict) else {}
    lists = [query.get("by") for query in queries if isinstance(query, dict)] if isinstance(queries, list) else []
    lists += list(hierarchies.values()) if isinstance(hierarchies, dict) else []
    for entry in (entry for entry in own.values() if isinstance(entry, dict)):
        lists += [[entry.get("column")], entry.get("columns")]
    for names in lists:
        if isinstance(names, list):
            yield from {name for name in names if isinstance(name, str) and name not in own}


def read_groupers(section: Section, public: set[str] | None) -> dict[str, Grouper]:
    """The groupings, each after the one that it is derived from; `public` are the public columns, None if unknown."""
    groupers = {}
    for name in section.content:
        entry = section.table(name)
        if entry.absent:
            groupers[name] = Grouper(name, "")
            continue
        if name in (public or ()):
            section.fault(name, "this name is taken", "Choose another name for the grouping")
        if entry.has("columns"):
            groupers[name] = _joined(entry, name, public)
            continue
        grouper = Grouper(name, **read_fields(entry, DERIVED))
        column = grouper.column
        if column and public is not None and column not in public and column not in section.content:
            known = [*sorted(public), *(other for other in section.content if other != name)]
            entry.fault("column", f"{column!r} is not a public column or a grouping", did_you_mean(column, known))
        if ("prefix" in entry.content) == ("map" in entry.content):
            section.fault(name, "a grouping needs either prefix or map", "Give one of: prefix = 3, map = 'file.csv'")
        groupers[name] = grouper
    check_file_names(section, [name for name, grouper in groupers.items() if grouper.map])
    return _in_order(section, groupers)


def _joined(entry: Section, name: str, public: set[str] | None) -> Grouper:
    """A grouping whose groups are the combinations of the codes of public columns."""
    columns = read_fields(entry, JOINED)["columns"]
    if entry.has_at_most_one("columns"):
        entry.fault("columns", "there are fewer than two", "Give two or more, or column with prefix or map")
    for column in columns:
        if public is not None and column not in public:
            entry.fault("columns", f"{column!r} is not a public column", did_you_mean(column, sorted(public)))
    return Grouper(name, "", columns=columns)


def _in_order(section: Section, groupers: dict[str, Grouper]) -> dict[str, Grouper]:
    """Each after the one that it is derived from, else as they were written."""
    waiting = {name: {grouper.column} & groupers.keys() for name, grouper in groupers.items()}
    try:
        order = list(TopologicalSorter(waiting).static_order())
    except CycleError as cycle:
        name = next(name for name in groupers if name in cycle.args[1])
        section.fault(name, "it is derived from itself, by way of others", "Derive one of them from a public column")
        return {name: Grouper(name, "") for name in groupers}
    depth: dict[str, int] = {}
    for name in order:
        depth[name] = 1 + max((depth[other] for other in waiting[name]), default=0)
    return {name: groupers[name] for name in sorted(groupers, key=depth.__getitem__)}


def read_hierarchies(
    section: Section, public: set[str] | None, groupers: Mapping[str, Grouper]
) -> dict[str, tuple[str, ...]]:
    """Lists of groupings from coarse to fine. Whether they nest is seen in the table."""
    found = {}
    for name in section.content:
        levels = section.names(name)
        if section.has_at_most_one(name):
            section.fault(name, "a hierarchy has two levels at least", "List them from coarse to fine")
        for level in levels:
            if public is not None and level not in public and level not in groupers:
                known = [*sorted(public), *groupers]
                section.fault(name, f"{level!r} is not a public column or a grouping", did_you_mean(level, known))
        found[name] = levels
    return found
