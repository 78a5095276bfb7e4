"""What readers of manifests and answers check alike: numbers, texts, and what the spec says already."""

import math
from decimal import Decimal, InvalidOperation

from gedp.policy.section import Section

#: What to do about a manifest with faults.
FRESH = "Get a fresh copy of the release"


def finite(value: object) -> float:
    """A number as JSON has it; ValueError for anything else."""
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not math.isfinite(number):
        raise ValueError
    return number


def positive(value: object) -> float:
    """The same, above 0."""
    number = finite(value)
    if not number > 0:
        raise ValueError
    return number


def positive_decimal(value: object) -> Decimal:
    """An exact number above 0, which is written as a text; ValueError for anything else."""
    try:
        number = Decimal(value) if isinstance(value, str) else Decimal(0)
    except InvalidOperation:
        raise ValueError from None
    if not (number.is_finite() and number > 0):
        raise ValueError
    return number


def is_null(section: Section, key: str) -> bool:
    """Whether a key is there and says that there is nothing."""
    return section.has(key) and section.content[key] is None


def texts(section: Section) -> dict[str, str]:
    """A table of texts."""
    return {name: section.text(name) for name in section.content}


def require_stated(section: Section, key: str, expected: object) -> None:
    """Faults a key that says something else than the spec."""
    section.has(key)
    if section.content.get(key) != expected:
        section.fault(key, "it is not that of the spec", FRESH)
