"""How much the fitted total of any group of rows varies, from the covariance of the fit.

With v the variances of the identity answers, V their sums by cell, u_c what a group's establishments have of V_c and
f_c = u_c/V_c their share of it, the fitted total of the group has the variance

    Σ_c (u_c − u_c²/V_c)  +  fᵀ Cov(s) f,

the first for dividing cells that the group cuts through, the second for the cell totals s.
"""

import numpy as np
from scipy import sparse

from gedp.arrays import FloatArray
from gedp.microdata.solve import CellFit, incidence
from gedp.microdata.weights import AttributeFit
from gedp.partitions import Partition

BATCH_NUMBERS = 20_000_000  # of the dense matrices worked on at a time
ROUNDING = 1e-12  # what may be left by rounding of a variance that is 0, relative to what it was a difference of
WHOLE = 1e-9  # how far from 0 and 1 a share of a cell may be by rounding


def group_variances(fit: AttributeFit, cells: Partition, groups: Partition) -> FloatArray:
    """The variance of the fitted total of every group of rows; NaN where the answers do not say."""
    if fit.cell_fit is None:
        return np.full(groups.count, np.nan)
    shape, places = (cells.count, groups.count), (cells.group_of, groups.group_of)
    if (whole := cells.inside(groups)) is not None:
        if (measured := _of_measured(fit.cell_fit, whole)) is not None:
            return measured
        return _of_cell_totals(fit.cell_fit, sparse.csr_array(incidence(whole).T))
    if fit.row_variances is not None and fit.cell_variances is not None:
        inside = sparse.coo_array((fit.row_variances, places), shape=shape).tocsr()
        shares = sparse.csr_array(sparse.diags_array(1 / fit.cell_variances) @ inside)
        cut = np.asarray((inside - inside.multiply(shares)).sum(axis=0), dtype=np.float64)
        rounding = ROUNDING * np.asarray(inside.sum(axis=0), dtype=np.float64)
        return np.where(cut > rounding, cut, 0.0) + _of_cell_totals(fit.cell_fit, shares)
    counts = sparse.coo_array((np.ones(len(fit.values)), places), shape=shape).tocsr()
    shares = sparse.csr_array(sparse.diags_array(1 / cells.sizes) @ counts)
    parts = sparse.csr_array((np.abs(shares.data - 1) > WHOLE, shares.indices, shares.indptr), shape=shape)
    divided = np.asarray(parts.astype(np.int64).sum(axis=0)) > 0
    return np.where(divided, np.nan, _of_cell_totals(fit.cell_fit, shares))


def _of_measured(fit: CellFit, groups: Partition) -> FloatArray | None:
    """W − W² (W + B V Bᵀ)⁻¹ on the diagonal, where these are the groups of a query; None where they are not."""
    system = fit.system
    if not system.is_direct or system.size**2 > BATCH_NUMBERS:
        return None
    for each, start in zip(system.measurements, system.starts, strict=False):
        same = groups.inside(each.groups)
        if each.groups.count == groups.count and same is not None:
            place = same.group_of
            variances = each.variances[place]
            found = variances - variances**2 * system.inverse.diagonal[start + place]
            return np.where(found > ROUNDING * variances, found, 0.0)
    return None


def _of_cell_totals(fit: CellFit, shares: "sparse.csr_array[np.float64]") -> FloatArray:
    """fᵀ Cov(s) f for every column of shares, with Cov(s) = V − V Bᵀ (W + B V Bᵀ)⁻¹ B V.

    More groups than unknowns: the system is inverted once, instead of solved for every group.
    """
    carried = sparse.csr_array(sparse.diags_array(fit.variances) @ shares)
    variance = np.asarray(carried.multiply(shares).sum(axis=0), dtype=np.float64)
    size, groups = fit.system.size, shares.shape[1]
    if not size:
        return variance
    gathered = sparse.csc_array(fit.incidence @ carried)
    inverse = fit.system.solve(np.eye(size)) if size < groups and size * size <= BATCH_NUMBERS else None
    at_once = max(BATCH_NUMBERS // size, 1)
    rounding = ROUNDING * variance
    for start in range(0, groups, at_once):
        right = gathered[:, start : start + at_once]
        solved = fit.system.solve(right.toarray()) if inverse is None else (right.T @ inverse).T
        product = sparse.csc_array(right.multiply(solved))
        variance[start : start + at_once] -= np.asarray(product.sum(axis=0), dtype=np.float64)
    return np.where(variance > rounding, variance, 0.0)
