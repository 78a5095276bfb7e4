"""What a policy promises over several periods, in sentences that the terminal and the page share."""

from gedp.accounting.composition import PrivacyLoss
from gedp.accounting.series import ALARMS, SeriesLoss
from gedp.numbers import bound, strength
from gedp.policy import Spec, price
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
    series = SeriesLoss(dict.fromkeys(period.year_from, price(spec).total))
    said = [f"If every {period.kind} of a year is released like this one:", *series.sentences]
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
    return [] if not series else [f"Of all tables up to those of {manifest.period}:", *series.sentences]


def _limit(what: str, loss: PrivacyLoss) -> str:
    return f"μ = {strength(loss.mu)} for {what} (a chance of {bound(loss.power(ALARMS))})"
