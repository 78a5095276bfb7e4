"""Predicted errors against slow obvious formulas, and against what releases then show."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import gedp
from gedp.individual import QueryGroups
from gedp.planning.establishments import Sizes
from gedp.planning.expected import Case
from gedp.policy import parse_spec
from tests.helpers.demonstration import Demonstration

LINEAR = """
[data]
source = "t.parquet"
public = ["a", "b"]
[attributes]
emp = { psi = "linear", gamma = 10 }
[budget]
mu = 9
[[queries]]
name = "identity"
by = "establishment"
mu = 0.5
[[queries]]
name = "total"
by = []
mu = 1
[[queries]]
name = "a"
by = ["a"]
mu = 2
[[queries]]
name = "b"
by = ["b"]
mu = 3
"""


def test_under_the_papers_rule_errors_are_those_of_least_squares() -> None:
    """With a linear ψ the noise of every answer is γ/μ, whatever the sizes; then the covariance is a matrix inverse."""
    a, b = np.array([0, 0, 0, 1, 1, 2, 2, 2]), np.array([0, 1, 1, 0, 1, 0, 1, 1])
    cells, cell = np.unique(np.column_stack([a, b]), axis=0, return_inverse=True)
    groups = {"total": np.zeros(len(a), dtype=int), "a": a, "b": b}
    of_cells = {"total": np.zeros(len(cells), dtype=int), "a": cells[:, 0], "b": cells[:, 1]}
    partitions = [QueryGroups(q, of.astype(np.int32), int(of.max()) + 1) for q, of in of_cells.items()]
    case = Case(
        spec := parse_spec(LINEAR),
        spec.policy.attributes["emp"],
        cell.ravel().astype(np.int32),
        Sizes(np.full(len(a), 1e6)),
        partitions,
    )
    design, precision = [np.eye(len(a))], [np.full(len(a), (0.5 / 10) ** 2)]
    for of_row, mu in zip(groups.values(), (1, 2, 3), strict=True):
        rows = (of_row[None, :] == np.arange(of_row.max() + 1)[:, None]).astype(float)
        design.append(rows)
        precision.append(np.full(len(rows), (mu / 10) ** 2))
    x = np.vstack(design)
    covariance = np.linalg.inv(x.T @ (np.concatenate(precision)[:, None] * x))
    found = case.variances()
    for (query, _), rows in zip(groups.items(), design[1:], strict=True):
        np.testing.assert_allclose(found[query], np.diag(rows @ covariance @ rows.T), rtol=1e-6)
    np.testing.assert_allclose(found["identity"], (10 / 0.5) ** 2)
    without = case.without("b").variances()
    assert set(without) == {"identity", "total", "a"}
    assert without["a"].mean() > found["a"].mean()  # at the same prices a table less is information less


def test_a_mechanism_that_the_spec_names_is_the_one_that_is_predicted() -> None:
    """A giant among small ones: noise scaled to it by pnc, ψ of the sum by psi, the better of both by auto."""
    text = LINEAR.replace('psi = "linear", gamma = 10', 'psi = "sqrt", gamma = 0.5')
    sizes = np.concatenate([[100_000.0], np.full(50, 3.0)])
    cell = np.zeros(51, dtype=np.int32)
    found = {}
    for mechanism in ("psi", "pnc", "auto"):
        spec = parse_spec(text.replace("by = []\n", f'by = []\nmechanism = "{mechanism}"\n'))
        partition = QueryGroups("total", np.zeros(1, dtype=np.int32), 1)
        case = Case(spec, spec.policy.attributes["emp"], cell, Sizes(sizes), [partition])
        found[mechanism] = float(case.variances()["total"][0])
    assert found["auto"] == min(found["psi"], found["pnc"])
    assert found["psi"] != found["pnc"]


def test_what_was_planned_from_a_release_is_what_the_next_one_shows(
    demonstration: Demonstration, tmp_path: Path
) -> None:
    lines = demonstration.policy.read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith(("m2emp", "m3emp", "wage")))  # one will do
    spec = replace(gedp.parse_spec(text), folder=demonstration.policy.parent)
    plan = gedp.plan(spec, demonstration.release, mu=[2.31])
    release = gedp.run(spec, out=tmp_path / "next", answers_only=True)
    itself = release.manifest.individual["m1emp"].errors
    truth = pq.read_table(demonstration.establishments).to_pandas()
    truth["naics5"] = truth["naics"].str[:5]
    for query, by in (("naics5", ["naics5"]), ("county x naics5", ["cnty", "naics5"])):
        found = release.microdata().tabulate(by, ["m1emp"]).to_pandas()
        both = found.merge(truth.groupby(by, observed=True)["m1emp"].sum().reset_index(), on=by)
        measured = float(np.mean(np.abs(both["estimate"] - both["m1emp"]))) * np.sqrt(np.pi / 2)
        planned = plan.of(query, "m1emp").error
        assert planned == pytest.approx(measured, rel=0.25)  # four standard deviations of a mean over 147 industries
        assert planned == pytest.approx(itself[query], rel=0.1)
