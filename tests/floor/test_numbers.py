"""Numbers are rounded in one way: bounds upwards, intervals to the nearest digit."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gedp
from gedp.accounting.composition import power
from gedp.numbers import bound, chance, interval, percent, size, strength
from gedp_lab.reproduce.items.intervals import PRINTED


def number(text: str) -> float:
    return float(text.replace(",", "").replace("\N{MINUS SIGN}", "-"))


@given(st.floats(0, 1))
def test_a_chance_is_never_understated_nor_raised_by_more_than_a_thousandth(probability: float) -> None:
    text = chance(probability)
    if probability > 0.999 + 1e-11:
        assert text == "> 99.9%"
    else:
        shown = number(text.rstrip("%")) / 100
        assert -1e-11 <= shown - probability < 0.001 + 1e-11


def test_chances_at_their_edges() -> None:
    assert [chance(p) for p in (0, 0.05, 0.05000000000000001, 0.0501, 0.999, 0.9991, 1)] == [
        *("0.0%", "5.0%", "5.0%", "5.1%", "99.9%", "> 99.9%", "> 99.9%")
    ]
    assert (bound(0.7455), bound(0.99999)) == ("at most 74.6%", "more than 99.9%")
    assert percent(1.155) == "115.5%"


@given(st.floats(0, 1e6))
def test_a_strength_is_never_understated(mu: float) -> None:
    assert 0 <= number(strength(mu)) * (1 + 1e-12) + 1e-15 - mu < 0.0002


@given(st.floats(-1e12, 1e12), st.floats(1e-6, 1e12))
def test_intervals_are_shown_to_the_digit_that_their_width_asks_for(low: float, width: float) -> None:
    high = low + width
    texts = interval(low, high)
    half_a_digit = 0.5 if width >= 1000 else 0.05 if width >= 1 else 0.005 * width
    off = 1.0001 * half_a_digit + 1e-11 * max(abs(low), abs(high))
    assert number(texts.low) == pytest.approx(low, rel=0, abs=off)
    assert number(texts.high) == pytest.approx(high, rel=0, abs=off)
    decimals = {len(text.partition(".")[2]) for text in texts}
    assert len(decimals) == 1 or "e" in "".join(texts)


def test_intervals_are_those_of_the_paper() -> None:
    """To the digits that it prints, or that we show if these are fewer."""
    assert len(PRINTED) == 8
    for x, protection, low, high in PRINTED:
        texts = interval(*(float(end) for end in protection.interval(x)))
        places = min(len(texts.low.partition(".")[2]), 1)
        assert [round(number(end), places) for end in texts[:2]] == [round(low, places), round(high, places)]


def test_sizes_keep_their_digits() -> None:
    assert [size(x) for x in (1, 0.25, 1234.5, 99_999_999_999_999, 0, -36.5)] == [
        *("1", "0.25", "1,234.5", "99,999,999,999,999", "0", "\N{MINUS SIGN}36.5")
    ]


def test_the_docs_round_as_the_pages_do() -> None:
    text = (Path(gedp.__file__).parents[2] / "docs" / "privacy-model.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+%) \| ([\d.]+%) \| ([\d.]+%) \|$", text, re.MULTILINE)
    assert len(rows) == 4
    for mu, *powers in rows:
        assert powers == [chance(float(power(float(mu), alpha))) for alpha in (0.01, 0.05, 0.1)]


def test_readme_says_what_the_demonstration_computes() -> None:
    readme = (Path(gedp.__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    low, high, _ = interval(30.25, 42.25)
    assert f"36 jobs from one with {low} to {high}" in re.sub(r"\s+", " ", readme)
