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
from gedp.policy import Measure, Query, Spec, pools, price, whole_pools
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
    return replace(spec, policy=policy, queries=tuple(_unpriced(spec, paid)))


def with_prices(spec: Spec) -> Spec:
    """Answered under the paper's rule: equal shares of an attribute's pool for all answers about it, rounded down.

    A combination takes equal parts of one share from each of its attributes.
    """
    if not spec.is_individual:
        return spec
    counts = dict.fromkeys(spec.asked, Fraction(0))
    for measure in (measure for query in spec.queries for measure in query.measures.values()):
        for payer in measure.payers:
            counts[payer] += Fraction(1, len(measure.payers))
    shares = {name: pool.mu_squared / counts[name] for name, pool in whole_pools(spec).items()}
    attributes = {name: replace(a, share=Decimal(1)) for name, a in spec.policy.attributes.items()}
    queries = tuple(
        replace(query, mu={name: _price(measure, shares) for name, measure in query.measures.items()}, importance={})
        for query in spec.queries
    )
    return replace(spec, policy=replace(spec.policy, attributes=attributes, spend=None), queries=queries)


def shares_of(spec: Spec) -> Shares:
    """The prices of the tables of sums, in μ², for each attribute: what individual accounting can set aside for them.

    Where answers by classes and of combinations take more of a pool than their prices, these are scaled down.
    """
    priced = with_prices(spec)
    if missing := [name for name in priced.asked if priced.identity_of(name) is None]:
        problem = f"its first answers need a price, and no query has one for establishments and {', '.join(missing)}"
        raise FaultsError("the comparison", [Fault("workflow floors", problem, "Compare with individual")])
    left = pools(without_prices(spec))
    paid = {name: sum(exact(q.mu[name]) ** 2 for q in priced.plain if name in q.mu) for name in priced.asked}
    scale = {name: min(float(left[name].mu_squared / whole), 1.0) for name, whole in paid.items()}
    return {
        name: {q.name: float(exact(q.mu[name]) ** 2) * scale[name] for q in priced.sums_of(name)}
        for name in priced.asked
    }


def _price(measure: Measure, shares: Mapping[str, Fraction]) -> Decimal:
    """Equal parts of one share of each attribute that pays, rounded down."""
    parts = (shares[payer] / len(measure.payers) for payer in measure.payers)
    return Decimal(mu_down(PrivacyLoss(sum(parts, Fraction(0))), PLACES))


def _unpriced(spec: Spec, paid: Iterable[str]) -> Iterator[Query]:
    """The tables, and one identity query: it counts only for attributes that no table asks for."""
    names = [query.name for query in spec.identities]
    counts = {name: Decimal(not spec.sums_of(name)) for name in paid}
    yield Query(names[0] if names else IDENTITY, (ESTABLISHMENT,), importance=counts)
    for query in spec.tables:
        yield replace(query, mu={}, mechanism="auto", importance=dict.fromkeys(query.asked, Decimal(1)))


def _decimal(number: Fraction) -> Decimal:
    """The same number: squares of decimals and their halves are decimals."""
    return _EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))
