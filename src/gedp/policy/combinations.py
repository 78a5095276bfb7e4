"""Linear combinations of confidential attributes, such as profit = revenue - cost, and queries that ask for them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import gcd, lcm

from gedp.errors import DomainError
from gedp.policy.formulas import parse_exactly
from gedp.policy.names import folded
from gedp.policy.section import Section, did_you_mean

#: Of the attributes that one combination is made of.
MOST_PARTS = 100


@dataclass(frozen=True)
class Weights:
    """A combination in whole numbers: how many units of its own it has for every unit of each attribute."""

    unit: Fraction
    of: Mapping[str, int]

    @property
    def total(self) -> int:
        """Of their magnitudes."""
        return sum(map(abs, self.of.values()))


@dataclass(frozen=True)
class Combination:
    """A sum of attributes with exact coefficients, none of which is 0."""

    name: str
    formula: str  # as it was written
    coefficients: Mapping[str, Fraction]  # of gain and loss, where a column is split

    def weights(self, units: Mapping[str, Fraction]) -> Weights:
        """In the largest unit of which a unit of every attribute is a whole multiple, so that no sum is rounded."""
        parts = {name: coefficient * units[name] for name, coefficient in self.coefficients.items()}
        denominator = lcm(*(part.denominator for part in parts.values()))
        whole = {name: int(part * denominator) for name, part in parts.items()}
        shared = gcd(*whole.values())
        return Weights(Fraction(shared, denominator), {name: number // shared for name, number in whole.items()})


@dataclass(frozen=True)
class CombinationQuery:
    """Combinations of attributes by public groups, each measured as one number.

    It is no `Query`, so that whatever takes sums of attributes cannot meet one by accident. As a `Query`, it has a
    price or an importance for every combination that it asks for.
    """

    name: str
    by: tuple[str, ...]
    mu: Mapping[str, Decimal] = field(default_factory=dict)
    importance: Mapping[str, Decimal] = field(default_factory=dict)
    title: str | None = None  # what people call its table

    @property
    def asked(self) -> tuple[str, ...]:
        """The names of the combinations that it asks for."""
        return tuple(self.mu or self.importance)

    @property
    def is_individual(self) -> bool:
        """Whether it has no price of its own, but is paid for by individual accounting."""
        return not self.mu

    def parts(self, combinations: Mapping[str, Combination]) -> dict[str, list[str]]:
        """The attributes that its answers depend on, each with the combinations that it is a part of."""
        found: dict[str, list[str]] = {}
        for asked in (asked for asked in self.asked if asked in combinations):
            for name in combinations[asked].coefficients:
                found.setdefault(name, []).append(asked)
        return found


def read_combinations(
    section: Section, split_columns: Mapping[str, Mapping[str, int]], names: set[str] | None, taken: set[str]
) -> dict[str, Combination]:
    """The combinations of a spec. `names` are those of the attributes, None if unknown; `taken` cannot be theirs."""
    found, folded_taken = {}, set(map(folded, taken))
    for name in section.content:
        formula = section.text(name)
        if folded(name) in folded_taken:
            section.fault(name, "this name is taken", "Choose another name for the combination")
        elif not name.isprintable() or not name.strip():
            section.fault(name, "the name cannot be printed", "Choose another name for the combination")
        coefficients: dict[str, Fraction] = {}
        try:
            coefficients = _coefficients(formula, split_columns) if formula else {}
        except DomainError as error:
            section.fault(name, str(error), 'Write a sum of attributes, like "revenue - cost" or "(a + b + c) / 3"')
        for each in (each for each in coefficients if names is not None and each not in names):
            section.fault(name, f"{each!r} is not a confidential attribute", did_you_mean(each, sorted(names or ())))
        found[name] = Combination(name, formula, coefficients)
        folded_taken.add(folded(name))
    return found


def _coefficients(formula: str, split_columns: Mapping[str, Mapping[str, int]]) -> dict[str, Fraction]:
    """Of every attribute, with gain and loss in the place of a column that is split."""
    written, divisor = parse_exactly(formula)
    if divisor:
        raise DomainError("it divides by an attribute. Ratios are made of tables, by `gedp tabulate --ratio`")
    found: dict[str, Fraction] = {}
    for name, coefficient in written.items():
        for part, sign in split_columns.get(name, {name: 1}).items():
            found[part] = found.get(part, Fraction(0)) + sign * coefficient
    found = {name: coefficient for name, coefficient in found.items() if coefficient}
    if not 2 <= len(found) <= MOST_PARTS:
        raise DomainError(f"it must be of 2 to {MOST_PARTS} attributes, each with its own coefficient")
    return found
