"""Releases are read from their folder group by group, and what is claimed of them is judged release by release."""

from pathlib import Path

import numpy as np
import pytest

from gedp_lab.reproduce.claims import releases_of
from gedp_lab.reproduce.context import Context, State
from gedp_lab.reproduce.items import differences
from gedp_lab.reproduce.releases import baseline_release, confidential_releases, releases
from tests.helpers.demonstration import Demonstration


@pytest.fixture(scope="module")
def context(demonstration: Demonstration, tmp_path_factory: pytest.TempPathFactory) -> Context:
    made = Context(tmp_path_factory.mktemp("releases"), replicates=3)
    made.__dict__["states"] = (State("demo", "00", Path(demonstration.establishments)),)
    return made


def test_releases_add_up_to_the_comparison(context: Context) -> None:
    found = confidential_releases(context, context.states[0])
    assert found.order.attributes == ["m3emp"]
    for level in ("state total", "county total", "county x NAICS-5"):
        for workflow in ("psi", "auto"):
            read, line = releases(found, workflow, "m3emp", level), found.line(workflow, "m3emp", level)
            assert read.differences.shape == (3, line.groups)
            assert read.differences.mean() == pytest.approx(line.bias)
            assert np.abs(read.differences).mean() == pytest.approx(line.mean_absolute)
            assert len({tuple(row) for row in read.differences}) == 3


def test_the_first_release_has_its_groups_keys(context: Context) -> None:
    found = confidential_releases(context, context.states[0])
    read = releases(found, "pnc", "m3emp", "county x supersector")
    first = read.first
    assert list(first.keys) == ["cnty", "supersector"]
    assert first.codes().to_pylist() == read.keys.to_pylist()
    np.testing.assert_allclose(first.protected - first.truth, read.differences[0], atol=1e-6)
    whole = releases(found, "pnc", "m3emp", "state total").first
    assert whole.truth.sum() == first.truth.sum()
    assert whole.keys == {}


def test_the_budgets_are_those_of_the_paper(context: Context) -> None:
    state = context.states[0]
    for found, replicates, budget in (
        (confidential_releases(context, state), 3, "2.285"),
        (baseline_release(context, state), 1, "2.31"),
    ):
        assert (found.replicates, found.about["budget_mu"]) == (replicates, budget)


def test_independent_releases_are_counted_once(context: Context) -> None:
    found = confidential_releases(context, context.states[0])
    assert releases_of({"a": found}) == "3 independent releases"
    assert releases_of({"a": found, "b": found}) == "3 independent releases of each of 2 states"


@pytest.mark.parametrize(
    ("values", "sure"),
    [([1.0, 1.1, 0.9], True), ([1.0, -1.0, 0.5], False), ([5.0], False), ([-1.0, -1.1, -0.9], False)],
)
def test_a_mean_over_releases_is_judged_beyond_chance(values: list[float], sure: bool) -> None:
    assert differences._surely_positive(np.array(values)) is sure
