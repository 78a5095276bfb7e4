"""Tables of any grouping from the microdata, with errors from the covariance of the fit.

With v the variances of the identity answers, V their sums by cell, u_c what a group's establishments have of V_c and
f_c = u_c/V_c their share of it, the fitted total of the group has the variance

    Σ_c (u_c − u_c²/V_c)  +  fᵀ Cov(s) f,

the first for dividing cells that the group cuts through, the second for the cell totals s.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from scipy import sparse
from scipy.special import ndtri

from gedp.errors import DomainError
from gedp.microdata.cells import Cells
from gedp.microdata.fit import Microdata
from gedp.microdata.solve import CellFit, sum_by
from gedp.microdata.weights import AttributeFit, variances_are_known
from gedp.neighbors.functions import FloatArray

BATCH_NUMBERS = 20_000_000  # of the dense right-hand sides solved at a time
WHOLE = 1e-9  # how far from 0 and 1 a share of a cell may be by rounding


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


def group_variances(fit: AttributeFit, cells: Cells, groups: Cells) -> FloatArray:
    """The variance of the fitted total of every group of rows; NaN where the answers do not say."""
    if fit.cell_fit is None:
        return np.full(groups.count, np.nan)
    shape, places = (cells.count, groups.count), (cells.of_row, groups.of_row)
    if fit.row_variances is not None and fit.cell_variances is not None:
        inside = sparse.coo_array((fit.row_variances, places), shape=shape).tocsr()
        shares = sparse.csr_array(sparse.diags_array(1 / fit.cell_variances) @ inside)
        cut = np.asarray((inside - inside.multiply(shares)).sum(axis=0), dtype=np.float64)
        return np.maximum(cut, 0.0) + _of_cell_totals(fit.cell_fit, shares)
    counts = sparse.coo_array((np.ones(len(fit.values)), places), shape=shape).tocsr()
    sizes = np.bincount(cells.of_row, minlength=cells.count)
    shares = sparse.csr_array(sparse.diags_array(1 / sizes) @ counts)
    parts = sparse.csr_array((np.abs(shares.data - 1) > WHOLE, shares.indices, shares.indptr), shape=shape)
    divided = np.asarray(parts.astype(np.int64).sum(axis=0)) > 0
    return np.where(divided, np.nan, _of_cell_totals(fit.cell_fit, shares))


def _of_cell_totals(fit: CellFit, shares: "sparse.csr_array[np.float64]") -> FloatArray:
    """fᵀ Cov(s) f for every column of shares, with Cov(s) = V − V Bᵀ (W + B V Bᵀ)⁻¹ B V."""
    carried = sparse.csr_array(sparse.diags_array(fit.variances) @ shares)
    variance = np.asarray(carried.multiply(shares).sum(axis=0), dtype=np.float64)
    if not fit.system.size:
        return variance
    gathered = sparse.csc_array(_incidence(fit) @ carried)
    at_once = max(BATCH_NUMBERS // fit.system.size, 1)
    for start in range(0, shares.shape[1], at_once):
        right = gathered[:, start : start + at_once].toarray()
        variance[start : start + at_once] -= np.sum(right * fit.system.solve(right), axis=0)
    return np.maximum(variance, 0.0)


def _incidence(fit: CellFit) -> "sparse.csr_array[np.float64]":
    """B: which cells are in which groups of the system."""
    cells = len(fit.totals)
    ones, columns = np.ones(cells), np.arange(cells)
    blocks = [sparse.coo_array((ones, (m.of_cell, columns)), shape=(m.groups, cells)) for m in fit.system.marginals]
    return sparse.csr_array(sparse.vstack(blocks, format="csr"))
