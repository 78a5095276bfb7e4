"""The queries of a spec: each with its price, or all without one and answered by individual accounting."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from gedp.policy.classes import COUNT, Classes, ClassQuery, check_combinations
from gedp.policy.combinations import Combination, CombinationQuery, check_parts
from gedp.policy.labels import read_title
from gedp.policy.losses import has_price, read_numbers, read_prices
from gedp.policy.model import ESTABLISHMENT, IDENTITY, MECHANISMS, Attribute, Query
from gedp.policy.names import FILE_NAME_HINT, folded, is_file_name
from gedp.policy.places import line_of
from gedp.policy.section import Section, did_you_mean


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
    sections: Sequence[Section],
    attributes: Mapping[str, Attribute],
    names: set[str] | None,
    groupings: set[str] | None,
    classes: Mapping[str, Classes],
    combinations: Mapping[str, Combination],
    *,
    individual: bool | None,
) -> tuple[tuple[Query, ...], tuple[ClassQuery, ...], tuple[CombinationQuery, ...]]:
    """All queries, those by classes, and those of combinations.

    `names` are those of the attributes, `groupings` of the public groupings; either is None if it is unknown.
    """
    combining = [section for section in sections if _has_combinations(section, combinations)]
    others = [section for section in sections if not _has_combinations(section, combinations)]
    plain = [section for section in others if not _has_classes(section, classes)]
    by_class = [section for section in others if _has_classes(section, classes)]
    queries = [_query(section, attributes, names, groupings, individual) for section in plain]
    classed = [_class_query(section, attributes, names, groupings, classes) for section in by_class]
    combined = [_combination_query(section, names, groupings, combinations) for section in combining]
    called = [*(query.name for query in queries), *(each.name for each in classed), *(each.name for each in combined)]
    used = Counter(folded(name) for name in called if name)
    for section, name in zip((*plain, *by_class, *combining), called, strict=True):
        if used[folded(name)] > 1:
            section.fault("name", f"the name {name!r} is used more than once", "Give each query its own name")
    if names is None or individual is None:
        return tuple(queries), tuple(classed), tuple(combined)
    if individual:
        needed = {name for query in classed for name in (*query.sums, *query.classed(classes))}
        needed |= {name for query in combined for name in query.concerned(combinations)}
        if not any(query.is_identity for query in queries):
            _check_implied([*plain, *by_class, *combining], called)
        return _with_identity(plain, queries, attributes, needed), tuple(classed), tuple(combined)
    if classed and not queries:
        problem = "every query groups by classes, so that there would be no totals to report"
        by_class[0].fault("by", problem, "Add a query without classes, such as one with by = []")
    _check_mechanisms(plain, queries, attributes)
    _check_bounds(by_class, classed, queries, names)
    identified = {name for query in queries if query.is_identity for name in query.mu}
    for section, query in zip(combining, combined, strict=True):
        check_parts(section, query, combinations, identified)
    return tuple(queries), tuple(classed), tuple(combined)


def _called(section: Section) -> tuple[str, str | None]:
    """The name of a query, by which its file is called, and its title."""
    name = section.text("name")
    if name and not is_file_name(name):
        section.fault("name", f"{name!r} cannot be a file name", FILE_NAME_HINT)
    return name, read_title(section) if section.has("title") else None


def _query(
    section: Section,
    attributes: Mapping[str, Attribute],
    names: set[str] | None,
    groupings: set[str] | None,
    individual: bool | None,
) -> Query:
    name, title = _called(section)
    by = _by(section, groupings)
    section.flag("count", default=False)
    if has_price(section):
        mechanism = section.text("mechanism", "auto", MECHANISMS)
        if section.has("importance"):
            section.fault("importance", "the query has a price, which says how precise it is", "Remove one of the two")
        query = Query(name, by, read_prices(section, attributes, names), mechanism)
    else:
        if section.has("mechanism") and individual:
            problem = "without mu, each group gets the better mechanism by itself"
            section.fault("mechanism", problem, "Remove it, or give every query a mu")
        identity = by == (ESTABLISHMENT,)
        importance = read_numbers(section, "importance", attributes, names, default=Decimal(1), zero=identity)
        query = Query(name, by, importance=importance)
    section.finish()
    return replace(query, title=title)


def _has_classes(section: Section, classes: Mapping[str, Classes]) -> bool:
    """Whether a query groups by classes, or asks for numbers of establishments, which only such a query can."""
    by = section.content.get("by")
    keys = [key for key in by if isinstance(key, str)] if isinstance(by, list) else []
    return section.content.get("count", False) is not False or any(key in classes for key in keys)


def _class_query(
    section: Section,
    attributes: Mapping[str, Attribute],
    names: set[str] | None,
    groupings: set[str] | None,
    classes: Mapping[str, Classes],
) -> ClassQuery:
    name, title = _called(section)
    by = _by(section, None if groupings is None else groupings | classes.keys())
    keys = tuple(key for key in by if key in classes)
    count = section.flag("count", default=False)
    if count and not keys:
        problem = "it groups by no classes, and the number of establishments in public groups is public"
        section.fault("count", problem, "Add the name of a class to by, or remove count")
    if section.has("mechanism"):
        section.fault("mechanism", "sums by classes are always clipped sums", "Remove it")
    if has_price(section) and section.has("importance"):
        section.fault("importance", "the query has a price, which says how precise it is", "Remove one of the two")
    numbers = _asked_by_class(section, attributes, names, count)
    priced = has_price(section)
    query = ClassQuery(name, by, keys, numbers if priced else {}, {} if priced else numbers, title)
    check_combinations(section, query, classes)
    section.finish()
    return query


def _asked_by_class(
    section: Section, attributes: Mapping[str, Attribute], names: set[str] | None, count: bool
) -> dict[str, Decimal]:
    """What it asks for, with prices or importances. One number beside `count = true` is for the count alone."""
    if count and names is not None and COUNT in names:
        section.fault(
            "count", f"there is an attribute called {COUNT}, as tables call the count", "Rename the attribute"
        )
    key = _asking(section)
    table = section.content.get(key)
    if isinstance(table, dict) and count != (COUNT in table):
        problem = f"it has no number for {COUNT}" if count else f"{COUNT!r} goes with count = true"
        section.fault(key, problem, f"Give one, as in {{ {COUNT} = 0.5 }}" if count else "Add that, or remove it")
    asked = [COUNT] if count else None
    known = None if names is None else {*names, COUNT}
    if has_price(section):
        return read_prices(section, attributes, known, asked)
    return read_numbers(section, "importance", attributes, known, default=Decimal(1), asked=asked)


def _has_combinations(section: Section, combinations: Mapping[str, Combination]) -> bool:
    """Whether a query asks for a combination; it does so by name."""
    asked = section.content.get(_asking(section))
    return isinstance(asked, dict) and any(name in combinations for name in asked)


def _combination_query(
    section: Section, names: set[str] | None, groupings: set[str] | None, combinations: Mapping[str, Combination]
) -> CombinationQuery:
    name, key = section.text("name"), _asking(section)
    if name and not is_file_name(name):
        section.fault("name", f"{name!r} cannot be a file name", FILE_NAME_HINT)
    title = read_title(section) if section.has("title") else None
    by = _by(section, groupings)
    if by == (ESTABLISHMENT,):
        problem = "combinations are of groups; for establishments they follow from the identity answers"
        section.fault("by", problem, "Name public columns or groupings")
    if section.has("mechanism"):
        section.fault("mechanism", "combinations are always of clipped values", "Remove it")
    if has_price(section) and section.has("importance"):
        section.fault("importance", "the query has a price, which says how precise it is", "Remove one of the two")
    if plain := [each for each in section.content[key] if each in (names or ())]:
        problem = f"it asks for combinations, and for {', '.join(plain)}"
        section.fault(key, problem, "Ask for attributes in a query of their own")
    known = None if names is None else {*names, *combinations}
    priced = has_price(section)
    numbers = read_prices(section, {}, known) if priced else read_numbers(section, key, {}, known)
    section.finish()
    return CombinationQuery(name, by, numbers if priced else {}, {} if priced else numbers, title)


def _asking(section: Section) -> str:
    """The key with prices or importances."""
    return next((way for way in ("mu", "rho", "epsilon", "importance") if way in section.content), "importance")


def _named(sections: Iterable[Section]) -> str:
    """The queries as a fault lists them: by line, or by number where there is no file."""
    lines = {section.path[-1]: line_of(section.faults.lines, section.path) for section in sections}
    return ", ".join(f"line {line}" if line else f"query {int(number) + 1}" for number, line in lines.items())


def _by(section: Section, groupings: set[str] | None) -> tuple[str, ...]:
    by = section.content.get("by")
    if by == ESTABLISHMENT:
        section.has("by")
        return (ESTABLISHMENT,)
    if isinstance(by, str):
        section.has("by")
        section.fault("by", f"{by!r} is not a list", f'Write by = ["{by}"], or by = "{ESTABLISHMENT}" for all of them')
        return ()
    keys = section.names("by")
    for name in keys:
        if groupings is not None and name not in groupings:
            hint = f'Write by = "{ESTABLISHMENT}"' if name == ESTABLISHMENT else did_you_mean(name, sorted(groupings))
            section.fault("by", f"{name!r} is neither a public column nor a grouping", hint)
    return keys


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
        for name in needs_bounds:
            if name not in identified:
                section.fault(
                    "mechanism" if section.has("mechanism") else "mu",
                    f"the sums of {name} need the identity query for {name}, and there is none",
                    f'Add a query with by = "{ESTABLISHMENT}" and a mu for {name}',
                )


def _check_bounds(
    sections: Sequence[Section], queries: Sequence[ClassQuery], others: Sequence[Query], names: set[str]
) -> None:
    """Sums by classes are of clipped values, so they need the identity answers, which give the bounds."""
    identified = {name for query in others if query.is_identity for name in query.mu}
    for section, query in zip(sections, queries, strict=True):
        for name in (name for name in query.sums if name in names and name not in identified):
            section.fault(
                "mu",
                f"the sums of {name} by classes need the identity query for {name}, and there is none",
                f'Add a query with by = "{ESTABLISHMENT}" and a mu for {name}',
            )
