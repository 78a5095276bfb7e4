"""The mathematics of μ: exact composition, group privacy, and what μ means to an attacker.

μ-gedp: whoever tries to tell two close records apart does no better than somebody who must tell N(0,1) from N(μ,1) by
one draw. Losses compose as μ² = Σ μᵢ², so μ² is what is added up, as an exact fraction.
"""

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from numbers import Rational

import numpy as np
import numpy.typing as npt
from scipy.special import erfcx, log_ndtr, ndtr, ndtri

from gedp.arrays import FloatArray
from gedp.errors import DomainError
from gedp.neighbors import Protection, narrow


def exact(number: str | int | float | Decimal | Fraction) -> Fraction:
    """A number as written: '0.7', Decimal('0.7') and 0.7 all are seven tenths."""
    if isinstance(number, Rational):
        return Fraction(int(number.numerator), int(number.denominator))
    try:
        return Fraction(Decimal(repr(float(number)) if isinstance(number, float) else number))
    except (ArithmeticError, ValueError, TypeError):
        raise DomainError(f"not a finite decimal number: {number!r}") from None


@dataclass(frozen=True, order=True)
class PrivacyLoss:
    """A privacy loss, kept as the exact square of its μ.

    >>> PrivacyLoss.of("0.3") + PrivacyLoss.of("0.4") == PrivacyLoss.of("0.5")
    True
    """

    mu_squared: Fraction

    def __post_init__(self) -> None:
        if self.mu_squared < 0:
            raise DomainError("a privacy loss is 0 or more")

    @classmethod
    def of(cls, mu: str | int | float | Decimal | Fraction) -> "PrivacyLoss":
        """The loss of one μ-gedp answer."""
        value = exact(mu)
        if value < 0:
            raise DomainError(f"mu must be 0 or more, not {mu}")
        return cls(value * value)

    @property
    def mu(self) -> float:
        """μ as a float, for display and for the attacker's power."""
        return math.sqrt(self.mu_squared)

    def __add__(self, other: "PrivacyLoss") -> "PrivacyLoss":
        return PrivacyLoss(self.mu_squared + other.mu_squared)

    @classmethod
    def of_rho(cls, rho: str | int | float | Decimal | Fraction) -> "PrivacyLoss":
        """The loss that is ρ-zCDP and no more: μ² = 2ρ, exactly."""
        return cls(2 * exact(rho))

    @property
    def rho(self) -> Fraction:
        """ρ of zero-concentrated differential privacy: μ²/2, exactly."""
        return self.mu_squared / 2

    def renyi(self, order: float) -> float:
        """The Rényi divergence of this order, αμ²/2: larger orders give rare telling outcomes more weight."""
        if not (math.isfinite(order) and order > 1):
            raise DomainError(f"the order of a Rényi divergence is a finite number above 1, not {order}")
        return order * float(self.rho)

    def epsilon(self, delta: float) -> float:
        """The least ε at this δ, rounded up: no event is more than e^ε times as likely, but for a chance δ."""
        return epsilon(self.mu, delta)

    def delta(self, epsilon: float) -> float:
        """The least δ at this ε."""
        return delta(self.mu, epsilon)

    def power(self, significance: float) -> float:
        """The best chance of a true alarm of an attacker with this chance of a false one."""
        return float(power(self.mu, significance))

    def trade_off(self, significance: float) -> float:
        """The least chance of a missed alarm of an attacker with this chance of a false one: 1 − power."""
        return float(trade_off(self.mu, significance))

    def group(self, m: int) -> "PrivacyLoss":
        """What m steps cost: mμ. For intervals m times γ, for firms of m establishments."""
        steps = operator.index(m)
        if steps < 1:
            raise DomainError(f"a group has at least 1 member, not {steps}")
        return PrivacyLoss(self.mu_squared * steps * steps)


NOTHING = PrivacyLoss(Fraction(0))


def compose(losses: Iterable[PrivacyLoss]) -> PrivacyLoss:
    """The loss of answering all of them, each possibly chosen after seeing the answers before."""
    return sum(losses, NOTHING)


def power(mu: npt.ArrayLike, significance: npt.ArrayLike) -> FloatArray:
    """The attacker's best chance of a true alarm when false alarms have this chance: Φ(Φ⁻¹(α) + μ)."""
    return ndtr(ndtri(_probability(significance)) + _loss(mu))


def significance(mu: npt.ArrayLike, power: npt.ArrayLike) -> FloatArray:
    """The chance of a false alarm that an attacker with this power must accept: Φ(Φ⁻¹(power) − μ)."""
    return ndtr(ndtri(_probability(power)) - _loss(mu))


def trade_off(mu: npt.ArrayLike, significance: npt.ArrayLike) -> FloatArray:
    """The trade-off curve: the least chance of a missed alarm, 1 − power, at this chance of a false one."""
    return ndtr(-ndtri(_probability(significance)) - _loss(mu))


def mu_for(power: npt.ArrayLike, significance: npt.ArrayLike) -> FloatArray:
    """The largest μ that keeps the attacker's power at or below `power`: Φ⁻¹(power) − Φ⁻¹(α)."""
    mu = ndtri(_probability(power)) - ndtri(_probability(significance))
    if np.any(mu < 0):
        raise DomainError("the power must be at least the significance: guessing alone achieves that")
    return mu


def delta(mu: float, epsilon: float) -> float:
    """The δ for which μ gives (ε, δ)-indistinguishability: Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)."""
    _loss(mu)
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise DomainError(f"epsilon must be a finite number of 0 or more, not {epsilon}")
    if mu == 0:
        return 0.0
    if epsilon == 0:
        return math.erf(mu / math.sqrt(8))
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if near <= 0:
        return float(ndtr(-near) - np.exp(epsilon + log_ndtr(-far)))
    # e^ε φ(far) = φ(near), so δ is φ(near) times a difference of Mills ratios: nothing cancels in the tail.
    mills = math.sqrt(math.pi / 2) * (erfcx(near / math.sqrt(2)) - erfcx(far / math.sqrt(2)))
    return float(math.exp(-near * near / 2) / math.sqrt(2 * math.pi) * mills)


def epsilon(mu: float, delta: float) -> float:
    """The least ε for which μ gives (ε, δ)-indistinguishability, rounded up."""
    _open_probability(delta)
    if _delta(mu, 0.0) <= delta:
        return 0.0
    rho = mu * mu / 2
    most = rho + 2 * math.sqrt(rho * math.log(1 / delta)) + 1  # the bound through zCDP, and a margin
    root = _root(lambda e: _delta(mu, e) - delta, most)
    while _delta(mu, root) > delta:
        root *= 1 + 1e-14
    return root


def mu_for_epsilon_delta(epsilon: float, delta: float) -> float:
    """The largest μ that gives (ε, δ)-indistinguishability, rounded down."""
    _open_probability(delta)
    most = 1.0
    while _delta(most, epsilon) <= delta:
        most *= 2
    root = _root(lambda mu: _delta(mu, epsilon) - delta, most)
    while _delta(root, epsilon) > delta:
        root *= 1 - 1e-14
    return root


_delta = delta  # where a parameter takes its name


@dataclass(frozen=True)
class Promise:
    """What a publisher promises: close records cannot be told apart better than N(0,1) from N(μ,1)."""

    protections: Mapping[str, Protection]
    loss: PrivacyLoss


def compose_publishers(first: Promise, *others: Promise) -> Promise:
    """What holds for an establishment that several publish about, each with its own ψ, γ and μ.

    An attribute of several is protected within the narrowed intervals. An attribute of one publisher alone keeps its
    intervals, provided that the others publish nothing computed from it. The losses compose.
    """
    return reduce(_compose_two, others, first)


def _compose_two(a: Promise, b: Promise) -> Promise:
    protections = {**a.protections, **b.protections}
    for name in (name for name in a.protections if name in b.protections):
        if a.protections[name] != b.protections[name]:
            try:
                protections[name] = narrow(a.protections[name], b.protections[name])
            except DomainError as error:
                raise DomainError(f"{name}: {error}") from None
    return Promise(protections, a.loss + b.loss)


def _root(function: Callable[[float], float], most: float) -> float:
    """Where the function is 0 between 0 and `most`."""
    from scipy.optimize import brentq  # takes as long to import as everything else here

    return float(brentq(function, 0.0, most, xtol=1e-300, rtol=1e-14))


def _probability(value: npt.ArrayLike) -> FloatArray:
    array = np.asarray(value, dtype=np.float64)
    if not np.all((array >= 0) & (array <= 1)):
        raise DomainError("a probability lies between 0 and 1")
    return array


def _open_probability(value: float) -> None:
    if not 0 < value < 1:
        raise DomainError(f"delta must lie between 0 and 1, not {value}")


def _loss(mu: npt.ArrayLike) -> FloatArray:
    array = np.asarray(mu, dtype=np.float64)
    if not np.all((array >= 0) & np.isfinite(array)):
        raise DomainError("mu must be a finite number of 0 or more")
    return array
