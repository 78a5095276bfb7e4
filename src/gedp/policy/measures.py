"""Queries, and what each of them asks for: one noun for counts, sums and combinations, by public groups and classes."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm

from gedp.policy.classes import Classes
from gedp.policy.combinations import Combination
from gedp.policy.keys import MECHANISMS as SPEC_MECHANISMS
from gedp.policy.values import ESTABLISHMENT

#: What a table calls the number of establishments, in the place of an attribute.
COUNT = "establishments"
#: What a sum by public groups can be answered by; a spec may also leave the choice to "auto".
MECHANISMS = tuple(name for name in SPEC_MECHANISMS if name != "auto")
#: What a table calls the mechanism of counts.
COUNTED = "count"


@dataclass(frozen=True)
class Weights:
    """The weights of a measure in whole numbers: how many units of its own it has for every unit of each attribute."""

    unit: Fraction
    of: Mapping[str, int]

    @property
    def total(self) -> int:
        """Of their magnitudes."""
        return sum(map(abs, self.of.values()))


@dataclass(frozen=True)
class Measure:
    """One thing that a query asks for: what is added up, and by what.

    A sum of an attribute has the weight 1 for it, a combination has its coefficients, and a count has no weights.
    """

    name: str
    weights: Mapping[str, Fraction]
    by: tuple[str, ...]  # public keys
    classes: Mapping[str, Classes] = field(default_factory=dict)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that its answers depend on: those added up, and those that decide about classes."""
        return tuple(dict.fromkeys((*self.weights, *_classed(self.classes))))

    @property
    def payers(self) -> tuple[str, ...]:
        """The attributes that pay for it, in equal parts: those added up, or for a count that of the first classes."""
        return tuple(self.weights) or _classed(self.classes)[:1]

    @property
    def is_by_record(self) -> bool:
        """Whether every establishment is a group of its own."""
        return self.by == (ESTABLISHMENT,)

    @property
    def is_plain(self) -> bool:
        """Whether it is one attribute by public groups or by record: what microdata are fitted to."""
        return list(self.weights.values()) == [1] and not self.classes

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The mechanisms between which its groups can be divided; none where it is by record, always with ψ."""
        if self.is_plain:
            return () if self.is_by_record else MECHANISMS
        return ("pnc",) if self.weights else (COUNTED,)

    def whole_weights(self, units: Mapping[str, Fraction]) -> Weights:
        """In the largest unit of which a unit of every attribute is a whole multiple, so that no sum is rounded."""
        parts = {name: weight * units[name] for name, weight in self.weights.items()}
        denominator = lcm(*(part.denominator for part in parts.values()))
        whole = {name: int(part * denominator) for name, part in parts.items()}
        shared = gcd(*whole.values())
        return Weights(Fraction(shared, denominator), {name: number // shared for name, number in whole.items()})


@dataclass(frozen=True)
class Query:
    """What is asked together: measures by the same public groups and classes, with one table of answers.

    A query has either a price for everything that it asks for, `mu`, or, under individual accounting, an `importance`:
    how much its errors count. What it asks for goes by the name of an attribute, by the name of one of its
    `combinations`, or by `COUNT`. Only the identity query has importances of 0. Tables are made with its answers, so it
    answers every attribute that some query asks for, whether or not its own errors count.
    """

    name: str
    by: tuple[str, ...]
    mu: Mapping[str, Decimal] = field(default_factory=dict)
    mechanism: str = "auto"
    importance: Mapping[str, Decimal] = field(default_factory=dict)
    title: str | None = None  # what people call its table
    classes: Mapping[str, Classes] = field(default_factory=dict)  # those of its keys that are classes
    combinations: Mapping[str, Combination] = field(default_factory=dict)  # those that it asks for

    @property
    def public(self) -> tuple[str, ...]:
        """The keys that anybody may know."""
        return tuple(key for key in self.by if key not in self.classes)

    @property
    def numbers(self) -> Mapping[str, Decimal]:
        """The price or the importance of everything that it asks for."""
        return self.mu or self.importance

    @property
    def asked(self) -> tuple[str, ...]:
        """The names of what it asks for."""
        return tuple(self.numbers)

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """What it asks for, by name."""
        return {name: Measure(name, self._weights(name), self.public, self.classes) for name in self.asked}

    @property
    def summed(self) -> tuple[str, ...]:
        """The attributes whose values are added up."""
        return tuple(dict.fromkeys(name for measure in self.measures.values() for name in measure.weights))

    @property
    def classed(self) -> tuple[str, ...]:
        """The attributes that decide about classes."""
        return _classed(self.classes)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that its answers depend on."""
        return tuple(dict.fromkeys((*self.summed, *self.classed)))

    @property
    def is_plain(self) -> bool:
        """Whether it asks for sums of single attributes by public groups or by record: what microdata are fitted to."""
        return not (self.classes or self.combinations)

    @property
    def is_identity(self) -> bool:
        """Whether every establishment is a group of its own."""
        return self.by == (ESTABLISHMENT,)

    def asking_only(self, names: Container[str]) -> "Query":
        """The same query for some of what it asks for."""
        mu, importance = ({a: n for a, n in numbers.items() if a in names} for numbers in (self.mu, self.importance))
        return replace(self, mu=mu, importance=importance)

    def _weights(self, name: str) -> Mapping[str, Fraction]:
        if name in self.combinations:
            return self.combinations[name].coefficients
        return {} if self.classes and name == COUNT else {name: Fraction(1)}


def _classed(classes: Mapping[str, Classes]) -> tuple[str, ...]:
    return tuple(each.attribute for each in classes.values())
