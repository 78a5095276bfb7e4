"""What a manifest says about individual accounting: what was chosen for each attribute, and what it predicts."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from gedp.policy.section import Section
from gedp.release.checks import FRESH, finite, positive, positive_decimal


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
        section.converted("mu", positive_decimal, "a number above 0") or Decimal(1),
        section.converted("tau", finite, "a number") or 0.0,
        _numbers(section.table("fractions")),
        _numbers(section.table("reserves")),
        section.converted("largest_share", positive, "a number above 0") or 1.0,
        _numbers(section.table("predicted_errors")),
        _numbers(section.table("errors_with_equal_shares")),
    )
    if not found.largest_share <= 1:
        section.fault("largest_share", "somebody paid more than the pool", FRESH)
    section.finish()
    return found


def _numbers(section: Section) -> dict[str, float]:
    read = {name: section.converted(name, positive, "a number above 0") for name in section.content}
    return {name: number for name, number in read.items() if number is not None}
