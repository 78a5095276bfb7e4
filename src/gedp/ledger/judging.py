"""Whether a release may be recorded: within the budget, and not promising less than those before it unless decided."""

from collections.abc import Mapping
from dataclasses import dataclass

from gedp.accounting.composition import PrivacyLoss
from gedp.errors import BudgetExceededError, DomainError, Refused
from gedp.ledger.amounts import factor_within, left_of, mu_down, mu_up
from gedp.ledger.entries import Decision
from gedp.ledger.state import NOTHING, LedgerState
from gedp.neighbors import Protection, Signed
from gedp.neighbors.combine import is_narrower
from gedp.policy.model import Attribute, Spec
from gedp.policy.pricing import PriceList, price

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
    """Refuses what cannot be shown on one line everywhere: it is kept for ever."""
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

    def __post_init__(self) -> None:
        if not self.prices.lines:
            raise DomainError("a release answers at least one query")
        if unknown := sorted({line.attribute for line in self.prices.lines} - self.attributes.keys()):
            raise DomainError(f"priced, but not among the attributes: {', '.join(unknown)}")

    @classmethod
    def of(cls, spec: Spec, *, seeded: bool = False) -> "Request":
        """What a release of this spec asks."""
        data = spec.data
        public = (*data.public, *([data.id] if data.id else []))
        return cls(price(spec), spec.policy.attributes, public, data.synthetic, seeded)

    @property
    def priced(self) -> dict[str, Attribute]:
        """The attributes that some query asks for."""
        names = {line.attribute for line in self.prices.lines}
        return {name: attribute for name, attribute in self.attributes.items() if name in names}


def judge(request: Request, state: LedgerState, decided_by: DecidedBy | None) -> tuple[str, ...]:
    """Refuses a release, or returns in which ways it promises less than those before it, as `decided_by` allows."""
    protected = state.combined.promise.protections
    if opened := sorted(protected.keys() & set(request.public)):
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
    less = (*_lost(state), *_narrowed(request, protected), *_raised(request, state))
    if less and decided_by is None:
        raise LessPromisedError(
            f"nothing was spent, because this release would promise less than earlier ones from these data did: "
            f"{'; '.join(less)}. This needs a person's decision, which is recorded and published: --decided-by NAME "
            "--reason TEXT (decided_by in Python)"
        )
    if decided_by is not None and not less:
        raise Refused(
            "there is nothing to decide: the release promises what earlier ones did. Leave out --decided-by "
            "(decided_by in Python)"
        )
    if state.total + request.prices.total > request.prices.budget:
        raise BudgetExceededError(_over_budget(request.prices, state))
    return less


def _require_unpublished(request: Request, state: LedgerState) -> None:
    """What is out cannot be protected any more."""
    counted = [release.reserve for release in state.releases if release.counts]
    out = {name for reserve in counted for name in reserve.public}
    if published := sorted(out & request.priced.keys()):
        raise Refused(f"{', '.join(published)}: an earlier release from these data published it as it is")
    if not request.synthetic and any(reserve.seeded for reserve in counted):
        raise Refused(
            "an earlier release from these data took its noise from a seed, so nothing protects them any more"
        )


def _lost(state: LedgerState) -> list[str]:
    """What a damaged entry promised is unknown, until somebody has decided to go on all the same."""
    decided = [e.sequence for e in state.verification.entries if isinstance(e.event, Decision) and e.event.breaks]
    if not decided or any(entry.sequence > decided[-1] for entry, _ in state.permits):
        return []
    return ["the ledger was damaged, so what earlier releases promised may be unknown"]


def left_after(request: Request, state: LedgerState, decided_by: DecidedBy | None) -> PrivacyLoss:
    """What the release would leave of its budget; refuses it where `judge` does."""
    judge(request, state, decided_by)
    return left_of(request.prices.budget, state.total + request.prices.total)


def _narrowed(request: Request, protected: Mapping[str, Protection]) -> list[str]:
    """The attributes some of whose intervals are narrower than everything before promised."""
    return [
        f"{name}: intervals narrowed from {before} to {attribute.protection}"
        for name, attribute in request.priced.items()
        if (before := protected.get(name)) is not None and _promises_less(before, attribute.protection)
    ]


def _promises_less(before: Protection, now: Protection) -> bool:
    if isinstance(before.psi, Signed) and not isinstance(now.psi, Signed):
        return True  # values below 0 are no longer possible ones
    if isinstance(now.psi, Signed) and not isinstance(before.psi, Signed):
        now = Protection(now.psi.base, now.gamma)
    return is_narrower(now, before)


def _raised(request: Request, state: LedgerState) -> list[str]:
    if state.budget is None or request.prices.budget <= state.budget:
        return []
    places = 6
    while mu_down(state.budget, places) == mu_down(request.prices.budget, places) and places < MOST_PLACES:
        places *= 2
    before, now = mu_down(state.budget, places), mu_down(request.prices.budget, places)
    return [f"budget raised from mu = {before} to mu = {now}"]


def _over_budget(prices: PriceList, state: LedgerState) -> str:
    left = left_of(prices.budget, state.total)
    advice = "Have the budget raised"
    if left != NOTHING:
        advice = f"Multiply every query's mu by {factor_within(left, prices.total)}, drop a query"
        if prices.is_individual:
            advice = f"Spend at most mu = {mu_down(left)}"
        advice += ", or have the budget raised"
    return (
        f"over budget: mu = {mu_up(state.total)} is spent on this dataset and the release asks for mu = "
        f"{mu_up(prices.total)}, together {mu_up(state.total + prices.total)}. The budget is {mu_down(prices.budget)}, "
        f"so mu = {mu_down(left)} remains. {advice}"
    )
