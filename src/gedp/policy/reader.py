"""From a spec file to a Spec: every fault in one error, each with its line and a suggestion."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from gedp.errors import Fault, FaultsError
from gedp.policy.classes import Classes, read_classes
from gedp.policy.combinations import read_combinations
from gedp.policy.fields import part, read_fields
from gedp.policy.groupings import misspelt_public, read_groupers, read_hierarchies
from gedp.policy.keys import (
    ATTRIBUTE,
    CLIPPING,
    CLOSENESS,
    DATA,
    LEDGER,
    MICRODATA,
    OUTPUT,
    PROTECT,
    PUBLICATION,
    TABLE,
)
from gedp.policy.labels import Publication, read_labels, read_nouns
from gedp.policy.losses import Askable, read_policy
from gedp.policy.measures import COUNT
from gedp.policy.model import (
    OWN_SUFFIXES,
    PARTS,
    TABLE_COLUMNS,
    Attribute,
    Closeness,
    Data,
    Grouper,
    MicrodataOptions,
    Output,
    Policy,
    Spec,
)
from gedp.policy.names import folded
from gedp.policy.places import Path as Place
from gedp.policy.places import lines_of
from gedp.policy.queries import read_accounting, read_queries
from gedp.policy.reading import checked_reading
from gedp.policy.section import Faults, Section, did_you_mean
from gedp.policy.series import check_of_period, check_spans
from gedp.policy.values import ESTABLISHMENT
from gedp.policy.writer import spec_content

LARGEST_LOG_GAMMA = Decimal(50)
MOST_CHARACTERS = 10_000_000  # of a spec; a device never ends
_RESERVED_COLUMNS = {ESTABLISHMENT, *TABLE_COLUMNS}


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
    protect: Mapping[str, Any] | None = None,
    groupers: Mapping[str, Any] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    classes: Mapping[str, Any] | None = None,
    combinations: Mapping[str, Any] | None = None,
    clipping: Mapping[str, Any] | None = None,
    ledger: Mapping[str, Any] | None = None,
    microdata: Mapping[str, Any] | None = None,
    output: Mapping[str, Any] | None = None,
    labels: Mapping[str, Any] | None = None,
    publication: Mapping[str, Any] | None = None,
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
    sections = {name: given for name, given in locals().items() if name != "folder" and given is not None}
    return replace(_read(_plain(sections), Faults({}), "the spec", in_memory=True), folder=Path(folder))


def reread_spec(spec: Spec, source: str = "the spec") -> Spec:
    """The spec as its own content is read: what the reader rejects in a file is rejected in a spec from Python too."""
    content = _plain(spec_content(spec))
    return replace(_read(content, Faults({}), source, in_memory=True), folder=spec.folder, lines=spec.lines)


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
    return replace(spec, lines=faults.lines)


def _spec(root: Section, in_memory: bool) -> Spec:
    data = _data(root.table("data"), in_memory)
    # What depends on a faulty part is not checked: one mistake, one fault.
    stated = isinstance(root.content.get("data"), dict) and "public" in root.content["data"]
    public = set(data.public) if stated and ("data", "public") not in root.faults.by_path else None
    if public is not None:
        public |= misspelt_public(root, public)
    groupers = read_groupers(root.table("groupers", required=False), public)
    hierarchies = read_hierarchies(root.table("hierarchies", required=False), public, groupers)
    asked = root.tables("queries")
    individual = read_accounting(asked)
    section = root.table("attributes")
    taken = {*data.public, *groupers, data.id or ESTABLISHMENT, ESTABLISHMENT}
    attributes = _attributes(section, taken, individual)
    _check_missing(root, data.reading.missing, attributes)
    names = None if section.absent else {*section.content, *attributes}
    classes = read_classes(root.table("classes", required=False), attributes, names)
    _check_columns(root, data, groupers, attributes, classes)
    taken |= {*(names or ()), *attributes, *classes, COUNT}
    split_columns = Policy(attributes, Decimal(1)).split_columns
    combinations = read_combinations(root.table("combinations", required=False), split_columns, names, taken)
    parts = {name: (a.column, PARTS[a.part]) for name, a in attributes.items() if a.part is not None}
    joined = {name: grouper.columns for name, grouper in groupers.items() if grouper.columns}
    data = replace(data, reading=replace(data.reading, parts=parts, joined=joined))
    unit = _unit(root.table("protect", required=False), public, individual)
    policy = replace(read_policy(root.table("budget"), attributes, individual), unit=unit)
    check_spans(root.faults, data.period, policy)
    check_of_period(root.faults, data.period, policy)
    groupings = None if public is None else {*public, *groupers}
    known = Askable(attributes, names, groupings, classes, combinations, individual)
    queries = read_queries(asked, known)
    microdata = MicrodataOptions(**read_fields(root.table("microdata", required=False), MICRODATA))
    _check_microdata(root, microdata, attributes)
    zeta = read_fields(root.table("clipping", required=False), CLIPPING)["zeta"]
    ledger_file = read_fields(root.table("ledger", required=False), LEDGER)["file"]
    if data.is_database and ledger_file is None:
        problem = "it is missing, and a database has no folder in which a ledger could be found"
        root.faults.add(("ledger", "file"), problem, 'Give one under [ledger], like file = "register.ledger"')
    output = Output(**read_fields(root.table("output", required=False), OUTPUT))
    keys = groupings | classes.keys() if names and groupings is not None else None
    called, figures = root.table("labels", required=False), [*(names or ()), *combinations]
    labels = read_labels(called, figures, keys)
    nouns = read_nouns(called, None if keys is None else {*figures, *keys})
    publication = Publication(**read_fields(root.table("publication", required=False), PUBLICATION))
    root.finish()
    options = microdata, output, hierarchies, zeta, ledger_file
    return Spec(data, policy, queries, groupers, *options, classes, combinations, labels, publication, nouns)


def _data(section: Section, in_memory: bool) -> Data:
    if section.absent:
        return Data("", ())
    values = read_fields(section, DATA, {"source": not in_memory})
    data = Data(**part(TABLE, values), reading=checked_reading(section, values))
    if data.id and data.id in data.public:
        section.fault("id", "the id is also listed as public", "Remove it from public")
    return data


def _unit(section: Section, public: set[str] | None, individual: bool | None) -> str | None:
    """The column of protected units."""
    unit: str | None = read_fields(section, PROTECT)["unit"]
    if unit is not None and public is not None and unit not in public:
        problem = f"{unit!r} is not a public column, and which records form a unit is public"
        section.fault("unit", problem, did_you_mean(unit, sorted(public)))
    if unit is not None and individual is False:
        problem = "every query has a mu, which a unit of n records would pay up to n times over"
        section.fault("unit", problem, "Remove every mu: individual accounting charges a unit for all its records")
    return unit


def _attributes(section: Section, taken: set[str], individual: bool | None) -> dict[str, Attribute]:
    attributes = {}
    for name in section.content:
        entry = section.table(name)
        if entry.absent:
            continue
        if name in taken:
            section.fault(name, "the name is also public, a grouping or the id", "List each column once")
        values = read_fields(entry, CLOSENESS + ATTRIBUTE)
        own = part(ATTRIBUTE, values)
        split, wider = own.pop("split"), own.pop("at_least")
        own["at_least"] = tuple(_closeness(each, read_fields(each, CLOSENESS)) for each in wider)
        attribute = Attribute(name, _closeness(entry, values), **own)
        _check_attribute(entry, attribute, split, individual)
        for each in attribute.split() if split else (attribute,):
            if split and each.name in {*taken, *section.content}:
                section.fault(name, f"its part would be called {each.name!r}, which is taken", "Rename the column")
            attributes[each.name] = each
    if not section.content and not section.absent:
        section.faults.add(
            section.path, "there are no attributes", "Give one, like emp = { psi = 'sqrt', gamma = 0.5 }"
        )
    return attributes


def _check_attribute(entry: Section, attribute: Attribute, split: bool, individual: bool | None) -> None:
    if attribute.signed and split:
        entry.fault("split", "gain and loss have no sign, and signed says that it has", "Remove one of the two")
    if "share" in entry.content and individual is False:
        entry.fault("share", "every query has a mu, so nothing is shared out", "Remove it, or every query's mu")
    if any(part.psi == "log" and not part.shift for part in (attribute.closeness, *attribute.at_least)):
        for key in (key for key, given in (("signed", attribute.signed), ("split", split)) if given):
            entry.fault(key, "log without a shift has no value at 0", "Give it a shift, like shift = 1")


def _closeness(entry: Section, values: Mapping[str, Any]) -> Closeness:
    closeness = Closeness(**part(CLOSENESS, values))
    if closeness.psi == "linear" and closeness.shift:
        entry.fault("shift", "a shift changes nothing about linear", "Remove it")
    if closeness.psi == "log" and (gamma := closeness.gamma) > LARGEST_LOG_GAMMA:
        entry.fault("gamma", f"log with a gamma of {gamma} hides everything", "Give the logarithm of a ratio, like 0.1")
        return replace(closeness, gamma=LARGEST_LOG_GAMMA)
    return closeness


def _check_columns(
    root: Section,
    data: Data,
    groupers: dict[str, Grouper],
    attributes: dict[str, Attribute],
    classes: dict[str, Classes],
) -> None:
    """Columns stand beside each other in files and in SQL, where names that differ by case alone are the same."""
    named: list[tuple[Place, str]] = [
        *([(("data", "id"), data.id)] if data.id else []),
        *((("data", "public"), name) for name in data.public),
        *((("groupers", name), name) for name in groupers),
        *((("attributes", a.column), name) for a in attributes.values() for name in dict.fromkeys((a.column, a.name))),
        *((("classes", name), name) for name in classes),
    ]
    for path, name in named:
        if not name.isprintable() or not name.strip():
            root.faults.add(path, f"{_shown_name(name)} cannot be printed", "Rename the column")
        elif path[0] != "attributes" and path != ("data", "id") and folded(name) in _RESERVED_COLUMNS:
            root.faults.add(path, f"{name!r} is a reserved name: tables of results have it too", "Rename the column")
    taken = {name for path, name in named if path[0] != "classes"}
    for name in (each for each in classes if each in taken or folded(each) == COUNT):
        root.faults.add(("classes", name), "this name is taken", "Choose another name for the classes")
    first: dict[str, str] = {}
    for path, name in named:
        other = first.setdefault(folded(name), name)
        if other != name:
            problem = f"{name!r} and {other!r} are one name where case or the spelling of accents does not count"
            root.faults.add(path, problem, "Rename one of the columns")
    for name in attributes:
        for own in (name + suffix for suffix in OWN_SUFFIXES):
            if yours := first.get(folded(own)):
                problem = f"the release has a column {own!r} of its own, and {yours!r} is one of yours"
                root.faults.add(("attributes", name), problem, "Rename one of the columns")


def _check_missing(root: Section, missing: Mapping[str, Decimal], attributes: dict[str, Attribute]) -> None:
    """What a null counts as must be a value that the attribute can have."""
    units = {attribute.column: attribute.unit for attribute in attributes.values()}
    for name, number in missing.items():
        path: Place = ("data", "missing", name)
        if name not in units:
            root.faults.add(path, f"there is no attribute {name!r}", did_you_mean(name, units))
        elif number % units[name]:
            problem = f"it is not a whole multiple of the unit {units[name]}"
            root.faults.add(path, problem, "Give one that is, like 0")


def _shown_name(name: str) -> str:
    return "an empty name" if not name.strip() else f"the name {name!r}"


def _check_microdata(root: Section, options: MicrodataOptions, attributes: Mapping[str, Attribute]) -> None:
    signed = [attribute.name for attribute in attributes.values() if attribute.signed]
    if options.nonnegative and signed:
        problem = f"the values of {', '.join(signed)} have both signs"
        root.faults.add(("microdata", "nonnegative"), problem, "Remove one of the two")
