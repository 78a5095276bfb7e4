"""A table that is one period of a series: what a spec says about it, and the same spec for the next period."""

import os
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from gedp.errors import DomainError, Fault, FaultsError
from gedp.periods import WANTED, Period, meant
from gedp.policy.model import Policy, Spec
from gedp.policy.reading import DATABASE, is_address
from gedp.policy.section import Faults, Section

#: Budgets over several periods, keys of `[budget]`.
SPANS = ("year", "series")


def read_period(section: Section) -> Period | None:
    """Which of a series the table is, where `[data]` says so."""
    if not section.has("period"):
        return None
    try:
        return Period.of(section.content["period"])
    except DomainError:
        section.fault("period", "it is not the name of a period", meant(section.content["period"]))
        return None


def read_spans(section: Section) -> dict[str, Decimal]:
    """The budgets over several periods that `[budget]` states, in its own terms."""
    return {key: section.number(key) for key in SPANS if section.has(key)}


def check_spans(faults: Faults, period: Period | None, policy: Policy) -> None:
    """Budgets over several periods need a period, and hold at least one whole table."""
    year, series = policy.year_budget, policy.series_budget
    given = {key: loss for key, loss in (("year", year), ("series", series)) if loss is not None}
    for key, loss in given.items():
        if period is None and ("data", "period") not in faults.by_path:
            problem = "it is for several periods, and the table is not one of a series"
            faults.add(("budget", key), problem, f"Give data.period, {WANTED}, or remove it")
        elif loss < policy.budget:
            problem = "it is less than the budget of a single period"
            faults.add(("budget", key), problem, "Give at least that much, or lower that of a period")
    if year is not None and period is not None and period.kind == "year":
        faults.add(("budget", "year"), "every period is a year", "Remove it: the budget is already that of a year")
    if year is not None and series is not None and series < year:
        faults.add(("budget", "series"), "it is less than the budget of a single year", "Give at least that much")


def for_period(spec: Spec, period: str | Period | None = None, source: str | Path | None = None) -> Spec:
    """The same spec for another period, or about another source, which starts from where Python runs.

    What is not given stays as it is.

    >>> from gedp.policy import parse_spec
    >>> text = 'data = {source = "q1.csv", public = ["county"], period = "2016Q1"}\\nbudget = {mu = 1}'
    >>> text += '\\nattributes = {jobs = {psi = "sqrt", gamma = 0.5}}\\nqueries = [{name = "all", by = [], mu = 0.5}]'
    >>> for_period(parse_spec(text), "2016Q2", "q2.csv").data.period
    Period(2016Q2)
    """
    faults = Faults({})
    given = {key: value for key, value in (("period", period), ("source", source)) if value is not None}
    section = Section(faults, (), given)
    chosen = read_period(section) if "period" in given else spec.data.period
    if not faults.found:
        check_spans(faults, chosen, spec.policy)
    if faults.found:
        raise FaultsError("the period", faults.found)
    named = spec.data.source if source is None else _seen_from(spec.folder, str(source))
    return replace(spec, data=replace(spec.data, period=chosen, source=named))


def _seen_from(folder: Path, source: str) -> str:
    """A source as a spec in this folder would name it. The spec is published, and whole paths are nobody's business."""
    if source.startswith(DATABASE) or is_address(source):
        return source
    if not source:
        raise FaultsError("the source", [Fault("source", "it has no name", "Name the file of this period")])
    try:
        return Path(os.path.relpath(source, folder)).as_posix()
    except ValueError:  # another drive
        return Path(source).absolute().as_posix()
