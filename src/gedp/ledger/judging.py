"""Whether a release may be recorded: within the budget, and not promising less than those before it unless decided."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from gedp.accounting.composition import PrivacyLoss, compose
from gedp.errors import BudgetExceededError, DomainError, Refused
from gedp.ledger.amounts import mu_down
from gedp.ledger.contents import Doubt
from gedp.ledger.entries import Decision, InSeries
from gedp.ledger.limits import limits_of, over_budget
from gedp.ledger.series_rules import require_fitting
from gedp.ledger.state import LedgerState
from gedp.neighbors import Protection, Signed
from gedp.neighbors.combine import is_narrower
from gedp.policy.model import PARTS, Attribute, Spec
from gedp.policy.pricing import PriceLine, PriceList, price

MOST_PLACES = 48  # of budgets that differ by less than anybody shows


@dataclass(frozen=True)
class DecidedBy:
    """Who decided that a release may promise less than earlier ones from the same data, and why. Both are published."""

    name: str
    reason: str

    def __post_init__(self) -> None:
        if not self.name.strip() or not self.reason.strip():
            raise DomainError("a decision needs the name of whoever decided, and a reason")
        require_line(self.name)
        require_line(self.reason)


def require_line(text: str) -> None:
    """Rejects what cannot be shown on one line everywhere: it is kept for ever."""
    if not text.isprintable():  # nor are line breaks, control characters, and bytes that are not UTF-8
        raise DomainError("names, reasons and notes must be one line of printable text in UTF-8")


class LessPromisedError(Refused):
    """The release would promise less than earlier ones from the same data, and nobody has decided so."""


@dataclass(frozen=True)
class Request:
    """What a release asks of the ledger: its price, how it protects attributes, and what it treats as public."""

    prices: PriceList
    attributes: Mapping[str, Attribute]
    public: tuple[str, ...] = ()
    synthetic: bool = False
    seeded: bool = False
    missing: Mapping[str, Decimal] = field(default_factory=dict)
    series: InSeries | None = None
    unit: str | None = None  # the column of units whose records are hidden at once

    def __post_init__(self) -> None:
        if not self.prices.lines:
            raise DomainError("a release answers at least one query")
        if unknown := sorted({line.attribute for line in self.prices.lines} - self.attributes.keys()):
            raise DomainError(f"priced, but not among the attributes: {', '.join(unknown)}")
        if self.series and compose(each.loss for each in self.series.charges(self.prices.total)) != self.prices.total:
            raise DomainError("what is charged to periods is not the price")

    @classmethod
    def of(cls, spec: Spec, *, seeded: bool = False, prices: PriceList | None = None) -> "Request":
        """What a release of this spec asks, or another release from its data at other prices."""
        data, policy = spec.data, spec.policy
        public = (*data.public, *([data.id] if data.id else []))
        prices = price(spec) if prices is None else prices
        series = None
        if data.period is not None:
            if prices.charges is None:
                raise DomainError("nothing says for which periods the price counts")
            series = InSeries(data.period, policy.year_budget, policy.series_budget, charged=prices.charges)
        return cls(prices, policy.attributes, public, data.synthetic, seeded, data.reading.missing, series, policy.unit)

    @property
    def priced(self) -> dict[str, Attribute]:
        """The attributes that some query asks for. Whoever asks for gain or loss asks for something of both."""
        names = {line.attribute for line in self.prices.lines}
        split = {a.column for name, a in self.attributes.items() if name in names and a.part is not None}
        return {name: a for name, a in self.attributes.items() if name in names or (a.part and a.column in split)}

    @property
    def lines(self) -> tuple[PriceLine, ...]:
        """The prices as they are recorded: gain and loss are known for parts of a column if both are there."""
        lines = self.prices.lines
        others = self.priced.keys() - {line.attribute for line in lines}
        return (*lines, *(PriceLine(lines[0].query, name, PrivacyLoss.of(0)) for name in sorted(others)))

    @property
    def nulls(self) -> dict[str, Decimal]:
        """What a null of their columns counts as, where the spec says it."""
        columns = {attribute.column for attribute in self.priced.values()}
        return {name: number for name, number in self.missing.items() if name in columns}


def judge(
    request: Request, state: LedgerState, decided_by: DecidedBy | None, doubts: Sequence[Doubt] = ()
) -> tuple[str, ...]:
    """Rejects a release, or returns in which ways it promises less than those before it, as `decided_by` allows."""
    require_fitting(request.series, state)
    protected = state.combined.promise.protections
    if opened := sorted({*protected, *_split_before(protected)} & set(request.public)):
        raise Refused(
            f"{', '.join(opened)}: confidential in an earlier release from these data and public in this spec. Nothing "
            "protects what is public"
        )
    confidential = [release for release in state.releases if not release.reserve.synthetic]
    if request.synthetic and confidential:
        raise Refused(
            "the spec says that the data are synthetic, but the ledger has releases from them as confidential data. "
            "Remove synthetic = true"
        )
    _require_unpublished(request, state)
    less = (
        *_lost(state),
        *_narrowed(request, protected),
        *_units_given_up(request, state),
        *_counted_otherwise(request, state),
        *_raised(request, state),
        *(doubt.what for doubt in doubts),
    )
    if less and decided_by is None:
        ways_out = "".join(f"{doubt.fix} " for doubt in doubts) + ("Otherwise this" if doubts else "This")
        raise LessPromisedError(
            f"nothing was spent, because this release would promise less than earlier ones from these data did: "
            f"{'; '.join(less)}. {ways_out} needs a person's decision, which is recorded and published: --decided-by "
            "NAME --reason TEXT (decided_by in Python)"
        )
    if decided_by is not None and not less:
        raise Refused(
            "there is nothing to decide: the release promises what earlier ones did. Leave out --decided-by "
            "(decided_by in Python)"
        )
    prices = request.prices
    if over := over_budget(prices, limits_of(prices.budget, request.series, state, prices.total)):
        raise BudgetExceededError(over)
    return less


def _require_unpublished(request: Request, state: LedgerState) -> None:
    """What is out cannot be protected any more."""
    out = {name for reserve in state.counted for name in reserve.public}
    if published := sorted(out & {attribute.column for attribute in request.priced.values()}):
        raise Refused(f"{', '.join(published)}: an earlier release from these data published it as it is")
    if not request.synthetic and any(reserve.seeded for reserve in state.counted):
        raise Refused(
            "an earlier release from these data took its noise from a seed, so nothing protects them any more"
        )


def _lost(state: LedgerState) -> list[str]:
    """What a damaged entry promised is unknown, until somebody has decided to go on all the same."""
    decided = [e.sequence for e in state.verification.entries if isinstance(e.event, Decision) and e.event.breaks]
    if not decided or any(entry.sequence > decided[-1] for entry, _ in state.permits):
        return []
    return ["the ledger was damaged, so what earlier releases promised may be unknown"]


def left_after(
    request: Request, state: LedgerState, decided_by: DecidedBy | None, doubts: Sequence[Doubt] = ()
) -> PrivacyLoss:
    """What the release would leave of its budget; rejects it where `judge` does."""
    judge(request, state, decided_by, doubts)
    return limits_of(request.prices.budget, request.series, state, request.prices.total)[0].left_after


def _narrowed(request: Request, protected: Mapping[str, Protection]) -> list[str]:
    """The attributes some of whose intervals are narrower than everything before promised."""
    narrowed = [
        f"{name}: intervals narrowed from {before} to {now}"
        for name, attribute in request.priced.items()
        for before, now in _compared(attribute, protected)
        if _promises_less(before, now)
    ]
    joined = sorted(_split_before(protected) & {name for name, a in request.priced.items() if a.part is None})
    return narrowed + [f"{name}: gain and loss could move at once before, and now move together" for name in joined]


def _units_given_up(request: Request, state: LedgerState) -> list[str]:
    """The units of which earlier releases hid all records at once, where this one does not."""
    before = dict.fromkeys(reserve.unit for reserve in state.counted if reserve.unit is not None)
    now = "each record by itself" if request.unit is None else f"all records of one {request.unit}"
    return [f"all records of one {unit} were hidden at once, and now {now}" for unit in before if unit != request.unit]


def _compared(attribute: Attribute, protected: Mapping[str, Protection]) -> Iterator[tuple[Protection, Protection]]:
    """How an attribute, or the whole that it is a part of, was protected before, and how it is now.

    Values that are close as a signed whole have parts that are close: each moves at most as far as the whole.
    """
    if attribute.name in protected:
        yield protected[attribute.name], attribute.protection
    if attribute.part is not None and attribute.column in protected:
        now = attribute.protection
        yield protected[attribute.column], Protection(Signed(now.psi), now.gamma)


def _split_before(protected: Mapping[str, Protection]) -> set[str]:
    """The columns that were released as gain and loss. The ledger has the names of both parts and no more."""
    split_columns = [
        {name.removesuffix(f"_{part}") for name in protected if name.endswith(f"_{part}")} for part in PARTS
    ]
    return set.intersection(*split_columns)


def _counted_otherwise(request: Request, state: LedgerState) -> list[str]:
    """The columns whose nulls counted as another number: who has one is told by two answers that disagree."""
    before: dict[str, Decimal] = {}
    for reserve in state.counted:
        if _may_be_of_one_period(reserve.series, request.series):  # values of other periods are other values
            before |= reserve.missing
    return [
        f"{name}: a null counted as {before[name]} and would count as {number}, which together reveal who has one"
        for name, number in request.nulls.items()
        if before.get(name, number) != number
    ]


def _may_be_of_one_period(one: InSeries | None, other: InSeries | None) -> bool:
    if one is None or other is None:
        return one is other
    return not one.periods.isdisjoint(other.periods)


def _promises_less(before: Protection, now: Protection) -> bool:
    if isinstance(before.psi, Signed) and not isinstance(now.psi, Signed):
        return True  # values below 0 are no longer possible ones
    if isinstance(now.psi, Signed) and not isinstance(before.psi, Signed):
        now = Protection(now.psi.base, now.gamma)
    return is_narrower(now, before)


def _raised(request: Request, state: LedgerState) -> list[str]:
    """The budgets that are larger than the latest release stated, or that it stated and this one does not."""
    if not state.counted:
        return []
    latest = state.counted[-1]
    changes = {"budget": _raise(latest.budget, request.prices.budget)}
    if latest.series is not None and request.series is not None:
        changes["budget of a year"] = _raise(latest.series.year_budget, request.series.year_budget)
        changes["budget of all periods"] = _raise(latest.series.series_budget, request.series.series_budget)
    return [f"{name} {change}" for name, change in changes.items() if change]


def _raise(before: PrivacyLoss | None, now: PrivacyLoss | None) -> str:
    """How a budget was raised or taken away; "" where it was not."""
    if before is None or (now is not None and now <= before):
        return ""
    if now is None:
        return f"removed, which was mu = {mu_down(before)}"
    places = 6
    while mu_down(before, places) == mu_down(now, places) and places < MOST_PLACES:
        places *= 2
    return f"raised from mu = {mu_down(before, places)} to mu = {mu_down(now, places)}"
