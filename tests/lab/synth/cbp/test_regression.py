import sys

import numpy as np
import pytest

from gedp.arrays import FloatArray
from gedp.errors import FaultsError
from gedp_lab.synth.cbp.regression import (
    Labels,
    MissingExtraError,
    OutlierRule,
    fit_regression,
    learn_design,
    studentised_residuals,
)


def line_with_noise(count: int = 60) -> tuple[FloatArray, dict[str, FloatArray], dict[str, Labels]]:
    rng = np.random.default_rng(7)
    x = rng.uniform(0, 1000, count)
    sector = np.array(["23", "31", "44"])[rng.integers(0, 3, count)]
    y = 5 + 0.9 * x + np.where(sector == "31", 20.0, 0.0) + rng.normal(0, 3, count)
    return y, {"x": x}, {"sector": sector}


def test_a_line_by_hand() -> None:
    # (0, 1), (1, 3), (2, 4), (3, 6): slope 1.6, intercept 1.1, residuals -.1, .3, -.3, .1, R^2 = 1 - 0.2 / 13
    fit = fit_regression("hand", np.array([1.0, 3, 4, 6]), {"x": np.array([0.0, 1, 2, 3])}, {})
    fitted, _, _ = fit.predict({"x": np.array([0.0, 10.0])}, {})
    assert fitted == pytest.approx([1.1, 17.1])
    assert fit.summary.r_squared == pytest.approx(1 - 0.2 / 13)
    assert fit.summary.residual_sd == pytest.approx(np.sqrt(0.2 / 2))
    assert (fit.summary.observations, fit.summary.outliers_removed) == (4, 0)


def test_errors_of_a_prediction_and_of_the_mean_by_hand() -> None:
    fit = fit_regression("hand", np.array([1.0, 3, 4, 6]), {"x": np.array([0.0, 1, 2, 3])}, {})
    _, se_prediction, se_mean = fit.predict({"x": np.array([5.0])}, {})
    leverage = 1 / 4 + (5 - 1.5) ** 2 / 5
    assert se_mean == pytest.approx(np.sqrt(0.1 * leverage))
    assert se_prediction == pytest.approx(np.sqrt(0.1 * (1 + leverage)))


def test_studentised_residuals_agree_with_leaving_each_observation_out() -> None:
    rng = np.random.default_rng(3)
    x = np.column_stack([np.ones(25), rng.normal(size=(25, 3))])
    y = x @ np.array([1.0, 2, 3, 4]) + rng.normal(size=25)
    hat = x @ np.linalg.inv(x.T @ x) @ x.T
    fast = studentised_residuals(y - hat @ y, np.diag(hat), 4)
    for at in range(25):
        others = np.arange(25) != at
        beta, rss, *_ = np.linalg.lstsq(x[others], y[others])
        variance = rss[0] / (24 - 4)
        spread = variance * (1 + x[at] @ np.linalg.inv(x[others].T @ x[others]) @ x[at])
        assert fast[at] == pytest.approx((y[at] - x[at] @ beta) / np.sqrt(spread))


def test_compressing_the_observations_changes_nothing() -> None:
    from statsmodels.regression.linear_model import OLS

    y, numbers, labels = line_with_noise(300)
    fit = fit_regression("compressed", y, numbers, labels, OutlierRule(most=0))
    plain = OLS(y, fit.design.matrix(numbers, labels)).fit()
    new = {"x": np.array([0.0, 400, 5000])}, {"sector": np.array(["23", "31", "44"])}
    expected = plain.get_prediction(fit.design.matrix(*new))
    fitted, se_prediction, se_mean = fit.predict(*new)
    assert fitted == pytest.approx(expected.predicted_mean)
    assert se_prediction == pytest.approx(expected.se_obs)
    assert se_mean == pytest.approx(expected.se_mean)
    assert fit.summary.r_squared == pytest.approx(plain.rsquared)
    assert fit.summary.residual_sd == pytest.approx(np.sqrt(plain.mse_resid))
    assert fit.summary.coefficients == len(plain.params)


def test_a_planted_outlier_is_found_and_the_refit_is_as_if_it_never_was() -> None:
    y, numbers, labels = line_with_noise()
    clean = fit_regression(
        "clean",
        np.delete(y, 17),
        {"x": np.delete(numbers["x"], 17)},
        {"sector": np.delete(labels["sector"], 17)},
    )
    y[17] += 500
    fit = fit_regression("planted", y, numbers, labels)
    assert fit.outliers.tolist() == [17]
    assert fit.summary.observations == 59
    assert fit.predict(numbers, labels)[0] == pytest.approx(clean.predict(numbers, labels)[0])


def test_no_more_outliers_are_removed_than_allowed_and_the_largest_first() -> None:
    y, numbers, labels = line_with_noise(200)
    y[[3, 50, 120]] += [800.0, 900, 1000]
    assert fit_regression("all", y, numbers, labels).outliers.tolist() == [3, 50, 120]
    assert fit_regression("one", y, numbers, labels, OutlierRule(most=1)).outliers.tolist() == [120]
    assert fit_regression("none", y, numbers, labels, OutlierRule(most=0)).summary.outliers_removed == 0


def test_scaling_keeps_cubes_of_large_employment_exact() -> None:
    jobs = np.array([0.0, 10, 1e3, 5e3, 2e4, 6e4, 9e4, 1e5])
    terms = {"jobs": jobs, "squared": jobs**2, "cubed": jobs**3}
    response = 100 + 0.02 * jobs - 3e-7 * jobs**2 + 2e-12 * jobs**3
    fitted, _, _ = fit_regression("cubic", response, terms, {}).predict(terms, {})
    assert fitted == pytest.approx(response, rel=1e-9)


def test_an_unseen_level_gets_the_average_effect() -> None:
    y = np.array([10.0, 12, 10, 12, 30, 32])
    x = np.array([1.0, 2, 1, 2, 1, 2])
    labels = {"sector": np.array(["a", "a", "a", "a", "b", "b"])}
    fit = fit_regression("levels", y, {"x": x}, labels)
    fitted, _, _ = fit.predict({"x": np.array([1.0, 1, 1])}, {"sector": np.array(["a", "b", "new"])})
    assert fitted == pytest.approx([10, 30, 10 * 4 / 6 + 30 * 2 / 6])


def test_one_state_alone_adds_no_column() -> None:
    design = learn_design({"x": np.ones(3)}, {"state": np.array(["44"] * 3)})
    assert design.matrix({"x": np.ones(3)}, {"state": np.array(["44"] * 3)}).shape == (3, 2)


def test_columns_that_repeat_others_are_left_out() -> None:
    y, numbers, labels = line_with_noise()
    plain = fit_regression("plain", y, numbers, labels)
    zero, copy = np.zeros(len(y)), 3 * numbers["x"]
    padded = fit_regression("padded", y, {"zero": zero, **numbers, "copy": copy}, labels)
    assert padded.summary.coefficients == plain.summary.coefficients
    assert padded.summary.r_squared == pytest.approx(plain.summary.r_squared)
    again = padded.predict({"zero": zero, **numbers, "copy": copy}, labels)
    for one, other in zip(again, plain.predict(numbers, labels), strict=True):
        assert one == pytest.approx(other)


def test_too_few_observations_are_refused() -> None:
    with pytest.raises(FaultsError, match="only 3, for a model of 2 coefficients"):
        fit_regression("small", np.arange(3.0), {"x": np.arange(3.0)}, {})


def test_without_statsmodels_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels.regression.linear_model", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[synth\]'"):
        fit_regression("any", np.arange(5.0), {"x": np.arange(5.0)}, {})
