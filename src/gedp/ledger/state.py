"""What a ledger says: its releases, what counts as spent, and what is promised over all of them together."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gedp.accounting.composition import NOTHING, PrivacyLoss, Promise, compose, compose_publishers
from gedp.accounting.series import Charge, SeriesLoss, series_of
from gedp.ledger.amounts import left_of, mu_up
from gedp.ledger.chain import Head, Verification, running_totals
from gedp.ledger.contents import ContentMark
from gedp.ledger.entries import Abandon, Commit, Decision, Entry, Permit, Reserve
from gedp.neighbors import Protection
from gedp.neighbors.combine import is_narrower
from gedp.policy.model import Attribute


@dataclass(frozen=True)
class RecordedRelease:
    """One reservation and what became of it."""

    sequence: int
    time: str
    who: str
    reserve: Reserve
    outcome: str  # "reserved" (running, or it crashed), "finished", "abandoned", "unspent"
    manifest_digest: str | None = None  # of a finished one

    @property
    def counts(self) -> bool:
        """Whether its budget is spent: always, unless it was given up before noise was drawn."""
        return self.outcome != "unspent"


@dataclass(frozen=True)
class CombinedPromise:
    """What holds for all releases together, in numbers and in words."""

    promise: Promise
    releases: int
    sentence: str  # what holds
    decisions: tuple[str, ...]  # by which less was promised than before, a sentence each

    @property
    def statement(self) -> str:
        """What holds, and the decisions by which it is less than was promised before."""
        return " ".join([self.sentence, *self.decisions])


@dataclass(frozen=True)
class LedgerState:
    """Everything one reading of the ledger shows."""

    verification: Verification
    releases: tuple[RecordedRelease, ...]
    total: PrivacyLoss

    @property
    def counted(self) -> tuple[Reserve, ...]:
        """The reservations that count, in their order."""
        return tuple(release.reserve for release in self.releases if release.counts)

    @property
    def budget(self) -> PrivacyLoss | None:
        """The budget in force: that of the latest release that counts, if there is any. In a series, of each period."""
        return self.counted[-1].budget if self.counted else None

    @property
    def unit(self) -> str | None:
        """The column of units of which every release that counts hides all records at once, if they have one."""
        units = {reserve.unit for reserve in self.counted}
        return units.pop() if len(units) == 1 else None

    @property
    def series(self) -> SeriesLoss | None:
        """What is spent on each period; None where the ledger does not hold a series.

        What counts although no release says so, such as what somebody decided to add, counts for every period.
        """
        known = compose(reserve.loss for reserve in self.counted)
        charges: list[Charge] = []
        for reserve in self.counted:
            if reserve.series is not None:
                charges += [Charge((reserve.series.period,), NOTHING), *reserve.series.charges(reserve.loss)]
        return series_of(charges, left_of(self.total, known))

    @property
    def permits(self) -> tuple[tuple[Entry, Permit], ...]:
        """The decisions to promise less than before, with the entries that hold them."""
        return tuple((e, e.event) for e in self.verification.entries if isinstance(e.event, Permit))

    def content_of(self, reserve: Reserve) -> ContentMark | None:
        """How the table of a release is known by what it holds, if that was recorded."""
        return None if reserve.content is None else self.verification.contents.get(reserve.content)

    def remaining(self, budget: PrivacyLoss) -> PrivacyLoss:
        """What may still be spent of a budget."""
        return left_of(budget, self.total)

    @property
    def combined(self) -> CombinedPromise:
        """The promise over every release that counts."""
        attributes = _attributes_of(self.counted)
        promise = Promise({}, self.total)
        for name, versions in attributes.items():
            for protection in _narrowest([attribute.protection for attribute in versions]):
                promise = compose_publishers(promise, Promise({name: protection}, NOTHING))
        differing = [name for name, versions in attributes.items() if len(versions) > 1]
        decisions = (
            f"On {entry.time[:10]} {permit.by} decided to promise less than before: {'; '.join(permit.what)}."
            for entry, permit in self.permits
        )
        sentence = _sentence(len(self.counted), promise, differing, self)
        return CombinedPromise(promise, len(self.counted), sentence, tuple(decisions))


#: Of a ledger that is still to be made.
EMPTY = LedgerState(Verification((), ("",), (), ()), (), NOTHING)


def state_of(verification: Verification, head: Head | None) -> LedgerState:
    """Reads the releases and the total off the entries; while breaks are open, what only the head knows of too."""
    total = stated = NOTHING
    for counted in running_totals(verification.entries, verification.last_break):
        total, stated = counted.total, counted.entry.total
    if verification.breaks and head and head.loss:
        total += left_of(head.loss, stated)
    return LedgerState(verification, _releases(verification), total)


def _releases(verification: Verification) -> tuple[RecordedRelease, ...]:
    releases: dict[str, RecordedRelease] = {}
    for entry in verification.entries:
        match entry.event:
            case Reserve() as reserve:
                releases[reserve.release] = RecordedRelease(entry.sequence, entry.time, entry.who, reserve, "reserved")
            case Commit(release=name, manifest_digest=digest) if name in releases:
                releases[name] = replace(releases[name], outcome="finished", manifest_digest=digest)
            case Abandon(release=name, before_noise=before_noise) if name in releases:
                trusted = before_noise and releases[name].sequence > verification.last_break
                releases[name] = replace(releases[name], outcome="unspent" if trusted else "abandoned")
            case _:
                pass
    return tuple(releases.values())


def _attributes_of(counted: Iterable[Reserve]) -> dict[str, list[Attribute]]:
    """Per attribute, each different way in which it was protected.

    Where one release took an attribute as signed and another did not, what both promise is about values of 0 or more,
    and there the signed extension has the distances of the function itself.
    """
    versions: dict[str, list[Attribute]] = {}
    for reserve in counted:
        for name, attribute in reserve.attributes.items():
            versions.setdefault(name, []).append(attribute)
    result = {}
    for name, found in versions.items():
        signed = all(attribute.signed for attribute in found)
        result[name] = list(dict.fromkeys(replace(attribute, signed=signed) for attribute in found))
    return result


def _narrowest(protections: list[Protection]) -> list[Protection]:
    """The one whose intervals lie inside all others, if there is one; else all of them."""
    inside_all = [p for p in protections if not any(is_narrower(other, p) for other in protections)]
    return inside_all[:1] or protections


def _sentence(count: int, promise: Promise, differing: list[str], state: LedgerState) -> str:
    if not count and promise.loss == NOTHING:
        return "Nothing counts as released, so nothing is spent."
    mu = mu_up(promise.loss, 4)
    releases = "release that counts" if count == 1 else f"{count} releases that count, taken together"
    whose = "an establishment" if state.unit is None else f"all records of one {state.unit}"
    whom = "its" if state.unit is None else "their"
    sentence = (
        f"Over the {releases}, nobody can tell the true values of {whose} from any other values inside {whom} "
        f"uncertainty intervals better than one can tell N(0,1) from N({mu},1) by a single draw."
    )
    if differing:
        listed = "; ".join(f"{name} within {promise.protections[name]}" for name in differing)
        sentence += f" The releases protect some attributes differently; the narrower intervals hold for all: {listed}."
    if state.series is not None:
        sentence = " ".join([sentence, *state.series.sentences])
    if any(isinstance(entry.event, Decision) for entry in state.verification.entries):
        sentence += " The ledger holds decisions about broken or missing entries; this rests on what they say."
    return sentence
