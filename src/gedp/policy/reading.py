"""How the source of a table is read, where its name does not say it all: keys of `[data]`, and back."""

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from gedp.errors import FaultsError
from gedp.policy.section import Faults, Section

DECIMAL_SIGNS = (".", ",")
THOUSANDS = (".", ",", "'", " ", "_", "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}", "’")
REFUSE = "refuse"
#: How the source of a table in a database begins: `adbc:postgresql`.
DATABASE = "adbc:"
#: Encodings of names and of source code, which Python calls encodings of texts too.
_NOT_OF_TABLES = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}
_ADDRESS = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_PASSWORD = re.compile(r"://[^/@\s]*:(?!\d+/)[^@\s]*@|(password|\bpwd)\s*=", re.IGNORECASE)


@dataclass(frozen=True)
class Reading:
    """Which table of a source is meant, and how its texts, numbers and nulls are to be understood."""

    table: str | None = None  # of a database
    query: str | None = None  # to a database, in the place of a table
    sheet: str | None = None  # of a workbook
    encoding: str | None = None  # of a text; UTF-8 where it is not given
    delimiter: str | None = None  # of a text
    decimal: str = "."
    thousands: str | None = None
    missing: Mapping[str, Decimal] = field(default_factory=dict)  # what a null of an attribute counts as
    joined: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # groupings of several public columns
    parts: Mapping[str, tuple[str, int]] = field(default_factory=dict)  # of split columns: the column, and 1 or -1

    def given(self) -> dict[str, Any]:
        """The keys of `[data]` that say something, as a spec has them."""
        keys = {name: getattr(self, name) for name in ("table", "query", "sheet", "encoding", "delimiter", "thousands")}
        decimal = None if self.decimal == "." else self.decimal
        keys |= {"decimal": decimal, "missing": dict(self.missing) or None}
        return {key: value for key, value in keys.items() if value is not None}


AS_WRITTEN = Reading()


def read_reading(section: Section) -> Reading:
    """The keys of `[data]` that say how its source is read."""
    table, query, sheet = (
        _without_password(section, key) if section.has(key) else None for key in ("table", "query", "sheet")
    )
    if table and query:
        section.fault("query", "there is a table as well", "Give one of the two")
    encoding = section.text("encoding") if section.has("encoding") else None
    if encoding and not _is_encoding(encoding):
        section.fault("encoding", f"{encoding!r} is not known", 'Give one like "utf-8", "latin-1", "cp1252", "utf-16"')
    delimiter = section.text("delimiter") if section.has("delimiter") else None
    if delimiter and (len(delimiter) > 1 or delimiter in '"\r\n' or not delimiter.isascii() or delimiter.isalnum()):
        section.fault("delimiter", "it cannot stand between columns", 'Give one character, like ";", "," or "\\t"')
    decimal = section.text("decimal", ".", DECIMAL_SIGNS)
    thousands = section.text("thousands", choices=THOUSANDS) if section.has("thousands") else None
    if thousands == decimal:
        section.fault("thousands", "it is the decimal sign as well", 'Give another, or set decimal = ","')
    return Reading(table, query, sheet, encoding, delimiter, decimal, thousands, _missing(section))


def make_reading(keys: Mapping[str, Any]) -> Reading:
    """The same from keys that were given outside of a spec; those without a value are left out."""
    faults = Faults({})
    section = Section(faults, (), {key: value for key, value in keys.items() if value is not None})
    reading = read_reading(section)
    section.finish()
    if faults.found:
        raise FaultsError("the table", faults.found)
    return reading


def read_source(section: Section, in_memory: bool) -> str | None:
    """Where the table is."""
    if in_memory and not section.has("source"):
        return None
    source = _without_password(section, "source")
    if source.startswith(DATABASE) and not source.removeprefix(DATABASE).replace("_", "").isalnum():
        hint = f'Give the name of a driver, like "{DATABASE}postgresql"; how to connect is up to the environment'
        section.fault("source", "it is more than the name of a driver", hint)
    return source


def _without_password(section: Section, key: str) -> str:
    """A text that is published with every release, so it must not say how to get in."""
    text = section.text(key)
    if _PASSWORD.search(text):
        hint = "Remove it, and change it. Credentials come from the environment or the files of the database's client"
        section.fault(key, "there is a password in it, and a spec is published", hint)
        return ""
    return text


def is_address(source: str) -> bool:
    """Whether a source is an address such as s3://…, which is not a file here."""
    return bool(_ADDRESS.match(source))


def _missing(section: Section) -> dict[str, Decimal]:
    """What a null counts as, by attribute; nothing where nulls are refused."""
    if not section.has("missing") or section.content["missing"] == REFUSE:
        return {}
    if not isinstance(section.content["missing"], dict):
        hint = f'Give "{REFUSE}", or for each attribute the number that a null counts as, like {{ wage = 0 }}'
        section.fault("missing", "it says nothing about nulls that is known", hint)
        return {}
    entry = section.table("missing")
    return {name: entry.number(name, zero=True) for name in entry.content}


def _is_encoding(name: str) -> bool:
    try:
        known = codecs.lookup(name)
        return known._is_text_encoding and known.name not in _NOT_OF_TABLES
    except (LookupError, ValueError):
        return False
