"""The sampling argument for ψ = sqrt: what an attacker could learn anyway, by asking people (paper, security model).

Whoever asks a fraction q of a region's people where they work estimates the x people of an establishment with a
variance of at most x/q (with replacement), or nearly x(1 − q)/q (without). The interval of ψ = sqrt reaches about 2γ√x
to both sides, so for one q its reach is one standard deviation of that estimate, whatever x. Where a person contributes
an amount p instead of 1, the variance is at most px/q.
"""

import math
from dataclasses import dataclass

from gedp.errors import DomainError


@dataclass(frozen=True)
class SampleAlike:
    """The fraction of the people to ask for an estimate that is as good as the interval."""

    with_replacement: float  # above 1 where even as many answers as there are people do not suffice
    without_replacement: float  # below 1: whoever asks everybody knows


def sampling_fraction(gamma: float, person: float = 1.0) -> SampleAlike:
    """The sample whose standard deviation is the reach 2γ√x of the interval: px/q = 4γ²x."""
    ratio = _positive("gamma", gamma) ** 2 * 4 / _positive("person", person)
    return SampleAlike(1 / ratio, 1 / (1 + ratio))


def gamma_for_sampling(fraction: float, person: float = 1.0, *, replacement: bool = True) -> float:
    """The γ of ψ = sqrt whose interval reaches one standard deviation of a sample of this fraction to both sides."""
    if not 0 < fraction < 1 and not (replacement and fraction == 1):
        raise DomainError("a sample is a fraction of the people: above 0, and at most 1 (below 1 without replacement)")
    left = 1.0 if replacement else 1 - fraction
    return math.sqrt(_positive("person", person) * left / fraction) / 2


def _positive(name: str, number: float) -> float:
    if not (math.isfinite(number) and number > 0):
        raise DomainError(f"{name} must be a finite number above 0, not {number}")
    return number
