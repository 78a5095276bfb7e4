"""What the first answers may cost, and where the search for fractions begins."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit

from gedp.individual import GroupNoise, QueryGroups, Rows, Terms
from gedp.individual.filling import LEAST_FRACTION, most_fraction
from gedp.neighbors.estimates import psi_variance
from gedp.planning.choice import _of_paper, _starts, choose
from gedp.planning.opening import CANDIDATES, assumed_sizes, candidates, choose_first, first_answers_at
from gedp.policy import Attribute, Closeness

JOBS = Attribute("jobs", Closeness("sqrt", Decimal("0.5")))
POOL = Fraction("1.33")
COUNTS = np.random.default_rng(1).integers(1, 30, 60)
CELLS = np.arange(60, dtype=np.int32)
PARTITIONS = [QueryGroups("all", CELLS * 0, 1), QueryGroups("some", CELLS % 6, 6), QueryGroups("cells", CELLS, 60)]
IMPORTANCE = {"all": 1.0, "some": 1.0, "cells": 1.0}


@pytest.mark.parametrize(
    ("stated", "median"),
    [
        (replace(JOBS, typical=Decimal(30), person=Decimal(2)), 30),
        (replace(JOBS, person=Decimal(2)), 8),
        (JOBS, 4),
    ],
)
def test_a_typical_establishment_is_as_stated_or_has_four_people(stated: Attribute, median: float) -> None:
    sizes = assumed_sizes(stated, 4001)
    assert np.median(sizes) == pytest.approx(median, abs=1)


def test_first_answers_leave_what_is_set_aside() -> None:
    free = candidates(POOL, 3)
    assert len(free) == len(CANDIDATES)
    assert [float(mu) ** 2 for mu in free] == pytest.approx([float(POOL) / 4 * c for c in CANDIDATES], rel=1e-4)
    shares = {"all": 0.5, "some": 0.3, "cells": 0.4}
    held = candidates(POOL, 3, shares)
    assert all(Fraction(mu) ** 2 <= POOL - Fraction(sum(shares.values())) for mu in held)
    chosen = choose_first(JOBS, POOL, COUNTS, PARTITIONS, IMPORTANCE, 5.0, shares)
    assert chosen in held
    assert choose_first(JOBS, POOL, COUNTS, PARTITIONS, IMPORTANCE, 5.0) in free


def test_where_noise_drowns_establishments_the_first_answers_cost_less() -> None:
    """A search over the same candidates as an agency would make it: with sizes as they are."""
    drowned = replace(JOBS, closeness=Closeness("sqrt", Decimal(16)), person=Decimal(1))
    known = replace(JOBS, person=Decimal(1))
    costs = [choose_first(each, POOL, COUNTS, PARTITIONS, IMPORTANCE, 5.0) for each in (drowned, known)]
    assert costs[0] < costs[1]


@pytest.mark.parametrize("queries", [1, 2, 5])
def test_searches_begin_inside_what_is_allowed(queries: int) -> None:
    most = most_fraction(queries)
    starts = _starts(queries, most)
    assert starts
    for start in starts:
        fractions = LEAST_FRACTION + (most - LEAST_FRACTION) * expit(start)
        assert len(fractions) == queries
        assert ((fractions > LEAST_FRACTION) & (fractions < most)).all()


def test_a_search_finds_what_is_best_for_cells_alone() -> None:
    """Where only cells count, coarser queries take next to nothing; where only the total does, it takes the most."""
    terms = Terms(JOBS.protection, 0.3, 1.0)
    cell = np.repeat(CELLS, COUNTS)
    answers = first_answers_at(JOBS, cell, assumed_sizes(JOBS, len(cell)), terms)
    of_cells = choose(answers, PARTITIONS, {"all": 0.001, "some": 0.001, "cells": 1.0}, 5.0).portions.fractions
    of_total = choose(answers, PARTITIONS, {"all": 1.0, "some": 0.001, "cells": 0.001}, 5.0).portions.fractions
    assert of_cells["all"] < of_total["all"]
    assert of_total["all"] > 0.8


def test_the_paper_has_the_better_of_its_mechanisms() -> None:
    """Group by group against both variances."""
    rows = Rows(CELLS, np.full(60, 3.0), np.linspace(0, 400, 60))
    terms = Terms(JOBS.protection, 0.2, 0.0)
    precision = np.geomspace(1e-4, 1.0, 60)
    found = _of_paper(rows, PARTITIONS[2], terms, precision)
    by_psi = psi_variance(terms.psi, rows.expected, terms.sigma(np.full(60, 0.2)))
    assert 0 < found.by_psi.sum() < 60
    assert found.variances(terms, rows.expected) == pytest.approx(np.minimum(by_psi, 1 / precision))
    linear = replace(JOBS, closeness=Closeness("linear", Decimal(3)))
    kept = _of_paper(rows, PARTITIONS[2], Terms(linear.protection, 0.2, 0.0), precision)
    assert isinstance(kept, GroupNoise)
    assert not kept.by_psi.any()
