"""Numbers and sentences as both the terminal and the page show them."""

import math
from decimal import ROUND_HALF_UP, Decimal

from gedp.explain.facts import OtherAccounting


def shown(number: float) -> str:
    """A number for a table: one decimal, or three digits where it is small."""
    if 0 < abs(number) < 1:
        return f"{number:.3g}"
    return f"{Decimal(number).quantize(Decimal('0.1'), ROUND_HALF_UP):,}"


def size_shown(size: float) -> str:
    """A round size for a table."""
    return f"{size:,.0f}" if size == round(size) else f"{size:,g}"


def percent(share: float) -> str:
    """A share for a table."""
    return f"{share:,.1%}"


def chance(probability: float) -> str:
    """The chance of an attack; none succeeds for certain."""
    return "> 99.9%" if probability >= 0.9995 else percent(probability)


def at_most(probability: float) -> str:
    """A bound on a chance, rounded up."""
    return chance(math.ceil(probability * 1000) / 1000)


def promise_sentence(mu: float, power_at_5: float) -> str:
    """The promise."""
    return (
        "Nobody can tell the true values of an establishment from any other values inside its uncertainty intervals "
        f"better than one can tell N(0,1) from N({mu:.4g},1) by a single draw: an attacker who accepts 5% false alarms "
        f"detects a true difference with a chance of at most {at_most(power_at_5)}."
    )


def other_accounting_sentences(other: OtherAccounting) -> list[str]:
    """The same promise in other frameworks."""
    epsilons = "; ".join(f"ε = {epsilon:.4g} at δ = {delta:g}" for delta, epsilon in other.epsilons)
    said = [f"Between close records the promise is (ε, δ)-indistinguishability with {epsilons}."]
    if other.variance_ratios is None:
        said.append("At this μ an attacker all but succeeds, so a comparison with ρ-zCDP and ε-DP says nothing.")
    else:
        zcdp, pure = other.variance_ratios
        said.append(
            f"To hold an attacker to {percent(other.power)} at {percent(other.significance)} false alarms over the "
            f"{other.queries} sums published, ρ-zCDP would need {zcdp:.3g} times our variance, "
            f"ε-DP {pure:.3g} times."
        )
    return said
