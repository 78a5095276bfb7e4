"""What a release may cost at most: the budget of its dataset, or of its period, of every year that has it, of all."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from gedp.accounting.composition import NOTHING, PrivacyLoss
from gedp.accounting.series import SeriesLoss, Span, charged_in
from gedp.ledger.amounts import factor_within, left_of, mu_down, mu_up
from gedp.ledger.entries import InSeries
from gedp.ledger.state import LedgerState
from gedp.periods import Period
from gedp.policy.pricing import PriceList


@dataclass(frozen=True)
class Limit:
    """A budget, what it is for, what is spent of it, and what a release asks of it."""

    what: str  # it is spent on
    budget: PrivacyLoss
    spent: PrivacyLoss
    asked: PrivacyLoss = NOTHING

    def left(self) -> PrivacyLoss:
        """What remains of it before the release."""
        return left_of(self.budget, self.spent)

    @property
    def left_after(self) -> PrivacyLoss:
        """What the release leaves of it."""
        return left_of(self.budget, self.spent + self.asked)

    @property
    def is_broken(self) -> bool:
        """Whether the release asks for more than remains."""
        return self.asked != NOTHING and self.spent + self.asked > self.budget

    @property
    def fitting(self) -> Fraction:
        """By what the squares of a release that breaks it must be multiplied to keep it."""
        return self.left().mu_squared / self.asked.mu_squared


def limits_of(
    budget: PrivacyLoss, series: InSeries | None, state: LedgerState, asked: PrivacyLoss = NOTHING
) -> list[Limit]:
    """Every budget that a release of this cost has to keep; the one of which it leaves the least comes first."""
    if series is None:
        return [Limit("this dataset", budget, state.total, asked)]
    return sorted(_in_series(budget, series, state, asked), key=lambda limit: (limit.left_after, limit.left()))


def over_budget(prices: PriceList, limits: list[Limit]) -> str:
    """Why a release is rejected, with the numbers of every budget that it would break; "" where it breaks none."""
    broken = [limit for limit in limits if limit.is_broken]
    if not broken:
        return ""
    numbers = [
        f"mu = {mu_up(limit.spent)} is spent on {limit.what} and the release asks for mu = {mu_up(limit.asked)}, "
        f"together {mu_up(limit.spent + limit.asked)}. The budget is {mu_down(limit.budget)}, so mu = "
        f"{mu_down(limit.left())} remains"
        for limit in broken
    ]
    return f"over budget: {'; '.join(numbers)}. {_advice(prices, min(broken, key=lambda limit: limit.fitting))}"


def _in_series(budget: PrivacyLoss, series: InSeries, state: LedgerState, asked: PrivacyLoss) -> list[Limit]:
    """The budgets of every period that the release is charged to, of the worst year that has one, and of all."""
    spent, charges = state.series or SeriesLoss({}, state.total), series.charges(asked)
    touched = sorted({series.period, *(period for charge in charges for period in charge.periods)})

    def limit(what: str, of: PrivacyLoss, periods: Sequence[Period]) -> Limit:
        return Limit(what, of, spent.of(periods), charged_in(charges, periods))

    limits = [limit(str(period), budget, [period]) for period in touched]
    if series.year_budget is not None:
        years = sorted({year for period in touched for year in period.years})
        after = {Span(year[0], year[-1], spent.of(year) + charged_in(charges, year)): year for year in years}
        worst = max(after, key=lambda year: (year.loss, year.first.starts_year))
        limits.append(limit(f"the year {worst.name}", series.year_budget, after[worst]))
    if series.series_budget is not None:
        limits.append(Limit("all periods", series.series_budget, state.total, asked))
    return limits


def _advice(prices: PriceList, tightest: Limit) -> str:
    if tightest.left() == NOTHING:
        return "Have the budget raised"
    smaller = f"Multiply every query's mu by {factor_within(tightest.left(), tightest.asked)}, drop a query"
    if prices.is_individual:
        smaller = f"Spend at most mu = {mu_down(PrivacyLoss(prices.total.mu_squared * tightest.fitting))}"
    return f"{smaller}, or have the budget raised"
