"""Weights of individual accounting settle in a few rounds; later ones would hardly move anything."""

import numpy as np
import pyarrow as pa
import pytest

import gedp
from gedp.confidential.measure import rehearse
from gedp.microdata import weights
from gedp.microdata.cells import read_public_rows
from gedp.microdata.problem import attribute_problem
from gedp.noise.entropy import SeededEntropy


def test_precisions_that_stay_after_a_few_rounds_change_little(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    table = pa.table({"area": [str(i % 12) for i in range(600)], "jobs": np.ceil(np.exp(rng.normal(2, 1.4, 600)))})
    spec = gedp.make_spec(
        data={"public": ["area"], "synthetic": True},
        attributes={"jobs": {"psi": "sqrt", "gamma": 0.5}},
        budget={"mu": 1},
        queries=[{"name": "total", "by": []}, {"name": "area", "by": ["area"]}],
    )
    drawn = rehearse(gedp.open_table(spec, table), spec, entropy=SeededEntropy(5))
    problem = attribute_problem(read_public_rows(drawn), "jobs")
    fits = {}
    for visits in (0, weights.VISITS, weights.MOST_ROUNDS + 1):
        monkeypatch.setattr(weights, "VISITS", visits)
        fits[visits] = weights.fit_attribute(problem, "quasi")
    never, few, always = fits.values()
    error = np.sqrt(always.cell_fit.variances) if always.cell_fit else np.ones(12)
    assert np.abs(few.totals - always.totals).max() < 0.05 * error.max()
    assert np.abs(never.totals - always.totals).max() > 2 * np.abs(few.totals - always.totals).max()
    assert few.rounds <= always.rounds + 5
