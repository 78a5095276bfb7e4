"""The same questions at the same total, with a price for every query or without any."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Context, Decimal, Inexact
from fractions import Fraction

from gedp.accounting.composition import PrivacyLoss, exact
from gedp.accounting.translations import mu_of_rho
from gedp.confidential.pools import Shares
from gedp.errors import Fault, FaultsError
from gedp.ledger.amounts import mu_down
from gedp.policy import Query, Spec, pools
from gedp.policy.model import IDENTITY
from gedp.policy.values import ESTABLISHMENT

PLACES = 9  # of the prices that equal shares come to
_EXACT = Context(prec=10_000, traps=[Inexact])


def without_prices(spec: Spec) -> Spec:
    """Answered by individual accounting: the prices of an attribute, added up in μ², are its pool. All count alike."""
    if spec.is_individual:
        return spec
    paid = {name: sum(exact(q.mu[name]) ** 2 for q in spec.plain if name in q.mu) for name in spec.asked}
    rho = _decimal(Fraction(sum(paid.values())) / 2)
    attributes = {
        name: replace(attribute, share=_decimal(Fraction(paid[name]))) if name in paid else attribute
        for name, attribute in spec.policy.attributes.items()
    }
    policy = replace(spec.policy, attributes=attributes, mu=mu_of_rho(rho), rho=rho, spend=None, year=None, series=None)
    return replace(spec, policy=policy, queries=tuple(_unpriced(spec)))


def with_prices(spec: Spec) -> Spec:
    """Answered under the paper's rule: equal shares of an attribute's pool for all queries about it, rounded down."""
    if not spec.is_individual:
        return spec
    about = {name: [query for query in spec.plain if name in query.importance] for name in spec.asked}
    prices = {
        name: Decimal(mu_down(PrivacyLoss(pool.mu_squared / len(about[name])), PLACES))
        for name, pool in pools(spec).items()
    }
    attributes = {name: replace(a, share=Decimal(1)) for name, a in spec.policy.attributes.items()}
    queries = tuple(Query(q.name, q.by, {name: prices[name] for name in q.importance}) for q in spec.plain)
    return replace(spec, policy=replace(spec.policy, attributes=attributes, spend=None), queries=queries)


def shares_of(spec: Spec) -> Shares:
    """The prices of the tables, in μ², for each attribute: what individual accounting can set aside for them."""
    priced = with_prices(spec)
    if missing := [name for name in priced.asked if priced.identity_of(name) is None]:
        problem = f"its first answers need a price, and no query has one for establishments and {', '.join(missing)}"
        raise FaultsError("the comparison", [Fault("workflow floors", problem, "Compare with individual")])
    return {name: {q.name: float(exact(q.mu[name]) ** 2) for q in priced.sums_of(name)} for name in priced.asked}


def _unpriced(spec: Spec) -> Iterator[Query]:
    """The tables, and one identity query: it counts only for attributes that no table asks for."""
    names = [query.name for query in spec.identities]
    counts = {name: Decimal(not spec.sums_of(name)) for name in spec.asked}
    yield Query(names[0] if names else IDENTITY, (ESTABLISHMENT,), importance=counts)
    for query in spec.group_sums:
        yield Query(query.name, query.by, importance={name: Decimal(1) for name in query.mu})


def _decimal(number: Fraction) -> Decimal:
    """The same number: squares of decimals and their halves are decimals."""
    return _EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))
