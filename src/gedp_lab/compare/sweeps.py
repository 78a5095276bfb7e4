"""Other ways to divide a budget: the same questions at another total, or a part of it at another share of the whole.

A share is of μ², which is what adds up: that of a query or an attribute in the total, or that of an attribute in one
query. The rest of that whole is scaled to keep it as it was.
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
    """The spec itself, or one for every value of a sweep.

    `mu=1,2` is the total; `query:county=0.1,0.3` and `attribute:wage=0.2` are shares of it; `within:county:wage=0.1` is
    the share of wages in the query `county`.
    """
    if sweep is None:
        return [Setting(AS_IS, spec)]
    what, separator, texts = sweep.rpartition("=")
    try:
        values = [Decimal(text.strip()) for text in texts.split(",")]
    except InvalidOperation:
        values = []
    if not separator or not values or not all(value.is_finite() for value in values):
        raise DomainError(
            f"{sweep!r} is not a sweep. Write mu=0.5,1,2 or query:NAME=0.1,0.3 or attribute:NAME=0.1,0.3 or "
            "within:QUERY:ATTRIBUTE=0.1,0.3"
        )
    if what == TOTAL:
        return [Setting(f"{TOTAL}={value}", _at_total(spec, value)) for value in dict.fromkeys(values)]
    parts = _parts(spec)
    if what not in parts:
        raise DomainError(f"cannot sweep {what!r}. There are: mu, {', '.join(parts)}")
    return [Setting(f"{what}={value}", _at_share(spec, what, parts[what], value)) for value in dict.fromkeys(values)]


Answer = tuple[str, str]  # a query and what it asks for


@dataclass(frozen=True)
class _Part:
    """Some answers, and the whole whose share they have."""

    inside: frozenset[Answer]
    whole: frozenset[Answer]


def _parts(spec: Spec) -> dict[str, _Part]:
    """Everything whose share can be swept, by its name."""
    if spec.is_individual:  # queries have no prices: only attributes have shares
        return {f"attribute:{name}": _Part(frozenset({("", name)}), frozenset()) for name in spec.asked}
    every = frozenset(_squares(spec))
    of_query = {name: frozenset(each for each in every if each[0] == name) for name, _ in _squares(spec)}
    of_asked = {name: frozenset(each for each in every if each[1] == name) for _, name in _squares(spec)}
    return {
        **{f"query:{name}": _Part(inside, every) for name, inside in of_query.items()},
        **{f"attribute:{name}": _Part(inside, every) for name, inside in of_asked.items()},
        **{f"within:{each[0]}:{each[1]}": _Part(frozenset({each}), of_query[each[0]]) for each in _squares(spec)},
    }


def _squares(spec: Spec) -> dict[Answer, Decimal]:
    """The price of every answer, in μ²."""
    return {(query.name, name): mu * mu for query in spec.queries for name, mu in query.mu.items()}


def _at_total(spec: Spec, mu: Decimal) -> Spec:
    if not 0 < mu <= LARGEST:
        raise DomainError(f"a total mu is above 0 and at most {LARGEST:g}, as in a spec")
    policy = replace(spec.policy, mu=mu, rho=None, spend=None, year=None, series=None)
    if spec.is_individual:
        return replace(spec, policy=policy)
    factor = mu / _total(spec)
    return _scaled(replace(spec, policy=policy), lambda _query, _attribute: factor)


def _at_share(spec: Spec, what: str, part: _Part, share: Decimal) -> Spec:
    if not 0 < share < 1:
        raise DomainError("a share is between 0 and 1")
    if spec.is_individual:
        ((_, name),) = part.inside
        return _with_share(spec, name, share)
    squares = _squares(spec)
    within, whole = (sum((squares[each] for each in answers), Decimal()) for answers in (part.inside, part.whole))
    if not 0 < within < whole:
        raise DomainError(f"{what!r} has nothing or everything of the budget, so its share cannot be changed")
    inside, outside = (share * whole / within).sqrt(), ((1 - share) * whole / (whole - within)).sqrt()  # μ, not μ²

    def factor(query: str, attribute: str) -> Decimal:
        if (query, attribute) not in part.whole:
            return Decimal(1)
        return inside if (query, attribute) in part.inside else outside

    return _scaled(spec, factor)


def _with_share(spec: Spec, name: str, share: Decimal) -> Spec:
    """The spec in which one attribute has this share of what is spent."""
    attributes = dict(spec.policy.attributes)
    others = sum((attributes[other].share for other in spec.asked if other != name), Decimal(0))
    if not others:
        raise DomainError(f"{name!r} has everything of the budget, so its share cannot be changed")
    attributes[name] = replace(attributes[name], share=others * share / (1 - share))
    return replace(spec, policy=replace(spec.policy, attributes=attributes))


def _scaled(spec: Spec, factor: Callable[[str, str], Decimal]) -> Spec:
    """Every price times its factor, rounded down so that the total is not exceeded."""
    queries = []
    for query in spec.queries:
        scaled = {name: mu * factor(query.name, name) for name, mu in query.mu.items()}
        prices = {name: mu.quantize(_DIGITS, "ROUND_DOWN") for name, mu in scaled.items()}
        if not all(prices.values()):
            raise DomainError(f"nothing is left for query {query.name!r}: its mu would be below {_DIGITS}")
        queries.append(replace(query, mu=prices))
    return replace(spec, queries=tuple(queries))


def _total(spec: Spec) -> Decimal:
    squared = price(spec).total.mu_squared
    return (Decimal(squared.numerator) / Decimal(squared.denominator)).sqrt()
