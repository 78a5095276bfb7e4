"""SQL that reads a column as whole multiples of a unit, exactly: what is rounded is not what the file holds.

Texts and decimals are taken apart digit by digit and never pass through floats. With d decimals of the unit, a value is
written as a whole number of 10^-d, which it must be, and that number must be a multiple of the unit's.
"""

import re
from fractions import Fraction

from gedp.errors import DomainError
from gedp.sql import quoted_text

INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}  # fit into 64 bits
FLOATS = {"FLOAT", "DOUBLE"}
OTHER_NUMBERS = {"UBIGINT", "HUGEINT", "UHUGEINT", "DECIMAL"}

MOST_DECIMALS = 18  # that a decimal of 38 digits has room for beside 18 before the point
_NUMBER = r"'\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*'"
_NOT_FINITE = r"'\s*[+-]?(?i:nan|inf|infinity)\s*'"
_WITH_COMMAS = r"'\s*[+-]?[0-9.]*,[0-9.,]*[0-9][0-9.,]*\s*'"
_PARTS = r"'([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?', ['sign', 'whole', 'part', 'exponent']"


def standard(name: str, decimal: str, thousands: str | None) -> str:
    """SQL for a text with a decimal point and no separators, if it was a number with other signs.

    Nothing else becomes a number: separators stand between groups of three digits, or nowhere.
    """
    sign, between = re.escape(decimal), re.escape(thousands or "")
    grouped = f"[0-9]{{1,3}}({between}[0-9]{{3}})+|" if thousands else ""
    number = rf"\s*[+-]?(({grouped}[0-9]+)({sign}[0-9]*)?|{sign}[0-9]+)([eE][+-]?[0-9]+)?\s*"
    plain = f"replace({name}, {quoted_text(thousands)}, '')" if thousands else name
    pointed = plain if decimal == "." else f"replace({plain}, {quoted_text(decimal)}, '.')"
    return (
        f"CASE WHEN regexp_full_match({name}, {quoted_text(number)}) THEN {pointed} "
        f"WHEN regexp_full_match({name}, {_NOT_FINITE}) THEN {name} WHEN {name} IS NOT NULL THEN 'not a number' END"
    )


def has_comma(name: str) -> str:
    """SQL for whether a text is a number but for its commas."""
    return f"regexp_full_match({name}, {_WITH_COMMAS})"


def is_number(name: str, kind: str) -> str:
    """SQL for whether a value that is not null is a finite number."""
    if kind in FLOATS:
        return f"isfinite({name})"
    return f"regexp_full_match({name}, {_NUMBER})" if kind == "VARCHAR" else "true"


def is_not_finite(name: str, kind: str) -> str:
    """SQL for whether a value is NaN or an infinity."""
    if kind in FLOATS:
        return f"NOT isfinite({name})"
    return f"regexp_full_match({name}, {_NOT_FINITE})" if kind == "VARCHAR" else "false"


def in_units(name: str, kind: str, unit: Fraction) -> str:
    """SQL for a column in units, NULL where a value is not a whole multiple of the unit.

    A float is one if it is the float nearest to one. Plain texts, as nearly all are, have a fast way.
    """
    if kind in INTEGERS and unit == 1:
        return f"{name}::BIGINT"
    if kind in INTEGERS:
        units = f"{name}::HUGEINT // {unit.numerator} * {unit.denominator}::HUGEINT"
        return f"CASE WHEN {name} % {unit.numerator} = 0 THEN TRY({units}) END"
    if kind in FLOATS:
        units = f"round({name}::DOUBLE * {unit.denominator} / {unit.numerator})"
        nearest = f"({units} * {unit.numerator} / {unit.denominator})::{kind}"
        # DuckDB may drop the condition by the smallest and largest value that a Parquet file states; NaN is neither.
        return f"CASE WHEN {nearest} = {name} AND abs({units}) < 1e28 THEN TRY_CAST({units} AS HUGEINT) END"
    decimals = _decimals(unit)
    return _text_in_units(name if kind == "VARCHAR" else f"{name}::VARCHAR", decimals, int(unit * 10**decimals))


def _decimals(unit: Fraction) -> int:
    """How many a unit has behind the point."""
    for decimals in range(64):
        if (unit * 10**decimals).denominator == 1:
            return decimals
    raise DomainError("a unit must be a decimal number of at most 63 decimals")


def _text_in_units(text: str, decimals: int, unit: int) -> str:
    """SQL for a text in units of `unit` times 10^-decimals."""
    ways = []
    if not decimals:
        ways.append(f"WHEN regexp_full_match({text}, '-?[0-9]{{1,18}}') THEN {_multiple(f'{text}::HUGEINT', unit)}")
    elif decimals <= MOST_DECIMALS:
        plain = rf"'-?[0-9]{{1,18}}(\.[0-9]{{1,{decimals}}})?'"
        digits = f"replace({text}::DECIMAL(38, {decimals})::VARCHAR, '.', '')::HUGEINT"
        ways.append(f"WHEN regexp_full_match({text}, {plain}) THEN {_multiple(digits, unit)}")
    shifted = f"TRY_CAST({_shifted(text, decimals)} AS HUGEINT)"
    ways.append(f"WHEN regexp_full_match({text}, {_NUMBER}) THEN {_multiple(shifted, unit)}")
    return f"CASE {' '.join(ways)} END"


def _shifted(text: str, decimals: int) -> str:
    """SQL for the digits of a number with its point moved to the right; NULL where it has digits behind it then."""
    parts = f"regexp_extract(trim({text}, E' \\t\\n\\f\\r'), {_PARTS})"
    digits = f"({parts}.whole || {parts}.part)"
    exponent = f"(CASE {parts}.exponent WHEN '' THEN 0 ELSE TRY_CAST({parts}.exponent AS BIGINT) END)"
    bounded = f"greatest(least({exponent}, 1000000), -1000000)"  # beyond 64 bits it is NULL, which `least` passes over
    shift = f"{bounded} + {decimals} - length({parts}.part)"
    kept = f"left({digits}, greatest(length({digits}) + {shift}, 0))"
    cut_off = f"right({digits}, -({shift}))"
    longer = f"{digits} || repeat('0', least({shift}, 99))"  # beyond 99 zeros it is 0 or far too large
    return (
        f"{parts}.sign || '0' || ltrim(CASE WHEN {shift} >= 0 THEN {longer} "
        f"WHEN regexp_full_match({cut_off}, '0*') THEN {kept} END, '0')"
    )


def _multiple(number: str, unit: int) -> str:
    """SQL for a whole number divided by a whole unit, NULL where that leaves a rest."""
    return number if unit == 1 else f"CASE WHEN {number} % {unit} = 0 THEN {number} // {unit} END"
