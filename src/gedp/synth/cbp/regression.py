"""Linear regression as the paper uses it: fit, drop outliers by studentised residuals, refit, simulate.

The paper finds its outliers by eye in residual plots: one of the employment model, five of the wage model.
Here an observation is one when its externally studentised residual exceeds the Bonferroni bound of the t
distribution, the usual outlier test, and it is among the `most` largest, five by default. Cells are
heavy-tailed, so without that limit the test would go on and make the errors look smaller than they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, stats

from gedp.errors import Fault, FaultsError, GedpError

DEPENDENT = 1e-10  # part of a column, of length 1, that the columns before it leave unexplained
EXACT = 1e-9  # residuals of this part of the largest response are rounding errors

Floats = NDArray[np.float64]
Labels = NDArray[np.str_]


class MissingExtraError(GedpError):
    """An optional package that this part of gedp needs is not installed."""


@dataclass(frozen=True)
class OutlierRule:
    """Drop at most `most` observations whose studentised residual is beyond the test at level `alpha`."""

    alpha: float = 0.05
    most: int = 5


@dataclass(frozen=True)
class FitSummary:
    """How well a regression fits, after its outliers were removed."""

    name: str
    r_squared: float
    observations: int
    outliers_removed: int
    coefficients: int
    residual_sd: float


@dataclass(frozen=True)
class Design:
    """Turns predictors into a matrix: intercept, scaled numbers, one 0/1 column a level but the first.

    A level never seen while fitting gets the average effect of those that were (their shares as the row)."""

    scales: Mapping[str, float]
    levels: Mapping[str, Labels]
    shares: Mapping[str, Floats]

    def matrix(self, numbers: Mapping[str, Floats], labels: Mapping[str, Labels]) -> Floats:
        """The design matrix of these observations."""
        count = len(next(iter(numbers.values())))
        blocks = [np.ones((count, 1))]
        blocks += [(numbers[name] / scale)[:, None] for name, scale in self.scales.items()]
        for name, levels in self.levels.items():
            dummies = (labels[name][:, None] == levels[None, :]).astype(np.float64)
            unseen = dummies.sum(axis=1) == 0
            dummies[unseen] = self.shares[name]
            blocks.append(dummies[:, 1:])
        return np.hstack(blocks)


@dataclass(frozen=True)
class Regression:
    """A fitted model."""

    summary: FitSummary
    design: Design
    independent: NDArray[np.intp]  # the design's columns that are in the model
    outliers: NDArray[np.intp]
    results: Any = field(repr=False)

    def predict(
        self, numbers: Mapping[str, Floats], labels: Mapping[str, Labels]
    ) -> tuple[Floats, Floats, Floats]:
        """Fitted values, standard errors of a prediction, and standard errors of the fitted mean."""
        prediction = self.results.get_prediction(self.design.matrix(numbers, labels)[:, self.independent])
        return (
            np.asarray(prediction.predicted_mean),
            np.asarray(prediction.se_obs),
            np.asarray(prediction.se_mean),
        )


def learn_design(numbers: Mapping[str, Floats], labels: Mapping[str, Labels]) -> Design:
    """Scales and levels from the observations of a fit. Scaling only keeps cubes of large numbers well
    conditioned: fitted values do not depend on it."""
    levels: dict[str, Labels] = {}
    shares: dict[str, Floats] = {}
    for name, column in labels.items():
        found, counts = np.unique(column, return_counts=True)
        levels[name] = found
        shares[name] = counts / counts.sum()
    scales = {name: float(np.abs(column).max(initial=0.0)) or 1.0 for name, column in numbers.items()}
    return Design(scales, levels, shares)


def independent_columns(matrix: Floats) -> NDArray[np.intp]:
    """Columns that span the matrix, in their order: those that repeat others (a count that is always 0, a
    level that another variable implies) are left out. The small triangle of its QR factors tells as much as
    the matrix.
    """
    triangle = np.linalg.qr(matrix, mode="r")
    norms = np.linalg.norm(triangle, axis=0)
    _, pivoted, order = linalg.qr(triangle / np.where(norms > 0, norms, 1.0), mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(pivoted))
    return np.sort(order[: int((diagonal > DEPENDENT).sum())])


def studentised_residuals(residuals: Floats, leverage: Floats, parameters: int) -> Floats:
    """Externally studentised residuals: each residual over the standard error that the other observations
    give.

    An observation that its own coefficient fits exactly (leverage 1) has none; it gets 0.
    """
    freedom = len(residuals) - parameters
    usable = leverage < 1 - 1e-9
    room = np.where(usable, 1 - leverage, 1.0)
    squares = np.where(usable, residuals**2 / room, 0.0)
    others = (float(residuals @ residuals) - squares) / (freedom - 1)
    tiny = 1e-300
    result: Floats = np.where(usable, residuals, 0.0) / np.sqrt(np.maximum(others, tiny) * room)
    return result


def fit_regression(
    name: str,
    response: Floats,
    numbers: Mapping[str, Floats],
    labels: Mapping[str, Labels],
    rule: OutlierRule | None = None,
) -> Regression:
    """Ordinary least squares, refitted without its outliers."""
    api = _statsmodels()
    rule = rule or OutlierRule()
    design = learn_design(numbers, labels)
    matrix = design.matrix(numbers, labels)
    if len(response) < matrix.shape[1] + 2:
        raise FaultsError(
            f"the {name} model",
            [
                Fault(
                    "disclosed cells",
                    f"only {len(response)}, for a model of {matrix.shape[1]} coefficients",
                    "Add states: the model learns from the cells that are published",
                )
            ],
        )
    independent = independent_columns(matrix)
    matrix = matrix[:, independent]
    results = api.OLS(response, matrix).fit(method="qr")
    parameters = matrix.shape[1]
    leverage = np.einsum("ij,ij->i", matrix @ results.normalized_cov_params, matrix)
    residuals = np.asarray(results.resid)
    exact = np.abs(residuals).max() <= EXACT * np.abs(response).max(
        initial=0.0
    )  # nothing but rounding is left
    studentised = np.abs(studentised_residuals(residuals, leverage, parameters)) * (not exact)
    bound = stats.t.ppf(1 - rule.alpha / (2 * len(response)), len(response) - parameters - 1)
    largest = np.argsort(-studentised, kind="stable")[: rule.most]
    outliers = np.sort(largest[studentised[largest] > bound])
    if len(outliers):
        kept = np.ones(len(response), dtype=bool)
        kept[outliers] = False
        results = api.OLS(response[kept], matrix[kept]).fit(method="qr")
    summary = FitSummary(
        name,
        float(results.rsquared),
        int(results.nobs),
        len(outliers),
        parameters,
        float(np.sqrt(results.mse_resid)),
    )
    return Regression(summary, design, independent, outliers, results)


def _statsmodels() -> Any:
    try:
        import statsmodels.regression.linear_model as linear_model
    except ImportError:
        raise MissingExtraError(
            "the regressions of this route need statsmodels: pip install gedp[synth]"
        ) from None
    return linear_model
