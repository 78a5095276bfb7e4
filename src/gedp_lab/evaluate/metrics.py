"""How far protected numbers are from true ones. Knows nothing of releases.

With x the truth and x̃ what is protected: signed difference x̃ − x, absolute error |x̃ − x|, relative error
|x̃ − x|/(|x| + 1), and within p% where |x̃ − x| ≤ p% of |x|.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from gedp.arrays import BoolArray, FloatArray, IntArray
from gedp.numbers import short

CLOSE, CLOSER = 0.10, 0.03
ROUNDING = 1e-9
_DECADES = 10.0 ** np.arange(20)  # exact as floats


@dataclass(frozen=True, repr=False)
class Errors:
    """The errors of some groups, confidential: of one group they tell its truth. `covered` is NaN without intervals."""

    groups: int
    minimum: float  # of the signed differences, and so on to the mean
    lower_quartile: float
    median: float
    upper_quartile: float
    maximum: float
    mean: float
    mean_absolute: float
    median_absolute: float
    mean_relative: float
    median_relative: float
    within_3: float
    within_10: float
    covered: float
    intervals: int  # groups that have one


ERROR_NAMES = tuple(item.name for item in fields(Errors))


def errors_of(
    truth: FloatArray, protected: FloatArray, low: FloatArray | None = None, high: FloatArray | None = None
) -> Errors:
    """The errors of at least one group; `low` and `high` are the ends of its interval, NaN where there is none."""
    difference = protected - truth
    absolute, size = np.abs(difference), np.abs(truth)
    relative = relative_errors(truth, protected)
    share, intervals = np.nan, 0
    if low is not None and high is not None:
        known = np.isfinite(low) & np.isfinite(high)
        intervals = int(known.sum())
        if intervals:
            share = float(np.mean(covered(truth, low, high)[known]))
    quantiles = [float(value) for value in np.quantile(difference, [0, 0.25, 0.5, 0.75, 1])]
    return Errors(
        groups=len(truth),
        minimum=quantiles[0],
        lower_quartile=quantiles[1],
        median=quantiles[2],
        upper_quartile=quantiles[3],
        maximum=quantiles[4],
        mean=float(difference.mean()),
        mean_absolute=float(absolute.mean()),
        median_absolute=float(np.median(absolute)),
        mean_relative=float(relative.mean()),
        median_relative=float(np.median(relative)),
        within_3=float(np.mean(absolute <= CLOSER * size)),
        within_10=float(np.mean(absolute <= CLOSE * size)),
        covered=share,
        intervals=intervals,
    )


def covered(truth: FloatArray, low: FloatArray, high: FloatArray) -> BoolArray:
    """Which intervals hold the truth, up to what sums of floats are rounded by: some intervals are single points."""
    rounding = ROUNDING * (np.abs(truth) + 1)
    held: BoolArray = (low - rounding <= truth) & (truth <= high + rounding)
    return held


def relative_errors(truth: FloatArray, protected: FloatArray) -> FloatArray:
    """|x̃ − x|/(|x| + 1): the paper's, which is defined at 0."""
    found: FloatArray = np.abs(protected - truth) / (np.abs(truth) + 1)
    return found


@dataclass(frozen=True)
class SizeClasses:
    """Groups by the size of the truth: 0, then decades."""

    labels: tuple[str, ...]
    of_group: IntArray


def size_classes(truth: FloatArray) -> SizeClasses:
    """The class of every group; those that do not occur are left out."""
    size = np.abs(truth)
    decade = np.searchsorted(_DECADES, size, side="right") - 1
    decade = np.where(size == 0, -2, decade)
    present, of_group = np.unique(decade, return_inverse=True)
    return SizeClasses(tuple(_label(int(d)) for d in present), of_group)


def largest_errors(truth: FloatArray, protected: FloatArray, count: int) -> IntArray:
    """The groups with the largest absolute errors, largest first; the earlier one where two are alike."""
    absolute = np.abs(protected - truth)
    return np.argsort(-absolute, kind="stable")[:count]


def _label(decade: int) -> str:
    if decade < 0:
        return "0" if decade == -2 else "under 1"
    return f"{short(10.0**decade)} to {short(10.0 ** (decade + 1))}"


def size_order(labels: Sequence[str]) -> list[str]:
    """Labels of size classes from several calls, each once, small sizes first."""
    every = [_label(decade) for decade in range(-2, len(_DECADES))]
    return [label for label in every if label in labels]
