"""Linear combinations of confidential attributes, such as profit = revenue - cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from gedp.errors import DomainError
from gedp.policy.formulas import parse_exactly
from gedp.policy.names import folded
from gedp.policy.section import Section, did_you_mean

#: Of the attributes that one combination is made of.
MOST_PARTS = 100


@dataclass(frozen=True)
class Combination:
    """A sum of attributes with exact coefficients, none of which is 0."""

    name: str
    formula: str  # as it was written
    coefficients: Mapping[str, Fraction]  # of gain and loss, where a column is split


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
