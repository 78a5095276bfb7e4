"""One table of a TOML file, read key by key. Faults are collected, never raised, so that all of them show at once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, TypeVar

from gedp.errors import Fault
from gedp.policy.names import FILE_NAME_HINT, folded, is_file_name
from gedp.policy.places import Path, line_of

_MISSING = object()
T = TypeVar("T")
#: Names in an order that is the same every time, which that of a set is not.
InOrder = Sequence[str] | Mapping[str, Any]
SMALLEST, LARGEST = Decimal("1e-12"), Decimal("1e15")  # of numbers other than 0 in a spec


@dataclass
class Faults:
    """The faults found so far in one file, each with its line."""

    lines: dict[Path, int]
    by_path: dict[Path, list[Fault]] = field(default_factory=dict)

    @property
    def found(self) -> list[Fault]:
        """All of them, in the order of the file."""
        return [
            fault
            for path in sorted(self.by_path, key=lambda path: line_of(self.lines, path) or 0)
            for fault in self.by_path[path]
        ]

    def add(self, path: Path, problem: str, suggestion: str) -> None:
        """Records a fault at `path`."""
        line = line_of(self.lines, path)
        name = ""
        for part in path:
            text = part if isinstance(part, int) or part.isprintable() else repr(part)  # no control characters
            name += f"[{text + 1}]" if isinstance(text, int) else f".{text}" if name else text
        place = f"line {line}, {name}" if line else name or "the file"
        self.by_path.setdefault(path, []).append(Fault(place, problem, suggestion))


@dataclass
class Section:
    """A table at `path`; reading a key marks it as known, and `finish` reports the others."""

    faults: Faults
    path: Path
    content: dict[str, Any]
    absent: bool = False
    known: list[str] = field(default_factory=list)

    def fault(self, key: str, problem: str, suggestion: str) -> None:
        """Records a fault at one key of this table."""
        self.faults.add((*self.path, key), problem, suggestion)

    def has(self, key: str) -> bool:
        """Whether the key is there; asking makes it a known one."""
        self.known.append(key)
        return key in self.content

    def text(self, key: str, default: Any = _MISSING, choices: Iterable[str] = ()) -> str:
        """A string, one of `choices` where given."""
        value = self._value(key, lambda v: isinstance(v, str) and v != "", "a text in quotes", default)
        choices = tuple(choices)
        if not isinstance(value, str):
            return choices[0] if choices else ""
        if choices and value not in choices:
            self.fault(key, f"{value!r} is not known", did_you_mean(value, choices))
            return choices[0]
        return value

    def flag(self, key: str, default: bool) -> bool:
        """true or false."""
        return bool(self._value(key, lambda v: isinstance(v, bool), "true or false", default))

    def whole(self, key: str, low: int) -> int:
        """A whole number of at least `low`."""
        value = self._value(key, lambda v: type(v) is int and v >= low, f"a whole number of at least {low}", _MISSING)
        return value if isinstance(value, int) else low

    def number(self, key: str, default: Any = _MISSING, *, zero: bool = False, below: int | None = None) -> Decimal:
        """A finite decimal above 0, or from 0 on where `zero` is allowed, below `below` where given."""
        wanted = f"a number {'of 0 or more' if zero else 'above 0'}{f' and below {below}' if below else ''}, like 0.5"
        value = self._value(key, lambda v: _is_number(v, zero, below), wanted, default)
        if isinstance(value, int | Decimal) and value and not SMALLEST <= value <= LARGEST:
            self.fault(key, "the number is out of range", f"Give one between {SMALLEST:g} and {LARGEST:g}")
            return Decimal(1)
        return Decimal(value) if isinstance(value, int | Decimal) else Decimal(1)

    def converted(self, key: str, convert: Callable[[Any], T], wanted: str) -> T | None:
        """What `convert` makes of the value; None, with a fault, where it raises an error."""
        value = self._value(key, lambda v: v is not None, wanted, _MISSING)
        try:
            return None if value is None else convert(value)
        except (ValueError, TypeError, ArithmeticError):
            self.fault(key, f"{_shown(value)} does not fit", f"Give {wanted}")
            return None

    def names(self, key: str, default: Any = _MISSING) -> tuple[str, ...]:
        """A list of different, non-empty names."""
        value = self._value(key, _is_names, 'a list of different names, like ["state", "cnty"]', default)
        return tuple(value) if isinstance(value, list | tuple) else ()

    def has_at_most_one(self, key: str) -> bool:
        """Whether there is a list under `key`, and fewer than two are in it."""
        value = self.content.get(key)
        return isinstance(value, list | tuple) and len(value) < 2

    def table(self, key: str, *, required: bool = True) -> "Section":
        """The table under `key`; empty where it is absent or no table."""
        value = self._value(key, lambda v: isinstance(v, dict), "a table", _MISSING if required else {})
        present = key in self.content and isinstance(value, dict)
        return Section(self.faults, (*self.path, key), value if present else {}, absent=not present)

    def tables(self, key: str) -> list["Section"]:
        """Every table of the array under `key`."""
        value = self._value(key, _is_tables, f"a list of tables, each under [[{key}]]", _MISSING)
        items = value if isinstance(value, list) else []
        return [Section(self.faults, (*self.path, key, i), item) for i, item in enumerate(items)]

    def finish(self) -> None:
        """Reports every key that nobody asked for."""
        for key in self.content:
            if key not in self.known:
                self.fault(key, "this key is not known", did_you_mean(key, self.known))
                if meant := nearest(key, [known for known in self.known if known not in self.content]):
                    self.faults.by_path.pop((*self.path, meant), None)  # misspelt, so not missing

    def _value(self, key: str, fits: Callable[[Any], bool], wanted: str, default: Any) -> Any:
        self.known.append(key)
        if key not in self.content:
            if default is _MISSING:
                self.fault(key, "this key is missing", f"Give {wanted}")
                return None
            return default
        value = self.content[key]
        if not fits(value):
            self.fault(key, f"{_shown(value)} does not fit", f"Give {wanted}")
            return None
        return value


def nearest(word: str, known: InOrder) -> str | None:
    """The known word that a misspelt one is nearest to, whatever its case; None where it is near to none."""
    by_folded = {name.casefold(): name for name in known}
    return next((by_folded[close] for close in get_close_matches(word.casefold(), by_folded, n=1)), None)


def did_you_mean(word: str, known: InOrder) -> str:
    """A suggestion for a misspelt word: the nearest known one, or all of them in their order."""
    known = list(dict.fromkeys(known))
    if meant := nearest(word, known):
        return f"Did you mean {meant!r}?"
    return f"Use one of: {', '.join(map(repr, known))}" if known else "Remove it"


def check_file_names(section: Section, names: Iterable[str]) -> None:
    """Keys that are the names of files: every system must be able to hold these, beside each other."""
    first: dict[str, str] = {}
    for name in names:
        if not is_file_name(name):
            section.fault(name, f"{name!r} cannot be a file name", FILE_NAME_HINT)
        elif (other := first.setdefault(folded(name), name)) != name:
            section.fault(name, f"{other!r} is almost this name", "Choose names that two files can have")


def _is_number(value: Any, zero: bool, below: int | None) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or not Decimal(value).is_finite():
        return False
    return (value >= 0 if zero else value > 0) and (below is None or value < below)


def _is_names(value: Any) -> bool:
    return (
        isinstance(value, list)
        and all(isinstance(item, str) and item for item in value)
        and len(set(value)) == len(value)
    )


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value) if isinstance(value, int | Decimal) else repr(value)
    return text if isinstance(value, int | Decimal | str) and len(text) <= 40 else "this value"
