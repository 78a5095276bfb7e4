"""What the promise means to an establishment, a firm, a person inside an establishment, and to membership.

Each statement names the values that cannot be told apart, and the μ that says how hard it is to do so.
"""

import math
from dataclasses import dataclass

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


def membership_mu(protection: Protection, loss: PrivacyLoss, x: float) -> float:
    """How hard it is to tell an establishment of size x from one with nothing: steps from x to 0, times μ.

    Infinite where ψ(0) is −inf: no such protection is promised.
    """
    steps = float(protection.steps(x, 0.0))
    return loss.group(max(1, int(steps))).mu if math.isfinite(steps) else math.inf
