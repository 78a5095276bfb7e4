"""Linear regression as the paper uses it: fit, drop outliers by studentised residuals, refit, simulate.

The paper finds its outliers by eye in residual plots: one of the employment model, five of the wage model.
Here an observation is one when its externally studentised residual exceeds the Bonferroni bound of the t
distribution, the usual outlier test, and it is among the `most` largest, five by default. Cells are
heavy-tailed, so without that limit the test would go on and make the errors look smaller than they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, stats

from gedp.arrays import BoolArray, FloatArray
from gedp.errors import Fault, FaultsError, GedpError, how_to_install

DEPENDENT = 1e-10  # part of a column, of length 1, that the columns before it leave unexplained
EXACT = 1e-9  # residuals of this part of the largest response are rounding errors

Labels = NDArray[np.str_]
PredictionNoise = Literal["prediction", "mean"]


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
    """Turns predictors into a matrix: intercept, scaled numbers, one 0/1 column per level but the first.

    A level never seen while fitting gets the average effect of those that were (their shares as the row)."""

    scales: Mapping[str, float]
    levels: Mapping[str, Labels]
    shares: Mapping[str, FloatArray]

    def matrix(self, numbers: Mapping[str, FloatArray], labels: Mapping[str, Labels]) -> FloatArray:
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
    """A fitted model, the columns that it uses, and the observations that it left out as outliers."""

    summary: FitSummary
    design: Design
    independent: NDArray[np.intp]  # the design's columns that are in the model
    outliers: NDArray[np.intp]
    results: Any = field(repr=False)

    def predict(
        self, numbers: Mapping[str, FloatArray], labels: Mapping[str, Labels]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Fitted values, standard errors of a prediction, and standard errors of the fitted mean."""
        prediction = self.results.get_prediction(self.design.matrix(numbers, labels)[:, self.independent])
        return (
            np.asarray(prediction.predicted_mean),
            np.asarray(prediction.se_obs),
            np.asarray(prediction.se_mean),
        )

    def draw(
        self,
        numbers: Mapping[str, FloatArray],
        labels: Mapping[str, Labels],
        noise: PredictionNoise,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Fitted values with the error of a single prediction, or only with that of the fitted mean."""
        count = len(next(iter(numbers.values())))
        if not count:
            return np.zeros(0)
        fitted, se_prediction, se_mean = self.predict(numbers, labels)
        drawn: FloatArray = fitted + rng.standard_normal(count) * (se_prediction if noise == "prediction" else se_mean)
        return drawn


Kind = TypeVar("Kind", bound=np.generic)


def columns_at(columns: Mapping[str, NDArray[Kind]], cells: BoolArray) -> dict[str, NDArray[Kind]]:
    """The same columns for some of the cells."""
    return {name: column[cells] for name, column in columns.items()}


def learn_design(numbers: Mapping[str, FloatArray], labels: Mapping[str, Labels]) -> Design:
    """Scales and levels from the observations of a fit. Scaling only keeps cubes of large numbers well
    conditioned: fitted values do not depend on it."""
    levels: dict[str, Labels] = {}
    shares: dict[str, FloatArray] = {}
    for name, column in labels.items():
        found, counts = np.unique(column, return_counts=True)
        levels[name] = found
        shares[name] = counts / counts.sum()
    scales = {name: float(np.abs(column).max(initial=0.0)) or 1.0 for name, column in numbers.items()}
    return Design(scales, levels, shares)


def independent_columns(triangle: FloatArray) -> NDArray[np.intp]:
    """Columns that span the others, in their order: those that repeat them (a count that is always 0, a level
    that another variable implies) are left out."""
    norms = np.linalg.norm(triangle, axis=0)
    _, pivoted, order = linalg.qr(triangle / np.where(norms > 0, norms, 1.0), mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(pivoted))
    return np.sort(order[: int((diagonal > DEPENDENT).sum())])


def studentised_residuals(residuals: FloatArray, leverage: FloatArray, parameters: int) -> FloatArray:
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
    result: FloatArray = np.where(usable, residuals, 0.0) / np.sqrt(np.maximum(others, tiny) * room)
    return result


def fit_regression(
    name: str,
    response: FloatArray,
    numbers: Mapping[str, FloatArray],
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
    triangle = compressed(matrix, response)
    independent = independent_columns(triangle[:, :-1])
    matrix = matrix[:, independent]
    results = _solve(api, triangle, independent, len(response))
    residuals = response - matrix @ results.params
    leverage = np.einsum("ij,ij->i", matrix @ results.normalized_cov_params, matrix)
    kept = np.ones(len(response), dtype=bool)
    kept[find_outliers(residuals, leverage, len(independent), rule, float(np.abs(response).max()))] = False
    if not kept.all():
        results = _solve(api, compressed(matrix[kept], response[kept]), slice(0, -1), int(kept.sum()))
        residuals = response - matrix @ results.params
    spread = response[kept] - response[kept].mean()
    unexplained = float(residuals[kept] @ residuals[kept])
    summary = FitSummary(
        name=name,
        r_squared=1 - unexplained / float(spread @ spread) if spread.any() else 1.0,
        observations=int(kept.sum()),
        outliers_removed=int((~kept).sum()),
        coefficients=len(independent),
        residual_sd=float(np.sqrt(results.scale)),
    )
    return Regression(summary, design, independent, np.flatnonzero(~kept), results)


def compressed(matrix: FloatArray, response: FloatArray) -> FloatArray:
    """The triangular factor of the matrix with the response as its last column.

    It is a rotation of the observations into as many rows as columns, so least squares on it has the same
    coefficients, covariances and sum of squared residuals: a nation's quarter of a million cells are 80 rows.
    """
    return np.asarray(np.linalg.qr(np.column_stack([matrix, response]), mode="r"))


def _solve(api: Any, triangle: FloatArray, columns: NDArray[np.intp] | slice, observations: int) -> Any:
    design = triangle[:, :-1][:, columns] if not isinstance(columns, slice) else triangle[:, columns]
    model = api.OLS(triangle[:, -1], design)
    model.df_resid = observations - design.shape[1]
    return model.fit()


def find_outliers(
    residuals: FloatArray, leverage: FloatArray, parameters: int, rule: OutlierRule, largest_response: float
) -> NDArray[np.intp]:
    """The observations that the rule drops; none where rounding errors are all that is left."""
    if np.abs(residuals).max() <= EXACT * largest_response:
        return np.zeros(0, dtype=np.intp)
    studentised = np.abs(studentised_residuals(residuals, leverage, parameters))
    bound = stats.t.ppf(1 - rule.alpha / (2 * len(residuals)), len(residuals) - parameters - 1)
    largest = np.argsort(-studentised, kind="stable")[: rule.most]
    return np.sort(largest[studentised[largest] > bound])


def _statsmodels() -> Any:
    try:
        import statsmodels.regression.linear_model as linear_model
    except ImportError:
        raise MissingExtraError(f"the regressions of this route need statsmodels: {how_to_install('synth')}") from None
    return linear_model
