"""What a workload costs, query by query and attribute by attribute, exactly."""

from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction

from gedp.accounting.composition import PrivacyLoss, compose
from gedp.errors import BudgetExceededError
from gedp.policy.model import Spec


@dataclass(frozen=True)
class PriceLine:
    """One query for one attribute."""

    query: str
    attribute: str
    mu: Decimal

    @property
    def loss(self) -> PrivacyLoss:
        """Its exact cost. The groups of one query have no establishment in common, so they cost it only once."""
        return PrivacyLoss.of(self.mu)


@dataclass(frozen=True)
class PriceList:
    """The price of every query and attribute, against the budget."""

    lines: tuple[PriceLine, ...]
    budget: PrivacyLoss

    @property
    def total(self) -> PrivacyLoss:
        """All lines composed."""
        return compose(line.loss for line in self.lines)

    @property
    def within_budget(self) -> bool:
        """Whether the total is at most the budget; exactly equal is within."""
        return self.total <= self.budget

    def of_query(self, query: str) -> PrivacyLoss:
        """What one query costs over its attributes."""
        return compose(line.loss for line in self.lines if line.query == query)

    def of_attribute(self, attribute: str) -> PrivacyLoss:
        """What one attribute costs over the queries."""
        return compose(line.loss for line in self.lines if line.attribute == attribute)

    def share(self, loss: PrivacyLoss) -> Fraction:
        """A loss as a share of the total, in μ²."""
        return loss.mu_squared / self.total.mu_squared


def price(spec: Spec) -> PriceList:
    """The price list of a spec."""
    lines = (PriceLine(q.name, attribute, mu) for q in spec.queries for attribute, mu in q.mu.items())
    return PriceList(tuple(lines), spec.policy.budget)


def require_within_budget(prices: PriceList) -> None:
    """Refuses a workload that costs more than the budget."""
    if prices.within_budget:
        return
    total, budget = prices.total.mu, prices.budget.mu
    factor = Decimal(budget / total).quantize(Decimal("0.0001"), ROUND_FLOOR)
    raise BudgetExceededError(
        f"over budget: the queries cost mu = {total:.6g} in all and the budget is {budget:.6g}. "
        f"Multiply every query's mu by {factor}, drop a query, or have the budget raised"
    )
