"""What a release may cost at most: the budget of its dataset, or of its period, of every year that has it, of all."""

from collections.abc import Iterator
from dataclasses import dataclass

from gedp.accounting.composition import NOTHING, PrivacyLoss
from gedp.accounting.series import SeriesLoss, Span
from gedp.ledger.amounts import factor_within, left_of, mu_down, mu_up
from gedp.ledger.entries import InSeries
from gedp.ledger.state import LedgerState
from gedp.policy.pricing import PriceList


@dataclass(frozen=True)
class Limit:
    """A budget, what it is for, and what is spent of it."""

    what: str  # it is spent on
    budget: PrivacyLoss
    spent: PrivacyLoss

    def left(self, asked: PrivacyLoss = NOTHING) -> PrivacyLoss:
        """What remains of it, after a release that asks for so much."""
        return left_of(self.budget, self.spent + asked)


def limits_of(budget: PrivacyLoss, series: InSeries | None, state: LedgerState) -> list[Limit]:
    """Every budget that a release has to keep; the one with the least left comes first."""
    limits = [Limit("this dataset", budget, state.total)] if series is None else _in_series(budget, series, state)
    return sorted(limits, key=Limit.left)


def over_budget(prices: PriceList, limits: list[Limit]) -> str:
    """Why a release is refused, with the numbers of every budget that it would break; "" where it breaks none."""
    broken = [limit for limit in limits if limit.spent + prices.total > limit.budget]
    if not broken:
        return ""
    asked = mu_up(prices.total)
    numbers = [
        f"mu = {mu_up(limit.spent)} is spent on {limit.what} and the release asks for mu = {asked}, together "
        f"{mu_up(limit.spent + prices.total)}. The budget is {mu_down(limit.budget)}, so mu = {mu_down(limit.left())} "
        "remains"
        for limit in broken
    ]
    return f"over budget: {'; '.join(numbers)}. {_advice(prices, broken[0].left())}"


def _in_series(budget: PrivacyLoss, series: InSeries, state: LedgerState) -> list[Limit]:
    spent, period = state.series or SeriesLoss({}, state.total), series.period
    limits = [Limit(str(period), budget, spent.of([period]))]
    if series.year_budget is not None:
        year = max(_years(spent, series), key=lambda year: (year.loss, year.first.starts_year))
        limits.append(Limit(f"the year {year.name}", series.year_budget, year.loss))
    if series.series_budget is not None:
        limits.append(Limit("all periods", series.series_budget, state.total))
    return limits


def _years(spent: SeriesLoss, series: InSeries) -> Iterator[Span]:
    """Every year that has the period of a release; only their sums can change by it."""
    return (Span(year[0], year[-1], spent.of(year)) for year in series.period.years)


def _advice(prices: PriceList, left: PrivacyLoss) -> str:
    if left == NOTHING:
        return "Have the budget raised"
    smaller = f"Multiply every query's mu by {factor_within(left, prices.total)}, drop a query"
    if prices.is_individual:
        smaller = f"Spend at most mu = {mu_down(left)}"
    return f"{smaller}, or have the budget raised"
