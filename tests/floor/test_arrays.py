"""Sums and extremes by code, over more rows than are worked on at a time."""

import numpy as np
import pytest

from gedp.arrays import max_by, sum_by

ROWS = 2**18 + 77


def test_sums_and_extremes_are_those_of_plain_python() -> None:
    rng = np.random.default_rng(2)
    codes, values = rng.integers(0, 5, ROWS).astype(np.int32), rng.normal(size=ROWS)
    sums, largest = [0.0] * 6, [-np.inf] * 6
    for code, value in zip(codes.tolist(), values.tolist(), strict=True):
        sums[code] += value
        largest[code] = max(largest[code], value)
    assert sum_by(codes, values, 6).tolist() == sums  # in the same order, so to the last digit
    assert max_by(codes, values, 6).tolist() == largest


def test_codes_and_values_must_be_as_many() -> None:
    codes = np.zeros(3, dtype=np.int32)
    for by in (sum_by, max_by):
        with pytest.raises(ValueError, match="shape"):
            by(codes, np.ones(2), 1)
