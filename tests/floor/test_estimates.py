"""Estimates keep their errors, kinds and intervals on the way into a table and out of it."""

import numpy as np
import pyarrow as pa
import pytest

from gedp.estimates import DELTA, EXACT, KINDS, Estimates, Figures, joined, table_columns


def some() -> Estimates:
    exact = Estimates.of_kind(np.array([10.0, -4.0]), np.array([0.25, 9.0]), EXACT)
    return joined([exact, Estimates.of_kind(np.array([0.0, 7.0]), np.array([1.0, np.nan]), DELTA)])


def test_a_table_gives_back_what_it_was_made_of() -> None:
    shown = some().with_interval(0.95)
    table = pa.table(table_columns(shown))
    assert table["variance_kind"].to_pylist() == ["exact", "exact", "delta", "unknown"]
    found = Figures.of(table)
    for name in ("estimate", "variance", "ci_low", "ci_high"):
        assert np.array_equal(getattr(found, name), getattr(shown, name), equal_nan=True)
    assert found.kind[:3].tolist() == [KINDS.index(EXACT)] * 2 + [KINDS.index(DELTA)]


def test_errors_are_relative_to_the_size_of_an_estimate_and_intervals_normal() -> None:
    found = some()
    assert found.cv[:2].tolist() == [0.05, 0.75]
    assert np.isnan(found.cv[2])
    figures = found.at(slice(1)).with_interval(0.95)
    assert (figures.ci_low[0], figures.ci_high[0]) == pytest.approx((10 - 0.98, 10 + 0.98), abs=1e-4)
