"""Errors against plain Python, and what must hold whatever the numbers."""

import math
import statistics
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp_lab.evaluate.metrics import Errors, errors_of, largest_errors, size_classes, size_order

whole = st.integers(-(10**9), 10**9).map(float)
pairs = st.lists(st.tuples(whole, whole), min_size=1, max_size=30)
Interval = tuple[float, float] | None


def quantile(values: Sequence[float], share: float) -> float:
    """Between the two nearest, as far as the share says."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low, part = int(place), place - int(place)
    return ordered[low] if not part else ordered[low] * (1 - part) + ordered[low + 1] * part


def slowly(truth: Sequence[float], protected: Sequence[float], intervals: Sequence[Interval]) -> Errors:
    signed = [p - t for t, p in zip(truth, protected, strict=True)]
    relative = [abs(d) / (abs(t) + 1) for t, d in zip(truth, signed, strict=True)]
    held = [i[0] <= t <= i[1] for t, i in zip(truth, intervals, strict=True) if i is not None]
    return Errors(
        len(truth),
        min(signed),
        quantile(signed, 0.25),
        quantile(signed, 0.5),
        quantile(signed, 0.75),
        max(signed),
        statistics.fmean(signed),
        statistics.fmean(map(abs, signed)),
        statistics.median(map(abs, signed)),
        statistics.fmean(relative),
        statistics.median(relative),
        sum(abs(d) <= 0.03 * abs(t) for t, d in zip(truth, signed, strict=True)) / len(truth),
        sum(abs(d) <= 0.10 * abs(t) for t, d in zip(truth, signed, strict=True)) / len(truth),
        sum(held) / len(held) if held else math.nan,
        len(held),
    )


def numbers(errors: Errors) -> list[float]:
    return [getattr(errors, name) for name in Errors.__dataclass_fields__]


@given(pairs, st.data())
def test_errors_are_those_of_plain_python(values: list[tuple[float, float]], data: st.DataObject) -> None:
    truth, protected = map(list, zip(*values, strict=True))
    ends = st.none() | st.tuples(whole, whole)
    intervals: list[Interval] = data.draw(st.lists(ends, min_size=len(truth), max_size=len(truth)))
    low, high = (np.array([math.nan if i is None else i[side] for i in intervals]) for side in (0, 1))
    found = errors_of(np.array(truth), np.array(protected), low, high)
    wanted = slowly(truth, protected, intervals)
    assert numbers(found) == pytest.approx(numbers(wanted), rel=1e-9, abs=1e-6, nan_ok=True)


@given(st.lists(whole, min_size=1))
def test_what_is_right_has_no_error(values: list[float]) -> None:
    truth = np.array(values)
    errors = errors_of(truth, truth, truth, truth)
    assert (errors.within_3, errors.within_10, errors.covered) == (1, 1, 1)
    assert not any(numbers(errors)[1:11])


@given(pairs, st.integers(-(10**6), 10**6))
def test_shifting_the_truth_shifts_the_differences(values: list[tuple[float, float]], shift: int) -> None:
    truth, protected = map(np.array, zip(*values, strict=True))
    before, after = errors_of(truth, protected), errors_of(truth + shift, protected)
    for name in ("minimum", "lower_quartile", "median", "upper_quartile", "maximum", "mean"):
        assert getattr(after, name) == pytest.approx(getattr(before, name) - shift, rel=1e-9, abs=1e-4)


@given(pairs)
def test_exchanging_truth_and_protected_turns_the_differences_round(values: list[tuple[float, float]]) -> None:
    truth, protected = map(np.array, zip(*values, strict=True))
    one, other = errors_of(truth, protected), errors_of(protected, truth)
    assert one.minimum == -other.maximum
    assert one.mean_absolute == other.mean_absolute


def test_close_is_3_and_10_percent_of_the_truth() -> None:
    truth, protected = np.array([100.0, 100, 100, 100, 0, 0]), np.array([103.0, 96, 90, 111, 0, 1])
    errors = errors_of(truth, protected)
    assert [errors.within_3, errors.within_10] == pytest.approx([2 / 6, 4 / 6])


def test_errors_do_not_show_themselves() -> None:
    assert "1234" not in repr(errors_of(np.array([1234.0]), np.array([0.0])))


def test_no_interval_covers_nothing() -> None:
    errors = errors_of(np.array([1.0]), np.array([2.0]))
    assert math.isnan(errors.covered)
    assert errors.intervals == 0


def size_of(text: str) -> int:
    """The number behind 10k."""
    digits = text.rstrip("kMbnt")
    return int(digits) * {"": 1, "k": 10**3, "M": 10**6, "bn": 10**9, "tn": 10**12}[text.removeprefix(digits)]


@given(st.lists(whole | st.floats(-20, 20), min_size=1))
def test_every_group_is_in_the_class_of_its_size(values: list[float]) -> None:
    classes = size_classes(np.array(values))
    assert len(set(classes.labels)) == len(classes.labels)
    assert list(classes.labels) == size_order(classes.labels)
    for value, place in zip(values, classes.of_group, strict=True):
        label = classes.labels[place]
        if abs(value) < 1:
            assert label == ("0" if value == 0 else "under 1")
        else:
            low, high = (size_of(text) for text in label.split(" to "))
            assert low <= abs(value) < high == 10 * low


@pytest.mark.parametrize("power", range(15))
def test_powers_of_ten_begin_a_class(power: int) -> None:
    below, at = 10.0**power - 1, 10.0**power
    assert len(size_classes(np.array([below, at])).labels) == 2
    assert len(size_classes(np.array([at, 10 * at - 1])).labels) == 1


@given(pairs, st.integers(1, 10))
def test_the_worst_are_the_worst(values: list[tuple[float, float]], count: int) -> None:
    truth, protected = map(np.array, zip(*values, strict=True))
    found = [abs(protected[i] - truth[i]) for i in largest_errors(truth, protected, count)]
    assert found == sorted((abs(p - t) for t, p in values), reverse=True)[:count]
