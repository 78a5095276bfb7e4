"""Estimates as people read them: no more digits than their errors allow."""

import math
from decimal import Decimal

from gedp.numbers import with_minus

EXACT_DIGITS = 15  # that any number keeps as a float
DIGITS = 3  # of a figure whose error is unknown


def with_margin(estimate: float, margin: float | None) -> tuple[str, str]:
    """An estimate and its margin of error: the margin to two digits, the estimate to the same place.

    >>> with_margin(272_698.6, 1687.3)
    ('272,700', '1,700')
    >>> with_margin(54_385_728_187.0, 0.0)
    ('54,385,728,187', '0')
    """
    if margin is None or not math.isfinite(margin):
        return with_minus(significant(estimate)), "unknown"
    if margin <= 0:
        return with_minus(f"{Decimal(f'{estimate:.{EXACT_DIGITS}g}'):,f}"), "0"
    places = 1 - math.floor(math.log10(margin))
    places = 1 - math.floor(math.log10(round(margin, places)))  # 0.0996 becomes 0.10
    return with_minus(_at(estimate, places)), _at(margin, places)


def significant(number: float, digits: int = DIGITS) -> str:
    """A number to so many digits, written out with separators."""
    if not number or not math.isfinite(number):
        return f"{number:g}"
    return _at(number, digits - 1 - math.floor(math.log10(abs(number))))


def relative(share: float | None) -> str:
    """A relative error in percent, to two digits."""
    if share is None or not math.isfinite(share):
        return "unknown"
    return f"{significant(100 * share, 2)}%"


def _at(number: float, places: int) -> str:
    return f"{round(number, places) + 0.0:,.{max(places, 0)}f}"
