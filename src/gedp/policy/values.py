"""What values of a spec can be. A `Shape` reads a value of one key, writes it again, and names it in the reference."""

import codecs
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

from gedp.errors import DomainError
from gedp.periods import Period, meant
from gedp.policy.names import FILE_NAME_HINT, is_file_name
from gedp.policy.nouns import BAR, Noun
from gedp.policy.section import Section

#: How the source of a table in a database begins: `adbc:postgresql`.
DATABASE = "adbc:"
REFUSE = "refuse"
ESTABLISHMENT = "establishment"
#: What figures can be shown in, besides single units, and its name.
SCALES = {1: "", 1_000: "thousand", 1_000_000: "million", 1_000_000_000: "billion"}
MOST_CHARACTERS = 200  # of a title
#: Of an interval; beyond it they soon have no ends.
MOST_CONFIDENCE = 0.999999999
MOST_DELTA = Decimal("0.5")
#: A unit, gamma or shift with more digits would not be the number that is computed with.
MOST_DIGITS = 15
PERIODS_HINT = 'Give -1 for the period before that of the table, a list like [0, -1], or a name like "2016Q1"'
#: Encodings of names and of source code, which Python calls encodings of texts too.
_NOT_OF_TABLES = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}
_PASSWORD = re.compile(r"://[^/@\s]*:(?!\d+/)[^@\s]*@|(password|\bpwd)\s*=", re.IGNORECASE)

#: The problem with a value, and a suggestion.
Wrong = tuple[str, str]


@dataclass(frozen=True)
class Shape:
    """What can be written under a key: in words, how a section is asked for it, and what is written for a value."""

    words: str
    read: Callable[[Section, str], Any]
    write: Callable[[Any], Any] = lambda value: value


def checked(words: str, shape: Shape, wrong_with: Callable[[Any], Wrong | None]) -> Shape:
    """A shape with one requirement more."""

    def read(section: Section, key: str) -> Any:
        value = shape.read(section, key)
        if value and (wrong := wrong_with(value)):
            section.fault(key, *wrong)
        return value

    return Shape(words, read, shape.write)


def plain_number(value: Decimal) -> int | Decimal:
    """A number as a spec has it: without a point where it is whole."""
    return int(value) if value == value.to_integral_value() else value


def number(*, zero: bool = False, below: int | None = None) -> Shape:
    """A number above 0, or from 0 on."""
    words = f"number {'of 0 or more' if zero else 'above 0'}{f' and below {below}' if below else ''}"
    return Shape(words, lambda section, key: section.number(key, zero=zero, below=below), plain_number)


def choice(choices: Iterable[str]) -> Shape:
    """One of a few texts."""
    known = tuple(choices)
    listed = ", ".join(f'`"{each}"`' for each in known if each.isprintable())
    return Shape(f"one of {listed}", lambda section, key: section.text(key, choices=known))


def _few_digits(value: Decimal) -> Wrong | None:
    if len(value.normalize().as_tuple().digits) <= MOST_DIGITS:
        return None
    return f"it has more than {MOST_DIGITS} digits", "Give a number like 0.01"


def _at_most(most: Decimal | float, problem: str, like: str = "") -> Callable[[Decimal], Wrong | None]:
    return lambda value: (problem, f"Give at most {most}{like}") if most < value < 1 else None


def _file_name(name: str) -> Wrong | None:
    return None if is_file_name(name) else (f"{name!r} cannot be a file name", FILE_NAME_HINT)


def _title(text: str) -> Wrong | None:
    if text.isprintable() and len(text) <= MOST_CHARACTERS and text == text.strip():
        return None
    problem = f"it is not one line of at most {MOST_CHARACTERS} characters without spaces around it"
    return problem, "Shorten it, or write it on one line"


def _encoding(name: str) -> Wrong | None:
    try:
        known = codecs.lookup(name)
        if known._is_text_encoding and known.name not in _NOT_OF_TABLES:
            return None
    except (LookupError, ValueError):
        pass
    return f"{name!r} is not known", 'Give one like "utf-8", "latin-1", "cp1252", "utf-16"'


def _delimiter(text: str) -> Wrong | None:
    if len(text) > 1 or text in '"\r\n' or not text.isascii() or text.isalnum():
        return "it cannot stand between columns", 'Give one character, like ";", "," or "\\t"'
    return None


def _driver(source: str) -> Wrong | None:
    if not source.startswith(DATABASE) or source.removeprefix(DATABASE).replace("_", "").isalnum():
        return None
    hint = f'Give the name of a driver, like "{DATABASE}postgresql"; how to connect is up to the environment'
    return "it is more than the name of a driver", hint


def _public_text(section: Section, key: str) -> str:
    """A text that is published with every release, so it must not say how to get in."""
    text = section.text(key)
    if _PASSWORD.search(text):
        hint = "Remove it, and change it. Credentials come from the environment or the files of the database's client"
        section.fault(key, "there is a password in it, and a spec is published", hint)
        return ""
    return text


def _missing(section: Section, key: str) -> dict[str, Decimal]:
    """What a null counts as, by attribute; nothing where nulls are rejected."""
    value = section.content[key]
    if isinstance(value, dict):
        entry = section.table(key)
        return {name: entry.number(name, zero=True) for name in entry.content}
    if value != REFUSE:
        hint = f'Give "{REFUSE}", or for each attribute the number that a null counts as, like {{ wage = 0 }}'
        section.fault(key, "it says nothing about nulls that is known", hint)
    return {}


def _period(section: Section, key: str) -> Period | None:
    try:
        return Period.of(section.content[key])
    except DomainError:
        section.fault(key, "it is not the name of a period", meant(section.content[key]))
        return None


def _periods(section: Section, key: str) -> tuple[int | Period, ...]:
    """By name, or as 0, -1, … from the period of the table."""
    given = section.content[key]
    found: list[int | Period] = []
    for each in given if isinstance(given, list) else [given]:
        try:
            found.append(each if type(each) is int else Period.of(each))
        except DomainError:
            hint = meant(each)
            hint = hint if hint.startswith("Did you mean") else PERIODS_HINT
            section.fault(key, "it is neither a period nor a number of periods", hint)
            return ()
    if not found or len(set(found)) < len(found):
        section.fault(key, "it names no period, or one twice", PERIODS_HINT)
    elif later := [each for each in found if isinstance(each, int) and each > 0]:
        hint = f"Give {-later[0]} for {later[0]} before it"
        section.fault(key, f"{later[0]} is after the period of the table", hint)
    return tuple(found)


def _written_periods(periods: tuple[int | Period, ...]) -> Any:
    given = [each if isinstance(each, int) else str(each) for each in periods]
    return given if len(given) > 1 else given[0]


def _edges(value: object) -> tuple[Decimal, ...]:
    if not isinstance(value, list) or not all(type(edge) in (int, Decimal) for edge in value):
        raise TypeError
    edges = tuple(map(Decimal, value))
    if len(edges) < 2 or not all(map(Decimal.is_finite, edges)) or any(low >= high for low, high in pairwise(edges)):
        raise ValueError
    return edges


def _scale(section: Section, key: str) -> int:
    scale = section.content[key]
    if type(scale) is int and scale in SCALES:
        return scale
    section.fault(key, "figures cannot be shown in it", f"Give one of: {', '.join(map(str, SCALES))}")
    return 1


def _noun(section: Section, key: str) -> Noun | None:
    text = TITLE.read(section, key)
    parts = [part.strip() for part in text.split(BAR)]
    if len(parts) == 2 and all(parts):
        return Noun(*parts)
    if not text:  # which is a fault already
        return None
    hint = 'Give singular and plural, like "local unit|local units"'
    section.fault(key, f"it is not two texts with one {BAR} between them", hint)
    return None


def _by(section: Section, key: str) -> tuple[str, ...]:
    by = section.content.get(key)
    if by == ESTABLISHMENT:
        return (ESTABLISHMENT,)
    if isinstance(by, str):
        section.fault(key, f"{by!r} is not a list", f'Write by = ["{by}"], or by = "{ESTABLISHMENT}" for all of them')
        return ()
    return section.names(key)


def sections(section: Section, key: str) -> list[Section]:
    """The section of each table, to be read by the fields of such a table."""
    return [section.table(key)] if isinstance(section.content[key], dict) else section.tables(key)


TEXT = Shape("text", Section.text)
TITLE = checked(f"text on one line, at most {MOST_CHARACTERS} characters", TEXT, _title)
NOUN = Shape("singular and plural, with a bar between them", _noun, str)
FILE_NAME = checked("text that can be a file name", TEXT, _file_name)
PUBLIC_TEXT = Shape("text", _public_text)
SOURCE = checked("path, glob, address, or `adbc:` and a driver", PUBLIC_TEXT, _driver)
ENCODING = checked("name of an encoding", TEXT, _encoding)
DELIMITER = checked("one character", TEXT, _delimiter)
FLAG = Shape("true or false", lambda section, key: section.flag(key, default=False))
NAMES = Shape("list of names", Section.names, list)
PREFIX = Shape("whole number of at least 1", lambda section, key: section.whole(key, low=1))
NUMBER = number()
EXACT = checked(f"{NUMBER.words}, of at most {MOST_DIGITS} digits", NUMBER, _few_digits)
EXACT_OR_0 = checked(f"number of 0 or more, of at most {MOST_DIGITS} digits", number(zero=True), _few_digits)
FRACTION = number(below=1)
TOO_MUCH, TOO_SURE = "with such a delta nothing is promised", "the confidence level is too close to 1"
DELTA = checked(f"number above 0 and at most {MOST_DELTA}", FRACTION, _at_most(MOST_DELTA, TOO_MUCH, ", like 1e-6"))
CONFIDENCE = checked(FRACTION.words, FRACTION, _at_most(MOST_CONFIDENCE, TOO_SURE))
MISSING = Shape(
    f'`"{REFUSE}"`, or a number per attribute',
    _missing,
    lambda numbers: {name: plain_number(value) for name, value in numbers.items()},
)
PERIOD = Shape("year, quarter or month", _period, str)
PERIODS = Shape("a period, a number of periods up to 0, or a list of these", _periods, _written_periods)
EDGES = Shape(
    "list of rising numbers from 0 on",
    lambda section, key: section.converted(key, _edges, "numbers in rising order, like [0, 1, 5, 10, 50]"),
    lambda edges: list(map(plain_number, edges)),
)
SCALE = Shape(f"one of {', '.join(f'`{scale}`' for scale in SCALES)}", _scale)
BY = Shape(f'list of names, or `"{ESTABLISHMENT}"`', _by, lambda by: by[0] if by == (ESTABLISHMENT,) else list(by))
#: What a query asks for, by attribute. Its attributes are known later than its keys, so it is read by `losses`.
AMOUNTS = Shape("number above 0, or a number per attribute", lambda section, key: section.content[key])
