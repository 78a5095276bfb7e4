"""The ablation of estimated variances: its closed form against the solver, and the paper's numbers."""

import numpy as np
import pytest
from click.testing import CliRunner

from gedp.cli import cli
from gedp.microdata.answers import GroupAnswers, PsiNoise
from gedp.microdata.problem import AttributeProblem
from gedp.microdata.weights import fit_attribute
from gedp.neighbors import Log
from gedp.partitions import Partition
from gedp_lab.reproduce.items.bias import EACH, PRINTED, SETTINGS, AblationSetting, Trials, draw, fits, run_setting


def problem_of(setting: AblationSetting, answers: Trials, trial: int) -> AttributeProblem:
    """One trial as a release would give it."""
    counties = setting.counties
    of_row = np.tile(np.arange(counties, dtype=np.int32), EACH)
    noise = PsiNoise(setting.psi, setting.sigma, setting.least)
    by_county, total = answers.counties[trial], answers.total[[trial]]
    groups = [
        GroupAnswers(Partition.single(counties), by_county, setting.variance(by_county),
                     "county", np.ones(counties, dtype=bool), noise),
        GroupAnswers(Partition.whole(counties), total, setting.variance(total),
                     "total", np.ones(1, dtype=bool), noise),
    ]  # fmt: skip
    return AttributeProblem("jobs", Partition(of_row, counties), tuple(groups), answers.establishments[trial], noise)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: f"{s.name}-{s.sigma}-{s.counties}")
def test_the_closed_form_is_what_the_solver_finds(setting: AblationSetting) -> None:
    answers = draw(setting, 20, np.random.default_rng(4))
    ours = fits(setting, answers)
    for trial in range(20):
        problem = problem_of(setting, answers, trial)
        plug_in = fit_attribute(problem, "plug-in")
        np.testing.assert_allclose(ours["Est"].establishments[trial], plug_in.values, rtol=1e-8)
        np.testing.assert_allclose(ours["Est"].counties[trial], plug_in.totals, rtol=1e-8)
        quasi = fit_attribute(problem, "quasi")
        np.testing.assert_allclose(ours["quasi"].establishments[trial], quasi.values, rtol=5e-3, atol=5e-3)
        assert ours["quasi"].total[trial] == pytest.approx(quasi.totals.sum(), rel=1e-4)


def test_quasi_removes_the_bias_that_plug_in_has() -> None:
    errors = run_setting(SETTINGS[0], 4_000)
    standard_error = np.sqrt(errors.squared["Act", "Total"] / errors.trials)
    assert abs(errors.bias["quasi"]) < 4 * standard_error
    assert errors.bias["Est"] < -30 * standard_error
    assert errors.squared["quasi", "Total"] == pytest.approx(errors.squared["Act", "Total"], rel=0.02)


def test_a_wrong_number_does_not_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = run_setting(SETTINGS[0], 4_000)
    wrong = {**PRINTED["sqrt"], "County": (10.5 * 1.05, 10.0, 10.1)}
    monkeypatch.setitem(PRINTED, "sqrt", wrong)
    assert ("Est", "County", False) in list(errors.checks())


def test_the_command_prints_paper_and_ours() -> None:
    result = CliRunner().invoke(cli, ["reproduce", "bias", "--trials", "2000"])
    assert "50 counties" in result.output
    assert "624.4" in result.output
    assert "22,215.3" in result.output


@pytest.mark.slow
def test_every_number_of_the_paper_and_of_quasi() -> None:
    result = CliRunner().invoke(cli, ["reproduce", "bias"])
    assert result.exit_code == 0, result.output
    assert "NO" not in result.output.split()
    harder = run_setting(AblationSetting("log", Log(), 0.5, 100))
    assert all(fine for _, _, fine in harder.checks())
