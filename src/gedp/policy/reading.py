"""How the source of a table is read, where its name does not say it all: keys of `[data]`, and back."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from gedp.errors import FaultsError
from gedp.policy.fields import given, part, read_fields
from gedp.policy.keys import READING
from gedp.policy.section import Faults, Section

_ADDRESS = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")


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
        """The keys of `[data]` that say something."""
        return given(READING, vars(self))


AS_WRITTEN = Reading()


def checked_reading(section: Section, values: Mapping[str, Any]) -> Reading:
    """How its source is read, by the keys of `[data]`."""
    reading = Reading(**part(READING, values))
    if reading.table and reading.query:
        section.fault("query", "table and query are both set", "Give one of the two")
    if reading.thousands == reading.decimal:
        section.fault("thousands", "it is the decimal sign as well", 'Give another, or set decimal = ","')
    return reading


def make_reading(keys: Mapping[str, Any]) -> Reading:
    """The same from keys that were given outside of a spec; those without a value are left out."""
    faults = Faults({})
    section = Section(faults, (), {key: value for key, value in keys.items() if value is not None})
    reading = checked_reading(section, read_fields(section, READING))
    if faults.found:
        raise FaultsError("the table", faults.found)
    return reading


def is_address(source: str) -> bool:
    """Whether a source is an address such as s3://…, which is not a file here."""
    return bool(_ADDRESS.match(source))
