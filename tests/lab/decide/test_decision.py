"""The page for a decision, and the facts on it."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from gedp.cli import cli
from gedp.policy import read_spec
from gedp.policy.examples import find_spec
from gedp_lab.baselines.strength import strength
from gedp_lab.baselines.workflows import BASELINES, reference_of
from gedp_lab.decide.gather import decision_workflows
from gedp_lab.decide.sizes import CellSizes
from gedp_lab.decide.words import PROMISES, promise
from tests.helpers.runs import write_case

pytest.importorskip("highspy")

PAPER = find_spec("paper-equal")
SIZES = np.array([5.0, 48.0, 500.0, 5000.0])


def test_at_the_reference_formal_methods_are_equally_strong() -> None:
    reference = reference_of(PAPER, "m3emp")
    at = np.array([reference.size])
    found = {name: float(strength(name, PAPER, "m3emp", at, reference.alpha)[0]) for name in ("psi", *BASELINES)}
    mu = found["psi"]
    assert mu == pytest.approx(1.153, abs=1e-3)  # of all queries about an attribute
    assert found["fourth-root"] == pytest.approx(mu)
    assert found["splitting"] == pytest.approx(mu, rel=0.04)  # half the width is a little less than the upper half
    assert found["smooth-gamma"] == pytest.approx(mu)
    assert found["log-laplace"] < mu  # its shift protects small ones a little more
    assert np.isinf(found["ezs"])


def test_methods_protect_large_establishments_in_the_order_of_their_promises() -> None:
    alpha = reference_of(PAPER, "m3emp").alpha
    at_5000 = {name: strength(name, PAPER, "m3emp", SIZES, alpha)[-1] for name in ("psi", *BASELINES)}
    assert at_5000["log-laplace"] < at_5000["fourth-root"] < at_5000["psi"] < at_5000["splitting"]


def test_every_workflow_has_a_promise() -> None:
    assert set(PROMISES) >= {*BASELINES, "psi", "pnc", "auto", "gdp", "individual", "floors", "suppression"}
    said = promise("log-laplace", [0.15, 0.22, 0.15])
    assert said.startswith("Nobody can tell well a value from one 15% or 22% away")
    assert "{" not in "".join(promise(method, [0.15]) for method in PROMISES)


def test_baselines_that_cannot_answer_are_left_out(tmp_path: Path) -> None:
    assert decision_workflows(PAPER) == ["auto", "gdp", *BASELINES]
    poor = read_spec(write_case(tmp_path))
    assert decision_workflows(find_spec("individual"))[:3] == ["auto", "individual", "gdp"]
    assert decision_workflows(poor, ["emp"]) == ["auto", "gdp", "fourth-root", "splitting", "ezs", "ezs-balanced"]


def test_sizes_are_classes_of_ten() -> None:
    classes = CellSizes.of(np.array([3.0, 20.0, 456_000.0]))
    assert classes.names == ["below 10", "10–100", "100–1k", "1k–10k", "10k–100k", "from 100k"]
    medians = classes.medians(np.array([3.0, 5.0, 20.0]), np.array([0.1, 0.3, 0.5]))
    assert medians[:2] == [pytest.approx(0.2), 0.5]
    assert np.isnan(medians[2])


def test_one_command_makes_the_page_in_a_closed_folder(tmp_path: Path) -> None:
    spec = write_case(tmp_path, ("[budget]", '[labels]\nemp = "Jobs in May"\n\n[budget]'))
    out = tmp_path / "closed"
    options = ["--html", "--replicates", "2", "--workers", "1", "--by", "cnty", "--by", "", "--by", "cnty,naics2"]
    done = CliRunner().invoke(cli, ["compare", str(spec), *options, "--out", str(out)], catch_exceptions=False)
    assert done.exit_code == 0
    page = (out / "CONFIDENTIAL-decision.html").read_text(encoding="utf-8")
    assert "CONFIDENTIAL" in page.partition("<main>")[0]
    for part in (
        ">Jobs in May</h2>",
        "μ between a value of Jobs in May and one",
        "all but gdp protect the same interval",
        "At a glance",
        "guesses 480 or 15% more right in",
        "certain in 64%",
        "0 unsafe, 0 exact",
        "What each promises",
        "Withheld, by level",
        "Error by size",
        "What an attacker learns",
        "Time",
    ):
        assert part in page
    assert "What an attacker derives after suppression" in page
    assert (out.stat().st_mode & 0o777) == 0o700
    assert not list(out.glob(".tau*"))
    assert "http" not in page.replace("http://www.w3.org", "")


def test_the_page_is_silent_about_methods_that_were_not_compared(tmp_path: Path) -> None:
    spec, out = str(write_case(tmp_path)), tmp_path / "closed"
    options = ["--html", "--replicates", "1", "--workers", "1", "--by", "cnty", "--workflow", "auto"]
    done = CliRunner().invoke(cli, ["compare", spec, *options, "--out", str(out)], catch_exceptions=False)
    assert done.exit_code == 0
    page = (out / "CONFIDENTIAL-decision.html").read_text(encoding="utf-8")
    assert ", all protect the same interval" in page
    assert "gdp" not in page


def test_a_wrong_rule_and_a_sweep_are_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    spec = str(write_case(tmp_path))
    for options in (["--html", "--rule", "p:0"], ["--html", "--sweep", "mu=1"], ["--rule", "p:10"]):
        done = CliRunner().invoke(cli, ["compare", spec, *options, "--out", str(tmp_path / "out")])
        assert done.exit_code != 0
        assert not (tmp_path / "out").exists()


def test_suppression_is_a_command_of_its_own(tmp_path: Path) -> None:
    spec, out = str(write_case(tmp_path)), tmp_path / "suppressed"
    arguments = ["suppress", spec, "--attribute", "emp", "--by", "cnty", "--by", "cnty,naics2", "--out", str(out)]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    assert "primary alone" in done.output
    assert "0 sensitive cells unsafe" in " ".join(done.output.split())
    assert {path.name for path in out.iterdir()} == {
        "CONFIDENTIAL-cells.parquet",
        "CONFIDENTIAL-outcomes.csv",
        "CONFIDENTIAL-outcomes.parquet",
        "results.json",
    }
