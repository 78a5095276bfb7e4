"""Weights of individual accounting settle in a few rounds; later ones would hardly move anything."""

import numpy as np
import pytest

from gedp.microdata import weights
from gedp.microdata.cells import read_public_rows
from gedp.microdata.problem import attribute_problem
from tests.helpers.builder import JOBS, rehearsed, spec_of, table_of


def test_precisions_that_stay_after_a_few_rounds_change_little(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    counties, jobs = [str(i % 12) for i in range(600)], np.ceil(np.exp(rng.normal(2, 1.4, 600)))
    queries = [{"name": "total", "by": []}, {"name": "county", "by": ["cnty"]}]
    spec = spec_of(attributes=JOBS, budget={"mu": 1}, queries=queries)
    drawn = rehearsed(spec, table_of(600, cnty=counties, emp=jobs), seed=5)
    problem = attribute_problem(read_public_rows(drawn), "emp")
    fits = {}
    for visits in (0, weights.VISITS, weights.MOST_ROUNDS + 1):
        monkeypatch.setattr(weights, "VISITS", visits)
        fits[visits] = weights.fit_attribute(problem, "quasi")
    never, few, always = fits.values()
    error = np.sqrt(always.cell_fit.variances) if always.cell_fit else np.ones(12)
    assert np.abs(few.totals - always.totals).max() < 0.05 * error.max()
    assert np.abs(never.totals - always.totals).max() > 2 * np.abs(few.totals - always.totals).max()
    assert few.rounds <= always.rounds + 5
