"""Prices and budgets as a spec states them: μ, ρ of zCDP, or (ε, δ).

Whatever is written, μ is what is drawn, charged and published. A price that is not a decimal in μ is rounded down, so
that no answer costs more than was said, and written back, into the manifest for instance, as that μ: nobody who reads
it has to compute it again to the last digit. A budget in ρ stays exact, so that queries whose ρ add up to it fit.
"""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal

from gedp.accounting.translations import mu_of_epsilon_delta, mu_of_rho
from gedp.policy.model import Attribute, Policy
from gedp.policy.section import Section, did_you_mean
from gedp.policy.series import read_spans

MOST_DELTA = Decimal("0.5")
_WAYS = ("mu", "rho", "epsilon")


def read_policy(section: Section, attributes: Mapping[str, Attribute], individual: bool | None) -> Policy:
    """The policy with the budget of this section; only where accounting is individual may it say what is spent."""
    if section.absent:
        return Policy(attributes, Decimal(1))
    way, to_mu = _way(section)
    stated = section.number(way)
    spend = section.number("spend") if section.has("spend") else None
    if spend is not None and individual is False:
        section.fault("spend", "every query has a price, so what is spent is their sum", "Remove it, or all the prices")
    elif spend is not None and spend > stated and ("budget", way) not in section.faults.by_path:
        section.fault("spend", f"{spend} is more than the budget of {stated}", "Give at most the budget")
    spans = read_spans(section)
    section.finish()
    if way == "rho":
        return Policy(attributes, to_mu(stated), stated, spend, **spans)
    in_mu = {span: to_mu(number) for span, number in spans.items()}
    return Policy(attributes, to_mu(stated), spend=None if spend is None else to_mu(spend), **in_mu)


def has_price(section: Section) -> bool:
    """Whether a query states a price, in whatever terms."""
    return sum(section.has(way) for way in _WAYS) > 0  # asks for all of them, so that all are known


def read_prices(
    section: Section,
    attributes: Mapping[str, Attribute],
    names: set[str] | None,
    asked: Iterable[str] | None = None,
) -> dict[str, Decimal]:
    """The μ of every attribute that a query asks for."""
    way, to_mu = _way(section)
    return {name: to_mu(stated) for name, stated in read_numbers(section, way, attributes, names, asked=asked).items()}


def read_numbers(
    section: Section,
    key: str,
    attributes: Mapping[str, Attribute],
    names: set[str] | None,
    *,
    default: Decimal | None = None,
    zero: bool = False,
    asked: Iterable[str] | None = None,
) -> dict[str, Decimal]:
    """One number for every attribute, or for all that is `asked`; or a table that names what the query asks for."""
    if not isinstance(section.content.get(key), dict):
        given = section.number(key, zero=zero) if default is None else section.number(key, default, zero=zero)
        return dict.fromkeys(attributes if asked is None else asked, given)
    table = section.table(key)
    if not table.content:
        section.fault(key, "it names no attribute", "Give a number for each attribute the query asks for")
    wholes = Policy(attributes, Decimal(1)).wholes
    found: dict[str, Decimal] = {}
    for name in table.content:
        if names is not None and name not in names:
            table.fault(name, f"{name!r} is not a confidential attribute", did_you_mean(name, sorted(names)))
        for each in wholes.get(name, (name,)):
            if each in found:
                table.fault(name, f"{each} has a number already", "Give one for both parts, or one for each")
            found[each] = table.number(name, zero=zero)
    return found


def _way(section: Section) -> tuple[str, Callable[[Decimal], Decimal]]:
    """Under which key the price is, and how to make μ of it."""
    given = [way for way in _WAYS if section.has(way)]
    if section.has("delta") and "epsilon" not in given:
        section.fault("delta", "delta goes with epsilon, which is missing", "Give both, or mu, or rho")
    for further in given[1:]:
        section.fault(further, f"the price is already given by {given[0]}", "Give mu, or rho, or epsilon and delta")
    way = given[0] if given else "mu"
    if way == "epsilon":
        delta = section.number("delta", below=1)
        if MOST_DELTA < delta < 1:
            section.fault("delta", "with such a delta nothing is promised", f"Give at most {MOST_DELTA}, like 1e-6")
        return way, lambda stated: mu_of_epsilon_delta(stated, min(delta, MOST_DELTA))
    return way, mu_of_rho if way == "rho" else Decimal
