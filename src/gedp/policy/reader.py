"""From a spec file to a Spec: every fault in one error, each with its line and a suggestion."""

import tomllib
from collections import Counter
from decimal import Decimal
from pathlib import Path

from gedp.errors import Fault, FaultsError
from gedp.policy.model import (
    ESTABLISHMENT,
    MECHANISMS,
    PSI_NAMES,
    WEIGHTS,
    Attribute,
    Closeness,
    Data,
    Grouper,
    Microdata,
    Output,
    Policy,
    Query,
    Spec,
)
from gedp.policy.places import lines_of
from gedp.policy.section import Faults, Section, did_you_mean

_NOT_IN_FILE_NAMES = set('/\\:*?"<>|')


def read_spec(path: str | Path) -> Spec:
    """The spec in a TOML file."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or "it cannot be read").lower()
        suggestion = "Check the path; `gedp examples` lists the specs that come with gedp"
        raise FaultsError(str(path), [Fault("the file", reason, suggestion)]) from None
    except UnicodeDecodeError:
        raise FaultsError(str(path), [Fault("the file", "it is not UTF-8 text", "Save it as UTF-8")]) from None
    return parse_spec(text, source=str(path))


def parse_spec(text: str, source: str = "spec") -> Spec:
    """The spec in a TOML text; `source` names it in errors."""
    try:
        content = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise FaultsError(source, [Fault("syntax", str(error), "Correct this first; the rest is unread")]) from None
    faults = Faults(lines_of(text))
    spec = _spec(Section(faults, (), content))
    if faults.found:
        raise FaultsError(source, faults.found)
    return spec


def _spec(root: Section) -> Spec:
    data = _data(root.table("data"))
    groupers = _groupers(root.table("groupers", required=False), data)
    attributes = _attributes(root.table("attributes"), data)
    budget = root.table("budget")
    mu = Decimal(1) if budget.absent else budget.number("mu")
    budget.finish()
    queries = _queries(root.tables("queries"), attributes, {*data.public, *groupers})
    microdata = root.table("microdata", required=False)
    weights = microdata.text("weights", Microdata().weights, WEIGHTS)
    microdata.finish()
    output = root.table("output", required=False)
    folder = output.text("dir", Output().dir)
    confidence = output.number("confidence", Output().confidence, below=1)
    output.finish()
    root.finish()
    policy = Policy(attributes, mu)
    return Spec(data, policy, queries, groupers, Microdata(weights), Output(folder, confidence))


def _data(section: Section) -> Data:
    if section.absent:
        return Data("", ())
    id_column = section.text("id") if section.has("id") else None
    section.known.append("id")
    synthetic = section.flag("synthetic", default=False)
    data = Data(section.text("source"), section.names("public"), id_column, synthetic)
    if ESTABLISHMENT in data.public:
        section.fault("public", f"{ESTABLISHMENT!r} is a reserved name", "Rename the column")
    if id_column and id_column in data.public:
        section.fault("id", "the id is also listed as public", "Remove it from public")
    section.finish()
    return data


def _groupers(section: Section, data: Data) -> dict[str, Grouper]:
    groupers = {}
    for name in section.content:
        entry = section.table(name)
        column = entry.text("column")
        if column not in data.public and entry.has("column"):
            entry.fault("column", f"{column!r} is not a public column", did_you_mean(column, data.public))
        if name in data.public or name == ESTABLISHMENT:
            section.fault(name, "this name is taken", "Choose another name for the grouping")
        if entry.has("prefix") == entry.has("map"):
            section.fault(name, "a grouping needs either prefix or map", "Give one of: prefix = 3, map = 'file.csv'")
        prefix = entry.whole("prefix", low=1) if entry.has("prefix") else None
        lookup = entry.text("map") if entry.has("map") else None
        entry.known += ["prefix", "map"]
        entry.finish()
        groupers[name] = Grouper(name, column, prefix, lookup)
    return groupers


def _attributes(section: Section, data: Data) -> dict[str, Attribute]:
    attributes = {}
    for name in section.content:
        entry = section.table(name)
        if name in data.public or name == data.id:
            section.fault(name, "a confidential attribute is also public or the id", "List the column once")
        closeness = _closeness(entry)
        unit = entry.number("unit", Decimal(1))
        signed = entry.flag("signed", default=False)
        at_least = _at_least(entry)
        person = entry.number("person") if entry.has("person") else None
        entry.known.append("person")
        entry.finish()
        for part in (closeness, *at_least):
            if signed and part.psi == "log" and not part.shift:
                entry.fault("signed", "log without a shift has no value at 0", "Give it a shift, like shift = 1")
        attributes[name] = Attribute(name, closeness, unit, signed, at_least, person)
    if not section.content and not section.absent:
        section.faults.add(
            section.path, "there are no attributes", "Give one, like emp = { psi = 'sqrt', gamma = 0.5 }"
        )
    return attributes


def _closeness(entry: Section) -> Closeness:
    psi = entry.text("psi", choices=PSI_NAMES)
    shift = entry.number("shift", Decimal(0), zero=True)
    if psi == "linear" and shift:
        entry.fault("shift", "a shift changes nothing about linear", "Remove it")
    return Closeness(psi, entry.number("gamma"), shift)


def _at_least(entry: Section) -> tuple[Closeness, ...]:
    if not entry.has("at_least"):
        entry.known.append("at_least")
        return ()
    single = isinstance(entry.content["at_least"], dict)
    parts = [entry.table("at_least")] if single else entry.tables("at_least")
    result = []
    for part in parts:
        result.append(_closeness(part))
        part.finish()
    return tuple(result)


def _queries(sections: list[Section], attributes: dict[str, Attribute], groupings: set[str]) -> tuple[Query, ...]:
    queries = []
    for section in sections:
        name = section.text("name")
        if _NOT_IN_FILE_NAMES & set(name) or not name.isprintable() or name.strip(" .") != name:
            section.fault("name", f"{name!r} cannot be a file name", "Use letters, digits, spaces and - _ x")
        query = Query(name, _by(section, groupings), _mu(section, attributes), _mechanism(section))
        section.finish()
        queries.append(query)
    names = Counter(query.name.casefold() for query in queries)
    for section, query in zip(sections, queries, strict=True):
        if section.has("name") and names[query.name.casefold()] > 1:
            section.fault("name", f"the name {query.name!r} is used more than once", "Give each query its own name")
    _check_mechanisms(sections, queries, attributes)
    return tuple(queries)


def _by(section: Section, groupings: set[str]) -> tuple[str, ...]:
    if section.content.get("by") == ESTABLISHMENT:
        section.known.append("by")
        return (ESTABLISHMENT,)
    by = section.names("by")
    for name in by:
        if name not in groupings:
            hint = f'Write by = "{ESTABLISHMENT}"' if name == ESTABLISHMENT else did_you_mean(name, sorted(groupings))
            section.fault("by", f"{name!r} is neither a public column nor a grouping", hint)
    return by


def _mu(section: Section, attributes: dict[str, Attribute]) -> dict[str, Decimal]:
    if not isinstance(section.content.get("mu"), dict):
        mu = section.number("mu")
        return dict.fromkeys(attributes, mu)
    table = section.table("mu")
    if not table.content:
        section.fault("mu", "there is no attribute in it", "Give a number for each attribute the query asks for")
    for name in table.content:
        if name not in attributes:
            table.fault(name, f"{name!r} is not a confidential attribute", did_you_mean(name, attributes))
    return {name: table.number(name) for name in table.content}


def _mechanism(section: Section) -> str:
    return section.text("mechanism", "auto", MECHANISMS)


def _check_mechanisms(sections: list[Section], queries: list[Query], attributes: dict[str, Attribute]) -> None:
    """pnc takes its bounds from the identity answers; ψ of a sum is unsafe where values have both signs."""
    identified = {name for query in queries if query.is_identity for name in query.mu}
    for section, query in zip(sections, queries, strict=True):
        if query.is_identity:
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
