"""What the ledger writes down: events, the entries that seal them, and their canonical text.

The hash of an entry is SHA-256 over its text, which holds the hash of the entry before it, so no entry can be changed,
moved or taken out without every later hash changing too.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from hashlib import sha256
from math import isfinite
from typing import Any

from gedp.accounting.composition import PrivacyLoss, compose
from gedp.accounting.series import Charge
from gedp.errors import DomainError
from gedp.ledger.amounts import decimal_of, decimal_text, loss_of, loss_text
from gedp.periods import Period
from gedp.policy.keys import PSI_NAMES
from gedp.policy.model import Attribute, Closeness
from gedp.policy.pricing import PriceLine

_DIGEST = re.compile(r"[0-9a-f]{64}")
_RELEASE = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class FileMark:
    """How a data file is known again: where it was, seen from the ledger, its size, and a keyed digest of its bytes."""

    path: str
    size: int
    digest: str


@dataclass(frozen=True)
class InSeries:
    """Which period of a series a release is about, and what may be spent on any year and on all periods, if limited.

    Where columns hold values of other periods, it also says what of the price counts for which.
    """

    period: Period
    year_budget: PrivacyLoss | None = None
    series_budget: PrivacyLoss | None = None
    #: The whole price, by the periods that it counts for; none where all of it counts for `period` alone.
    charged: tuple[Charge, ...] = field(default=(), kw_only=True)

    def charges(self, loss: PrivacyLoss) -> tuple[Charge, ...]:
        """What a release of this loss costs, by the periods that it counts for."""
        return self.charged or (Charge((self.period,), loss),)

    @property
    def periods(self) -> frozenset[Period]:
        """Those whose values its answers depend on."""
        return frozenset(period for charge in self.charged for period in charge.periods) or frozenset({self.period})


@dataclass(frozen=True)
class Reserve:
    """Budget set aside for a release, before any of its noise is drawn. It counts from here on."""

    release: str
    fingerprint: str
    spec_digest: str
    attributes: Mapping[str, Attribute]
    prices: tuple[PriceLine, ...]
    budget: PrivacyLoss
    note: str = ""
    files: tuple[FileMark, ...] = ()
    synthetic: bool = False  # the spec declared that nothing in the table is confidential
    seeded: bool = False  # whoever knows the seed can take the noise away
    public: tuple[str, ...] = ()  # columns that were published as they are
    missing: Mapping[str, Decimal] = field(default_factory=dict)  # what a null counted as, by column
    series: InSeries | None = None
    content: str | None = None  # the digest of what its table is known again by, which is stored beside the entries
    unit: str | None = None  # the column of units whose records are hidden at once; None: each record by itself

    @cached_property
    def loss(self) -> PrivacyLoss:
        """The exact cost of the release: all its prices composed."""
        return compose(line.loss for line in self.prices)


@dataclass(frozen=True)
class Commit:
    """The release is finished; the digest is that of its manifest."""

    release: str
    manifest_digest: str


@dataclass(frozen=True)
class Abandon:
    """The release will not be finished. Only `before_noise`, stated by the caller, gives the budget back."""

    release: str
    before_noise: bool
    note: str


@dataclass(frozen=True)
class Break:
    """A place where the ledger is not as it was written. `found` is a digest of what is there instead."""

    sequence: int
    problem: str
    found: str

    def __str__(self) -> str:
        place = f"entry {self.sequence}" if self.sequence else "the file"
        return f"{place}: {self.problem}"


@dataclass(frozen=True)
class Decision:
    """A person has looked at these breaks, and says how much more to count for what they may hide."""

    note: str
    breaks: tuple[Break, ...]
    added: PrivacyLoss


@dataclass(frozen=True)
class Permit:
    """A named person allows the release that follows to promise less than those before it did."""

    by: str
    reason: str
    what: tuple[str, ...]


Event = Reserve | Commit | Abandon | Decision | Permit
KINDS: dict[type[Event], str] = {
    Reserve: "reserve",
    Commit: "commit",
    Abandon: "abandon",
    Decision: "decision",
    Permit: "permit",
}


@dataclass(frozen=True)
class Entry:
    """One event with its place in the chain. `total` is what counts as spent once it is written."""

    sequence: int
    previous: str
    time: str
    who: str
    event: Event
    total: PrivacyLoss

    @property
    def kind(self) -> str:
        """What the entry records: reserve, commit, abandon, decision or permit."""
        return KINDS[type(self.event)]

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical text, by which the next entry names this one."""
        return sha256(entry_text(self).encode()).hexdigest()


def canonical(content: object) -> str:
    """JSON in one way only: sorted keys, no spaces, ASCII."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def entry_text(entry: Entry) -> str:
    """The canonical text of an entry, over which its hash is taken."""
    place = {"sequence": entry.sequence, "previous": entry.previous, "time": entry.time, "who": entry.who}
    return canonical({**place, "kind": entry.kind, "total": loss_text(entry.total), **_event_content(entry.event)})


def read_entry(text: str) -> Entry:
    """The entry with this text; ValueError if there is none."""
    try:
        content = json.loads(text)
        sequence = content["sequence"]
        if type(sequence) is not int:
            raise ValueError("not a number")
        previous, time, who = _digest(content["previous"]), _text(content["time"]), _text(content["who"])
        entry = Entry(sequence, previous, time, who, _event(content), loss_of(content["total"]))
    except (KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError("not an entry") from error
    if entry_text(entry) != text:
        raise ValueError("not the text of an entry")
    return entry


def recorded(attribute: Attribute) -> Attribute:
    """What of an attribute the ledger keeps: all that decides which values are close."""
    return Attribute(attribute.name, attribute.closeness, signed=attribute.signed, at_least=attribute.at_least)


def _event_content(event: Event) -> dict[str, Any]:
    match event:
        case Reserve():
            return {
                "release": event.release,
                "fingerprint": event.fingerprint,
                "spec_digest": event.spec_digest,
                "attributes": {name: _attribute_content(a) for name, a in event.attributes.items()},
                "prices": [
                    {"query": line.query, "attribute": line.attribute, "mu_squared": loss_text(line.loss)}
                    for line in event.prices
                ],
                "budget": loss_text(event.budget),
                "note": event.note,
                "files": [{"path": mark.path, "size": mark.size, "digest": mark.digest} for mark in event.files],
                "synthetic": event.synthetic,
                "seeded": event.seeded,
                "public": list(event.public),
                **({"missing": {n: decimal_text(v) for n, v in event.missing.items()}} if event.missing else {}),
                **({} if event.series is None else {"series": _series_content(event.series)}),
                **({} if event.content is None else {"content": event.content}),
                **({} if event.unit is None else {"unit": event.unit}),
            }
        case Commit():
            return {"release": event.release, "manifest_digest": event.manifest_digest}
        case Abandon():
            return {"release": event.release, "before_noise": event.before_noise, "note": event.note}
        case Decision():
            breaks = [{"sequence": b.sequence, "problem": b.problem, "found": b.found} for b in event.breaks]
            return {"note": event.note, "breaks": breaks, "added": loss_text(event.added)}
        case Permit():
            return {"by": event.by, "reason": event.reason, "what": list(event.what)}


def _event(content: dict[str, Any]) -> Event:
    match content["kind"]:
        case "reserve":
            return _reserve(content)
        case "commit":
            return Commit(_release(content["release"]), _digest(content["manifest_digest"]))
        case "abandon":
            return Abandon(_release(content["release"]), _flag(content["before_noise"]), _text(content["note"]))
        case "decision":
            breaks = (Break(int(b["sequence"]), _text(b["problem"]), _digest(b["found"])) for b in content["breaks"])
            return Decision(_text(content["note"]), tuple(breaks), loss_of(content["added"]))
        case "permit":
            return Permit(
                _text(content["by"]), _text(content["reason"]), tuple(_text(part) for part in content["what"])
            )
        case _:
            raise ValueError("not a kind of entry")


def _reserve(content: dict[str, Any]) -> Reserve:
    attributes = {name: _attribute(name, a) for name, a in content["attributes"].items()}
    prices = tuple(
        PriceLine(_text(line["query"]), _text(line["attribute"]), loss_of(line["mu_squared"]))
        for line in content["prices"]
    )
    if {line.attribute for line in prices} != attributes.keys():
        raise ValueError("prices and attributes differ")
    series = _series(content["series"]) if "series" in content else None
    if series and series.charged and compose(each.loss for each in series.charged) != compose(p.loss for p in prices):
        raise ValueError("prices and charges differ")
    return Reserve(
        _release(content["release"]),
        _digest(content["fingerprint"]),
        _digest(content["spec_digest"]),
        attributes,
        prices,
        loss_of(content["budget"]),
        _text(content["note"]),
        tuple(FileMark(_text(m["path"]), _size(m["size"]), _digest(m["digest"])) for m in content["files"]),
        _flag(content["synthetic"]),
        _flag(content["seeded"]),
        tuple(_text(name) for name in content["public"]),
        {name: decimal_of(number) for name, number in content.get("missing", {}).items()},
        series,
        _digest(content["content"]) if "content" in content else None,
        _text(content["unit"]) if "unit" in content else None,
    )


def _series_content(series: InSeries) -> dict[str, Any]:
    budgets = {"year_budget": series.year_budget, "series_budget": series.series_budget}
    stated = {name: loss_text(budget) for name, budget in budgets.items() if budget is not None}
    charged = [{"periods": list(map(str, each.periods)), "mu_squared": loss_text(each.loss)} for each in series.charged]
    return {"period": str(series.period), **stated, **({"charged": charged} if charged else {})}


def _series(content: dict[str, Any]) -> InSeries:
    period = _period(content["period"])
    budgets = [loss_of(content[name]) if name in content else None for name in ("year_budget", "series_budget")]
    return InSeries(period, *budgets, charged=tuple(_charge(each, period) for each in content.get("charged", ())))


def _charge(content: dict[str, Any], period: Period) -> Charge:
    periods = tuple(_period(name) for name in content["periods"])
    if not periods or list(periods) != sorted(set(periods)) or any(each.kind != period.kind for each in periods):
        raise ValueError("not periods of one kind in their order")
    return Charge(periods, loss_of(content["mu_squared"]))


def _period(name: object) -> Period:
    try:
        return Period.of(name)
    except DomainError as error:
        raise ValueError("not a period") from error


def _attribute_content(attribute: Attribute) -> dict[str, Any]:
    at_least = [_closeness_content(c) for c in attribute.at_least]
    return {**_closeness_content(attribute.closeness), "signed": attribute.signed, "at_least": at_least}


def _closeness_content(closeness: Closeness) -> dict[str, Any]:
    shift, gamma = decimal_text(closeness.shift), decimal_text(closeness.gamma)
    return {"psi": closeness.psi, "shift": shift, "gamma": gamma}


def _attribute(name: str, content: dict[str, Any]) -> Attribute:
    at_least = tuple(_closeness(part) for part in content["at_least"])
    attribute = Attribute(name, _closeness(content), signed=_flag(content["signed"]), at_least=at_least)
    if attribute.signed and any(c.psi == "log" and not c.shift for c in (attribute.closeness, *at_least)):
        raise ValueError("log without a shift cannot be signed")
    return attribute


def _closeness(content: dict[str, Any]) -> Closeness:
    gamma, shift = decimal_of(content["gamma"]), decimal_of(content["shift"])
    if content["psi"] not in PSI_NAMES or not _positive(gamma) or not isfinite(float(shift)):
        raise ValueError("not a closeness")
    return Closeness(content["psi"], gamma, shift)


def _positive(number: Decimal) -> bool:
    return float(number) > 0 and isfinite(float(number))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value


def _size(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("not a size")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("not a flag")
    return value


def _digest(value: object) -> str:
    if not _DIGEST.fullmatch(_text(value)):
        raise ValueError("not a digest")
    return _text(value)


def _release(value: object) -> str:
    if not _RELEASE.fullmatch(_text(value)):
        raise ValueError("not a release id")
    return _text(value)
