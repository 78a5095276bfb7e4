"""Formulas of attributes, read and never executed: sums of attributes with coefficients, divided by such a sum.

`wage / (13 * (m1emp + m2emp + m3emp) / 3)` becomes two mappings from attributes to coefficients. Arithmetic is exact,
so that a denominator that is 0 whatever the values is known to be 0.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from gedp.errors import DomainError

LONGEST, DEEPEST = 1_000, 20  # characters of a formula, and nested parentheses
LARGEST = Fraction(10**30)  # coefficient, so that products of a few stay numbers
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)|(?P<name>[^\W\d]\w*)|"(?P<quoted>[^"]+)"|(?P<sign>[-+*/()]))\s*"""
)
_ONE = ""  # stands for the number 1 among the attributes, none of which has an empty name

Linear = Mapping[str, Fraction]


@dataclass(frozen=True)
class Quotient:
    """One sum of numbers and attributes over another. Without coefficients, a sum is 0."""

    numerator: Linear
    denominator: Linear

    def __add__(self, other: "Quotient") -> "Quotient":
        left, right = _times(self.numerator, other.denominator), _times(other.numerator, self.denominator)
        return Quotient(_plus(left, right), _times(self.denominator, other.denominator))

    def __mul__(self, other: "Quotient") -> "Quotient":
        return Quotient(_times(self.numerator, other.numerator), _times(self.denominator, other.denominator))

    def __truediv__(self, other: "Quotient") -> "Quotient":
        if not other.numerator:
            raise DomainError("it divides by 0")
        return self * Quotient(other.denominator, other.numerator)


def parse_formula(text: str) -> tuple[dict[str, float], dict[str, float]]:
    """Coefficients of the attributes in the numerator and in the denominator; of the latter none for a plain sum."""
    sides = parse_exactly(text)
    sizes = [abs(coefficient) for side in sides for coefficient in side.values()]
    if max(sizes) > LARGEST:
        raise DomainError("a number is too large")
    if min(sizes) < 1 / LARGEST:
        raise DomainError("a number is too small to count")
    numerator, denominator = ({name: float(c) for name, c in side.items()} for side in sides)
    return numerator, denominator


def parse_exactly(text: str) -> tuple[Linear, Linear]:
    """The same as fractions."""
    if len(text) > LONGEST:
        raise DomainError(f"it is longer than {LONGEST:,} characters")
    quotient = _Reader(text).read()
    top, bottom = dict(quotient.numerator), dict(quotient.denominator)
    if set(bottom) == {_ONE}:
        divisor = bottom.pop(_ONE)
        top = {name: coefficient / divisor for name, coefficient in top.items()}
    if not set(top) - {_ONE}:
        raise DomainError("there is no attribute in its numerator")
    if _ONE in top or _ONE in bottom:
        raise DomainError("a number is added to attributes")
    return top, bottom


def _plus(left: Linear, right: Linear) -> Linear:
    total = {name: left.get(name, Fraction(0)) + right.get(name, Fraction(0)) for name in (*left, *right)}
    return {name: coefficient for name, coefficient in total.items() if coefficient}


def _times(left: Linear, right: Linear) -> Linear:
    if any(set(side) <= {_ONE} for side in (left, right)):
        number, other = (left, right) if set(left) <= {_ONE} else (right, left)
        factor = number.get(_ONE, Fraction(0))
        return {name: coefficient * factor for name, coefficient in other.items() if factor}
    raise DomainError("attributes are multiplied, or divided more than once")


class _Reader:
    """Recursive descent: sums of products of factors."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        self._depth = 0
        place = 0
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None or found.lastgroup is None:
                raise DomainError(f"it cannot be read from {text[place : place + 12]!r} onwards")
            self._tokens.append((found.lastgroup, found[found.lastgroup]))
            place = found.end()

    def read(self) -> Quotient:
        result = self._sum()
        if self._tokens:
            raise DomainError(f"it should end before {self._tokens[0][1]!r}")
        return result

    def _sum(self) -> Quotient:
        result = self._product()
        while sign := self._take("+-"):
            part = self._product()
            result = result + (part if sign == "+" else _number(-1) * part)
        return result

    def _product(self) -> Quotient:
        result = self._factor()
        while sign := self._take("*/"):
            factor = self._factor()
            result = result * factor if sign == "*" else result / factor
        return result

    def _factor(self) -> Quotient:
        if self._take("-"):
            return _number(-1) * self._atom()
        self._take("+")
        return self._atom()

    def _atom(self) -> Quotient:
        if self._take("("):
            self._depth += 1
            if self._depth > DEEPEST:
                raise DomainError(f"parentheses are nested more than {DEEPEST} deep")
            inside = self._sum()
            self._depth -= 1
            if not self._take(")"):
                raise DomainError("a parenthesis is not closed")
            return inside
        if not self._tokens or self._tokens[0][0] == "sign":
            raise DomainError("an attribute or a number is missing")
        kind, token = self._tokens.pop(0)
        return _number(Fraction(token)) if kind == "number" else Quotient({token: Fraction(1)}, {_ONE: Fraction(1)})

    def _take(self, signs: str) -> str:
        """The next token if it is one of these signs, else nothing."""
        if self._tokens and self._tokens[0][0] == "sign" and self._tokens[0][1] in signs:
            return self._tokens.pop(0)[1]
        return ""


def _number(value: Fraction | int) -> Quotient:
    return Quotient({_ONE: Fraction(value)} if value else {}, {_ONE: Fraction(1)})
