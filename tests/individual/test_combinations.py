"""Combinations under individual accounting: whatever the first answers were, nobody pays more than was set aside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import gedp.confidential.addends
from gedp.individual.charges import OverchargedError
from gedp.noise.entropy import SeededEntropy
from gedp.noise.sums import SumGrid, sum_grid_for
from gedp.policy import pools, set_aside, whole_pools
from tests.helpers.class_worlds import LOG, SIGNED, SQRT, Record, World, all_records, most_per_step, steps_between
from tests.helpers.own_class_worlds import job_of, spec_of
from tests.individual.worlds import recorded

QUERY = {"name": "combined", "by": ["g"], "importance": {"c": 1, "d": 2}}


@dataclass(frozen=True)
class Case:
    """Two combinations, what first answers say of their attributes, and the records whose pairs are all tried."""

    attributes: Mapping[str, Mapping[str, Any]]
    formulas: Mapping[str, str]
    told: Mapping[str, float]
    domains: Mapping[str, Sequence[int]]
    other: Record  # of another establishment, which does not move

    @property
    def records(self) -> list[dict[str, int]]:
        return all_records(self.domains)

    @property
    def world(self) -> World:
        """Every record in a group of its own, with the other establishment."""
        groups = [f"{place:05}" for place in range(len(self.records))]
        told = {name: [value] * 2 * len(groups) for name, value in self.told.items()}
        return World([*groups, *groups], self.attributes, {}, QUERY, told, combinations=self.formulas)


CASES = {
    "differences and sums": Case(
        {"x": SQRT, "w": LOG},
        {"c": "x - w", "d": "x / 3 + 2 * w"},
        {"x": 2, "w": 3},
        {"x": range(0, 70, 3), "w": range(0, 90, 4)},
        {"x": 3, "w": 7},
    ),
    "values with signs": Case(
        {"x": SQRT, "s": SIGNED},
        {"c": "x + s", "d": "s - x"},
        {"x": 3, "s": -1},
        {"x": range(0, 70, 5), "s": range(-500, 501, 25)},
        {"x": 3, "s": 7},
    ),
}


def drawn_about(case: Case) -> list[Any]:
    """What noise is added to for both combinations, in steps, and how large it is."""
    records = [*case.records, *[case.other] * len(case.records)]
    job, _ = job_of(case.world, spec_of(case.world), records, SeededEntropy(1))
    with recorded() as found, np.errstate(over="ignore", invalid="ignore"):
        job.draw()
    return found[-2:]


@pytest.mark.parametrize("case", CASES)
def test_nobody_pays_more_than_was_set_aside(case: str) -> None:
    records, spec = CASES[case].records, spec_of(CASES[case].world)
    apart = steps_between(records, spec.policy.attributes)
    parts = set_aside(spec.queries[-1], spec)
    assert list(parts) == ["c", "d"]
    for (steps, scales), of in zip(drawn_about(CASES[case]), parts.values(), strict=True):
        assert (scales == scales[0]).all()
        moved = most_per_step(steps, apart) / Fraction(float(scales[0]))
        assert 0.5 <= moved**2 / sum((part.mu_squared for part in of.values()), Fraction(0)) <= 1


def test_what_is_set_aside_and_what_is_left_are_all_that_is_spent() -> None:
    spec = spec_of(CASES["values with signs"].world)
    aside = set_aside(spec.queries[-1], spec)
    assert list(whole_pools(spec)) == ["x", "s"]
    for name, whole in whole_pools(spec).items():
        # the establishments have a weight of 1, their sums 0.5, and the combinations half of 1 and of 2
        assert [aside[c][name].mu_squared / whole.mu_squared for c in "cd"] == [Fraction(1, 6), Fraction(1, 3)]
        assert pools(spec)[name].mu_squared == whole.mu_squared / 2


def _less_noise(sensitivity: Any, *others: Any) -> SumGrid:
    return sum_grid_for(np.asarray(sensitivity) * 0.95, *others)


def test_noise_that_is_too_small_stops_the_release_before_it_is_drawn() -> None:
    with patch.object(gedp.confidential.addends, "sum_grid_for", _less_noise), pytest.raises(OverchargedError):
        drawn_about(CASES["differences and sums"])
