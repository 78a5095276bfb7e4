"""What the promise means to an establishment, a firm, a person inside an establishment, and to membership.

Each statement names the values that cannot be told apart, and the μ that says how hard it is to do so.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gedp.accounting.composition import PrivacyLoss
from gedp.errors import DomainError
from gedp.neighbors import Protection


@dataclass(frozen=True)
class Statement:
    """Telling the true value from any other between `low` and `high` is as hard as N(0,1) against N(μ,1)."""

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


def record_mu(
    protections: Mapping[str, Protection], loss: PrivacyLoss, x: Mapping[str, float], y: Mapping[str, float]
) -> float:
    """How hard it is to tell a record x from y: the steps of the attribute that is furthest off, times μ.

    All attributes may move at once, so the steps are their largest number, not their sum. Infinite where an attribute
    differs and ψ is infinite at one of the two: no such protection is promised.
    """
    differing = [name for name in protections if x[name] != y[name]]
    if not differing:
        return 0.0
    steps = max(float(protections[name].steps(x[name], y[name])) for name in differing)
    return loss.group(int(steps)).mu if math.isfinite(steps) else math.inf


def existence_mu(protections: Mapping[str, Protection], loss: PrivacyLoss, values: Mapping[str, float]) -> float:
    """How hard it is to tell an establishment with these values from one that has nothing: 0 in every attribute."""
    return record_mu(protections, loss, values, dict.fromkeys(values, 0.0))


def membership_mu(protection: Protection, loss: PrivacyLoss, x: float) -> float:
    """`existence_mu` of an establishment with one attribute."""
    return existence_mu({"x": protection}, loss, {"x": x})


def hidden_existence(protection: Protection, k: int = 1) -> float:
    """The largest value that is within k steps of 0. An infinite ψ(0) hides nothing but 0 itself."""
    if math.isinf(protection.psi.at_zero):
        return 0.0
    with np.errstate(over="ignore"):  # beyond all numbers
        return float(protection.psi.moved(0.0, k * protection.gamma))
