"""Tables of any grouping from the microdata, with errors from the covariance of the fit."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from gedp.errors import DomainError
from gedp.microdata.fit import Microdata
from gedp.microdata.solve import sum_by
from gedp.microdata.variances import group_variances
from gedp.microdata.weights import variances_are_known


def tabulate(
    microdata: Microdata,
    by: Sequence[str],
    attributes: Sequence[str] | None = None,
    confidence: float | None = None,
) -> pa.Table:
    """Estimate, standard error, coefficient of variation and confidence interval for every group that occurs.

    `variance_kind` says whether the errors are exact, estimated (some variance depends on the truth, and was taken at
    the fitted value), or unknown (cells were divided by public weights; then there are none).
    """
    confidence = float(microdata.frame.spec.output.confidence) if confidence is None else confidence
    if not 0 < confidence < 1:
        raise DomainError("a confidence is between 0 and 1")
    unknown = [name for name in attributes or () if name not in microdata.fits]
    if unknown:
        raise DomainError(f"not fitted: {', '.join(unknown)}. There are: {', '.join(microdata.fits)}")
    frame = microdata.frame
    groups = frame.cells(by)
    labels = {key: pa.array(frame.key(key)[1], pa.string()) for key in by}
    keys = {key: labels[key].take(pa.array(groups.codes[key])) for key in by}
    parts = []
    for name, fit in microdata.fits.items():
        if attributes is not None and name not in attributes:
            continue
        estimate = sum_by(groups.of_row, fit.values, groups.count)
        variance = group_variances(fit, frame.cells_of(name), groups)
        known = np.isfinite(variance)
        deviation = np.sqrt(np.maximum(variance, 0.0))
        reach = float(ndtri((1 + confidence) / 2)) * deviation
        relative = np.divide(deviation, np.abs(estimate), out=np.full(groups.count, np.nan), where=estimate != 0)
        kind = "exact" if variances_are_known(frame.problem(name)) else "estimated"
        columns = {
            "attribute": pa.array([name] * groups.count, pa.string()),
            "estimate": pa.array(estimate),
            "std_error": pa.array(deviation, from_pandas=True),
            "cv": pa.array(relative, from_pandas=True),
            "ci_low": pa.array(estimate - reach, from_pandas=True),
            "ci_high": pa.array(estimate + reach, from_pandas=True),
            "variance_kind": pa.array(np.where(known, kind, "unknown").tolist(), pa.string()),
        }
        parts.append(pa.table({**keys, **columns}))
    return pa.concat_tables(parts)
