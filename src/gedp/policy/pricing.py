"""What a workload costs, query by query and attribute by attribute, exactly."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property

from gedp import web
from gedp.accounting.composition import PrivacyLoss, compose
from gedp.errors import BudgetExceededError
from gedp.numbers import percent
from gedp.policy.model import Spec

NOTHING = PrivacyLoss(Fraction(0))
_EXACT = Context(prec=1000)
_SHOWN = Context(prec=6, rounding=ROUND_CEILING)
#: In place of a query's name, where a price is for all of them.
ALL_ANSWERS = "all answers"


@dataclass(frozen=True)
class PriceLine:
    """The exact price of one query for one attribute, or of all answers about an attribute.

    The groups of one query have no establishment in common, so they cost it only once.
    """

    query: str
    attribute: str
    loss: PrivacyLoss

    @property
    def mu(self) -> str:
        """μ as a decimal: exactly where it is one, else rounded up."""
        squared = self.loss.mu_squared
        root = _EXACT.sqrt(_EXACT.divide(Decimal(squared.numerator), Decimal(squared.denominator)))
        return format(root.normalize() if Fraction(root) ** 2 == squared else _SHOWN.plus(root), "f")


@dataclass(frozen=True, repr=False)
class PriceList:
    """The price of every query and attribute, against the budget."""

    lines: tuple[PriceLine, ...]
    budget: PrivacyLoss
    shared_by: int = 0  # answers that draw on the lines by individual accounting; 0 where each has its own line

    @property
    def is_individual(self) -> bool:
        """Whether each line is for all answers about an attribute."""
        return self.shared_by > 0

    @property
    def answers(self) -> int:
        """For how many queries and attributes there are answers."""
        return self.shared_by or len(self.lines)

    def __repr__(self) -> str:
        answers = "1 answer" if self.answers == 1 else f"{self.answers} answers"
        return f"PriceList({answers}: mu = {self.total.mu:.6g} of a budget of {self.budget.mu:.6g})"

    def _repr_html_(self) -> str:
        shares = [percent(float(self.share(line.loss))) for line in self.lines]
        rows = [[line.query, line.attribute, line.mu, share] for line, share in zip(self.lines, shares, strict=True)]
        headings = ["query", "attribute", "mu", "share of mu²"]
        total = ["all answers", "", f"{self.total.mu:.6g} of {self.budget.mu:.6g}", ""]
        caption = (
            "What all answers cost every establishment at most" if self.is_individual else "What every answer costs"
        )
        return web.table(caption, headings, rows, total, texts=headings[:2])

    @cached_property
    def total(self) -> PrivacyLoss:
        """What all lines cost together, composed exactly."""
        return compose(line.loss for line in self.lines)

    @property
    def within_budget(self) -> bool:
        """Whether the total is at most the budget; exactly equal is within."""
        return self.total <= self.budget

    def of_query(self, query: str) -> PrivacyLoss:
        """What one query costs over its attributes."""
        return self._by_query.get(query, NOTHING)

    def of_attribute(self, attribute: str) -> PrivacyLoss:
        """What one attribute costs over the queries."""
        return self._by_attribute.get(attribute, NOTHING)

    @cached_property
    def _by_query(self) -> dict[str, PrivacyLoss]:
        return _added((line.query, line.loss) for line in self.lines)

    @cached_property
    def _by_attribute(self) -> dict[str, PrivacyLoss]:
        return _added((line.attribute, line.loss) for line in self.lines)

    def share(self, loss: PrivacyLoss) -> Fraction:
        """A loss as a share of the total, in μ²."""
        return loss.mu_squared / self.total.mu_squared


def price(spec: Spec) -> PriceList:
    """What the workload of a spec costs, query by query and attribute by attribute, and its budget.

    Under individual accounting queries have no price of their own: what is spent is shared out between attributes.
    """
    if spec.is_individual:
        pooled = tuple(PriceLine(ALL_ANSWERS, attribute, pool) for attribute, pool in pools(spec).items())
        return PriceList(pooled, spec.policy.budget, shared_by=sum(len(q.attributes) for q in spec.queries))
    lines = (PriceLine(q.name, attribute, PrivacyLoss.of(mu)) for q in spec.queries for attribute, mu in q.mu.items())
    return PriceList(tuple(lines), spec.policy.budget)


def pools(spec: Spec) -> dict[str, PrivacyLoss]:
    """What every establishment pays at most for all answers about each attribute, by individual accounting.

    The pools are exact, and together exactly what the spec spends.
    """
    shares = {name: Fraction(spec.policy.attributes[name].share) for name in spec.asked}
    each = spec.policy.spent.mu_squared / sum(shares.values())
    return {name: PrivacyLoss(each * share) for name, share in shares.items()}


def require_within_budget(prices: PriceList) -> None:
    """Refuses a workload that costs more than the budget."""
    if prices.within_budget:
        return
    total, budget = prices.total.mu, prices.budget.mu
    digits = next((n for n in (6, 9, 12) if f"{total:.{n}g}" != f"{budget:.{n}g}"), 17)
    advice = f"Multiply every query's mu by {_fitting_factor(prices)}, drop a query"
    if prices.is_individual:
        advice = "Spend at most the budget"
    raise BudgetExceededError(
        f"over budget: the queries cost mu = {total:.{digits}g} in all and the budget is {budget:.{digits}g}. "
        f"{advice}, or have the budget raised"
    )


def _fitting_factor(prices: PriceList) -> Decimal:
    """The largest factor of four digits that brings the total into the budget."""
    squared = prices.budget.mu_squared / prices.total.mu_squared
    nearest = Decimal(math.sqrt(squared))
    unit = Decimal(1).scaleb(nearest.adjusted() - 3)
    factor = nearest.quantize(unit)
    while Fraction(factor) ** 2 > squared:
        factor -= unit
    return factor


def _added(parts: Iterable[tuple[str, PrivacyLoss]]) -> dict[str, PrivacyLoss]:
    sums: dict[str, PrivacyLoss] = {}
    for name, loss in parts:
        sums[name] = sums.get(name, NOTHING) + loss
    return sums
