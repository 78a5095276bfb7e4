"""What a series of releases costs an establishment: in one period, in any year, over all periods.

Values of different periods are different attributes of the same establishment, and a table of one period moves with
the values of that period alone. So what adds up over periods is μ², exactly. The proof is in docs/series.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gedp.accounting.composition import NOTHING, PrivacyLoss, compose
from gedp.numbers import bound, strength
from gedp.periods import Period

ALARMS = 0.05  # the chance of a false alarm that sentences speak of
_NUMBERS = {4: "four", 12: "twelve"}


@dataclass(frozen=True)
class Span:
    """Consecutive periods, and what the tables of all of them cost together."""

    first: Period
    last: Period
    loss: PrivacyLoss

    @property
    def name(self) -> str:
        """`2016Q1`, or `2016Q1 to 2016Q4`."""
        return str(self.first) if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True)
class SeriesLoss:
    """What is spent on each period of a series.

    What was counted, but nobody knows for which period, counts for every one, so that no statement is too good.
    """

    of_period: Mapping[Period, PrivacyLoss]  # in their order, at least one, all of one kind
    in_every: PrivacyLoss = NOTHING

    def of(self, periods: Iterable[Period]) -> PrivacyLoss:
        """What the tables of these periods cost together."""
        return compose(self.of_period.get(period, NOTHING) for period in periods) + self.in_every

    @property
    def kind(self) -> str:
        """Of which kind its periods are: year, quarter or month."""
        return next(iter(self.of_period)).kind

    @property
    def periods(self) -> tuple[Span, ...]:
        """What each period costs by itself."""
        return tuple(Span(period, period, self.of([period])) for period in self.of_period)

    @property
    def years(self) -> tuple[Span, ...]:
        """What each year costs that starts with one of the periods and is not part of an earlier one.

        Every other run of periods as long as a year has no more of them than one of these.
        """
        found: list[Span] = []
        covered: set[Period] = set()
        for period in self.of_period:
            year = period.year_from
            if not covered.issuperset(year_periods := set(year) & self.of_period.keys()):
                found.append(Span(period, year[-1], self.of(year)))
                covered = year_periods
        return tuple(found)

    @property
    def all(self) -> Span:
        """What all periods cost together."""
        first, *others = self.of_period
        return Span(first, others[-1] if others else first, self.of(self.of_period))

    @property
    def sentences(self) -> tuple[str, ...]:
        """What somebody can learn about an establishment from one period, from any year, from all: a sentence each."""
        kind = self.kind
        told = [_told(f"From the tables of one {kind}", f"values of that {kind}", max(self.periods, key=_cost))]
        if kind != "year":
            number = _NUMBERS[self.all.first.per_year]
            together = f"From the tables of any {number} consecutive {kind}s together"
            told.append(_told(together, f"values of all {number} {kind}s", max(self.years, key=_cost)))
        if self.all.loss > max(year.loss for year in self.years):
            told.append(_told(f"From the tables of all {kind}s together", f"values of all {kind}s", self.all))
        if len(self.of_period) > 1:
            told.append(
                f"Whoever knows that a value did not change from one {kind} to the next learns about it as from those "
                f"{kind}s together."
            )
        return tuple(told)


def series_of(spent: Iterable[tuple[Period, PrivacyLoss]], in_every: PrivacyLoss = NOTHING) -> SeriesLoss | None:
    """What was spent on each period, by what each release cost; None where there is none."""
    of_period: dict[Period, PrivacyLoss] = {}
    for period, loss in spent:
        of_period[period] = of_period.get(period, NOTHING) + loss
    return SeriesLoss(dict(sorted(of_period.items())), in_every) if of_period else None


def _cost(span: Span) -> PrivacyLoss:
    return span.loss


def _told(seen: str, values: str, most: Span) -> str:
    return (
        f"{seen}, an establishment's true {values} can be told from any others inside their uncertainty intervals with "
        f"a chance of {bound(most.loss.power(ALARMS))} at 5% false alarms (μ = {strength(most.loss.mu)}, spent on "
        f"{most.name})."
    )
