"""What makes one split of the budget better than another: small errors, and no table that pays for the others."""

import pytest

from gedp.planning.choice import WANTED, Aims

FLOOR = {"state": 100.0, "county": 10.0}
AIMS = Aims({"state": 1.0, "county": 1.0}, FLOOR)


def score(state: float, county: float) -> float:
    """At errors that are such parts of what equal shares give."""
    return AIMS.score({"state": state * FLOOR["state"], "county": county * FLOOR["county"]})


def test_where_all_gain_enough_the_mean_of_logarithms_counts() -> None:
    assert score(0.2, 0.8) == pytest.approx(score(0.4, 0.4))
    assert score(0.2, 0.7) < score(0.4, 0.4)


def test_a_table_that_hardly_gains_is_not_made_up_for_by_another() -> None:
    between = (1 + WANTED) / 2
    assert score(0.3, between) > score(0.5, WANTED)


def test_a_table_that_loses_weighs_more_than_one_that_hardly_gains() -> None:
    assert score(0.4, 1.02) - score(0.4, 1.0) > 2 * (score(0.4, 1.0) - score(0.4, 0.98))
    assert AIMS.is_met({"state": 100.0, "county": 1.0})
    assert not AIMS.is_met({"state": 100.1, "county": 1.0})
