"""Dividing whole numbers so that the parts are whole and add up: the method of largest remainders."""

import numpy as np

from gedp.arrays import FloatArray, IntArray

_FRACTION_BITS = 24
_SMALLEST_SUM = 1e-280  # weights that add up to less count as zero: totals cannot be divided by them


def apportion(totals: IntArray, weights: FloatArray, sizes: IntArray, fallback: FloatArray | None = None) -> IntArray:
    """Divides each total among its own run of `weights`; the parts of a run add up to its total exactly.

    `sizes` (each at least 1) cuts `weights` into runs, one per total. Every part gets the whole number below
    its exact quota, and the units left over go to the largest fractions of the run (compared to 2⁻²⁴), the
    earlier part winning a tie, so a run's result depends on that run alone. Where a run's weights are all
    zero, `fallback` takes their place, and equal weights where that is zero too. A part of zero weight gets
    nothing in a run with positive weight.
    """
    if not len(totals):
        return np.zeros(0, np.int64)
    starts = np.cumsum(sizes) - sizes
    sums = np.add.reduceat(weights, starts)
    usable = sums > _SMALLEST_SUM
    if not np.all(usable):
        other = np.ones(len(weights)) if fallback is None else fallback
        weights = np.where(np.repeat(usable, sizes), weights, other)
        if fallback is not None:
            return apportion(totals, weights, sizes)
        sums = np.add.reduceat(weights, starts)
    quotas = weights * np.repeat(totals / sums, sizes)
    parts = np.floor(quotas).astype(np.int64)
    left = totals - np.add.reduceat(parts, starts)
    if left.any():
        _give_remainders(parts, quotas - parts, left, sizes)
    return parts


def apportion_within(
    totals: IntArray, wanted: FloatArray, lower: IntArray, upper: IntArray, sizes: IntArray
) -> IntArray:
    """Divides each total among its own run of parts, each of which stays between its whole bounds.

    Parts begin at what is `wanted` of them. If that is too little for the run's total, all go up by the same
    fraction of the way to their upper bounds, if too much, down towards their lower ones; the rest is rounding by
    largest remainders. A total must lie between the sums of its run's bounds.
    """
    if not len(totals):
        return np.zeros(0, np.int64)
    starts = np.cumsum(sizes) - sizes
    begin = np.clip(wanted, lower, upper)
    missing = totals - np.add.reduceat(begin, starts)
    bound = np.where(np.repeat(missing > 0, sizes), upper, lower)
    room = np.abs(np.add.reduceat(bound - begin, starts))
    way = np.abs(missing) / np.where(room > 0, room, 1.0)
    values = begin + (bound - begin) * np.repeat(way, sizes)
    parts = np.clip(np.floor(values).astype(np.int64), lower, upper)
    fractions = np.where(parts < upper, values - parts, -1.0)  # never past an upper bound
    left = totals - np.add.reduceat(parts, starts)
    if left.any():
        _give_remainders(parts, fractions, left, sizes)
    return parts


def _give_remainders(parts: IntArray, fractions: FloatArray, left: IntArray, sizes: IntArray) -> None:
    """Adds 1 to the `left` largest fractions of each run, in place; runs with nothing left are not sorted."""
    open_runs = left > 0
    members = np.flatnonzero(np.repeat(open_runs, sizes))
    run_sizes = sizes[open_runs]
    run = np.repeat(np.arange(len(run_sizes)), run_sizes)
    smallness = np.rint((1.0 - fractions[members]) * 2.0**_FRACTION_BITS).astype(np.int64)
    order = np.argsort((run << (_FRACTION_BITS + 2)) | smallness, kind="stable")
    place = np.arange(len(members)) - np.repeat(np.cumsum(run_sizes) - run_sizes, run_sizes)
    parts[members[order[place < np.repeat(left[open_runs], run_sizes)]]] += 1
