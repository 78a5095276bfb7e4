"""Estimates with their errors: what mechanisms, fits, tables and comparisons hand to each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from gedp.arrays import FloatArray
from gedp.normal import normal_reach

#: Kinds of variances, the most certain first. What goes into one figure makes its variance one of the last of them.
KINDS = ("exact", "estimated", "delta", "unconstrained")
EXACT, ESTIMATED, DELTA, UNCONSTRAINED = KINDS
UNKNOWN = "unknown"  # where there is no variance
KindArray: TypeAlias = npt.NDArray[np.int8]  # positions in KINDS


@dataclass(frozen=True, repr=False)
class Estimates:
    """Of every group an estimate and the variance of its error; NaN where there is none."""

    estimate: FloatArray
    variance: FloatArray
    kind: KindArray  # of the variance

    @classmethod
    def of_kind(cls, estimate: FloatArray, variance: FloatArray, kind: str) -> "Estimates":
        """Estimates whose variances are all of one kind."""
        return Estimates(estimate, variance, np.full(len(estimate), KINDS.index(kind), dtype=np.int8))

    @property
    def std_error(self) -> FloatArray:
        """The standard errors."""
        return np.sqrt(self.variance)

    @property
    def cv(self) -> FloatArray:
        """The standard errors relative to the estimates; NaN where an estimate is 0."""
        return divided(self.std_error, np.abs(self.estimate))

    @property
    def kinds(self) -> pa.Array:
        """The kinds of variances by name."""
        return pa.array(np.where(np.isfinite(self.variance), np.array(KINDS)[self.kind], UNKNOWN).tolist(), pa.string())

    def at(self, groups: Any) -> "Estimates":
        """Those of some groups."""
        return Estimates(self.estimate[groups], self.variance[groups], self.kind[groups])

    def with_interval(self, confidence: float) -> "Figures":
        """The estimates with normal confidence intervals."""
        reach = normal_reach(confidence) * self.std_error
        return self.between(self.estimate - reach, self.estimate + reach)

    def between(self, low: FloatArray, high: FloatArray) -> "Figures":
        """The estimates with these confidence intervals."""
        return Figures(self.estimate, self.variance, self.kind, low, high)


@dataclass(frozen=True, repr=False)
class Figures(Estimates):
    """Estimates with their confidence intervals, normal or not."""

    ci_low: FloatArray
    ci_high: FloatArray

    @classmethod
    def of(cls, table: pa.Table, name: str | None = None) -> "Figures":
        """The estimates of a table, or figures of this name beside them."""
        numbers = (np.asarray(table[column].to_numpy(), dtype=np.float64) for column in figure_columns(name))
        estimate, std_error, low, high = numbers
        return cls(estimate, std_error**2, _kinds_in(table, name), low, high)

    def columns(self, name: str | None = None) -> dict[str, pa.Array]:
        """The columns of a table in which these figures are the estimates, or have this name."""
        numbers = (self.estimate, self.std_error, self.ci_low, self.ci_high)
        named = zip(figure_columns(name), numbers, strict=True)
        return {column: pa.array(values, from_pandas=True) for column, values in named}


def joined(parts: Sequence[Estimates]) -> Estimates:
    """All estimates of some lists in one."""
    estimate, variance = np.zeros((2, 0))
    return Estimates(
        np.concatenate([estimate, *(each.estimate for each in parts)]),
        np.concatenate([variance, *(each.variance for each in parts)]),
        np.concatenate([np.zeros(0, dtype=np.int8), *(each.kind for each in parts)]),
    )


def table_columns(figures: Figures) -> dict[str, pa.Array]:
    """All columns of a table of estimates, in its order."""
    estimate, std_error, low, high = figures.columns().items()
    cv = "cv", pa.array(figures.cv, from_pandas=True)
    return dict([estimate, std_error, cv, low, high, ("variance_kind", figures.kinds)])


def figure_columns(name: str | None = None) -> tuple[str, str, str, str]:
    """The columns of figures: as in a plain table, or with a name."""
    if name is None:
        return "estimate", "std_error", "ci_low", "ci_high"
    return name, f"{name}_std_error", f"{name}_ci_low", f"{name}_ci_high"


def _kinds_in(table: pa.Table, name: str | None) -> KindArray:
    """The kinds of variances in a table. Figures without a column for them have variances by the delta method."""
    column = "variance_kind" if name is None else f"{name}_variance_kind"
    if column not in table.column_names:
        return np.full(table.num_rows, KINDS.index(DELTA), dtype=np.int8)
    found = pa.compute.index_in(table[column].combine_chunks(), value_set=pa.array(KINDS))
    return np.asarray(found.fill_null(0).to_numpy(), dtype=np.int8)


def divided(left: FloatArray, right: FloatArray) -> FloatArray:
    """Quotients; NaN where the divisor is 0."""
    quotient: FloatArray = np.divide(left, right, out=np.full(left.shape, np.nan), where=right != 0)
    return quotient
