"""What a manifest says about individual accounting: what was chosen for each attribute, and what it predicts."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from gedp.policy.section import Section
from gedp.release.answered import FRESH


@dataclass(frozen=True)
class Individual:
    """How the answers about one attribute share the pool of every establishment.

    Predicted are mean standard errors of the tables of the microdata, and what equal shares under the paper's rule
    would have given.
    """

    mu: Decimal  # of the first answers for establishments
    tau: float  # how many standard deviations above them the bounds are
    fractions: Mapping[str, float]  # of what is left, by query; the finest cells have their own
    reserves: Mapping[str, float]  # of the pool, set aside for queries in mu squared
    largest_share: float  # of the pool that any establishment pays
    errors: Mapping[str, float]
    floor: Mapping[str, float]


def individual_content(individual: Individual) -> dict[str, Any]:
    """As JSON."""
    return {
        "mu": str(individual.mu),
        "tau": individual.tau,
        "fractions": dict(individual.fractions),
        "reserves": dict(individual.reserves),
        "largest_share": individual.largest_share,
        "predicted_errors": dict(individual.errors),
        "errors_with_equal_shares": dict(individual.floor),
    }


def read_individual(section: Section) -> Individual:
    """From JSON; faults are collected."""
    found = Individual(
        section.converted("mu", _decimal, "a number above 0") or Decimal(1),
        section.converted("tau", _finite, "a number") or 0.0,
        _numbers(section.table("fractions")),
        _numbers(section.table("reserves")),
        section.converted("largest_share", _positive, "a number above 0") or 1.0,
        _numbers(section.table("predicted_errors")),
        _numbers(section.table("errors_with_equal_shares")),
    )
    if not found.largest_share <= 1:
        section.fault("largest_share", "somebody paid more than the pool", FRESH)
    section.finish()
    return found


def _numbers(section: Section) -> dict[str, float]:
    read = {name: section.converted(name, _positive, "a number above 0") for name in section.content}
    return {name: number for name, number in read.items() if number is not None}


def _decimal(value: object) -> Decimal:
    try:
        number = Decimal(value) if isinstance(value, str) else Decimal(0)
    except InvalidOperation:
        raise ValueError from None
    if not (number.is_finite() and number > 0):
        raise ValueError
    return number


def _finite(value: object) -> float:
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not math.isfinite(number):
        raise ValueError
    return number


def _positive(value: object) -> float:
    number = _finite(value)
    if not number > 0:
        raise ValueError
    return number
