"""What a workload costs, query by query and attribute by attribute, exactly."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_DOWN, Context, Decimal
from fractions import Fraction
from functools import cached_property

from gedp.accounting.composition import NOTHING, PrivacyLoss, compose
from gedp.accounting.series import Charge, added_up, charged_in
from gedp.errors import BudgetExceededError
from gedp.markup import html_table
from gedp.numbers import percent
from gedp.periods import Period
from gedp.policy.measures import Query
from gedp.policy.model import Spec

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
    #: The total by the periods whose values answers depend on; none where that is the table's own, None if unknown.
    charges: tuple[Charge, ...] | None = None

    @property
    def is_individual(self) -> bool:
        """Whether each line is for all answers about an attribute."""
        return self.shared_by > 0

    @property
    def answers(self) -> int:
        """For how many queries and attributes there are answers."""
        return self.shared_by or sum(line.loss != NOTHING for line in self.lines)

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
        return html_table(caption, headings, rows, total, texts=headings[:2])

    @cached_property
    def total(self) -> PrivacyLoss:
        """What all lines cost together, composed exactly."""
        return compose(line.loss for line in self.lines)

    @cached_property
    def of_period(self) -> dict[Period, PrivacyLoss]:
        """What it costs each period, where that is not all of it for the table's own."""
        periods = sorted({period for charge in self.charges or () for period in charge.periods})
        return {period: charged_in(self.charges or (), [period]) for period in periods}

    @property
    def most(self) -> PrivacyLoss:
        """What counts against one budget: the total, or in a series, what it costs the period that pays most."""
        return max(self.of_period.values(), default=self.total)

    @property
    def within_budget(self) -> bool:
        """Whether it costs no period more than the budget; exactly equal is within."""
        return self.most <= self.budget

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
        pooled = tuple(PriceLine(ALL_ANSWERS, attribute, pool) for attribute, pool in whole_pools(spec).items())
        answers = sum(len(query.asked) for query in spec.queries)
        return PriceList(pooled, spec.policy.budget, answers, charges_of(spec, _answers(spec)))
    lines = tuple(line for query in spec.queries for line in _lines(query))
    return PriceList(lines, spec.policy.budget, charges=charges_of(spec, _answers(spec)))


def charges_of(spec: Spec, answers: Iterable[tuple[Iterable[str], PrivacyLoss]]) -> tuple[Charge, ...]:
    """The cost of answers, each with all attributes that it depends on, by the periods whose values these are.

    Nothing where all of them are of the table's own period, or the table is not one of a series.
    """
    own = spec.data.period
    if own is None or not any(attribute.of_period for attribute in spec.policy.attributes.values()):
        return ()
    periods = {name: attribute.periods(own) for name, attribute in spec.policy.attributes.items()}
    charges = added_up(
        Charge(tuple(sorted({period for name in names for period in periods[name]})), loss) for names, loss in answers
    )
    elsewhere = any(charge.periods != (own,) for charge in charges)
    return tuple(charge for charge in charges if charge.loss != NOTHING) if elsewhere else ()


def _answers(spec: Spec) -> Iterator[tuple[Iterable[str], PrivacyLoss]]:
    """What is paid for the answers of a spec, each part once, with all attributes that these answers depend on."""
    depends = {(query.name, name): m.attributes for query in spec.queries for name, m in query.measures.items()}
    if spec.is_individual:
        yield from (((name,), pool) for name, pool in pools(spec).items())
        yield from ((depends[name, asked], part) for (name, asked, _), part in _set_aside(spec).items())
        return
    for query in spec.queries:
        yield from ((depends[query.name, asked], PrivacyLoss.of(mu)) for asked, mu in query.mu.items())


def _lines(query: Query) -> Iterator[PriceLine]:
    """Every answer is paid once, though it can depend on several attributes: each of these has a line.

    The price is divided between the attributes that pay; those that only decide about classes have a price of 0.
    """
    squares = _by_payer(query, lambda mu: PrivacyLoss.of(mu).mu_squared)
    paid = _added((payer, PrivacyLoss(square)) for (_, payer), square in squares.items())
    for attribute in dict.fromkeys((*paid, *query.attributes)):
        yield PriceLine(query.name, attribute, paid.get(attribute, NOTHING))


def _by_payer(query: Query, amount: Callable[[Decimal], Fraction]) -> dict[tuple[str, str], Fraction]:
    """What comes of the number of everything that a query asks for, in equal parts for those who pay."""
    return {
        (name, payer): amount(query.numbers[name]) / len(measure.payers)
        for name, measure in query.measures.items()
        for payer in measure.payers
    }


def pools(spec: Spec) -> dict[str, PrivacyLoss]:
    """What of each attribute's pool is for establishments and sums by public groups: all but what is `set_aside`."""
    parts = _added((attribute, part) for (_, _, attribute), part in _set_aside(spec).items())
    return {
        name: PrivacyLoss(pool.mu_squared - parts.get(name, NOTHING).mu_squared)
        for name, pool in whole_pools(spec).items()
    }


def set_aside(query: Query, spec: Spec) -> dict[str, dict[str, PrivacyLoss]]:
    """What each answer of a query takes of the pools of attributes, by individual accounting, exactly."""
    parts: dict[str, dict[str, PrivacyLoss]] = {}
    for (name, asked, attribute), part in _set_aside(spec).items():
        if name == query.name:
            parts.setdefault(asked, {})[attribute] = part
    return parts


def measured_mu(spec: Spec, query: Query, asked: str) -> float:
    """At which μ an answer by classes or of a combination is drawn."""
    if not spec.is_individual:
        return float(query.mu[asked])
    return math.sqrt(sum(part.mu_squared for part in set_aside(query, spec)[asked].values()))


def _set_aside(spec: Spec) -> dict[tuple[str, str, str], PrivacyLoss]:
    """What is taken of pools for answers by classes and of combinations: by query, what is asked, and attribute.

    The pool of an attribute is divided by importance between all answers that draw on it: these one by one; sums by
    public groups, and with a weight of 1 the establishments, share what is left as they need it. The importance of a
    combination is divided equally between its attributes.
    """
    weights = {
        (query.name, *asked): weight
        for query in spec.queries
        if query.importance and not query.is_plain
        for asked, weight in _by_payer(query, Fraction).items()
    }
    whole = whole_pools(spec)
    shared = {
        name: 1
        + sum((Fraction(query.importance.get(name, 0)) for query in spec.group_sums), Fraction(0))
        + sum((weight for (_, _, attribute), weight in weights.items() if attribute == name), Fraction(0))
        for name in whole
    }
    return {key: PrivacyLoss(whole[key[2]].mu_squared * weight / shared[key[2]]) for key, weight in weights.items()}


def whole_pools(spec: Spec) -> dict[str, PrivacyLoss]:
    """What every establishment pays at most for all answers about each attribute, by individual accounting.

    The pools are exact, and together exactly what the spec spends. There are none where queries have prices.
    """
    if not spec.is_individual:
        return {}
    shares = {name: Fraction(spec.policy.attributes[name].share) for name in spec.asked}
    each = spec.policy.spent.mu_squared / sum(shares.values())
    return {name: PrivacyLoss(each * share) for name, share in shares.items()}


def require_within_budget(prices: PriceList) -> None:
    """Rejects a workload that costs more than the budget."""
    if prices.within_budget:
        return
    total, budget = prices.most.mu, prices.budget.mu
    where = next((f"for {period}" for period, loss in prices.of_period.items() if loss == prices.most), "in all")
    digits = next((n for n in (6, 9, 12) if f"{total:.{n}g}" != f"{budget:.{n}g}"), 17)
    factor = _fitting_factor(prices)
    advice = f"Multiply every query's mu by {factor}, or its rho by {_ROUGHLY.multiply(factor, factor)}, drop a query"
    if prices.is_individual:
        advice = "Spend at most the budget"
    raise BudgetExceededError(
        f"over budget: the queries cost mu = {total:.{digits}g} {where} and the budget is {budget:.{digits}g}. "
        f"{advice}, or have the budget raised"
    )


_ROUGHLY = Context(prec=4, rounding=ROUND_DOWN)


def _fitting_factor(prices: PriceList) -> Decimal:
    """The largest factor of four digits that brings the total into the budget."""
    squared = prices.budget.mu_squared / prices.most.mu_squared
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
