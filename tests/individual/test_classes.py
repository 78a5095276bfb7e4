"""Tables by classes under individual accounting: whatever the first answers were, nobody pays more than its pool."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from itertools import combinations
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import gedp.confidential.addends
import gedp.individual.classes
from gedp.accounting.composition import exact
from gedp.individual.charges import OverchargedError
from gedp.individual.classes import ClassTable, Possible
from gedp.noise.entropy import SeededEntropy
from gedp.noise.sums import SumGrid, sum_grid_for
from gedp.policy import COUNT, Spec, set_aside, whole_pools
from tests.helpers.class_worlds import LOG, PAY, SIGNED, SIZE, SQRT, Record, World, all_records, steps_between
from tests.helpers.own_class_worlds import FIRST, job_of, spec_of, squared_distance
from tests.individual.worlds import planned_once, recorded

Distances = dict[str, Fraction]


def drawn_about(world: World, spec: Spec, records: Sequence[Record]) -> tuple[list[Any], Mapping[str, Any]]:
    """Everything that noise was added to, with its noise; and what was answered by classes."""
    job, writer = job_of(world, spec, records, SeededEntropy(1))
    with recorded() as found, np.errstate(over="ignore", invalid="ignore"):
        job.draw()
    return found, writer.answers["classes"].to_pandas()


def largest_moves(
    world: World, domains: Mapping[str, Sequence[int]], others: Sequence[Record]
) -> tuple[Fraction, Distances]:
    """Over all pairs of records, the largest squared distance of everything, and of each answer by classes.

    As parts of what was set aside, k² times as much for k steps.
    """
    spec = spec_of(world)
    query, attributes = spec.by_classes[0], spec.policy.attributes
    records = all_records(domains)
    steps = steps_between(records, attributes)
    with planned_once():
        drawn = [drawn_about(world, spec, [record, *others]) for record in records]
    answers = drawn[0][1]
    moving = [asked for asked in query.asked if (answers["variance"][answers["attribute"] == asked] > 0).any()]
    rest = sum((pool.mu_squared - exact(FIRST) ** 2 for pool in whole_pools(spec).values()), Fraction(0))
    parts = {asked: sum(p.mu_squared for p in by.values()) for asked, by in set_aside(query, spec).items()}
    most, of_classes = Fraction(0), dict.fromkeys(moving, Fraction(0))
    certain = answers["variance"] == 0
    for _, same in drawn:
        assert (certain == (same["variance"] == 0)).all()
        assert (answers["estimate"][certain] == same["estimate"][certain]).all()
    for place, other in combinations(range(len(records)), 2):
        (first, _), (second, _), squared_steps = drawn[place], drawn[other], int(steps[place, other]) ** 2
        most = max(most, squared_distance(first, second) / rest / squared_steps)
        for back, asked in enumerate(reversed(moving), 1):
            moved = squared_distance(first[-back:][:1], second[-back:][:1])
            of_classes[asked] = max(of_classes[asked], moved / parts[asked] / squared_steps)
    return most, of_classes


TWO = {"x": SQRT, "w": LOG}
OTHERS = [{"x": 3, "w": 7}, {"x": 9, "w": 0}, {"x": 0, "w": 40}]
TOLD = {"x": [2.0, 3.0, 9.0, 0.0], "w": [9.0, 7.0, 0.0, 40.0]}
DOMAINS = {"x": (0, 1, 3, 4, 5, 7, 8, 11), "w": (0, 2, 5, 9, 13)}
EVERYTHING = {"count": True, "importance": {"establishments": 1, "x": 2, "w": 1}}
CASES: dict[str, tuple[World, Mapping[str, Sequence[int]], Sequence[Record]]] = {
    "one class": (
        World(list("aabb"), TWO, {"size": SIZE}, {"by": ["g", "size"], **EVERYTHING}, TOLD),
        DOMAINS,
        OTHERS,
    ),
    "two classes": (
        World(list("aabb"), TWO, {"size": SIZE, "pay": PAY}, {"by": ["pay", "size"], **EVERYTHING}, TOLD),
        DOMAINS,
        OTHERS,
    ),
    "a giant whose class is public": (
        World(
            list("abb"), TWO, {"size": SIZE}, {"by": ["g", "size"], **EVERYTHING}, {"x": [900, 1, 2], "w": [9, 7, 1]}
        ),
        {"x": (1, 7, 8, 9, 820, 870, 900, 940, 990), "w": (0, 5, 9, 13)},
        OTHERS[:2],
    ),
    "values with signs": (
        World(
            list("aab"),
            {"x": SQRT, "w": SIGNED},
            {"size": SIZE},
            {"by": ["size"], "importance": {"w": 3}},
            {"x": [3, 1, 2], "w": [1, 0, -1]},
        ),
        {"x": range(9), "w": range(-6, 7, 2)},
        OTHERS[:2],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_nobody_pays_more_than_its_pool(case: str) -> None:
    most, of_classes = largest_moves(*CASES[case])
    assert most <= 1
    assert all(part <= 1 for part in of_classes.values()), of_classes
    if case == "one class":  # and somebody pays nearly all that was set aside
        assert of_classes[COUNT] > 0.99
        assert of_classes["x"] > 0.5  # bounds are above what the worst of these has


def _less_noise(sensitivity: Any, *others: Any) -> SumGrid:
    return sum_grid_for(np.asarray(sensitivity) * 0.95, *others)


def test_noise_that_is_too_small_stops_the_release_before_it_is_drawn() -> None:
    world, _, others = CASES["one class"]
    with patch.object(gedp.confidential.addends, "sum_grid_for", _less_noise), pytest.raises(OverchargedError):
        drawn_about(world, spec_of(world), [{"x": 2, "w": 9}, *others])


MUTANTS: dict[str, AbstractContextManager[object]] = {
    "the class that is entered is forgotten": patch.object(gedp.individual.classes, "ENTRIES", 1),
    "classes are not moved to possible ones": patch.object(Possible, "clipped", lambda own, found: found),
    "other attributes are thought to stand still": patch.object(ClassTable, "of_itself", lambda table, name: True),
}
CAUGHT = {
    "the class that is entered is forgotten": "one class",
    "classes are not moved to possible ones": "a giant whose class is public",
    "other attributes are thought to stand still": "one class",
}


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mistake_about_what_one_can_move_is_noticed(mutant: str) -> None:
    with MUTANTS[mutant]:
        try:
            _, of_classes = largest_moves(*CASES[CAUGHT[mutant]])
        except AssertionError:  # an answer without noise moved
            return
    assert max(of_classes.values()) > 1
