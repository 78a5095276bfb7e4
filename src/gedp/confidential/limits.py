"""Noise has limits: too little has no grid, too much is not useful. gedp rejects both, and suggests a fix.

Every fault names the attribute, its line in the spec, and the nearest gamma or mu, by powers of ten, that works.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from gedp.accounting.composition import exact
from gedp.confidential.mechanisms import PsiMechanism, psi_mechanism
from gedp.confidential.varied import varied_psi
from gedp.errors import DomainError, FaultsError, Refused
from gedp.folding import named
from gedp.individual.filling import MOST_QUERIES
from gedp.planning.opening import candidates
from gedp.policy import Attribute, Spec, pools
from gedp.policy.section import Faults

_POWERS = [Decimal(10) ** (sign * power) for power in range(1, 31) for sign in (1, -1)]


def psi_mechanisms(spec: Spec) -> dict[tuple[str, str], PsiMechanism]:
    """For every query and attribute its ψ-mechanism; rejects settings without one, before anything is spent."""
    asked: dict[tuple[str, Decimal], list[str]] = {}
    for query in spec.plain:
        for name, mu in query.mu.items():
            asked.setdefault((name, mu), []).append(query.name)
    found: dict[tuple[str, str], PsiMechanism] = {}
    faults = Faults(dict(spec.lines))
    for (name, mu), queries in asked.items():
        attribute = spec.policy.attributes[name]
        try:
            mechanism = psi_mechanism(attribute, exact(mu))
        except DomainError as error:
            where = f"in {'query' if len(queries) == 1 else 'queries'} {named([*map(repr, queries)])}"
            setting = f"{where}, with gamma = {attribute.closeness.gamma} and mu = {mu}"
            fix = _suggest_fix(attribute, lambda changed, mu: psi_mechanism(changed, exact(mu)), "mu", mu)
            faults.add(_place(attribute), f"{setting}: {_reason(error, attribute)}", fix)
        else:
            found |= {(query, name): mechanism for query in queries}
    _refuse(faults)
    return found


def require_noise(spec: Spec) -> None:
    """Rejects a spec whose noise for groups and establishments no grid carries."""
    psi_mechanisms(spec)
    for name, pool in pools(spec).items():
        require_pool(spec, spec.policy.attributes[name], pool.mu_squared, len(spec.sums_of(name)), None)


def require_pool(
    spec: Spec, attribute: Attribute, pool: Fraction, queries: int, shares: Mapping[str, float] | None
) -> None:
    """Rejects an attribute whose noise no grid carries, whatever is chosen for the first answers and after them."""
    if queries > MOST_QUERIES:
        raise Refused(f"{attribute.name}: individual accounting is for at most {MOST_QUERIES} queries, not {queries}")

    def at_every_price(attribute: Attribute, spend: Decimal) -> None:
        times = exact(spend) / exact(spent)
        pool_then = pool * (times if policy.rho is not None else times**2)
        for mu in candidates(pool_then, queries, shares):
            psi_mechanism(attribute, exact(mu))
            varied_psi(attribute, pool_then - exact(mu) ** 2)

    policy = spec.policy
    spent = policy.spend or policy.rho or policy.mu
    try:
        at_every_price(attribute, spent)
    except DomainError as error:
        faults = Faults(dict(spec.lines))
        setting = f"with gamma = {attribute.closeness.gamma} and what is spent on it"
        faults.add(
            _place(attribute),
            f"{setting}: {_reason(error, attribute)}",
            _suggest_fix(attribute, at_every_price, "spend", spent),
        )
        _refuse(faults)


def _place(attribute: Attribute) -> tuple[str, str]:
    return "attributes", attribute.column


def _reason(error: DomainError, attribute: Attribute) -> str:
    """Why it cannot be, without what was said already and what concerns those who make grids."""
    named_before = f"{attribute.name} at mu = "
    text = str(error)
    if text.startswith(named_before):
        text = text.removeprefix(named_before).partition(": ")[2]
    text = text.partition(", at mu = ")[0].partition(", at values up to ")[0]
    return text.partition(". Take")[0].partition(". Spend")[0]


def _refuse(faults: Faults) -> None:
    if faults.found:
        raise FaultsError("the spec", faults.found)


def _suggest_fix(
    attribute: Attribute, mechanism: Callable[[Attribute, Decimal], object], price: str, paid: Decimal
) -> str:
    """A gamma and a price with which there is a mechanism, each the nearest by powers of ten."""

    def works(attribute: Attribute, paid: Decimal) -> bool:
        try:
            mechanism(attribute, paid)
        except (DomainError, ArithmeticError):  # there are no roots of less than nothing
            return False
        return True

    def with_gamma(gamma: Decimal) -> Attribute:
        return replace(attribute, closeness=replace(attribute.closeness, gamma=gamma))

    gammas = (attribute.closeness.gamma * power for power in _POWERS)
    gamma = next((gamma for gamma in gammas if works(with_gamma(gamma), paid)), None)
    other = next((paid * power for power in _POWERS if works(attribute, paid * power)), None)
    ways = [f"{key} = {way.normalize():f}" for key, way in (("gamma", gamma), (price, other)) if way is not None]
    return f"It works with {' or with '.join(ways)}" if ways else "Take another gamma, unit or psi"
