"""Largest remainders: the vectorised division against an exact one, and its laws."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gedp_lab.synth.apportion import apportion, apportion_within

Run = tuple[int, list[int]]


def exact_largest_remainder(total: int, weights: list[int]) -> list[int]:
    if not sum(weights):
        weights = [1] * len(weights)
    quotas = [Fraction(total * weight, sum(weights)) for weight in weights]
    parts = [quota.numerator // quota.denominator for quota in quotas]
    order = sorted(range(len(parts)), key=lambda place: (parts[place] - quotas[place], place))
    for place in order[: total - sum(parts)]:
        parts[place] += 1
    return parts


runs = st.lists(
    st.tuples(st.integers(0, 1000), st.lists(st.integers(0, 50), min_size=1, max_size=8)),
    min_size=1,
    max_size=8,
)


def divide(cells: list[Run]) -> list[list[int]]:
    sizes = np.array([len(weights) for _, weights in cells])
    weights = np.concatenate([np.array(weights, float) for _, weights in cells])
    parts = apportion(np.array([total for total, _ in cells]), weights, sizes)
    return [run.tolist() for run in np.split(parts, np.cumsum(sizes)[:-1])]


@given(runs)
def test_equals_the_exact_method(cells: list[Run]) -> None:
    assert divide(cells) == [exact_largest_remainder(total, weights) for total, weights in cells]


@given(runs)
def test_a_run_does_not_depend_on_its_neighbours(cells: list[Run]) -> None:
    assert divide(cells) == [divide([cell])[0] for cell in cells]


positive_floats = st.floats(1e-9, 1e9)


@given(st.integers(0, 2 * 10**12), st.lists(positive_floats, min_size=1, max_size=30))
def test_parts_add_up_and_keep_to_their_quotas(total: int, weights: list[float]) -> None:
    parts = apportion(np.array([total]), np.array(weights), np.array([len(weights)]))
    assert parts.sum() == total
    assert (parts >= 0).all()
    quotas = total * np.array(weights) / np.sum(weights)
    assert (np.abs(parts - quotas) < 1 + 1e-3).all()


def test_zero_weight_gets_nothing_beside_positive_weight() -> None:
    assert apportion(np.array([7]), np.array([0.0, 1, 0, 1, 1]), np.array([5])).tolist() == [0, 3, 0, 2, 2]


def test_fallback_stands_in_for_weights_that_are_all_zero() -> None:
    weights = np.array([0.0, 0, 2, 1, 0, 0])
    fallback = np.array([3.0, 1, 9, 9, 0, 0])
    parts = apportion(np.array([8, 3, 5]), weights, np.array([2, 2, 2]), fallback)
    assert parts.tolist() == [6, 2, 2, 1, 3, 2]


def test_nothing_to_divide() -> None:
    nothing = np.zeros(0, np.int64)
    assert apportion(nothing, np.zeros(0), nothing).tolist() == []


Bounded = tuple[int, list[tuple[int, int, int]]]  # a total, and of each part the lower bound, what is wanted, the upper


@st.composite
def bounded_runs(draw: st.DrawFn) -> list[Bounded]:
    part = st.tuples(st.integers(0, 40), st.integers(0, 60), st.integers(0, 60)).map(
        lambda given: (given[0], given[1], given[0] + given[2])
    )
    runs = draw(st.lists(st.lists(part, min_size=1, max_size=8), min_size=1, max_size=6))
    return [(draw(st.integers(sum(low for low, _, _ in run), sum(high for _, _, high in run))), run) for run in runs]


def exact_within(total: int, parts: list[tuple[int, int, int]]) -> list[int]:
    begin = [min(max(wanted, low), high) for low, wanted, high in parts]
    missing = total - sum(begin)
    ends = [high if missing > 0 else low for low, _, high in parts]
    room = sum(end - first for end, first in zip(ends, begin, strict=True))
    way = Fraction(missing, room) if room else Fraction(0)
    values = [first + (end - first) * way for end, first in zip(ends, begin, strict=True)]
    result = [value.numerator // value.denominator for value in values]
    order = sorted(range(len(parts)), key=lambda place: (result[place] - values[place], place))
    for place in order[: total - sum(result)]:
        result[place] += 1
    return result


def divide_within(runs: list[Bounded]) -> list[list[int]]:
    sizes = np.array([len(parts) for _, parts in runs])
    lower, wanted, upper = np.array([part for _, parts in runs for part in parts]).T
    parts = apportion_within(np.array([total for total, _ in runs]), wanted.astype(float), lower, upper, sizes)
    return [run.tolist() for run in np.split(parts, np.cumsum(sizes)[:-1])]


@given(bounded_runs())
def test_division_within_bounds_equals_the_exact_one(runs: list[Bounded]) -> None:
    assert divide_within(runs) == [exact_within(*run) for run in runs]


@given(bounded_runs())
def test_parts_within_bounds_add_up(runs: list[Bounded]) -> None:
    for made, (total, parts) in zip(divide_within(runs), runs, strict=True):
        assert sum(made) == total
        assert all(low <= value <= high for value, (low, _, high) in zip(made, parts, strict=True))


def test_parts_move_in_their_room_by_hand() -> None:
    # 5 and 10 are wanted of 21: 6 more, of a room of 4 + 8, so both go half of their way
    run = (21, [(5, 5, 9), (10, 10, 18)])
    assert divide_within([run]) == [[7, 14]]
    # 8 and 16 are wanted of 15: 9 less, all of the room below
    assert divide_within([(15, [(5, 8, 9), (10, 16, 18)])]) == [[5, 10]]


def test_nothing_to_divide_within_bounds() -> None:
    nothing = np.zeros(0, np.int64)
    assert apportion_within(nothing, np.zeros(0), nothing, nothing, nothing).tolist() == []
