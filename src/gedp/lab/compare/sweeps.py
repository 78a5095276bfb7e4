"""Other ways to divide a budget: the same questions at another total, or one of them at another share of the total.

A share is of μ², which is what adds up. The rest is scaled to keep the total as it was.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation

from gedp.errors import DomainError
from gedp.policy import Spec, price
from gedp.policy.section import LARGEST

TOTAL, AS_IS = "mu", "as in the spec"
_DIGITS = Decimal("1e-9")


@dataclass(frozen=True)
class Setting:
    """A spec with its name in the results."""

    name: str
    spec: Spec


def settings_of(spec: Spec, sweep: str | None) -> list[Setting]:
    """The spec itself, or one for every value of a sweep: `mu=1,2`, `query:county=0.1,0.3` or `attribute:wage=0.2`."""
    if sweep is None:
        return [Setting(AS_IS, spec)]
    what, separator, texts = sweep.rpartition("=")
    kind, _, name = what.partition(":")
    try:
        values = [Decimal(text.strip()) for text in texts.split(",")]
    except InvalidOperation:
        values = []
    if not separator or not values or not all(value.is_finite() for value in values):
        raise DomainError(f"{sweep!r} is not a sweep. Write mu=0.5,1,2 or query:NAME=0.1,0.3 or attribute:NAME=0.1,0.3")
    if what == TOTAL:
        return [Setting(f"{TOTAL}={value}", _at_total(spec, value)) for value in dict.fromkeys(values)]
    known = {"query": [query.name for query in spec.queries], "attribute": list(spec.policy.attributes)}
    if name not in known.get(kind, ()):
        there = ", ".join(f"{kind}:{name}" for kind, names in known.items() for name in names)
        raise DomainError(f"cannot sweep {what!r}. There are: mu, {there}")
    return [Setting(f"{what}={value}", _at_share(spec, kind, name, value)) for value in dict.fromkeys(values)]


def _at_total(spec: Spec, mu: Decimal) -> Spec:
    if not 0 < mu <= LARGEST:
        raise DomainError(f"a total mu is above 0 and at most {LARGEST:g}, as in a spec")
    policy = replace(spec.policy, mu=mu, rho=None, spend=None)
    if spec.is_individual:
        return replace(spec, policy=policy)
    factor = mu / _total(spec)
    return _scaled(replace(spec, policy=policy), lambda _query, _attribute: factor)


def _at_share(spec: Spec, kind: str, name: str, share: Decimal) -> Spec:
    if not 0 < share < 1:
        raise DomainError("a share is between 0 and 1")
    if spec.is_individual and kind == "query":
        raise DomainError("queries without a mu have no shares. Sweep mu or attributes")
    total = _total(spec) ** 2
    prices = price(spec)
    loss = prices.of_query(name) if kind == "query" else prices.of_attribute(name)
    part = Decimal(loss.mu_squared.numerator) / Decimal(loss.mu_squared.denominator)
    if not 0 < part < total:
        raise DomainError(f"{kind} {name!r} has nothing or everything of the budget, so its share cannot be changed")
    if spec.is_individual:
        return _with_share(spec, name, share)
    inside, outside = (share * total / part).sqrt(), ((1 - share) * total / (total - part)).sqrt()  # μ, not μ²

    def factor(query: str, attribute: str) -> Decimal:
        return inside if name == (query if kind == "query" else attribute) else outside

    return _scaled(spec, factor)


def _with_share(spec: Spec, name: str, share: Decimal) -> Spec:
    """The spec in which one attribute has this share of what is spent."""
    attributes = dict(spec.policy.attributes)
    others = sum((attributes[other].share for other in spec.asked if other != name), Decimal(0))
    attributes[name] = replace(attributes[name], share=others * share / (1 - share))
    return replace(spec, policy=replace(spec.policy, attributes=attributes))


def _scaled(spec: Spec, factor: Callable[[str, str], Decimal]) -> Spec:
    """Every price times its factor, rounded down so that the total is not exceeded."""
    queries = []
    for query in spec.queries:
        prices = {a: (mu * factor(query.name, a)).quantize(_DIGITS, "ROUND_DOWN") for a, mu in query.mu.items()}
        if not all(prices.values()):
            raise DomainError(f"nothing is left for query {query.name!r}: its mu would be below {_DIGITS}")
        queries.append(replace(query, mu=prices))
    return replace(spec, queries=tuple(queries))


def _total(spec: Spec) -> Decimal:
    squared = price(spec).total.mu_squared
    return (Decimal(squared.numerator) / Decimal(squared.denominator)).sqrt()
