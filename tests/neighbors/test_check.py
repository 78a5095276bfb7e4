"""The check of the four conditions accepts what is a neighbor function and names what is wrong otherwise."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gedp.arrays import FloatArray
from gedp.neighbors import Linear, Log, NotANeighborFunctionError, Sqrt, check_neighbor_function
from gedp.neighbors.check import require_neighbor_function

GOOD: dict[str, Callable[..., object]] = {
    "sqrt": Sqrt(),
    "sqrt shifted": Sqrt(1),
    "sqrt shifted far": Sqrt(1e6),
    "log": Log(),
    "log shifted": Log(1),
    "log shifted a little": Log(0.3),
    "log shifted far": Log(1e4),
    "linear": Linear(),
    "power": lambda x: x**0.1,
    "steep power": lambda x: x**0.99,
    "naive log": lambda x: np.log(x + 1),
    "scalar log": math.log,
    "naive shifted sqrt": lambda x: np.sqrt(x + 5) - math.sqrt(5),
    "scaled and moved": lambda x: 1000 * np.sqrt(x) - 77,
    "a sum": lambda x: np.sqrt(x) + np.log1p(x) + 0.01 * x,
}


@pytest.mark.parametrize("name", GOOD)
def test_accepts(name: str) -> None:
    assert check_neighbor_function(GOOD[name]) == ()  # type: ignore[arg-type]


def papers_example(x: float) -> float:
    return 10 * x if x <= 10 else x / 100 + 99.9


BAD: dict[str, tuple[Callable[..., object], int, float]] = {
    "the paper's example": (papers_example, 4, 10),
    "falls": (lambda x: -x, 1, 1e-6),
    "flat in the end": (lambda x: np.minimum(x, 100.0), 1, 100),
    "bounded": (lambda x: -np.expm1(-x / 1000), 4, 26_000),
    "a jump": (lambda x: np.sqrt(x) + (x > 7), 2, 7),
    "a jump at 0": (lambda x: np.sqrt(x) + (x > 0), 2, 0),
    "convex": (lambda x: x * x, 3, math.nan),  # everywhere
    "convex kink": (lambda x: np.where(x < 20, np.sqrt(x), np.sqrt(20) + (x - 20)), 3, 20),
    "log of log": (lambda x: np.log1p(np.log1p(x)), 4, 20),
    "not defined everywhere": (lambda x: np.sqrt(1e6 - x), 2, 1e6),
}


@pytest.mark.parametrize("name", BAD)
def test_refuses_and_says_which_condition_fails_and_where(name: str) -> None:
    f, condition, x = BAD[name]
    failures = {failure.condition: failure for failure in check_neighbor_function(f)}  # type: ignore[arg-type]
    assert condition in failures
    assert math.isnan(x) or failures[condition].x == pytest.approx(x, rel=0.2, abs=1e-5)
    assert f"condition {condition}" in str(failures[condition])
    with pytest.raises(NotANeighborFunctionError, match=f"condition {condition}"):
        require_neighbor_function(f)  # type: ignore[arg-type]


def test_the_papers_example_fails_condition_4_alone() -> None:
    assert [failure.condition for failure in check_neighbor_function(papers_example)] == [4]


@given(
    st.lists(st.floats(-3, 9), min_size=1, max_size=4, unique_by=lambda e: round(e, 1)),
    st.lists(st.floats(0.05, 0.99), min_size=4, max_size=4),
    st.floats(1e-3, 1e3),
)
@settings(max_examples=40)
def test_refuses_every_piecewise_linear_function(exponents: list[float], drops: list[float], first: float) -> None:
    """Two or more pieces, each less steep than the one before, even by only 1%."""
    breaks = np.sort(10.0 ** np.array(exponents))
    slopes = first * np.cumprod([1.0, *drops[: len(breaks)]])
    knots = np.concatenate([[0.0], breaks])
    heights = np.concatenate([[0.0], np.cumsum(slopes[:-1] * np.diff(knots))])

    def f(x: FloatArray) -> FloatArray:
        piece = np.searchsorted(knots, x, side="right") - 1
        y: FloatArray = heights[piece] + slopes[piece] * (x - knots[piece])
        return y

    failures = check_neighbor_function(f)
    assert [failure.condition for failure in failures] == [4]
    assert np.min(np.abs(np.log(failures[0].x / breaks))) < 0.05


@pytest.mark.parametrize("drop", [1e-2, 1e-3, 1e-4])
def test_finds_even_slight_kinks(drop: float) -> None:
    failures = check_neighbor_function(lambda x: np.where(x < 50, x, 50 + (1 - drop) * (x - 50)))
    assert [failure.condition for failure in failures] == [4]
    assert failures[0].x == pytest.approx(50, rel=0.02)
