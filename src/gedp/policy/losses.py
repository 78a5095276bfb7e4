"""Prices and budgets as a spec states them: μ, ρ of zCDP, or (ε, δ).

Whatever is written, μ is what is drawn, charged and published. A price that is not a decimal in μ is rounded down, so
that no answer costs more than was said, and written back, into the manifest for instance, as that μ: nobody who reads
it has to compute it again to the last digit. A budget in ρ stays exact, so that queries whose ρ add up to it fit.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from gedp.accounting.translations import mu_of_epsilon_delta, mu_of_rho
from gedp.policy.classes import Classes
from gedp.policy.combinations import Combination
from gedp.policy.fields import Fields, given, read_fields
from gedp.policy.keys import BUDGET, SPENDING, WAYS
from gedp.policy.model import Attribute, Policy
from gedp.policy.section import Section, did_you_mean
from gedp.policy.values import MOST_DELTA


@dataclass(frozen=True)
class Askable:
    """What the rest of a spec says that its queries can ask for. What is unknown because of faults is None."""

    attributes: Mapping[str, Attribute]
    names: set[str] | None  # of the attributes
    groupings: set[str] | None  # public columns among them
    classes: Mapping[str, Classes]
    combinations: Mapping[str, Combination]
    individual: bool | None


def read_policy(section: Section, attributes: Mapping[str, Attribute], individual: bool | None) -> Policy:
    """The policy with the budget of this section; only where accounting is individual may it say what is spent."""
    if section.absent:
        return Policy(attributes, Decimal(1))
    values = read_priced(section, BUDGET, is_required=True)
    way, to_mu = _terms(section, values["delta"])
    stated, spend = values[way or "mu"], values["spend"]
    if spend is not None and individual is False:
        section.fault("spend", "every query has a price, so what is spent is their sum", "Remove it, or all the prices")
    elif spend is not None and spend > stated and ("budget", way or "mu") not in section.faults.by_path:
        section.fault("spend", f"{spend} is more than the budget of {stated}", "Give at most the budget")
    further = given(SPENDING, values)
    if way == "rho":
        return Policy(attributes, to_mu(stated), stated, **further)
    terms = {key: to_mu(number) for key, number in further.items()}
    return Policy(
        attributes, to_mu(stated), spend=terms.get("spend"), year=terms.get("year"), series=terms.get("series")
    )


def has_price(section: Section) -> bool:
    """Whether a query states a price, in whatever terms."""
    return any(way in section.content for way in WAYS)


def read_priced(section: Section, fields: Fields, *, is_required: bool = False) -> dict[str, Any]:
    """The keys of a section that states a price in one of several terms, or none where it is not required."""
    stated = [way for way in WAYS if way in section.content]
    required = {"mu": is_required and not stated, "delta": stated[:1] == ["epsilon"]}
    values = read_fields(section, fields, required)
    if "delta" in section.content and "epsilon" not in section.content:
        section.fault("delta", "delta goes with epsilon, which is missing", "Give both, or mu, or rho")
    for further in stated[1:]:
        section.fault(further, f"the price is already given by {stated[0]}", "Give mu, or rho, or epsilon and delta")
    return values


def read_asked(
    section: Section,
    known: Askable,
    delta: Decimal | None,
    *,
    further: Iterable[str] = (),
    of: Iterable[str] | None = None,
    zero: bool = False,
) -> dict[str, Any]:
    """What a query asks for, with prices, as `mu`, or else with an `importance`, which is 0 only where `zero` is set.

    It can ask for attributes and what is `further` known. A single number is for all attributes, or for all of `of`.
    """
    way, to_mu = _terms(section, delta)
    if isinstance(section.content.get(way or "importance"), dict):
        numbers = _numbers(section, way or "importance", known, further, zero and way is None)
    else:
        number = section.number(way or "importance", Decimal(1), zero=zero and way is None)
        numbers = dict.fromkeys(known.attributes if of is None else of, number)
    return {"mu" if way else "importance": {name: to_mu(number) for name, number in numbers.items()}}


def _numbers(section: Section, key: str, known: Askable, further: Iterable[str], zero: bool) -> dict[str, Decimal]:
    """The numbers in a table that names what the query asks for."""
    names = None if known.names is None else {*known.names, *further}
    table = section.table(key)
    if not table.content:
        section.fault(key, "it names no attribute", "Give a number for each attribute the query asks for")
    split_columns = Policy(known.attributes, Decimal(1)).split_columns
    found: dict[str, Decimal] = {}
    for name in table.content:
        if names is not None and name not in names:
            table.fault(name, f"{name!r} is not a confidential attribute", did_you_mean(name, sorted(names)))
        for each in split_columns.get(name, (name,)):
            if each in found:
                table.fault(name, f"{each} has a number already", "Give one for both parts, or one for each")
            found[each] = table.number(name, zero=zero)
    return found


def _terms(section: Section, delta: Decimal | None) -> tuple[str | None, Callable[[Decimal], Decimal]]:
    """Under which key the price is, None where there is none, and how to make μ of it."""
    way = next((way for way in WAYS if way in section.content), None)
    if way == "epsilon":
        return way, lambda stated: mu_of_epsilon_delta(stated, min(delta or MOST_DELTA, MOST_DELTA))
    return way, mu_of_rho if way == "rho" else Decimal
