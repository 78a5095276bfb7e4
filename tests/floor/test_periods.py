"""Periods: one spelling each, in order, and the years that they are part of."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.errors import DomainError
from gedp.periods import PER_YEAR, Period

KINDS = tuple(PER_YEAR.values())


def of_kind(per_year: int) -> st.SearchStrategy[Period]:
    return st.integers(1900 * per_year, 2101 * per_year - 1).map(lambda number: Period(per_year, number))


periods = st.sampled_from(KINDS).flatmap(of_kind)
of_a_kind = st.sampled_from(KINDS).flatmap(lambda per_year: st.tuples(of_kind(per_year), of_kind(per_year)))


@given(periods)
def test_a_period_is_read_from_its_name(period: Period) -> None:
    assert Period.of(str(period)) == period == Period.of(period)


@given(of_a_kind)
def test_periods_of_a_kind_are_in_the_order_of_their_first_days(two: tuple[Period, Period]) -> None:
    def first_day(period: Period) -> date:
        year, part = divmod(period.number, period.per_year)
        return date(year, part * 12 // period.per_year + 1, 1)

    a, b = two
    assert (a < b) == (first_day(a) < first_day(b))


@given(periods)
def test_the_next_and_the_one_before_undo_each_other(period: Period) -> None:
    assert period.next.previous == period == period.previous.next
    assert period.previous < period < period.next


@given(st.lists(periods, max_size=6))
def test_years_are_all_runs_as_long_as_a_year_that_hold_one_of_the_periods(some: list[Period]) -> None:
    # Every start far enough around is tried, one after the other.
    runs = set()
    for period in some:
        for start in range(period.number - 30, period.number + 30):
            run = tuple(Period(period.per_year, start + i) for i in range(period.per_year))
            if period in run:
                runs.add(run)
    assert {year for period in some for year in period.years} == runs
    assert all(period in year for period in some for year in period.years)


def test_a_calendar_year_is_one_of_the_years() -> None:
    quarters = tuple(Period.of(f"2016Q{q}") for q in (1, 2, 3, 4))
    assert all(quarters in quarter.years for quarter in quarters)
    assert Period.of("2016").years == ((Period.of("2016"),),)
    assert len(Period.of("2016-03").years) == 12


@pytest.mark.parametrize(
    ("spelling", "meant"),
    [
        ("2016q1", "2016Q1"),
        ("2016-Q1", "2016Q1"),
        ("2016 Q1", "2016Q1"),
        (" 2016Q1", "2016Q1"),
        ("2016Q01", "2016Q1"),
        ("2016-3", "2016-03"),
        ("2016M03", "2016-03"),
        ("2016/03", "2016-03"),
    ],
)
def test_another_spelling_is_refused_and_the_right_one_suggested(spelling: str, meant: str) -> None:
    with pytest.raises(DomainError, match=f"Did you mean '{meant}'"):
        Period.of(spelling)


@pytest.mark.parametrize(
    "text", ["", "2016Q5", "2016Q0", "2016-13", "16Q1", "²016", "2016Q1\n", "0999", "٢٠١٦", "x" * 99]
)
def test_what_is_not_a_period_is_refused(text: str) -> None:
    with pytest.raises(DomainError, match="not a period"):
        Period.of(text)
