"""What a manifest says about the series that a release is part of: the cost of each period, of any year, of all."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from gedp.accounting.composition import NOTHING, PrivacyLoss
from gedp.accounting.series import Charge, SeriesLoss
from gedp.errors import DomainError
from gedp.periods import Period
from gedp.policy.section import Section
from gedp.release.checks import FRESH


def series_content(series: SeriesLoss) -> dict[str, Any]:
    """What a series costs, as JSON: exact squares of mu, and what they mean."""
    return {
        "periods": {str(period): str(loss.mu_squared) for period, loss in series.of_period.items()},
        **({"of_several_periods": charges_content(series.shared)} if series.shared else {}),
        "in_every_period": str(series.in_every.mu_squared),
        **_following(series),
        "in_words": list(series.sentences),
    }


def charges_content(charges: Iterable[Charge]) -> list[dict[str, Any]]:
    """What counts for which periods, as JSON."""
    return [{"periods": list(map(str, each.periods)), "mu_squared": str(each.loss.mu_squared)} for each in charges]


def series_in(section: Section) -> SeriesLoss | None:
    """What `series_content` wrote; faults are collected. What follows must agree, and words may be others."""
    stated = section.table("periods")
    of_period = {name: stated.converted(name, _loss, "a fraction like 1/4") for name in stated.content}
    in_every = section.converted("in_every_period", _loss, "a fraction like 0")
    entries = section.tables("of_several_periods") if "of_several_periods" in section.content else []
    for name in ("years", "all", "in_words"):
        section.has(name)
    section.finish()
    try:
        periods = {Period.of(name): loss for name, loss in of_period.items() if loss is not None}
        shared = tuple(_charge(entry) for entry in entries)
    except DomainError:
        periods, shared = {}, ()
    if in_every is None or len({period.kind for period in periods}) != 1 or list(periods) != sorted(periods):
        section.fault("periods", "they are not periods of one kind in their order", FRESH)
        return None
    if any(len(each.periods) < 2 or list(each.periods) != [p for p in periods if p in each.periods] for each in shared):
        section.fault("of_several_periods", "they are not several of the periods in their order", FRESH)
        return None
    series = SeriesLoss(periods, in_every, shared)
    for name, content in _following(series).items():
        if section.content.get(name) != content:
            section.fault(name, "it does not follow from the periods", FRESH)
    return series


def _charge(entry: Section) -> Charge:
    periods = tuple(map(Period.of, entry.names("periods")))
    loss = entry.converted("mu_squared", _loss, "a fraction like 1/4")
    entry.finish()
    return Charge(periods, loss or NOTHING)


def _following(series: SeriesLoss) -> dict[str, Any]:
    """What follows from the cost of each period."""
    years = [
        {"first": str(year.first), "last": str(year.last), "mu_squared": str(year.loss.mu_squared)}
        for year in series.years
    ]
    return {"years": years, "all": str(series.all.loss.mu_squared)}


def _loss(value: object) -> PrivacyLoss:
    fraction = Fraction(str(value))
    if fraction < 0 or str(fraction) != value:
        raise ValueError
    return PrivacyLoss(fraction)
