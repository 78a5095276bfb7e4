"""Exact numbers as text and back, and μ rounded to the safe side for display."""

import re
from decimal import Decimal
from fractions import Fraction
from math import isqrt

from gedp.accounting.composition import PrivacyLoss

_DECIMAL = re.compile(r"[0-9]{1,400}(\.[0-9]{1,400})?", re.ASCII)
_FRACTION = re.compile(r"[0-9]{1,4000}/[0-9]{1,4000}", re.ASCII)


def decimal_text(number: Decimal) -> str:
    """A decimal without exponent: '0.7', never '7E-1'."""
    return format(number, "f")


def decimal_of(text: object) -> Decimal:
    """The decimal of 0 or more that `decimal_text` wrote; ValueError for anything else."""
    if not (isinstance(text, str) and _DECIMAL.fullmatch(text)):
        raise ValueError("not a decimal")
    return Decimal(text)


def loss_text(loss: PrivacyLoss) -> str:
    """μ² as `numerator/denominator`, in lowest terms."""
    return f"{loss.mu_squared.numerator}/{loss.mu_squared.denominator}"


def loss_of(text: object) -> PrivacyLoss:
    """The loss that `loss_text` wrote; ValueError for anything else."""
    if not (isinstance(text, str) and _FRACTION.fullmatch(text)):
        raise ValueError("not a fraction")
    numerator, denominator = map(int, text.split("/"))
    if not denominator:
        raise ValueError("not a fraction")
    return PrivacyLoss(Fraction(numerator, denominator))


def mu_up(loss: PrivacyLoss, places: int = 6) -> str:
    """μ rounded up: for what is spent or asked."""
    scaled = loss.mu_squared * 10 ** (2 * places)
    root = _root(scaled)
    return _shown(root if root * root == scaled else root + 1, places)


def mu_down(loss: PrivacyLoss, places: int = 6) -> str:
    """μ rounded down: for what remains, so that asking for what is shown is never rejected."""
    return _shown(_root(loss.mu_squared * 10 ** (2 * places)), places)


def left_of(budget: PrivacyLoss, spent: PrivacyLoss) -> PrivacyLoss:
    """What remains of a budget; 0 where more than the budget is spent."""
    return PrivacyLoss(max(budget.mu_squared - spent.mu_squared, Fraction(0)))


def factor_within(left: PrivacyLoss, asked: PrivacyLoss) -> str:
    """The factor, rounded down, by which every μ of a request must be multiplied to cost at most `left`."""
    return mu_down(PrivacyLoss(left.mu_squared / asked.mu_squared), 4)


def _root(square: Fraction) -> int:
    """⌊√square⌋, without rounding errors."""
    return isqrt(square.numerator // square.denominator)


def _shown(scaled: int, places: int) -> str:
    text = decimal_text(Decimal(scaled).scaleb(-places))
    return text.rstrip("0").rstrip(".") if "." in text else text
