"""What a series costs: each period, any year, all periods, against a count of every run of periods."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from gedp.accounting.composition import NOTHING, PrivacyLoss
from gedp.accounting.series import Charge, SeriesLoss, charged_in, series_of
from gedp.numbers import bound
from gedp.periods import Period

losses = st.fractions(0, 9, max_denominator=10_000).map(PrivacyLoss)
NUMBERS = range(24_000, 24_041)


def periods_of(per_year: int) -> st.SearchStrategy[tuple[Period, ...]]:
    """Mostly one period, and now and then several: year to date, rolling, or any others."""
    several = st.frozensets(st.sampled_from(NUMBERS), min_size=1, max_size=3)
    return several.map(lambda numbers: tuple(Period(per_year, number) for number in sorted(numbers)))


spending = st.sampled_from([1, 4, 12]).flatmap(
    lambda per_year: st.lists(st.builds(Charge, periods_of(per_year), losses), min_size=1, max_size=20)
)


def counted(charges: list[Charge], numbers: range | set[int], unknown: PrivacyLoss) -> Fraction:
    """Charge by charge: whatever depends on a value of any of these periods, once."""
    held = (charge.loss.mu_squared for charge in charges if any(p.number in numbers for p in charge.periods))
    return sum(held, unknown.mu_squared)


@given(spending, losses)
def test_years_hold_the_worst_run_and_every_run_is_within_one_of_them(
    spent: list[Charge], unknown: PrivacyLoss
) -> None:
    series = series_of(spent, unknown)
    assert series is not None
    per_year = spent[0].periods[0].per_year
    touched = {period for charge in spent for period in charge.periods}
    starts = range(NUMBERS.start - 20, NUMBERS.stop + 20)  # every run as long as a year that could have anything
    runs = {start: counted(spent, range(start, start + per_year), unknown) for start in starts}
    assert max(year.loss.mu_squared for year in series.years) == max(runs.values())
    for year in series.years:
        assert year.loss.mu_squared == runs[year.first.number]
        assert year.last.number - year.first.number + 1 == per_year
    for start in starts:
        inside = {period for period in touched if start <= period.number < start + per_year}
        assert any(inside <= set(year.first.year_from) for year in series.years)


@given(spending, losses)
def test_periods_and_all_are_exact_sums(spent: list[Charge], unknown: PrivacyLoss) -> None:
    series = series_of(spent, unknown)
    assert series is not None
    touched = {period for charge in spent for period in charge.periods}
    assert [span.first for span in series.periods] == sorted(touched)
    for span in series.periods:
        assert span.loss.mu_squared == counted(spent, {span.first.number}, unknown)
    assert series.all.loss.mu_squared == sum((charge.loss.mu_squared for charge in spent), unknown.mu_squared)
    assert (series.all.first, series.all.last) == (min(touched), max(touched))


@given(spending, st.frozensets(st.sampled_from(NUMBERS)))
def test_any_set_of_periods_costs_what_depends_on_any_of_them_once(
    spent: list[Charge], numbers: frozenset[int]
) -> None:
    window = {Period(spent[0].periods[0].per_year, number) for number in numbers}
    series = series_of(spent)
    assert series is not None
    assert series.of(window).mu_squared == charged_in(spent, window).mu_squared == counted(spent, set(numbers), NOTHING)


def test_sentences_name_the_worst_period_and_year_with_their_chances() -> None:
    mus = {"2016Q1": "0.3", "2016Q2": "0.4", "2016Q3": "1.2", "2016Q4": "0.1", "2017Q1": "0.5"}
    series = SeriesLoss({Period.of(name): PrivacyLoss.of(mu) for name, mu in mus.items()})
    one, year, everything, unchanged = series.sentences
    assert "one quarter" in one
    assert "2016Q3" in one
    assert bound(PrivacyLoss.of("1.2").power(0.05)) in one
    worst = PrivacyLoss(Fraction(16 + 144 + 1 + 25, 100))
    assert "any four consecutive quarters" in year
    assert "2016Q2 to 2017Q1" in year
    assert bound(worst.power(0.05)) in year
    assert "2016Q1 to 2017Q1" in everything
    assert bound(series.all.loss.power(0.05)) in everything
    assert "did not change" in unchanged


def test_one_year_or_less_is_told_once() -> None:
    quarter, year = Period.of("2016Q1"), Period.of("2016")
    assert len(SeriesLoss({quarter: PrivacyLoss.of(1)}).sentences) == 2
    assert "any twelve consecutive months" in SeriesLoss({Period.of("2016-01"): PrivacyLoss.of(1)}).sentences[1]
    assert len(SeriesLoss({year: PrivacyLoss.of(1)}).sentences) == 1
    assert len(SeriesLoss({year: PrivacyLoss.of(1), year.next: PrivacyLoss.of(1)}).sentences) == 3


def test_without_periods_there_is_no_series() -> None:
    assert series_of([]) is None
    assert SeriesLoss({}, NOTHING).of([Period.of("2016Q1")]) == NOTHING
