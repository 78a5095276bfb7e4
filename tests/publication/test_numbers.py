"""Rounding and quality of published figures, against the rules for single numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.errors import GedpError
from gedp.margins import with_margin
from gedp.publication.quality import Quality, coefficients, parse_quality
from gedp.publication.rounding import digits, outward, places_of, rounded

amounts = st.floats(-1e10, 1e10)
margins = st.floats(1e-2, 1e9)


@given(amounts, margins)
def test_a_column_is_rounded_as_the_report_rounds_one_number(estimate: float, margin: float) -> None:
    places = places_of(np.array([margin]), np.array([estimate]))
    shown, _ = with_margin(estimate, margin)
    assert float(rounded(np.array([estimate]), places)[0]) == pytest.approx(
        float(shown.replace(",", "").replace("\N{MINUS SIGN}", "-")), abs=10.0 ** -int(places[0]) * 1.000001
    )


@given(amounts, margins)
def test_an_interval_is_rounded_outward_by_less_than_one_place(middle: float, margin: float) -> None:
    low, high = np.array([middle - margin]), np.array([middle + margin])
    places = places_of(np.array([margin]), np.array([middle]))
    wide = outward(low, high, places)
    place = 10.0 ** -float(places[0])
    slack = 1e-8 * place + 1e-9 * abs(middle)
    assert low[0] - place - slack <= wide[0][0] <= low[0] + slack
    assert high[0] - slack <= wide[1][0] <= high[0] + place + slack


@given(st.floats(1e-4, 1e4), st.floats(1.0001, 1000))
def test_an_end_beyond_0_stays_beyond_0(near: float, times: float) -> None:
    far, nothing = near * times, np.array([0.0, -1.0, np.nan, np.inf])
    places = places_of(np.array([(far - near) / 2]), np.array([near]))
    low, high = outward(np.array([near, -far]), np.array([far, -near]), places)
    assert 0 < low[0] <= near * (1 + 1e-8)
    assert 0 > high[1] >= -near * (1 + 1e-8)
    assert (low[0], high[0]) == (-high[1], -low[1])
    assert outward(nothing, nothing, np.zeros(4, dtype=np.int64))[0].tolist()[:2] == [0.0, -1.0]


def test_an_exact_figure_stays_as_it_is_and_one_of_unknown_error_has_three_digits() -> None:
    values, margin = (
        np.array([91738040.71, 0.25, 54385728187.0, 123456.7, -0.0012345]),
        np.array([0, 0, 0, np.nan, np.nan]),
    )
    assert rounded(values, places_of(margin, values)).tolist() == [91738040.71, 0.25, 54385728187.0, 123000, -0.00123]
    for value, around in zip(values.tolist(), margin.tolist(), strict=True):
        shown = float(with_margin(value, around)[0].replace(",", "").replace("\N{MINUS SIGN}", "-"))
        assert shown == rounded(np.array([value]), places_of(np.array([around]), np.array([value])))[0]


def test_digits_of_a_number() -> None:
    assert digits(np.array([0.012345, 1234.5, 0.0, np.inf]), 3).tolist() == [0.0123, 1230.0, 0.0, np.inf]


@given(st.lists(st.floats(0, 3), max_size=20))
def test_every_coefficient_has_the_first_class_that_it_fits(values: list[float]) -> None:
    quality = Quality()
    expected = [next(name for name, limit in quality.classes if value <= limit) for value in values]
    assert quality.flags(np.array(values)) == expected


def test_what_is_not_known_or_not_relative_has_a_flag_too() -> None:
    cv = coefficients(np.array([0.0, 0.0, 5.0, 5.0]), np.array([0.0, 2.0, np.nan, 1.0]))
    assert Quality().flags(cv) == ["A", "D", "unknown", "C"]
    assert Quality(withheld_above=0.1).withheld(cv).tolist() == [False, True, False, True]


def test_classes_are_read_and_explained() -> None:
    quality = parse_quality("good = 10%, fair=0.3,poor")
    assert quality.classes == (("good", 0.1), ("fair", 0.3), ("poor", math.inf))
    assert quality.meanings()["fair"] == "coefficient of variation above 10% and up to 30%"


@pytest.mark.parametrize("text", ["", "A", "A=5%", "A=5%,A", "B=10%,A=5%,C", "A=x,B", "=5%,B", "unknown=5%,B", "A=0,B"])
def test_classes_that_make_no_sense_are_refused(text: str) -> None:
    if text == "A":
        assert parse_quality(text).meanings()["A"] == "coefficient of variation of any size"
        return
    with pytest.raises(GedpError):
        parse_quality(text)
