"""The queries of a spec: each with its price, or all without one and answered by individual accounting."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from gedp.policy.classes import check_classes
from gedp.policy.fields import part
from gedp.policy.keys import CALLED, QUERY, WAYS
from gedp.policy.losses import Askable, has_price, read_asked, read_priced
from gedp.policy.measures import COUNT, Query
from gedp.policy.model import IDENTITY, Attribute
from gedp.policy.names import folded
from gedp.policy.places import line_of
from gedp.policy.section import Section, did_you_mean
from gedp.policy.values import ESTABLISHMENT

#: Queries as they were read, each with its section.
Read = Sequence[tuple[Section, Query]]


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


def read_queries(sections: Sequence[Section], known: Askable) -> tuple[Query, ...]:
    """All queries, in the order in which they are answered."""
    read = [(section, _query(section, known)) for section in sections]
    read.sort(key=lambda each: (bool(each[1].combinations), bool(each[1].classes)))
    used = Counter(folded(query.name) for _, query in read if query.name)
    for section, query in read:
        if used[folded(query.name)] > 1:
            section.fault("name", f"the name {query.name!r} is used more than once", "Give each query its own name")
    if known.names is not None and known.individual:
        return _with_identity(read, known.attributes)
    if known.names is not None and known.individual is False:
        _check_priced(read, known)
    return tuple(query for _, query in read)


def _query(section: Section, known: Askable) -> Query:
    values = read_priced(section, QUERY)
    classes = {key: known.classes[key] for key in values["by"] if key in known.classes}
    further = [*known.combinations, *([COUNT] if classes or values["count"] else [])]
    of, zero = [COUNT] if values["count"] else None, values["by"] == (ESTABLISHMENT,)
    asked = read_asked(section, known, values["delta"], further=further, of=of, zero=zero)
    query = Query(**part(CALLED, values), mechanism=values["mechanism"], classes=classes, **asked)
    combinations = {name: known.combinations[name] for name in query.asked if name in known.combinations}
    if combinations:
        query = replace(query, classes={}, combinations=combinations)
    _check_query(section, query, values["count"], known)
    return query


def _check_query(section: Section, query: Query, count: bool, known: Askable) -> None:
    if known.groupings is not None and section.content.get("by") != ESTABLISHMENT:
        _check_keys(section, query, {*known.groupings, *(() if query.combinations else known.classes)})
    if query.mu and "importance" in section.content:
        section.fault("importance", "the query has a price, which says how precise it is", "Remove one of the two")
    if query.combinations:
        _check_combining(section, query, count, known)
    elif query.classes or count:
        _check_classed(section, query, count, known)
    elif known.individual and "mechanism" in section.content:
        problem = "without mu, each group gets the better mechanism by itself"
        section.fault("mechanism", problem, "Remove it, or give every query a mu")


def _check_keys(section: Section, query: Query, possible: Collection[str]) -> None:
    for name in query.by:
        if name not in possible:
            hint = f'Write by = "{ESTABLISHMENT}"' if name == ESTABLISHMENT else did_you_mean(name, sorted(possible))
            section.fault("by", f"{name!r} is neither a public column nor a grouping", hint)


def _check_classed(section: Section, query: Query, count: bool, known: Askable) -> None:
    """What holds for a query by classes. One number beside `count = true` is for the count alone."""
    if count and not query.classes:
        problem = "it groups by no classes, and the number of establishments in public groups is public"
        section.fault("count", problem, "Add the name of a class to by, or remove count")
    if "mechanism" in section.content:
        section.fault("mechanism", "sums by classes are always clipped sums", "Remove it")
    if count and known.names is not None and COUNT in known.names:
        problem = f"there is an attribute called {COUNT}, as tables call the count"
        section.fault("count", problem, "Rename the attribute")
    key = _asking(section)
    table = section.content.get(key)
    if isinstance(table, dict) and count != (COUNT in table):
        problem = f"it has no number for {COUNT}" if count else f"{COUNT!r} goes with count = true"
        section.fault(key, problem, f"Give one, as in {{ {COUNT} = 0.5 }}" if count else "Add that, or remove it")
    check_classes(section, query.classes.values())


def _check_combining(section: Section, query: Query, count: bool, known: Askable) -> None:
    """What holds for a query for combinations."""
    if query.is_identity:
        problem = "combinations are of groups; for establishments they follow from the identity answers"
        section.fault("by", problem, "Name public columns or groupings")
    if "mechanism" in section.content:
        section.fault("mechanism", "combinations are always of clipped values", "Remove it")
    if count:
        section.fault("count", "it asks for combinations", "Count establishments in a query of its own")
    key = _asking(section)
    if plain := [each for each in section.content[key] if each in (known.names or ())]:
        problem = f"it asks for combinations, and for {', '.join(plain)}"
        section.fault(key, problem, "Ask for attributes in a query of their own")


def _asking(section: Section) -> str:
    """The key with prices or importances."""
    return next((way for way in (*WAYS, "importance") if way in section.content), "importance")


def _named(sections: Iterable[Section]) -> str:
    """The queries as a fault lists them: by line, or by number where there is no file."""
    lines = {section.path[-1]: line_of(section.faults.lines, section.path) for section in sections}
    return ", ".join(f"line {line}" if line else f"query {int(number) + 1}" for number, line in lines.items())


def _with_identity(read: Read, attributes: Mapping[str, Attribute]) -> tuple[Query, ...]:
    """The queries with the identity query, which answers every attribute that some answer depends on."""
    written = [(section, query) for section, query in read if query.is_identity]
    for section, _ in written[1:]:
        section.fault("by", "there is another identity query", "Ask once, with an importance for each attribute")
    counted = {
        name for _, query in read for name in query.attributes if not query.is_plain or query.importance.get(name)
    }
    for section, query in written:
        if idle := [name for name in query.importance if name not in counted]:
            problem = f"every importance for {', '.join(idle)} is 0"
            section.fault("importance", problem, "Give an importance above 0, here or in another query")
    identity = written[0][1] if written else Query(IDENTITY, (ESTABLISHMENT,))
    asked = [name for name in attributes if any(name in query.attributes for _, query in read)]
    unweighted = {name: Decimal(0) for name in asked if name not in identity.importance}
    complete = replace(identity, importance={**identity.importance, **unweighted})
    queries = [complete if query is identity else query for _, query in read]
    if not written:
        _check_implied(read)
        queries.insert(0, complete)
    return tuple(queries)


def _check_implied(read: Read) -> None:
    """No table can have the name of an identity query that is not written, but implied."""
    for section, query in read:
        if folded(query.name) == folded(IDENTITY):
            problem = f"{query.name!r} is the name of the identity query, which every such spec has"
            section.fault("name", problem, "Choose another name for this table")


def _check_priced(read: Read, known: Askable) -> None:
    """Checks what each mechanism needs: psi values of one sign, pnc (probably no clipping) the identity answers."""
    classed = [section for section, query in read if query.classes]
    if classed and not any(query.is_plain for _, query in read):
        problem = "every query groups by classes, so that there would be no totals to report"
        classed[0].fault("by", problem, "Add a query without classes, such as one with by = []")
    identified = Counter(name for _, query in read if query.is_identity for name in query.mu)
    for section, query in read:
        if query.is_identity:
            _check_identity(section, query, identified)
            continue
        signed = [name for name in query.mu if name in known.attributes and known.attributes[name].signed]
        if query.is_plain and query.mechanism == "psi" and signed:
            section.fault(
                "mechanism",
                f"psi cannot protect sums of {', '.join(signed)}, whose values have both signs",
                "Use pnc or auto, or set split = true: gain and loss are never negative",
            )
        key = "mechanism" if "mechanism" in section.content else "mu"
        has_choice = query.is_plain and query.mechanism != "pnc"
        for name, needed_by in _clipped(query.asking_only(signed) if has_choice else query):
            if name not in identified and name in (known.names or ()):
                problem = f"{needed_by} the identity query for {name}, and there is none"
                section.fault(key, problem, f'Add a query with by = "{ESTABLISHMENT}" and a mu for {name}')


def _check_identity(section: Section, query: Query, identified: Mapping[str, int]) -> None:
    if twice := [name for name in query.mu if identified[name] > 1]:
        problem = f"another identity query asks for {', '.join(twice)} too"
        section.fault("by", problem, "Ask once, with a larger mu")
    if query.mechanism == "pnc":
        section.fault("mechanism", "pnc needs the identity answers and cannot give them", "Use psi or auto")


def _clipped(query: Query) -> Iterator[tuple[str, str]]:
    """The attributes whose values are clipped, at bounds that come from identity answers; what needs them, in words."""
    for name in query.summed:
        if query.combinations:
            needed_by = [measure.name for measure in query.measures.values() if name in measure.weights]
            yield name, f"{', '.join(needed_by)} needs"
        else:
            yield name, f"the sums of {name}{' by classes' if query.classes else ''} need"
