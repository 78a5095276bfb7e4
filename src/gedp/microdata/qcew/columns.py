"""The columns of the quarterly files of the Bureau of Labor Statistics, followed by those of errors."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

#: The attributes whose totals are amounts of a line.
AMOUNTS = {
    "month1_emplvl": "m1emp",
    "month2_emplvl": "m2emp",
    "month3_emplvl": "m3emp",
    "total_qtrly_wages": "wage",
}
NUMBER, WEEKLY = "qtrly_estabs", "avg_wkly_wage"
ERRORS = {"se": "std_error", "ci_low": "ci_low", "ci_high": "ci_high"}

Figures = Mapping[str, pa.Array]  # estimate, error and interval of every line


def code_columns(lines: int, **texts: Sequence[str | None] | str | None) -> dict[str, pa.Array]:
    """The columns that say what a line is about, each with its texts or one text for all lines; null if unknown."""
    listed = {name: [each] * lines if each is None or isinstance(each, str) else each for name, each in texts.items()}
    listed["disclosure_code"] = [""] * lines  # nothing is suppressed
    return {name: pa.array(each, pa.string()) for name, each in listed.items()}


def figure_columns(found: Mapping[str, Figures]) -> dict[str, pa.Array]:
    """Figures as whole numbers, then their errors and intervals."""
    numbers = {name: _whole(of, is_ratio=name == WEEKLY) for name, of in found.items()}
    errors = {f"{kind}_{name}": of[source] for name, of in found.items() for kind, source in ERRORS.items()}
    return {**numbers, **errors}


def _whole(figures: Figures, *, is_ratio: bool) -> pa.Array:
    """Whole numbers; none where a ratio has no error, because what it divides by may be 0."""
    estimates, errors = (figures[name].to_numpy(zero_copy_only=False) for name in ("estimate", "std_error"))
    rounded = np.rint(estimates)
    usable = (np.isfinite(errors) | (not is_ratio)) & (np.abs(rounded) < 2.0**63)
    return pa.array(np.where(usable, rounded, 0).astype(np.int64), mask=~usable)
