"""Prices and budgets as a spec states them: μ, ρ of zCDP, or (ε, δ).

Whatever is written, μ is what is drawn, charged and published. A price that is not a decimal in μ is rounded down, so
that no answer costs more than was said, and written back, into the manifest for instance, as that μ: nobody who reads
it has to compute it again to the last digit. A budget in ρ stays exact, so that queries whose ρ add up to it fit.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal

from gedp.accounting.translations import mu_of_epsilon_delta, mu_of_rho
from gedp.policy.model import Attribute, Policy
from gedp.policy.section import Section, did_you_mean

MOST_DELTA = Decimal("0.5")
_WAYS = ("mu", "rho", "epsilon")


def read_policy(section: Section, attributes: Mapping[str, Attribute]) -> Policy:
    """The policy with the budget of this section."""
    if section.absent:
        return Policy(attributes, Decimal(1))
    way, to_mu = _way(section)
    stated = section.number(way)
    return Policy(attributes, to_mu(stated), rho=stated if way == "rho" else None)


def read_prices(section: Section, attributes: Mapping[str, Attribute], names: set[str] | None) -> dict[str, Decimal]:
    """The μ of every attribute that a query asks for."""
    way, to_mu = _way(section)
    if not isinstance(section.content.get(way), dict):
        return dict.fromkeys(attributes, to_mu(section.number(way)))
    table = section.table(way)
    if not table.content:
        section.fault(way, "it names no attribute", "Give a number for each attribute the query asks for")
    for name in table.content:
        if names is not None and name not in names:
            table.fault(name, f"{name!r} is not a confidential attribute", did_you_mean(name, sorted(names)))
    return {name: to_mu(table.number(name)) for name in table.content}


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
