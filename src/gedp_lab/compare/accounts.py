"""The same questions at the same total, with a price for every query or without any."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from math import lcm

from gedp.accounting.composition import PrivacyLoss, exact
from gedp.accounting.translations import mu_of_rho
from gedp.confidential.pools import Shares
from gedp.errors import Fault, FaultsError
from gedp.ledger.amounts import mu_down
from gedp.policy import Query, Spec, pools, price, whole_pools
from gedp.policy.model import IDENTITY
from gedp.policy.values import ESTABLISHMENT

PLACES = 9  # of the prices that equal shares come to
_EXACT = Context(prec=10_000, traps=[Inexact])


def without_prices(spec: Spec) -> Spec:
    """Answered by individual accounting: the prices of an attribute, added up in μ², are its pool. All count alike."""
    if spec.is_individual:
        return spec
    prices = price(spec)
    squares = {name: prices.of_attribute(name).mu_squared for name in spec.policy.attributes}
    paid = {name: squared for name, squared in squares.items() if squared}
    rho = _decimal(prices.total.mu_squared / 2)
    thirds = lcm(*(len(each.coefficients) for each in spec.combinations.values()))  # parts of a price are decimals then
    attributes = {
        name: replace(attribute, share=_decimal(paid[name] * thirds)) if name in paid else attribute
        for name, attribute in spec.policy.attributes.items()
    }
    policy = replace(spec.policy, attributes=attributes, mu=mu_of_rho(rho), rho=rho, spend=None, year=None, series=None)
    return replace(
        spec,
        policy=policy,
        queries=tuple(_unpriced(spec, paid)),
        class_queries=tuple(replace(query, mu={}, importance=_alike(query.asked)) for query in spec.class_queries),
        combination_queries=tuple(
            replace(query, mu={}, importance=_alike(query.asked)) for query in spec.combination_queries
        ),
    )


def with_prices(spec: Spec) -> Spec:
    """Answered under the paper's rule: equal shares of an attribute's pool for all answers about it, rounded down.

    A combination takes equal parts of one share from each of its attributes.
    """
    if not spec.is_individual:
        return spec
    answers = list(_answers(spec))
    counts = {name: sum(parts.get(name, Fraction(0)) for _, _, parts in answers) for name in spec.asked}
    shares = {name: pool.mu_squared / counts[name] for name, pool in whole_pools(spec).items()}
    prices: dict[str, dict[str, Decimal]] = {}
    for query, asked, parts in answers:
        loss = PrivacyLoss(sum((shares[name] * part for name, part in parts.items()), Fraction(0)))
        prices.setdefault(query, {})[asked] = Decimal(mu_down(loss, PLACES))
    attributes = {name: replace(a, share=Decimal(1)) for name, a in spec.policy.attributes.items()}
    return priced_at(replace(spec, policy=replace(spec.policy, attributes=attributes, spend=None)), prices)


def priced_at(spec: Spec, prices: Mapping[str, Mapping[str, Decimal]]) -> Spec:
    """The spec with these prices, by query and what it asks for."""
    return replace(
        spec,
        queries=tuple(replace(query, mu=prices[query.name], importance={}) for query in spec.queries),
        class_queries=tuple(replace(query, mu=prices[query.name], importance={}) for query in spec.class_queries),
        combination_queries=tuple(
            replace(query, mu=prices[query.name], importance={}) for query in spec.combination_queries
        ),
    )


def shares_of(spec: Spec) -> Shares:
    """The prices of the tables of sums, in μ², for each attribute: what individual accounting can set aside for them.

    Where answers by classes and of combinations take more of a pool than their prices, these are scaled down.
    """
    priced = with_prices(spec)
    identified = {name for query in priced.queries if query.is_identity for name in query.mu}
    if missing := [name for name in priced.asked if name not in identified]:
        problem = f"its first answers need a price, and no query has one for establishments and {', '.join(missing)}"
        raise FaultsError("the comparison", [Fault("workflow floors", problem, "Compare with individual")])
    tables = [query for query in priced.queries if not query.is_identity]
    left = pools(without_prices(spec))
    paid = {name: sum(exact(q.mu[name]) ** 2 for q in priced.queries if name in q.mu) for name in priced.asked}
    scale = {name: min(float(left[name].mu_squared / whole), 1.0) for name, whole in paid.items()}
    return {
        name: {q.name: float(exact(q.mu[name]) ** 2) * scale[name] for q in tables if name in q.mu}
        for name in priced.asked
    }


def _answers(spec: Spec) -> Iterator[tuple[str, str, dict[str, Fraction]]]:
    """Every query with what it asks for, and the part of one share that each attribute pays for that."""
    for query in spec.queries:
        yield from ((query.name, name, {name: Fraction(1)}) for name in query.importance)
    for by_class in spec.class_queries:
        for name in by_class.importance:
            yield by_class.name, name, {by_class.payer(name, spec.classes): Fraction(1)}
    for combined in spec.combination_queries:
        for name in combined.importance:
            parts = spec.combinations[name].coefficients
            yield combined.name, name, dict.fromkeys(parts, Fraction(1, len(parts)))


def _unpriced(spec: Spec, paid: Iterable[str]) -> Iterator[Query]:
    """The tables, and one identity query: it counts only for attributes that no table asks for."""
    tables = [query for query in spec.queries if not query.is_identity]
    in_tables = {name for query in tables for name in query.mu}
    names = [query.name for query in spec.queries if query.is_identity]
    counts = {name: Decimal(name not in in_tables) for name in paid}
    yield Query(names[0] if names else IDENTITY, (ESTABLISHMENT,), importance=counts)
    for query in tables:
        yield Query(query.name, query.by, importance=_alike(query.mu))


def _alike(names: Iterable[str]) -> dict[str, Decimal]:
    return dict.fromkeys(names, Decimal(1))


def _decimal(number: Fraction) -> Decimal:
    """The same number: squares of decimals and their halves are decimals."""
    return _EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))
