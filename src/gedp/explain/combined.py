"""What is known about the noise of combinations before any data, beside that of their parts."""

import math

from gedp.numbers import short_share
from gedp.planning.typical import assumed_median
from gedp.policy import Query, Spec, measured_mu
from gedp.release.words import AS_WRITTEN, Words

#: Noise that differs by less than this is called equal.
EQUAL = 0.005


def combination_error_lines(spec: Spec, words: Words = AS_WRITTEN) -> list[str]:
    """A line for every query for combinations: what noise alone does, and what it would do to the parts instead."""
    return [
        f"{words.query(query.name)}: " + "; ".join(_line(spec, query, asked, words) for asked in query.asked)
        for query in spec.queries
        if query.combinations
    ]


def _line(spec: Spec, query: Query, asked: str, words: Words) -> str:
    """The noise of one combination, in units of what one establishment can move."""
    mu = measured_mu(spec, query, asked)
    moved = typical_moves(spec, asked)
    together = sum(moved.values())
    more = more_noise_of_parts(moved)
    each = ", ".join(f"{words.number(amount, 2)} by {words.attribute(name)}" for name, amount in moved.items())
    instead = f"have {short_share(more)} more" if more > EQUAL else "have as much"
    return (
        f"{asked} ± {words.number(1 / mu, 2)} times what one establishment can move, which is "
        f"{words.number(together, 2)} for a typical one ({each}); its parts, at equal shares of the price, would "
        f"{instead} noise"
    )


def typical_moves(spec: Spec, asked: str) -> dict[str, float]:
    """How far a combination moves when one attribute of a typical establishment falls to the least close value."""
    found = {}
    for name, coefficient in spec.combinations[asked].coefficients.items():
        attribute = spec.policy.attributes[name]
        size = assumed_median(attribute)
        low = float(attribute.protection.interval(size).low)
        found[name] = abs(float(coefficient)) * (size - (low if attribute.signed else max(low, 0.0)))
    return found


def more_noise_of_parts(moved: dict[str, float]) -> float:
    """By how much the noise of k parts, √(k·Σw²), exceeds that of one query, Σw, at the same total price."""
    return math.sqrt(len(moved) * sum(each**2 for each in moved.values())) / sum(moved.values()) - 1
