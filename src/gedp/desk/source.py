"""What a desk shows tables of: a release, from which any can be made, or a package, whose tables are finished.

Whatever the page or the API asks for goes through `DeskSource`, so neither knows which of the two is behind it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import pyarrow as pa

from gedp.arrays import IntArray
from gedp.desk.question import Question
from gedp.errors import Fault, FaultsError
from gedp.release.estimated import formulas_of

FIGURE = "figure"  # as against its change


@dataclass(frozen=True, repr=False)
class ChangeMarks:
    """What is to be said about the change of every line."""

    flags: Sequence[str]
    variance_kinds: Sequence[str]


@dataclass(frozen=True, repr=False)
class MadeTable:
    """The lines of a table, group by group for each figure, with their quality and the sizes of groups."""

    lines: pa.Table
    establishments: IntArray | None  # of every group, where these are listed
    quality: Sequence[str] = ()  # the class of every line; empty where a figure has none
    changes: Mapping[str, ChangeMarks] = field(default_factory=dict)  # what is shown of changes, if anything

    @property
    def kinds(self) -> tuple[str, ...]:
        """What is shown of every figure: itself, and what changed."""
        return FIGURE, *self.changes

    @property
    def groups(self) -> int:
        """The number of groups; every figure has a line for each."""
        return self.lines.num_rows // max(len(self.figures), 1)

    @property
    def figures(self) -> list[str]:
        """The attributes and ratios, in their order."""
        return self.lines["attribute"].unique().to_pylist()

    @cached_property
    def formulas(self) -> dict[str, str]:
        """The formulas of figures that are computed."""
        return formulas_of(self.lines)


@dataclass(frozen=True)
class ChangeOffer:
    """What can be compared with an earlier release."""

    since: str  # what the earlier release is called
    keys: tuple[str, ...]
    figures: tuple[str, ...]
    flags: Mapping[str, str]  # the marks of changes, and what they mean


#: What stands where there is no figure.
NONE = "–"


@dataclass(frozen=True)
class Facts:
    """What a page says besides tables."""

    title: str
    made: str  # when and how
    confidence: float  # of intervals, where nobody asks for another
    establishments: int
    is_seeded: bool
    warnings: tuple[str, ...]  # what must be read first
    protection: tuple[str, ...]  # what was protected and how, in sentences
    quality: Mapping[str, str]  # the classes, from good to bad, and what they mean
    citation: str
    is_finished: bool = False  # whether tables are to be looked at, and no others can be made
    change: ChangeOffer | None = None  # since an earlier release, where there is one


@dataclass(frozen=True)
class FinishedTable:
    """A table that is there to be looked at."""

    name: str
    title: str
    by: tuple[str, ...]
    figures: tuple[str, ...]
    file: str


class DeskSource(Protocol):
    """What tables are made of, or taken from."""

    @property
    def facts(self) -> Facts:
        """What is said about it."""

    @property
    def dimensions(self) -> Mapping[str, tuple[str, ...]]:
        """Keys that nest, coarse to fine, by the name of what they have in common."""

    @property
    def attributes(self) -> Sequence[str]:
        """The attributes that tables can have."""

    @property
    def ratios(self) -> Mapping[str, str]:
        """The ratios that tables can have, and their formulas."""

    @property
    def classes(self) -> Mapping[str, Sequence[str]]:
        """Keys whose codes are classes, and these in their order."""

    @property
    def finished(self) -> Sequence[FinishedTable]:
        """The tables that there are, where no others can be made."""

    def title(self, name: str) -> str:
        """What people call a key or a dimension."""

    def heading(self, figure: str, formula: str | None = None) -> str:
        """What people call a figure, what it is counted in on a page, and how it is computed, if it is."""

    def name_of(self, key: str, code: str, keys: Mapping[str, str]) -> str:
        """What people call a code, where the codes of other keys may be needed to know."""

    def codes_of(self, key: str) -> Sequence[str]:
        """The codes of a key, in their order."""

    def knows(self, key: str) -> bool:
        """Whether there is such a key."""

    def offers(self, question: Question) -> bool:
        """Whether there is such a table, at little cost."""

    def table(self, question: Question) -> MadeTable:
        """The table of a question, or a fault that says why there is none."""

    def texts(self, figure: str, estimate: float | None, margin: float | None, flag: str) -> tuple[str, str]:
        """A figure and its margin as people read them; where there is none, its flag may say why."""

    def command(self, question: Question) -> str | None:
        """The command that makes the same table, if there is one."""


def described(source: DeskSource) -> dict[str, Any]:
    """What can be asked of a source, as JSON has it."""
    facts, keys = source.facts, all_keys(source)
    return {
        "title": facts.title,
        "establishments": facts.establishments,
        "confidence": facts.confidence,
        "is_seeded": facts.is_seeded,
        "dimensions": [
            {"name": name, "title": source.title(name), "keys": list(nested)}
            for name, nested in source.dimensions.items()
        ],
        "keys": [
            {
                "name": key,
                "title": source.title(key),
                "codes": len(source.codes_of(key)),
                "is_class": key in source.classes,
            }
            for key in keys
        ],
        "attributes": [{"name": name, "title": source.heading(name)} for name in source.attributes],
        "ratios": [
            {"name": name, "title": source.heading(name), "formula": formula} for name, formula in source.ratios.items()
        ],
        "is_finished": facts.is_finished,
        "tables": [
            {"title": each.title, "by": list(each.by), "figures": list(each.figures), "file": each.file}
            for each in source.finished
        ],
        "quality": _meanings(facts.quality),
        "change": None if facts.change is None else {**vars(facts.change), "flags": _meanings(facts.change.flags)},
        "protection": [*facts.warnings, *facts.protection, facts.made],
        "citation": facts.citation,
    }


def _meanings(said: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "meaning": meaning} for name, meaning in said.items()]


def all_keys(source: DeskSource) -> list[str]:
    """All keys of all dimensions, each once."""
    return list(dict.fromkeys(key for keys in source.dimensions.values() for key in keys))


def found_codes(source: DeskSource, key: str, search: str, limit: int) -> dict[str, Any]:
    """The codes of a key that contain a text, or whose names do."""
    if not source.knows(key):
        hint = f"Use: {', '.join(all_keys(source))}"
        raise FaultsError("request", [Fault("key", f"{key[:40]!r} is not a key", hint)])
    wanted = search.casefold()
    named = [(code, source.name_of(key, code, {})) for code in source.codes_of(key)]
    found = [(code, name) for code, name in named if wanted in f"{code} {name}".casefold()]
    listed = [{"code": code, "name": name} for code, name in found[:limit]]
    return {"key": key, "total": len(found), "codes": listed}
