"""What a policy promises over several periods, in sentences that the terminal and the page share."""

from gedp.accounting.composition import NOTHING, PrivacyLoss
from gedp.accounting.series import ALARMS, Charge, SeriesLoss, series_of
from gedp.numbers import bound, strength
from gedp.periods import Period
from gedp.policy import PriceList, Spec, price
from gedp.release import Manifest


def explained_series(spec: Spec, released: Manifest | None = None) -> list[str]:
    """What was released of a series, or where nothing is yet, what a spec would release of it."""
    return planned_series(spec) if released is None else released_series(released)


def planned_series(spec: Spec) -> list[str]:
    """What would be learned from a year of tables like those of the spec, and what its budgets allow at most.

    Nothing where the table is not one of a series.
    """
    period = spec.data.period
    if period is None:
        return []
    series = _year_like(price(spec), period)
    said = charged_sentences(spec)
    said += [f"If every {period.kind} of a year is released like this one:", *series.sentences]
    allowed = {f"one {period.kind}": spec.policy.budget, "any year": spec.policy.year_budget}
    allowed[f"all {period.kind}s"] = spec.policy.series_budget
    limits = (_limit(what, loss) for what, loss in allowed.items() if loss is not None)
    said.append(f"The budgets allow at most {'; '.join(limits)}. A table that would break one of them is refused.")
    if spec.policy.year_budget is not None and series.all.loss > spec.policy.year_budget:
        said.append(f"So not every {period.kind} of a year can be released like this one.")
    return said


def released_series(manifest: Manifest) -> list[str]:
    """What is learned from all tables of a series up to that of a release; nothing where no ledger says so."""
    series = manifest.together and manifest.together.series
    said = charged_sentences(manifest.spec)
    return said if not series else [*said, f"Of all tables up to those of {manifest.period}:", *series.sentences]


def charged_sentences(spec: Spec) -> list[str]:
    """For which periods the price of a spec counts; nothing where all of it counts for the table's own."""
    charges = price(spec).charges
    if not charges:
        return []
    return [
        f"Columns of the table of {spec.data.period} hold values of other periods (of_period), and the price counts "
        f"where these belong: {'; '.join(map(str, charges))}."
    ]


def _year_like(prices: PriceList, period: Period) -> SeriesLoss:
    """What a year costs if every table is like that of the period, also those after the year that hold values of it."""
    year = period.year_from
    charges = prices.charges or (Charge((period,), prices.total),)
    furthest = max(period.number - charge.periods[0].number for charge in charges)
    made = [Charge((each,), NOTHING) for each in year]
    for later in range(len(year) + furthest):
        for charge in charges:
            inside = tuple(moved for each in charge.periods if (moved := each.moved(later)) in year)
            made += [Charge(inside, charge.loss)] if inside else []
    series = series_of(made)
    assert series is not None
    return series


def _limit(what: str, loss: PrivacyLoss) -> str:
    return f"μ = {strength(loss.mu)} for {what} (a chance of {bound(loss.power(ALARMS))})"
