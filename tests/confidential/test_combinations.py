"""Combinations measured as one query: what one record can move, by brute force; mutants."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast
from unittest.mock import patch

import numpy as np
import pytest

import gedp.confidential.addends
import gedp.individual.combinations
from gedp.arrays import FloatArray, IntArray
from gedp.confidential.addends import CombinedSum
from gedp.confidential.answering import draw_answers
from gedp.neighbors.estimates import ZETA
from gedp.noise.entropy import SeededEntropy
from gedp.noise.sums import SumGrid, sum_grid_for
from gedp.policy import Weights
from tests.helpers.class_worlds import (
    HALVES,
    LOG,
    SIGNED,
    SQRT,
    Record,
    World,
    all_records,
    most_per_step,
    prepared_about,
    steps_between,
)
from tests.individual.worlds import Kept, recorded

NAME = "combined"
TWO = {"x": SQRT, "w": LOG}
TOLD = {"x": 2.0, "w": 9.0}
SMALL = {"x": range(16), "w": range(0, 40, 2)}
OTHER = {"x": 3, "w": 7}


@dataclass(frozen=True)
class Case:
    """A combination, what identity answers say of its attributes, and the records whose pairs are all tried."""

    formula: str
    attributes: Mapping[str, Mapping[str, Any]]
    told: Mapping[str, float]
    domains: Mapping[str, Sequence[int]]
    other: Record  # of another establishment, which does not move
    first: float = 4
    tight: float = 0.5  # at least this part of what was paid is reached by some pair


#: Around the bounds, and around the least values that are close to them.
ENDS = {"x": [*range(3945, 3960), *range(3995, 4010)], "w": [*range(3950, 3965), *range(3998, 4010)]}
FINE = {"x": {"psi": "sqrt", "gamma": 0.4}, "w": {"psi": "log", "gamma": 0.0125, "shift": 1}}
CASES = {
    "a difference": Case("x - w", TWO, TOLD, SMALL, OTHER),
    "a mean": Case("(x + w) / 2", TWO, TOLD, SMALL, OTHER),
    "coefficients of any size": Case("0.3 * x - 7 * w / 3", TWO, TOLD, SMALL, OTHER),
    "other units, no 0": Case(
        "3 * h - w",
        {"h": HALVES, "w": LOG},
        {"h": 4, "w": 9},
        {"h": range(1, 40, 2), "w": range(0, 40, 2)},
        {"h": 3, "w": 7},
    ),
    "values with signs": Case(
        "x - s",
        {"x": SQRT, "s": SIGNED},
        {"x": 2, "s": -3},
        {"x": range(16), "s": range(-30, 31, 2)},
        {"x": 3, "s": 7},
    ),
    "three attributes": Case(
        "(x + y + z) / 3",
        {"x": SQRT, "y": SQRT, "z": LOG},
        {"x": 2, "y": 3, "z": 1},
        {"x": range(0, 12, 2), "y": range(0, 12, 2), "z": range(0, 12, 2)},
        {"x": 3, "y": 7, "z": 1},
        tight=0.2,
    ),
    "answers that are far from the truth": Case("x - w", TWO, {"x": 2, "w": 2}, SMALL, OTHER, first=40, tight=0.2),
    "at the bounds": Case("x - w", FINE, {"x": 4000, "w": 4000}, ENDS, {"x": 5, "w": 7}, first=40, tight=0.95),
}


def largest_move(case: Case) -> Fraction:
    """The largest squared distance over all pairs of records, as a part of what was paid, k² times as much for k steps.

    Every record is in a group of its own, with the other establishment, and all groups have the same identity answers.
    Distances are in squared units of noise, which must be the same in all groups, and exact.
    """
    records = all_records(case.domains)
    groups = [f"{place:05}" for place in range(len(records))]
    told = {name: [value] * 2 * len(records) for name, value in case.told.items()}
    query = {"name": NAME, "by": ["g"], "mu": {"c": 0.5}}
    asked = World([*groups, *groups], case.attributes, {}, query, told, case.first, {"c": case.formula})
    spec = asked.spec()
    table = prepared_about(asked, [*records, *[case.other] * len(records)], spec)
    with recorded() as found:
        draw_answers(table, cast(Any, Kept()), SeededEntropy(1), ZETA)
    ((steps, scales),) = found
    assert (scales == scales[0]).all()
    moved = most_per_step(steps, steps_between(records, spec.policy.attributes))
    return (moved / Fraction(float(scales[0])) / Fraction(1, 2)) ** 2


@pytest.mark.parametrize("case", CASES)
def test_no_neighbor_moves_more_than_was_paid(case: str) -> None:
    assert CASES[case].tight <= largest_move(CASES[case]) <= 1


def test_bounds_that_no_grid_could_carry_are_cut_down_and_nobody_moves_more_than_was_paid() -> None:
    with patch.object(CombinedSum, "most", 10.0):
        assert 0.2 <= largest_move(CASES["a difference"]) <= 1


def _less_noise(sensitivity: Any, *others: Any) -> SumGrid:
    return sum_grid_for(np.asarray(sensitivity) * 0.95, *others)


def _signs_dropped(weights: Weights, numbers: Mapping[str, FloatArray]) -> FloatArray:
    total: FloatArray = np.add.reduce([weight * numbers[name] for name, weight in weights.of.items()])
    return np.maximum(np.abs(total), 1e-6)


def _last_forgotten(weights: Weights, numbers: Mapping[str, FloatArray]) -> FloatArray:
    *kept, _ = weights.of.items()
    total: FloatArray = np.add.reduce([abs(weight) * numbers[name] for name, weight in kept])
    return total


def _one_at_a_time(weights: Weights, numbers: Mapping[str, FloatArray]) -> FloatArray:
    largest: FloatArray = np.maximum.reduce([abs(weight) * numbers[name] for name, weight in weights.of.items()])
    return largest


def _not_clipped(weights: Weights, amounts: Mapping[str, IntArray], bounds: object) -> IntArray:
    total: IntArray = np.add.reduce([weight * amounts[name] for name, weight in weights.of.items()])
    return total


MUTANTS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "noise 5% too small": lambda: patch.object(gedp.confidential.addends, "sum_grid_for", _less_noise),
    "signs of coefficients decide": lambda: patch.object(gedp.individual.combinations, "_weighted", _signs_dropped),
    "an attribute is forgotten": lambda: patch.object(gedp.individual.combinations, "_weighted", _last_forgotten),
    "others are thought to stand still": lambda: patch.object(
        gedp.individual.combinations, "_weighted", _one_at_a_time
    ),
    "values are not cut off": lambda: patch.object(gedp.confidential.addends, "combined", _not_clipped),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_wrong_noise_is_noticed(mutant: str) -> None:
    with MUTANTS[mutant]():
        assert max(largest_move(CASES[case]) for case in ("at the bounds", "a difference")) > 1
