"""Cases 1 to 3 of the appendix: formulas against scipy's distributions, simulations, and quasi weights."""

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, invgamma

from gedp.cli import cli
from gedp_lab.reproduce.items import cases
from gedp_lab.reproduce.items.cases import (
    JOBS,
    Moments,
    every_case,
    fitted_variances,
    known_variances,
    least_squares,
    lost_to_noise,
    noisy_variances,
    own_answers,
    own_variances,
    quasi,
)

counts = st.integers(2, 50)
positive = st.floats(0.1, 50)


def test_the_numbers_of_the_paper() -> None:
    assert lost_to_noise(2, 1) == pytest.approx(8 / 7)
    third = own_variances(5, 2)
    assert third.mean == pytest.approx(8.8235, abs=5e-5)
    assert third.squared_error == pytest.approx(3.743, abs=5e-4)
    assert known_variances(5, 20) == fitted_variances(5, 2) == Moments(10, 4)


@given(counts, positive)
def test_case_2_is_the_second_moment_of_a_dirichlet_component(n: int, tau: float) -> None:
    """Weights are Dirichlet(2 + τ, …), so one of them is Beta(2 + τ, (n − 1)(2 + τ))."""
    share = beta(2 + tau, (n - 1) * (2 + tau))
    assert share.mean() == pytest.approx(1 / n)
    assert noisy_variances(n, tau, 20).squared_error == pytest.approx(20 * n * (share.var() + share.mean() ** 2))


@given(counts, positive, st.floats(1, 1000))
def test_case_3_is_an_inverse_gamma(n: int, c: float, jobs: float) -> None:
    found = own_variances(n, c, jobs)
    fit = invgamma(n * (2 + jobs / c), scale=n * (jobs + jobs**2 / c))
    assert found.mean == pytest.approx(fit.mean())
    assert found.mean == pytest.approx(jobs * (n * (2 + jobs / c) - n) / (n * (2 + jobs / c) - 1))  # as in the notes
    assert found.squared_error == pytest.approx(fit.var() + (fit.mean() - jobs) ** 2)
    assert found.mean < jobs


def test_quasi_weights_are_the_mean_of_the_answers() -> None:
    answers = own_answers(5, 2, 1000, np.random.default_rng(1))
    np.testing.assert_allclose(quasi(answers, 2), answers.mean(axis=1), rtol=1e-7)
    np.testing.assert_allclose(least_squares(answers, 2 * answers), 5 / (1 / answers).sum(axis=1))


def test_simulations_agree_and_would_notice_one_percent() -> None:
    found = list(every_case(200_000, seed=3))
    assert len(found) == 12
    for name, formula, drawn in found:
        assert drawn.agrees(formula), name
        assert not drawn.agrees(Moments(formula.mean, 1.03 * formula.squared_error)), name
        assert not drawn.agrees(Moments(1.01 * formula.mean, formula.squared_error)), name


def test_the_command_fails_where_the_printed_formula_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """As printed, the variance of Case 3 lacks n²."""

    def as_printed(n: int, c: float, jobs: float = JOBS) -> Moments:
        right = own_variances(n, c, jobs)
        bias = (jobs - right.mean) ** 2
        return Moments(right.mean, bias + (right.squared_error - bias) / n**2)

    assert CliRunner().invoke(cli, ["reproduce", "cases", "--trials", "100000"]).exit_code == 0
    monkeypatch.setattr(cases, "own_variances", as_printed)
    failed = CliRunner().invoke(cli, ["reproduce", "cases", "--trials", "100000"])
    assert failed.exit_code == 1
    assert "NO" in failed.output
