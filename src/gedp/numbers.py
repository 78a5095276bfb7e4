"""Chances, intervals and sizes as people read them, rounded in one way everywhere.

`web/numbers.js` holds the same rules for pages that compute; a test in a browser compares the two.
"""

import math
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from numbers import Real
from typing import NamedTuple

MINUS = "\N{MINUS SIGN}"
DIGITS = 13  # beyond these, two right ways to compute a number may differ
LARGEST = 15  # decades; numbers with more digits before the point are written with an exponent
_LARGE = ((1e12, "tn"), (1e9, "bn"), (1e6, "M"), (1e3, "k"))
_LARGE_WORDS = ((1e12, " trillion"), (1e9, " billion"), (1e6, " million"))
_TAKEN = Context(prec=DIGITS, rounding=ROUND_HALF_UP)
_EXACT = Context(prec=400)


class IntervalTexts(NamedTuple):
    """The ends of an interval and its width, all to the same place."""

    low: str
    high: str
    width: str


def is_number(value: object) -> bool:
    """Whether something from Python is a number, and not the text of one."""
    return isinstance(value, Real)


def counted(number: int, noun: str) -> str:
    """So many things.

    >>> counted(1, "table"), counted(1200, "group")
    ('1 table', '1,200 groups')
    """
    return f"{number:,} {noun}" + ("s" if number != 1 else "")


def chance(probability: float) -> str:
    """The chance of an attack: rounded up to 0.1%, since it is a bound; none succeeds for certain.

    >>> chance(0.4921), chance(0.9991)
    ('49.3%', '> 99.9%')
    """
    thousandths = math.ceil(1000 * probability - 1e-9)  # Φ is not known any better
    return "> 99.9%" if thousandths > 999 else f"{Decimal(thousandths).scaleb(-1):.1f}%"


def bound(probability: float) -> str:
    """The same inside a sentence: "a chance of …"."""
    text = chance(probability)
    return f"more than {text.removeprefix('> ')}" if text.startswith(">") else f"at most {text}"


def interval(low: float, high: float) -> IntervalTexts:
    """An interval to one decimal, to none if it is 1,000 wide or more, to three digits of its width if below 1.

    >>> interval(30.25, 42.25)
    IntervalTexts(low='30.2', high='42.2', width='12.0')
    """
    width = high - low
    if 0 < width < 1:
        known = DIGITS - 1 - max(_decade(low), _decade(high))
        places = min(2 - _decade(width), max(known, 1))
    else:
        places = 0 if width >= 1000 else 1
    return IntervalTexts(fixed(low, places), fixed(high, places), fixed(width, places))


def strength(mu: float) -> str:
    """μ to four decimals, rounded up, since it is a bound too.

    >>> strength(2.30641), strength(0.7)
    ('2.3065', '0.7')
    """
    if not math.isfinite(mu) or _decade(mu) >= LARGEST:
        return fixed(mu, 1)
    rounded = _taken(mu).quantize(Decimal("0.0001"), ROUND_CEILING, _EXACT)
    return f"{rounded:,f}".rstrip("0").rstrip(".")


def size(number: float) -> str:
    """A given size, with all its digits.

    >>> size(36_000), size(0.25)
    ('36,000', '0.25')
    """
    if float(number).is_integer() and abs(number) < 10.0**LARGEST:
        return with_minus(f"{int(number):,}")
    exponent = _taken(number).normalize().as_tuple().exponent
    return fixed(number, max(0, -exponent) if isinstance(exponent, int) else 0)


def percent(share: float) -> str:
    """A share, to the nearest 0.1%; a chance, which is a bound, is rounded up instead."""
    return f"{fixed(100 * share, 1)}%"


def short(number: float, digits: int = 6) -> str:
    """A number where there is little room, such as at an axis, to so many digits.

    >>> short(300), short(10_000), short(-1_234_567, 2), short(3e9), short(math.inf)
    ('300', '10k', '−1.2M', '3bn', '∞')
    """
    if not math.isfinite(number):
        return fixed(number, 0)
    rounded = float(f"{number:.{digits}g}") + 0.0  # no minus before 0
    factor, letters = next((each for each in _LARGE if abs(rounded) >= each[0]), (1.0, ""))
    return with_minus(f"{rounded / factor:g}{letters}")


def in_words(number: float, digits: int = 6) -> str:
    """A number where people read it, such as at the axis of a page for a meeting, to so many digits.

    >>> in_words(100_000), in_words(-1_234_567, 2), in_words(3e9), in_words(0.05)
    ('100,000', '−1.2 million', '3 billion', '0.05')
    """
    rounded = float(f"{number:.{digits}g}") + 0.0  # no minus before 0
    factor, word = next((each for each in _LARGE_WORDS if abs(rounded) >= each[0]), (1.0, ""))
    return with_minus(f"{rounded / factor:,.{max(digits, 6)}g}{word}")


def short_share(share: float, digits: int = 2) -> str:
    """A share in percent, to so many digits of it; a dash where there is none.

    >>> short_share(0.000191), short_share(12.34), short_share(math.nan), short_share(math.inf)
    ('0.019%', '1,200%', '–', '∞')
    """
    if not math.isfinite(share):
        return "–" if math.isnan(share) else fixed(share, 0)
    return with_minus(f"{float(f'{100 * share:.{digits}g}'):,.10g}%")


def fixed(number: float, places: int) -> str:
    """A number to so many decimals, a half to the even digit."""
    if not math.isfinite(number):
        return with_minus(str(number).replace("inf", "∞"))
    taken = _taken(number)
    if _decade(number) >= LARGEST:
        return with_minus(f"{taken:.2e}".replace("e+", "e"))
    rounded = taken.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN, _EXACT)
    return with_minus(f"{rounded if rounded else abs(rounded):,f}")


def _taken(number: float) -> Decimal:
    return _TAKEN.create_decimal_from_float(number)


def _decade(number: float) -> int:
    """The place of the first digit: 0 for 7, 2 for 700."""
    return _taken(number).adjusted()


def with_minus(text: str) -> str:
    """The text of a number with the sign that people read."""
    return text.replace("-", MINUS)
