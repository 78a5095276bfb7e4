"""From a spec file to a Spec: every fault in one error, each with its line and a suggestion."""

import tomllib
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from gedp.errors import Fault, FaultsError
from gedp.policy.model import (
    CONSTRAINTS,
    ESTABLISHMENT,
    MECHANISMS,
    MOST_CONFIDENCE,
    PSI_NAMES,
    PSI_SUFFIX,
    TABLE_COLUMNS,
    WEIGHTS,
    Attribute,
    Closeness,
    Data,
    Grouper,
    MicrodataOptions,
    Output,
    Policy,
    Query,
    Spec,
)
from gedp.policy.places import Path as Place
from gedp.policy.places import lines_of
from gedp.policy.section import Faults, Section, did_you_mean

LARGEST_LOG_GAMMA = Decimal(50)
MOST_CHARACTERS = 10_000_000  # of a spec; a device never ends
#: Of the name of a file without its suffix; with it and what a temporary file adds, file systems allow 255.
MOST_NAME_BYTES = 200
#: A unit with more digits would not be the number that is computed with.
MOST_UNIT_DIGITS = 15
_RESERVED_COLUMNS = {ESTABLISHMENT, *TABLE_COLUMNS}
_NOT_IN_FILE_NAMES = set('/\\:*?"<>|')
_RESERVED_FILE_NAMES = {"CON", "PRN", "AUX", "NUL", *(f"{port}{n}" for port in ("COM", "LPT") for n in range(1, 10))}


def read_spec(path: str | Path) -> Spec:
    """Reads the spec in a TOML file; every fault in one error, each with its line."""
    path = Path(path)
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(MOST_CHARACTERS + 1)
    except OSError as error:
        reason = (error.strerror or "it cannot be read").lower()
        suggestion = "Check the path; `gedp examples` lists the specs that come with gedp"
        raise FaultsError(str(path), [Fault("the file", reason, suggestion)]) from None
    except UnicodeDecodeError:
        raise FaultsError(str(path), [Fault("the file", "it is not UTF-8 text", "Save it as UTF-8")]) from None
    if len(text) > MOST_CHARACTERS:
        raise FaultsError(str(path), [Fault("the file", "it is too long for a spec", "Check the path")])
    return replace(parse_spec(text, source=str(path)), folder=path.parent)


def parse_spec(text: str, source: str = "spec", *, in_memory: bool = False) -> Spec:
    """The spec in a TOML text; `source` names it in errors. One for a table `in_memory` need not name a file."""
    try:
        content = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise FaultsError(source, [Fault("syntax", str(error), "Correct this first; the rest was not read")]) from None
    except (ValueError, ArithmeticError, RecursionError):
        unreadable = Fault("syntax", "a number is too long, or something is nested too deep", "Write it more simply")
        raise FaultsError(source, [unreadable]) from None
    return _read(content, Faults(lines_of(text)), source, in_memory)


def make_spec(
    *,
    data: Mapping[str, Any],
    attributes: Mapping[str, Any],
    budget: Mapping[str, Any],
    queries: Sequence[Mapping[str, Any]],
    groupers: Mapping[str, Any] | None = None,
    microdata: Mapping[str, Any] | None = None,
    output: Mapping[str, Any] | None = None,
    folder: str | Path = "",
) -> Spec:
    """A spec from Python: each section as a spec file has it, in dictionaries, lists and numbers.

    `data` needs no `source` if the table is handed over later. A float means the decimal that Python shows for it.
    Paths start from `folder`, by default from where Python runs.

    >>> make_spec(
    ...     data={"public": ["county"], "synthetic": True},
    ...     attributes={"jobs": {"psi": "sqrt", "gamma": 0.5}},
    ...     budget={"mu": 1},
    ...     queries=[{"name": "county", "by": ["county"], "mu": 0.5}],
    ... ).queries[0].by
    ('county',)
    """
    sections = {
        "data": data,
        "groupers": groupers,
        "attributes": attributes,
        "budget": budget,
        "queries": queries,
        "microdata": microdata,
        "output": output,
    }
    content = _plain({name: section for name, section in sections.items() if section is not None})
    return replace(_read(content, Faults({}), "the spec", in_memory=True), folder=Path(folder))


def _plain(value: Any) -> Any:
    """Values from Python as the parser of a file would give them."""
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else repr(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float | np.floating):
        return Decimal(str(value))
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    return str(value) if isinstance(value, Path) else value


def _read(content: dict[str, Any], faults: Faults, source: str, in_memory: bool) -> Spec:
    spec = _spec(Section(faults, (), content), in_memory)
    if faults.found:
        raise FaultsError(source, faults.found)
    return spec


def _spec(root: Section, in_memory: bool) -> Spec:
    data = _data(root.table("data"), in_memory)
    # What depends on a faulty part is not checked: one mistake, one fault.
    stated = isinstance(root.content.get("data"), dict) and "public" in root.content["data"]
    public = set(data.public) if stated and ("data", "public") not in root.faults.by_path else None
    groupers = _groupers(root.table("groupers", required=False), public)
    section = root.table("attributes")
    attributes = _attributes(section, {*data.public, *groupers, data.id or ESTABLISHMENT, ESTABLISHMENT})
    _check_columns(root, data, groupers, attributes)
    budget = root.table("budget")
    mu = Decimal(1) if budget.absent else budget.number("mu")
    budget.finish()
    groupings = None if public is None else {*public, *groupers}
    queries = _queries(root.tables("queries"), attributes, None if section.absent else set(section.content), groupings)
    microdata = _microdata(root.table("microdata", required=False), attributes)
    output = root.table("output", required=False)
    folder = output.text("dir", Output().dir)
    confidence = output.number("confidence", Output().confidence, below=1)
    if MOST_CONFIDENCE < confidence < 1:
        output.fault("confidence", "intervals of such confidence say nothing", f"Give at most {MOST_CONFIDENCE}")
    output.finish()
    root.finish()
    policy = Policy(attributes, mu)
    return Spec(data, policy, queries, groupers, microdata, Output(folder, confidence))


def _data(section: Section, in_memory: bool) -> Data:
    if section.absent:
        return Data("", ())
    id_column = section.text("id") if section.has("id") else None
    synthetic = section.flag("synthetic", default=False)
    source = section.text("source") if section.has("source") or not in_memory else None
    data = Data(source, section.names("public"), id_column, synthetic)
    if id_column and id_column in data.public:
        section.fault("id", "the id is also listed as public", "Remove it from public")
    section.finish()
    return data


def _groupers(section: Section, public: set[str] | None) -> dict[str, Grouper]:
    groupers = {}
    for name in section.content:
        entry = section.table(name)
        if entry.absent:
            groupers[name] = Grouper(name, "")
            continue
        column = entry.text("column")
        if column and public is not None and column not in public:
            entry.fault("column", f"{column!r} is not a public column", did_you_mean(column, sorted(public)))
        if name in (public or ()):
            section.fault(name, "this name is taken", "Choose another name for the grouping")
        if entry.has("prefix") == entry.has("map"):
            section.fault(name, "a grouping needs either prefix or map", "Give one of: prefix = 3, map = 'file.csv'")
        prefix = entry.whole("prefix", low=1) if entry.has("prefix") else None
        lookup = entry.text("map") if entry.has("map") else None
        if lookup and not _is_file_name(name):
            section.fault(name, f"{name!r} cannot be a file name", "Use up to 50 letters, digits, spaces and - _ x")
        entry.finish()
        groupers[name] = Grouper(name, column, prefix, lookup)
    used = Counter(_folded(name) for name, grouper in groupers.items() if grouper.map)
    for name, grouper in groupers.items():
        if grouper.map and used[_folded(name)] > 1:
            section.fault(name, "another grouping has almost this name", "Choose names that two files can have")
    return groupers


def _attributes(section: Section, taken: set[str]) -> dict[str, Attribute]:
    attributes = {}
    for name in section.content:
        entry = section.table(name)
        if entry.absent:
            continue
        if name in taken:
            section.fault(name, "the name is also public, a grouping or the id", "List each column once")
        closeness = _closeness(entry)
        unit = entry.number("unit", Decimal(1))
        if len(unit.normalize().as_tuple().digits) > MOST_UNIT_DIGITS:
            entry.fault("unit", f"it has more than {MOST_UNIT_DIGITS} digits", "Give a unit like 0.01")
        signed = entry.flag("signed", default=False)
        at_least = _at_least(entry)
        person = entry.number("person") if entry.has("person") else None
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
    gamma = entry.number("gamma")
    if psi == "log" and gamma > LARGEST_LOG_GAMMA:
        entry.fault("gamma", f"log with a gamma of {gamma} hides everything", "Give the logarithm of a ratio, like 0.1")
        gamma = LARGEST_LOG_GAMMA
    return Closeness(psi, gamma, shift)


def _at_least(entry: Section) -> tuple[Closeness, ...]:
    if not entry.has("at_least"):
        return ()
    single = isinstance(entry.content["at_least"], dict)
    parts = [entry.table("at_least")] if single else entry.tables("at_least")
    result = []
    for part in parts:
        result.append(_closeness(part))
        part.finish()
    return tuple(result)


def _check_columns(root: Section, data: Data, groupers: dict[str, Grouper], attributes: dict[str, Attribute]) -> None:
    """Columns stand beside each other in files and in SQL, where names that differ by case alone are the same."""
    named: list[tuple[Place, str]] = [
        *([(("data", "id"), data.id)] if data.id else []),
        *((("data", "public"), name) for name in data.public),
        *((("groupers", name), name) for name in groupers),
        *((("attributes", name), name) for name in attributes),
    ]
    for path, name in named:
        if not name.isprintable() or not name.strip():
            root.faults.add(path, f"{_shown_name(name)} cannot be printed", "Rename the column")
        elif path[0] != "attributes" and path != ("data", "id") and _folded(name) in _RESERVED_COLUMNS:
            root.faults.add(path, f"{name!r} is a reserved name: tables of results have it too", "Rename the column")
    first: dict[str, str] = {}
    for path, name in named:
        other = first.setdefault(_folded(name), name)
        if other != name:
            problem = f"{name!r} and {other!r} are one name where case or the spelling of accents does not count"
            root.faults.add(path, problem, "Rename one of the columns")
    for name in attributes:
        if yours := first.get(_folded(name + PSI_SUFFIX)):
            problem = f"the release has a column {name + PSI_SUFFIX!r} of its own, and {yours!r} is one of yours"
            root.faults.add(("attributes", name), problem, "Rename one of the columns")


def _shown_name(name: str) -> str:
    return "an empty name" if not name.strip() else f"the name {name!r}"


def _queries(
    sections: list[Section], attributes: dict[str, Attribute], names: set[str] | None, groupings: set[str] | None
) -> tuple[Query, ...]:
    queries = []
    for section in sections:
        name = section.text("name")
        if name and not _is_file_name(name):
            section.fault("name", f"{name!r} cannot be a file name", "Use up to 50 letters, digits, spaces and - _ x")
        mechanism = section.text("mechanism", "auto", MECHANISMS)
        queries.append(Query(name, _by(section, groupings), _mu(section, attributes, names), mechanism))
        section.finish()
    used = Counter(_folded(query.name) for query in queries if query.name)
    for section, query in zip(sections, queries, strict=True):
        if used[_folded(query.name)] > 1:
            section.fault("name", f"the name {query.name!r} is used more than once", "Give each query its own name")
    if names is not None:
        _check_mechanisms(sections, queries, attributes)
    return tuple(queries)


def _is_file_name(name: str) -> bool:
    sound = name.isprintable() and name.strip(" .") == name and len(name.encode()) <= MOST_NAME_BYTES
    return sound and not _NOT_IN_FILE_NAMES & set(name) and name.partition(".")[0].upper() not in _RESERVED_FILE_NAMES


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


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


def _microdata(section: Section, attributes: dict[str, Attribute]) -> MicrodataOptions:
    weights = section.text("weights", MicrodataOptions().weights, WEIGHTS)
    asked = {name: section.flag(name, default=False) for name in CONSTRAINTS}
    signed = [attribute.name for attribute in attributes.values() if attribute.signed]
    if asked["nonnegative"] and signed:
        section.fault("nonnegative", f"the values of {', '.join(signed)} have both signs", "Remove one of the two")
    section.finish()
    return MicrodataOptions(weights, **asked)


def _mu(section: Section, attributes: dict[str, Attribute], names: set[str] | None) -> dict[str, Decimal]:
    if not isinstance(section.content.get("mu"), dict):
        mu = section.number("mu")
        return dict.fromkeys(attributes, mu)
    table = section.table("mu")
    if not table.content:
        section.fault("mu", "it names no attribute", "Give a number for each attribute the query asks for")
    for name in table.content:
        if names is not None and name not in names:
            table.fault(name, f"{name!r} is not a confidential attribute", did_you_mean(name, sorted(names)))
    return {name: table.number(name) for name in table.content}


def _check_mechanisms(sections: list[Section], queries: list[Query], attributes: dict[str, Attribute]) -> None:
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
