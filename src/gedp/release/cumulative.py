"""What a manifest says about all releases from the same data: the promise that holds for all, and who decided what."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gedp.accounting.series import SeriesLoss
from gedp.periods import Period
from gedp.policy.section import Section
from gedp.release.checks import texts
from gedp.release.series_content import series_content, series_in


@dataclass(frozen=True)
class DecisionMade:
    """A person's decision to promise less than earlier releases of the same data did."""

    date: str
    by: str
    reason: str
    what: tuple[str, ...]


@dataclass(frozen=True)
class CumulativePromise:
    """What the ledger says about all releases from the same data up to this one: the promise that holds for all."""

    releases: int
    mu: str  # rounded up
    attributes: Mapping[str, str]
    decisions: tuple[DecisionMade, ...] = ()
    series: SeriesLoss | None = None  # what each period of a series costs
    unit: str | None = None  # the column of units of which every release hides all records at once

    def covers(self, period: Period | None) -> bool:
        """Whether it is about a series that has this period, or about none where there is no period."""
        return period is None if self.series is None else period in self.series.of_period


def cumulative_content(together: CumulativePromise) -> dict[str, Any]:
    """What the ledger says about all releases, as JSON."""
    decisions = [{"date": d.date, "by": d.by, "reason": d.reason, "what": list(d.what)} for d in together.decisions]
    return {
        "releases": together.releases,
        "mu": together.mu,
        "attributes": dict(together.attributes),
        "decisions": decisions,
        **({} if together.series is None else {"series": series_content(together.series)}),
        **({} if together.unit is None else {"unit": together.unit}),
    }


def read_cumulative(section: Section) -> CumulativePromise:
    """What `cumulative_content` wrote, with what a series costs where it is one; faults are collected."""
    decisions = []
    if section.content.get("decisions"):
        for entry in section.tables("decisions"):
            date, by, reason = (entry.text(name) for name in ("date", "by", "reason"))
            decisions.append(DecisionMade(date, by, reason, entry.names("what")))
            entry.finish()
    else:
        section.has("decisions")
    attributes = texts(section.table("attributes"))
    series = series_in(section.table("series")) if "series" in section.content else None
    unit = section.text("unit") if "unit" in section.content else None
    together = CumulativePromise(
        section.whole("releases", low=1), section.text("mu"), attributes, tuple(decisions), series, unit
    )
    section.finish()
    return together
