"""The same promise in the terms of other frameworks, and μ from what they state.

    ρ-zCDP          ρ = μ²/2: the Rényi divergence of every order α is at most ρα
    Rényi DP        of order α: αμ²/2, a straight line
    (ε, δ)          a curve: δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)
    trade-off       a curve: an attacker with false alarms α misses at least Φ(−Φ⁻¹(α) − μ)

Only the last two say as much as μ does; from ρ or a Rényi curve less can be concluded. All are about close records.
"""

import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import mpmath

from gedp.accounting.composition import PrivacyLoss, exact, mu_for_epsilon_delta
from gedp.errors import DomainError
from gedp.numbers import percent, strength

ORDERS = (2, 4, 8, 16, 32)
DELTAS = (1e-6, 1e-9)
FALSE_ALARMS = (0.01, 0.05, 0.1)
DIGITS_OF_RHO = 15  # of a μ that is computed from ρ
DIGITS_OF_EPSILON = 12  # and from (ε, δ)
HALVINGS = 60


@dataclass(frozen=True)
class Translations:
    """One loss in the terms of other frameworks, with a few points of each curve."""

    rho: Fraction
    renyi: tuple[tuple[int, float], ...]  # order, divergence
    epsilons: tuple[tuple[float, float], ...]  # δ, ε
    trade_off: tuple[tuple[float, float], ...]  # chance of a false alarm, least chance of a missed one

    @property
    def sentences(self) -> tuple[str, ...]:
        """Each with what it means. What bounds an attacker is rounded up, what they miss at least is rounded down."""
        renyi = ", ".join(f"{strength(value)} of order {order}" for order, value in self.renyi)
        epsilons = "; ".join(f"ε = {strength(epsilon)} at δ = {delta:g}" for delta, epsilon in self.epsilons)
        missed = ", ".join(
            f"{math.floor(1000 * least + 1e-9) / 10:.1f}% at {percent(alarms)}" for alarms, least in self.trade_off
        )
        return (
            "All of these are about close records, which differ within their uncertainty intervals.",
            f"ρ-zCDP: ρ = {strength(float(self.rho))}, which is μ²/2. It adds up over releases, as μ² does.",
            f"Rényi differential privacy: αρ for every order α: {renyi}. It bounds how much more likely an outcome can "
            "be on average, with more weight on rare telling outcomes as the order grows.",
            f"(ε, δ): {epsilons}. But for a chance of δ, no outcome is more than e^ε times as likely for one record as "
            "for the other. Each pair is one point of a curve; μ has all of them.",
            f"Trade-off: an attacker misses a true difference with a chance of at least {missed} false alarms. The "
            "whole curve is Φ(−Φ⁻¹(false alarms) − μ).",
        )


def translations(loss: PrivacyLoss) -> Translations:
    """What a loss is called elsewhere."""
    return Translations(
        rho=loss.rho,
        renyi=tuple((order, loss.renyi(order)) for order in ORDERS),
        epsilons=tuple((delta, loss.epsilon(delta)) for delta in DELTAS),
        trade_off=tuple((alarms, loss.trade_off(alarms)) for alarms in FALSE_ALARMS),
    )


def mu_of_rho(rho: Decimal) -> Decimal:
    """The largest μ of 15 digits with μ²/2 ≤ ρ."""
    squared = 2 * exact(rho)
    root = _digits(Context(prec=40).sqrt(2 * rho), DIGITS_OF_RHO)
    return root if exact(root) ** 2 <= squared else root - Decimal(1).scaleb(root.adjusted() + 1 - DIGITS_OF_RHO)


def mu_of_epsilon_delta(epsilon: Decimal, delta: Decimal) -> Decimal:
    """The largest μ of 12 digits that gives (ε, δ)-indistinguishability, decided in multiprecision."""
    if not (epsilon > 0 and 0 < delta < 1):
        raise DomainError("epsilon must be above 0, and delta above 0 and below 1")
    near = Decimal(mu_for_epsilon_delta(float(epsilon), float(delta)))
    low, high = near / 2, near * 2  # floats are good enough for that
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _gives(middle, epsilon, delta) else (low, middle)
    return _digits(low, DIGITS_OF_EPSILON)


def _gives(mu: Decimal, epsilon: Decimal, delta: Decimal) -> bool:
    with mpmath.workdps(60):
        m, e = mpmath.mpf(str(mu)), mpmath.mpf(str(epsilon))
        found = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        return bool(found <= mpmath.mpf(str(delta)))


def _digits(number: Decimal, digits: int) -> Decimal:
    """The first digits of a number, without zeros at the end."""
    return Context(prec=digits, rounding=ROUND_FLOOR).plus(number).normalize()
