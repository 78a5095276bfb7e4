"""What a series of releases costs an establishment: in one period, in any year, over all periods.

Values of different periods are different attributes of the same establishment, and an answer moves with the values of
the periods that it depends on alone. So for any set of periods, what adds up is μ² of all answers that depend on one of
them, each once, exactly. The proof is in docs/series.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gedp.accounting.composition import NOTHING, PrivacyLoss, compose
from gedp.numbers import bound, strength
from gedp.periods import Period

ALARMS = 0.05  # the chance of a false alarm that sentences speak of
_NUMBERS = {4: "four", 12: "twelve"}


@dataclass(frozen=True, order=True)
class Charge:
    """What answers cost that depend on values of these periods: it counts once wherever one or more of them do."""

    periods: tuple[Period, ...]  # in their order, at least one, all of one kind
    loss: PrivacyLoss

    def __str__(self) -> str:
        named = ", ".join(map(str, self.periods))
        where = named if len(self.periods) == 1 else f"each of {named} and once for them together"
        return f"μ = {strength(self.loss.mu)} for {where}"


def charged_in(charges: Iterable[Charge], periods: Iterable[Period]) -> PrivacyLoss:
    """What counts for a set of periods: every charge once that is for any of them."""
    window = set(periods)
    return compose(charge.loss for charge in charges if not window.isdisjoint(charge.periods))


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

    of_period: Mapping[Period, PrivacyLoss]  # on it alone; in their order, at least one, all of one kind
    in_every: PrivacyLoss = NOTHING
    shared: tuple[Charge, ...] = ()  # on several periods at once, all of which `of_period` has

    def of(self, periods: Iterable[Period]) -> PrivacyLoss:
        """What is spent on these periods together."""
        window = set(periods)
        alone = compose(self.of_period.get(period, NOTHING) for period in window)
        return alone + charged_in(self.shared, window) + self.in_every

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


def series_of(charges: Iterable[Charge], in_every: PrivacyLoss = NOTHING) -> SeriesLoss | None:
    """What was spent on each period, and on several at once, by all charges; None where there is none."""
    found = added_up(charges)
    periods = sorted({period for charge in found for period in charge.periods})
    alone = {charge.periods[0]: charge.loss for charge in found if len(charge.periods) == 1}
    shared = tuple(charge for charge in found if len(charge.periods) > 1)
    return SeriesLoss({period: alone.get(period, NOTHING) for period in periods}, in_every, shared) if periods else None


def added_up(charges: Iterable[Charge]) -> tuple[Charge, ...]:
    """The same charges with one for each set of periods, in their order."""
    sums: dict[tuple[Period, ...], PrivacyLoss] = {}
    for charge in charges:
        sums[charge.periods] = sums.get(charge.periods, NOTHING) + charge.loss
    return tuple(Charge(periods, loss) for periods, loss in sorted(sums.items()))


def _cost(span: Span) -> PrivacyLoss:
    return span.loss


def _told(seen: str, values: str, most: Span) -> str:
    return (
        f"{seen}, an establishment's true {values} can be told from any others inside their uncertainty intervals with "
        f"a chance of {bound(most.loss.power(ALARMS))} at 5% false alarms (μ = {strength(most.loss.mu)}, spent on "
        f"{most.name})."
    )
