"""The queries of a spec: each with its price, or all without one and answered by individual accounting."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from gedp.policy.classes import COUNT, Classes, ClassQuery, check_combinations
from gedp.policy.combinations import Combination, CombinationQuery
from gedp.policy.fields import part
from gedp.policy.keys import CALLED, QUERY, WAYS
from gedp.policy.losses import Askable, has_price, read_asked, read_priced
from gedp.policy.model import IDENTITY, Attribute, Query
from gedp.policy.names import folded
from gedp.policy.places import line_of
from gedp.policy.section import Section, did_you_mean
from gedp.policy.values import ESTABLISHMENT


def read_accounting(sections: Sequence[Section]) -> bool | None:
    """Whether accounting is individual: no query has a price. None where that cannot be said, which is a fault."""
    without = [section for section in sections if not has_price(section)]
    if without and len(without) < len(sections):
        priced = [section for section in sections if has_price(section)]
        without[0].fault(
            "mu",
            f"some queries have a mu ({_named(priced)}) and some do not ({_named(without)})",
            "Give every query a mu, or none of them",
        )
        return None
    return bool(without) if sections else None


def read_queries(
    sections: Sequence[Section], known: Askable
) -> tuple[tuple[Query, ...], tuple[ClassQuery, ...], tuple[CombinationQuery, ...]]:
    """All queries: those of sums by public groups, those by classes, and those of combinations."""
    attributes, names, classes, combinations = known.attributes, known.names, known.classes, known.combinations
    combining = [section for section in sections if _has_combinations(section, combinations)]
    others = [section for section in sections if not _has_combinations(section, combinations)]
    plain = [section for section in others if not _has_classes(section, classes)]
    by_class = [section for section in others if _has_classes(section, classes)]
    queries = [_query(section, known) for section in plain]
    classed = [_class_query(section, known) for section in by_class]
    combined = [_combination_query(section, known) for section in combining]
    called = [*(query.name for query in queries), *(each.name for each in classed), *(each.name for each in combined)]
    used = Counter(folded(name) for name in called if name)
    for section, name in zip((*plain, *by_class, *combining), called, strict=True):
        if used[folded(name)] > 1:
            section.fault("name", f"the name {name!r} is used more than once", "Give each query its own name")
    if names is None or known.individual is None:
        return tuple(queries), tuple(classed), tuple(combined)
    if known.individual:
        needed = {name for query in classed for name in (*query.sums, *query.classed(classes))}
        needed |= {name for query in combined for name in query.parts(combinations)}
        if not any(query.is_identity for query in queries):
            _check_implied([*plain, *by_class, *combining], called)
        return _with_identity(plain, queries, attributes, needed), tuple(classed), tuple(combined)
    if classed and not queries:
        problem = "every query groups by classes, so that there would be no totals to report"
        by_class[0].fault("by", problem, "Add a query without classes, such as one with by = []")
    _check_mechanisms(plain, queries, attributes)
    identified = {name for query in queries if query.is_identity for name in query.mu}
    for section, by_classes in zip(by_class, classed, strict=True):
        needs = {name: f"the sums of {name} by classes need" for name in by_classes.sums if name in names}
        _require_identity(section, "mu", needs, identified)
    for section, combining_query in zip(combining, combined, strict=True):
        parts = combining_query.parts(combinations)
        _require_identity(section, "mu", {name: f"{', '.join(of)} needs" for name, of in parts.items()}, identified)
    return tuple(queries), tuple(classed), tuple(combined)


def _keys(section: Section, groupings: set[str] | None) -> dict[str, Any]:
    """The keys of a query, as far as they mean the same in all; what it asks for is read apart."""
    values = read_priced(section, QUERY)
    for name in values["by"] if section.content.get("by") != ESTABLISHMENT else ():
        if groupings is not None and name not in groupings:
            hint = f'Write by = "{ESTABLISHMENT}"' if name == ESTABLISHMENT else did_you_mean(name, sorted(groupings))
            section.fault("by", f"{name!r} is neither a public column nor a grouping", hint)
    if has_price(section) and "importance" in section.content:
        section.fault("importance", "the query has a price, which says how precise it is", "Remove one of the two")
    return values


def _query(section: Section, known: Askable) -> Query:
    values = _keys(section, known.groupings)
    if known.individual and "mechanism" in section.content:
        problem = "without mu, each group gets the better mechanism by itself"
        section.fault("mechanism", problem, "Remove it, or give every query a mu")
    asked = read_asked(section, known, values["delta"], zero=values["by"] == (ESTABLISHMENT,))
    return Query(**part(CALLED, values), mechanism=values["mechanism"], **asked)


def _has_classes(section: Section, classes: Mapping[str, Classes]) -> bool:
    """Whether a query groups by classes, or asks for numbers of establishments, which only such a query can."""
    by = section.content.get("by")
    keys = [key for key in by if isinstance(key, str)] if isinstance(by, list) else []
    return section.content.get("count", False) is not False or any(key in classes for key in keys)


def _class_query(section: Section, known: Askable) -> ClassQuery:
    classes = known.classes
    values = _keys(section, None if known.groupings is None else known.groupings | classes.keys())
    keys = tuple(key for key in values["by"] if key in classes)
    if values["count"] and not keys:
        problem = "it groups by no classes, and the number of establishments in public groups is public"
        section.fault("count", problem, "Add the name of a class to by, or remove count")
    if "mechanism" in section.content:
        section.fault("mechanism", "sums by classes are always clipped sums", "Remove it")
    asked = _asked_by_class(section, known, values["count"], values["delta"])
    query = ClassQuery(**part(CALLED, values), classes=keys, **asked)
    check_combinations(section, query, classes)
    return query


def _asked_by_class(section: Section, known: Askable, count: bool, delta: Decimal | None) -> dict[str, Any]:
    """What it asks for, with prices or importances. One number beside `count = true` is for the count alone."""
    if count and known.names is not None and COUNT in known.names:
        section.fault(
            "count", f"there is an attribute called {COUNT}, as tables call the count", "Rename the attribute"
        )
    key = _asking(section)
    table = section.content.get(key)
    if isinstance(table, dict) and count != (COUNT in table):
        problem = f"it has no number for {COUNT}" if count else f"{COUNT!r} goes with count = true"
        section.fault(key, problem, f"Give one, as in {{ {COUNT} = 0.5 }}" if count else "Add that, or remove it")
    return read_asked(section, known, delta, further=[COUNT], of=[COUNT] if count else None)


def _has_combinations(section: Section, combinations: Mapping[str, Combination]) -> bool:
    """Whether a query asks for a combination; it does so by name."""
    asked = section.content.get(_asking(section))
    return isinstance(asked, dict) and any(name in combinations for name in asked)


def _combination_query(section: Section, known: Askable) -> CombinationQuery:
    values, key = _keys(section, known.groupings), _asking(section)
    if values["by"] == (ESTABLISHMENT,):
        problem = "combinations are of groups; for establishments they follow from the identity answers"
        section.fault("by", problem, "Name public columns or groupings")
    if "mechanism" in section.content:
        section.fault("mechanism", "combinations are always of clipped values", "Remove it")
    if values["count"]:
        section.fault("count", "it asks for combinations", "Count establishments in a query of its own")
    if plain := [each for each in section.content[key] if each in (known.names or ())]:
        problem = f"it asks for combinations, and for {', '.join(plain)}"
        section.fault(key, problem, "Ask for attributes in a query of their own")
    asked = read_asked(section, known, values["delta"], further=known.combinations)
    return CombinationQuery(**part(CALLED, values), **asked)


def _asking(section: Section) -> str:
    """The key with prices or importances."""
    return next((way for way in (*WAYS, "importance") if way in section.content), "importance")


def _named(sections: Iterable[Section]) -> str:
    """The queries as a fault lists them: by line, or by number where there is no file."""
    lines = {section.path[-1]: line_of(section.faults.lines, section.path) for section in sections}
    return ", ".join(f"line {line}" if line else f"query {int(number) + 1}" for number, line in lines.items())


def _check_implied(sections: Sequence[Section], called: Sequence[str]) -> None:
    """No table can have the name of an identity query that is not written, but implied."""
    for section, name in zip(sections, called, strict=True):
        if folded(name) == folded(IDENTITY):
            problem = f"{name!r} is the name of the identity query, which every such spec has"
            section.fault("name", problem, "Choose another name for this table")


def _with_identity(
    sections: Sequence[Section], queries: Sequence[Query], attributes: Mapping[str, Attribute], needed: set[str]
) -> tuple[Query, ...]:
    """The queries with the identity query, which answers every attribute that is asked for, or `needed` by classes."""
    asked = [name for name in attributes if name in needed or any(name in query.importance for query in queries)]
    unwritten = Query(IDENTITY, (ESTABLISHMENT,))
    written = [(section, query) for section, query in zip(sections, queries, strict=True) if query.is_identity]
    for section, _ in written[1:]:
        section.fault("by", "there is another identity query", "Ask once, with an importance for each attribute")
    for section, query in written:
        idle = [
            name
            for name in query.importance
            if name not in needed and not any(each.importance.get(name) for each in queries)
        ]
        if idle:
            problem = f"nothing that is asked about {', '.join(idle)} counts"
            section.fault("importance", problem, "Give an importance above 0, here or in another query")
    identity = written[0][1] if written else unwritten
    everything = {**identity.importance, **{name: Decimal(0) for name in asked if name not in identity.importance}}
    complete = replace(identity, importance=everything)
    others = [complete if query is identity else query for query in queries]
    return tuple(others if written else [complete, *others])


def _check_mechanisms(sections: Sequence[Section], queries: list[Query], attributes: Mapping[str, Attribute]) -> None:
    """Checks what each mechanism needs: psi values of one sign, pnc (probably no clipping) the identity answers."""
    identified = Counter(name for query in queries if query.is_identity for name in query.mu)
    for section, query in zip(sections, queries, strict=True):
        if query.is_identity:
            if twice := [name for name in query.mu if identified[name] > 1]:
                problem = f"another identity query asks for {', '.join(twice)} too"
                section.fault("by", problem, "Ask once, with a larger mu")
            if query.mechanism == "pnc":
                section.fault("mechanism", "pnc needs the identity answers and cannot give them", "Use psi or auto")
            continue
        signed = [name for name in query.mu if name in attributes and attributes[name].signed]
        if query.mechanism == "psi" and signed:
            section.fault(
                "mechanism",
                f"psi cannot protect sums of {', '.join(signed)}, whose values have both signs",
                "Use pnc or auto, or set split = true: gain and loss are never negative",
            )
        needs_bounds = query.mu if query.mechanism == "pnc" else signed
        key = "mechanism" if "mechanism" in section.content else "mu"
        _require_identity(section, key, {name: f"the sums of {name} need" for name in needs_bounds}, identified)


def _require_identity(section: Section, key: str, needs: Mapping[str, str], identified: Container[str]) -> None:
    """Bounds of clipped values come from identity answers, so each attribute needs an identity query."""
    for name in (name for name in needs if name not in identified):
        problem = f"{needs[name]} the identity query for {name}, and there is none"
        section.fault(key, problem, f'Add a query with by = "{ESTABLISHMENT}" and a mu for {name}')
