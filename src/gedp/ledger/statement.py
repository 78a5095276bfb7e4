"""What a ledger says about every period, every year and all periods: what is spent on each, and what remains."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from gedp.accounting.composition import PrivacyLoss
from gedp.accounting.series import ALARMS, Span
from gedp.ledger.amounts import left_of, loss_text, mu_up
from gedp.ledger.entries import InSeries
from gedp.ledger.limits import Limit, limits_of
from gedp.ledger.state import LedgerState

_COLUMNS = ("what", "first", "last", "mu", "mu_squared", "budget", "remaining")


@dataclass(frozen=True)
class Stated:
    """What is spent on one period, one year or all periods, and the budget for it in force, if there is one."""

    what: str  # period, year or all
    span: Span
    budget: PrivacyLoss | None

    @property
    def left(self) -> PrivacyLoss | None:
        """What remains of the budget; None where there is none."""
        return None if self.budget is None else left_of(self.budget, self.span.loss)

    @property
    def chance(self) -> float:
        """The chance of telling an establishment's values of all these periods from others inside their intervals."""
        return self.span.loss.power(ALARMS)


def statement(state: LedgerState, budget: PrivacyLoss | None = None) -> Iterator[Stated]:
    """A line for every period, every year and all periods of a series; `budget` stands in for that of a period."""
    series, terms = state.series, in_force(state)
    if series is None or terms is None:
        return
    yield from (Stated("period", span, budget or state.budget) for span in series.periods)
    if series.kind != "year":
        yield from (Stated("year", span, terms.year_budget) for span in series.years)
    yield Stated("all", series.all, terms.series_budget)


def for_next(state: LedgerState, budget: PrivacyLoss | None = None) -> tuple[InSeries, Limit] | None:
    """The period after the last one, and the budget that limits its tables; None where there is no series."""
    series, terms, budget = state.series, in_force(state), budget or state.budget
    if series is None or terms is None or budget is None:
        return None
    coming = InSeries(series.all.last.next, terms.year_budget, terms.series_budget)
    return coming, limits_of(budget, coming, state)[0]


def in_force(state: LedgerState) -> InSeries | None:
    """The budgets of years and of all periods that the latest release stated."""
    return state.counted[-1].series if state.counted else None


def statement_csv(state: LedgerState) -> str:
    """The statement as a file for other programs: exact squares of mu, and mu rounded up."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(_COLUMNS)
    for stated in statement(state):
        span = stated.span
        limits = ("" if loss is None else loss_text(loss) for loss in (stated.budget, stated.left))
        spent = mu_up(span.loss), loss_text(span.loss)
        writer.writerow([stated.what, span.first, span.last, *spent, *limits])
    return buffer.getvalue()
