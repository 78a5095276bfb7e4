"""What the promise means to an establishment, a firm, a person inside an establishment, and to membership.

Each statement names the values that cannot be told apart, and the μ that says how hard it is to do so.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from gedp.accounting.composition import PrivacyLoss, Promise
from gedp.errors import DomainError
from gedp.neighbors import Protection, Signed
from gedp.normal import normal_reach


@dataclass(frozen=True)
class Statement:
    """Telling the true value from any other between `low` and `high` is at least as hard as N(0,1) against N(μ,1)."""

    low: float
    high: float
    mu: float


def establishment(protection: Protection, loss: PrivacyLoss, x: float, k: int = 1) -> Statement:
    """An establishment with value x: the interval of k steps around x, at kμ."""
    interval = protection.interval(x, k)
    return Statement(float(interval.low), float(interval.high), loss.group(k).mu)


def firm_loss(loss: PrivacyLoss, establishments: int) -> PrivacyLoss:
    """A firm all of whose ℓ establishments move inside their intervals at once: ℓμ.

    The paper's text says (ℓ−1)μ, for a chain of ℓ data sets; ℓ changed records take ℓ steps.
    """
    return loss.group(establishments)


def person(
    protection: Protection, loss: PrivacyLoss, value: float, establishment_value: float, k: int = 1
) -> Statement:
    """A person who contributes `value`: the establishment's interval moved to the person, cut off at 0."""
    if not 0 <= value <= establishment_value:
        raise DomainError("a person's share lies between 0 and the establishment's value")
    around = establishment(protection, loss, establishment_value, k)
    shift = value - establishment_value
    return Statement(max(0.0, around.low + shift), around.high + shift, around.mu)


def chance_within(protection: Protection, mu: float, x: float, share: float) -> float:
    """The chance that an attacker who knows everything else estimates x to within a share of it, such as 0.1.

    It is that of one answer about x alone which takes all of μ: ω = ψ(x) + N(0, (γ/μ)²). An estimate ψ⁻¹(ω + c) is
    within the share for ω in a stretch as long as ψ is apart at x(1 − share) and x(1 + share). No c makes that likelier
    than the one that puts the stretch around ψ(x): 2Φ(μ·length/2γ) − 1.

    >>> from gedp.neighbors import Log
    >>> round(chance_within(Protection(Log(), 0.106), 2, 50_000, 0.1), 3)
    0.942
    """
    return float(2 * ndtr(mu * _steps_across(protection, x, share) / 2) - 1)


def mu_for_chance(protection: Protection, chance: float, x: float, share: float) -> float:
    """The largest μ at which `chance_within` is at most this chance; infinite where no μ exceeds it."""
    if not 0 < chance < 1:
        raise DomainError(f"a chance is a number between 0 and 1, not {chance}")
    steps = _steps_across(protection, x, share)
    return 2 * normal_reach(chance) / steps if steps else math.inf


def _steps_across(protection: Protection, x: float, share: float) -> float:
    """From the smallest to the largest value within a share of x, in steps of γ."""
    if not (math.isfinite(share) and share > 0):
        raise DomainError(f"a share of a value is a finite number above 0, not {share}")
    reach = share * abs(x)
    low = x - reach if isinstance(protection.psi, Signed) else max(x - reach, 0.0)
    if low == x:
        return 0.0
    with np.errstate(divide="ignore"):  # ψ may be infinite at 0
        return float(protection.psi.distance(low, x + reach)) / protection.gamma


@dataclass(frozen=True)
class RecordDistance:
    """How far apart two records are, in steps of each attribute's γ, and how hard it is to tell them apart."""

    steps_of: Mapping[str, float]
    mu: float  # that of the furthest attribute's steps; infinite where no protection is promised

    @property
    def steps(self) -> float:
        """The metric: the steps of the attribute that is furthest off, since all of them may move at once."""
        return max(self.steps_of.values(), default=0.0)

    @property
    def furthest(self) -> tuple[str, ...]:
        """The attributes that decide; none where the records are the same."""
        return tuple(name for name, steps in self.steps_of.items() if steps == self.steps > 0)

    @property
    def is_close(self) -> bool:
        """Whether each record is within the uncertainty intervals of the other, in every attribute."""
        return self.steps <= 1


def record_distance(promise: Promise, x: Mapping[str, float], y: Mapping[str, float]) -> RecordDistance:
    """Two records of an establishment under a promise: max ⌈|ψ(x) − ψ(y)|/γ⌉ over the attributes, each step at μ.

    Both give a value for every attribute. Where attributes differ and ψ is infinite at a value, nothing is promised.

    >>> from gedp.neighbors import Sqrt
    >>> promise = Promise({"jobs": Protection(Sqrt(), 0.5)}, PrivacyLoss.of("0.7"))
    >>> apart = record_distance(promise, {"jobs": 36}, {"jobs": 49})
    >>> apart.steps, apart.mu, apart.is_close
    (2.0, 1.4, False)
    """
    _require_records(promise.protections, x, y)
    steps = {
        name: float(protection.steps(x[name], y[name])) if x[name] != y[name] else 0.0
        for name, protection in promise.protections.items()
    }
    most = max(steps.values(), default=0.0)
    mu = math.inf if math.isinf(most) else promise.loss.group(int(most)).mu if most else 0.0
    return RecordDistance(steps, mu)


def _require_records(protections: Mapping[str, Protection], *records: Mapping[str, float]) -> None:
    """Rejects records that are not about these attributes, or have impossible values: all faults in one error."""
    problems = []
    for record in records:
        problems += [f"{name} is not an attribute" for name in record if name not in protections]
        problems += [f"{name} has no value" for name in protections if name not in record]
        for name in (name for name in protections if name in record):
            if not math.isfinite(record[name]):
                problems.append(f"{name} must be a finite number")
            elif record[name] < 0 and not isinstance(protections[name].psi, Signed):
                problems.append(f"{name} is not signed, so its values are 0 or more")
    if problems:
        known = ", ".join(protections)
        raise DomainError(f"{'; '.join(dict.fromkeys(problems))}. A record gives a value for each of: {known}")


def record_mu(
    protections: Mapping[str, Protection], loss: PrivacyLoss, x: Mapping[str, float], y: Mapping[str, float]
) -> float:
    """How hard it is to tell a record x from y: μ of `record_distance`."""
    return record_distance(Promise(protections, loss), x, y).mu


def existence_mu(protections: Mapping[str, Protection], loss: PrivacyLoss, values: Mapping[str, float]) -> float:
    """How hard it is to tell an establishment with these values from one that has nothing: 0 in every attribute."""
    return record_mu(protections, loss, values, dict.fromkeys(values, 0.0))


def hidden_existence(protection: Protection, k: int = 1) -> float:
    """The largest value that is within k steps of 0. An infinite ψ(0) hides nothing but 0 itself."""
    if math.isinf(protection.psi.at_zero):
        return 0.0
    with np.errstate(over="ignore"):  # beyond all numbers
        return float(protection.psi.moved(0.0, k * protection.gamma))
