"""A table that is one period of a series: what a spec says about it, and the same spec for the next period."""

import os
from dataclasses import replace
from pathlib import Path

from gedp.errors import Fault, FaultsError
from gedp.periods import WANTED, Period
from gedp.policy.model import Policy, Spec
from gedp.policy.reading import is_address
from gedp.policy.section import Faults, Section
from gedp.policy.values import DATABASE, PERIOD, PERIODS_HINT


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


def check_of_period(faults: Faults, period: Period | None, policy: Policy) -> None:
    """Columns have periods only in a table that has one: of the same kind, and none after it."""
    for column, attribute in {a.column: a for a in policy.attributes.values() if a.of_period}.items():
        path = ("attributes", column, "of_period")
        if path in faults.by_path or ("data", "period") in faults.by_path:
            continue
        if period is None:
            faults.add(path, "the table is not one of a series", f"Give data.period, {WANTED}, or remove it")
            continue
        for each in sorted(attribute.periods(period)):
            if each.kind != period.kind:
                hint = f"Name a {period.kind}, or give a number like -1"
                faults.add(path, f"{each} is a {each.kind}, and the table is of a {period.kind}", hint)
            elif each > period:
                faults.add(path, f"{each} is after {period}, the period of the table", PERIODS_HINT)
            elif not each.has_name:
                faults.add(path, "it is too long before the period of the table", PERIODS_HINT)


def _check_carried(faults: Faults, spec: Spec, period: Period | None) -> None:
    """What a column holds by name is known for the table of one period alone."""
    for column, attribute in {a.column: a for a in spec.policy.attributes.values()}.items():
        if period != spec.data.period and any(isinstance(each, Period) for each in attribute.of_period):
            problem = f"it names a period for the table of {spec.data.period}, and this is that of {period}"
            faults.add(("attributes", column, "of_period"), problem, "Count from the table's period, like -1")


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
    chosen = PERIOD.read(section, "period") if "period" in given else spec.data.period
    if not faults.found:
        check_spans(faults, chosen, spec.policy)
        _check_carried(faults, spec, chosen)
    if not faults.found:
        check_of_period(faults, chosen, spec.policy)
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
