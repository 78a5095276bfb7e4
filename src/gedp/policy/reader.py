"""From a spec file to a Spec: every fault in one error, each with its line and a suggestion."""

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from gedp.errors import Fault, FaultsError
from gedp.policy.losses import read_policy
from gedp.policy.model import (
    CONSTRAINTS,
    ESTABLISHMENT,
    MOST_CONFIDENCE,
    OWN_SUFFIXES,
    PSI_NAMES,
    TABLE_COLUMNS,
    WEIGHTS,
    Attribute,
    Closeness,
    Data,
    Grouper,
    MicrodataOptions,
    Output,
    Spec,
)
from gedp.policy.names import FILE_NAME_HINT, folded, is_file_name
from gedp.policy.places import Path as Place
from gedp.policy.places import lines_of
from gedp.policy.queries import read_accounting, read_queries
from gedp.policy.section import Faults, Section, did_you_mean

LARGEST_LOG_GAMMA = Decimal(50)
MOST_CHARACTERS = 10_000_000  # of a spec; a device never ends
#: A unit, gamma or shift with more digits would not be the number that is computed with.
MOST_DIGITS = 15
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
    groupers: Mapping[str, Any] | None = None,
    clipping: Mapping[str, Any] | None = None,
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
        "clipping": clipping,
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
    asked = root.tables("queries")
    individual = read_accounting(asked)
    section = root.table("attributes")
    taken = {*data.public, *groupers, data.id or ESTABLISHMENT, ESTABLISHMENT}
    attributes = _attributes(section, taken, individual)
    _check_columns(root, data, groupers, attributes)
    policy = read_policy(root.table("budget"), attributes, individual)
    groupings = None if public is None else {*public, *groupers}
    names = None if section.absent else set(section.content)
    queries = read_queries(asked, attributes, names, groupings, individual=individual)
    microdata = _microdata(root.table("microdata", required=False), attributes)
    clipping = root.table("clipping", required=False)
    zeta = clipping.number("zeta", below=1) if clipping.has("zeta") else None
    clipping.finish()
    output = root.table("output", required=False)
    folder = output.text("dir", Output().dir)
    confidence = output.number("confidence", Output().confidence, below=1)
    if MOST_CONFIDENCE < confidence < 1:
        output.fault("confidence", "intervals of such confidence say nothing", f"Give at most {MOST_CONFIDENCE}")
    output.finish()
    root.finish()
    return Spec(data, policy, queries, groupers, microdata, Output(folder, confidence), zeta)


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
        if lookup and not is_file_name(name):
            section.fault(name, f"{name!r} cannot be a file name", FILE_NAME_HINT)
        entry.finish()
        groupers[name] = Grouper(name, column, prefix, lookup)
    used = Counter(folded(name) for name, grouper in groupers.items() if grouper.map)
    for name, grouper in groupers.items():
        if grouper.map and used[folded(name)] > 1:
            section.fault(name, "another grouping has almost this name", "Choose names that two files can have")
    return groupers


def _attributes(section: Section, taken: set[str], individual: bool | None) -> dict[str, Attribute]:
    attributes = {}
    for name in section.content:
        entry = section.table(name)
        if entry.absent:
            continue
        if name in taken:
            section.fault(name, "the name is also public, a grouping or the id", "List each column once")
        closeness = _closeness(entry)
        unit = entry.number("unit", Decimal(1))
        _require_few_digits(entry, "unit", unit)
        signed = entry.flag("signed", default=False)
        at_least = _at_least(entry)
        person, typical = (entry.number(key) if entry.has(key) else None for key in ("person", "typical"))
        share = entry.number("share", Decimal(1))
        if entry.has("share") and individual is False:
            entry.fault("share", "every query has a mu, so nothing is shared out", "Remove it, or every query's mu")
        entry.finish()
        for part in (closeness, *at_least):
            if signed and part.psi == "log" and not part.shift:
                entry.fault("signed", "log without a shift has no value at 0", "Give it a shift, like shift = 1")
        attributes[name] = Attribute(name, closeness, unit, signed, at_least, person, share, typical)
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
    _require_few_digits(entry, "gamma", gamma)
    _require_few_digits(entry, "shift", shift)
    return Closeness(psi, gamma, shift)


def _require_few_digits(entry: Section, key: str, number: Decimal) -> None:
    if len(number.normalize().as_tuple().digits) > MOST_DIGITS:
        entry.fault(key, f"it has more than {MOST_DIGITS} digits", "Give a number like 0.01")


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
        elif path[0] != "attributes" and path != ("data", "id") and folded(name) in _RESERVED_COLUMNS:
            root.faults.add(path, f"{name!r} is a reserved name: tables of results have it too", "Rename the column")
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


def _shown_name(name: str) -> str:
    return "an empty name" if not name.strip() else f"the name {name!r}"


def _microdata(section: Section, attributes: dict[str, Attribute]) -> MicrodataOptions:
    weights = section.text("weights", MicrodataOptions().weights, WEIGHTS)
    asked = {name: section.flag(name, default=False) for name in CONSTRAINTS}
    signed = [attribute.name for attribute in attributes.values() if attribute.signed]
    if asked["nonnegative"] and signed:
        section.fault("nonnegative", f"the values of {', '.join(signed)} have both signs", "Remove one of the two")
    section.finish()
    return MicrodataOptions(weights, **asked)
