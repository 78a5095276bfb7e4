"""The queries of a spec: each with its price, or all without one and answered by individual accounting."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

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
    *,
    individual: bool | None,
) -> tuple[Query, ...]:
    """All queries; `names` are those of the attributes and `groupings` what groups can be made by, None if unknown."""
    queries = [_query(section, attributes, names, groupings, individual) for section in sections]
    used = Counter(folded(query.name) for query in queries if query.name)
    for section, query in zip(sections, queries, strict=True):
        if used[folded(query.name)] > 1:
            section.fault("name", f"the name {query.name!r} is used more than once", "Give each query its own name")
    if names is None or individual is None:
        return tuple(queries)
    if individual:
        return _with_identity(sections, queries, attributes)
    _check_mechanisms(sections, queries, attributes)
    return tuple(queries)


def _query(
    section: Section,
    attributes: Mapping[str, Attribute],
    names: set[str] | None,
    groupings: set[str] | None,
    individual: bool | None,
) -> Query:
    name = section.text("name")
    if name and not is_file_name(name):
        section.fault("name", f"{name!r} cannot be a file name", FILE_NAME_HINT)
    by = _by(section, groupings)
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
    return query


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


def _with_identity(
    sections: Sequence[Section], queries: Sequence[Query], attributes: Mapping[str, Attribute]
) -> tuple[Query, ...]:
    """The queries with the identity query, which answers every attribute that any of them asks for."""
    asked = [name for name in attributes if any(name in query.importance for query in queries)]
    unwritten = Query(IDENTITY, (ESTABLISHMENT,))
    written = [(section, query) for section, query in zip(sections, queries, strict=True) if query.is_identity]
    for section, _ in written[1:]:
        section.fault("by", "there is another identity query", "Ask once, with an importance for each attribute")
    for section, query in zip(sections, queries, strict=True):
        if not written and folded(query.name) == folded(IDENTITY):
            problem = f"{query.name!r} is the name of the identity query, which every such spec has"
            section.fault("name", problem, "Choose another name for this table")
    for section, query in written:
        idle = [name for name in query.importance if not any(each.importance.get(name) for each in queries)]
        if idle:
            problem = f"nothing that is asked about {', '.join(idle)} counts"
            section.fault("importance", problem, "Give an importance above 0, here or in another query")
    identity = written[0][1] if written else unwritten
    everything = {**identity.importance, **{name: Decimal(0) for name in asked if name not in identity.importance}}
    complete = Query(identity.name, identity.by, importance=everything)
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
                "Use pnc or auto, or split the attribute into gain and loss",
            )
        needs_bounds = query.mu if query.mechanism == "pnc" else signed
        for name in needs_bounds:
            if name not in identified:
                section.fault(
                    "mechanism" if section.has("mechanism") else "mu",
                    f"the sums of {name} need the identity query for {name}, and there is none",
                    f'Add a query with by = "{ESTABLISHMENT}" and a mu for {name}',
                )
