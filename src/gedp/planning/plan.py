"""A plan: the errors to expect of every table, what each table costs the others, and what other settings change."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from itertools import count

import numpy as np
import pyarrow as pa

from gedp.arrays import BoolArray, FloatArray
from gedp.documents import PrintedTable, table_html
from gedp.errors import DomainError
from gedp.numbers import is_number, short, short_share
from gedp.planning.alike import alike
from gedp.planning.entries import Entries
from gedp.planning.establishments import Establishments, SizesFrom
from gedp.planning.expected import Case
from gedp.planning.settings import PlannedAttribute, plan_attribute
from gedp.policy import COUNT, Spec, price
from gedp.progress import Progress, silent
from gedp.tables import Table

CV_LIMITS = (0.05, 0.10, 0.30)
TIMES = (0.5, 2.0)  # of μ and of γ, unless others are asked for
LEAST_SETTING, MOST_SETTING = 1e-6, 1e6  # of μ and of factors of γ
STEP = "planning"  # of progress


@dataclass(frozen=True)
class SizeRow:
    """The cells of a table that are of about one size."""

    low: float
    high: float
    cells: int
    error: float  # mean
    relative_error: float  # median


@dataclass(frozen=True, repr=False)
class ExpectedErrors:
    """What to expect of one table and attribute: the total and the standard error of every cell."""

    query: str
    attribute: str
    totals: FloatArray
    errors: FloatArray
    others_without: Mapping[str, float]  # mean errors of the other tables if this one were dropped, as a ratio

    @property
    def cells(self) -> int:
        """How many cells it has."""
        return len(self.totals)

    @property
    def error(self) -> float:
        """The mean standard error."""
        return float(np.mean(self.errors))

    @cached_property
    def relative_errors(self) -> FloatArray:
        """The standard error over the total, of every cell; infinite where that is 0, and 0 where there is no noise."""
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.where(self.totals == 0, np.inf, self.errors / np.abs(self.totals))
        return np.where(self.errors == 0, 0.0, relative)

    @property
    def relative_error(self) -> float:
        """That of the middle cell."""
        return float(np.median(self.relative_errors))

    def share_below(self, limit: float) -> float:
        """The share of cells with a smaller relative error."""
        return float(np.mean(self.relative_errors < limit))

    def by_size(self) -> Iterator[SizeRow]:
        """Cells from one power of ten to the next, those below 1 together."""
        with np.errstate(divide="ignore"):
            decades = np.maximum(np.floor(np.log10(np.abs(self.totals))), -1)
        for decade in np.unique(decades):
            here: BoolArray = decades == decade
            low = 0.0 if decade < 0 else 10.0**decade
            yield SizeRow(
                low,
                10.0 ** (decade + 1),
                int(here.sum()),
                float(np.mean(self.errors[here])),
                float(np.median(self.relative_errors[here])),
            )


@dataclass(frozen=True)
class Alternative:
    """Another μ for the whole release, or so many times every γ; and the mean errors then."""

    mu: float
    gamma_times: float
    errors: Mapping[tuple[str, str], float]  # by query and attribute


@dataclass(frozen=True, repr=False)
class Plan:
    """The errors to expect of a release, before anything is spent. Nothing in it comes from confidential values.

    `tables` are the expected errors of every table and attribute, `settings` what another μ or γ would change, `table`
    the main figures as a table to work with.
    """

    spec: Spec
    mu: float
    establishments: int
    groups_from: str
    sizes_from: SizesFrom
    tables: tuple[ExpectedErrors, ...]
    settings: tuple[Alternative, ...]
    alike: tuple[tuple[str, ...], ...]  # the attributes, those with the same errors together

    def of(self, query: str, attribute: str) -> ExpectedErrors:
        """The expected errors of one table and attribute."""
        planned = {(each.query, each.attribute): each for each in self.tables}
        if (query, attribute) in planned:
            return planned[query, attribute]
        in_query = [each.attribute for each in self.tables if each.query == query]
        there_are = ", ".join(in_query or dict.fromkeys(each.query for each in self.tables))
        raise DomainError(f"no errors are planned for {attribute!r} in {query!r}; there are: {there_are}")

    @property
    def table(self) -> Table:
        """A row for every table and attribute: mean error, relative error of the middle cell, shares of cells."""
        columns: dict[str, list[object]] = {
            "query": [each.query for each in self.tables],
            "attribute": [each.attribute for each in self.tables],
            "cells": [each.cells for each in self.tables],
            "std_error": [each.error for each in self.tables],
            "cv": [each.relative_error for each in self.tables],
        }
        for limit in CV_LIMITS:
            columns[f"cv_below_{limit * 100:.0f}"] = [each.share_below(limit) for each in self.tables]
        return Table(pa.table(columns))

    def __repr__(self) -> str:
        tables = "; ".join(
            f"{each.query}: {each.attribute} ± {short(each.error, 2)} ({short_share(each.relative_error)})"
            for each in self.tables
        )
        return f"Plan(mu = {self.mu:.6g}, {self.establishments:,} establishments: {tables})"

    def _repr_html_(self) -> str:
        said = f"<p>Groups: {escape(self.groups_from)}. Sizes: {escape(self.sizes_from.said())}.</p>"
        return table_html(errors_table([((each.query, each.attribute), each) for each in self.tables])) + said


#: Tables to show, each with the words for its query and its attributes.
Named = Sequence[tuple[tuple[str, str], ExpectedErrors]]


def errors_table(tables: Named, also: str = "") -> PrintedTable:
    """A row for every table and attribute: mean error, relative error of the middle cell, shares of cells."""
    rows = [
        (
            *names,
            f"{each.cells:,}",
            short(each.error, 3),
            short_share(each.relative_error),
            *(f"{each.share_below(limit):.0%}" for limit in CV_LIMITS),
        )
        for names, each in tables
    ]
    limits = (f"< {limit:.0%}" for limit in CV_LIMITS)
    return PrintedTable(
        "Errors to expect",
        ("table", "attribute", "cells", "± mean", "± middle", *limits),
        rows,
        "± mean: mean standard error of the cells; ± middle: relative standard error of the middle cell; then the "
        f"shares of cells whose relative standard error is below 5, 10 and 30%.{also}",
        ("table", "attribute"),
    )


def make_plan(
    spec: Spec,
    establishments: Establishments,
    mu: Sequence[float] = (),
    gamma_times: Sequence[float] = (),
    progress: Progress = silent,
) -> Plan:
    """The errors to expect of every table of a spec for these establishments.

    `mu` are other prices of the whole release to compare with, `gamma_times` factors of every γ; half and double where
    neither is given. Attributes that are alike are planned for once.
    """
    _require_settings(mu, gamma_times)
    total = price(spec).total.mu
    if not mu and not gamma_times:
        mu, gamma_times = [times * total for times in TIMES], TIMES
    other = [(m, 1.0) for m in mu] + [(total, g) for g in gamma_times]
    groups = alike(spec, establishments.sizes)
    done, work = count(1), sum(1 + len(other) + len(spec.sums_of(names[0])) for names in groups)
    planned: dict[str, PlannedAttribute] = {}
    tables: list[ExpectedErrors] = []
    for names in groups:
        cell, asked, combined, units = establishments.layout(spec, names[0])
        of_attribute = spec.policy.attributes[names[0]], cell, establishments.sizes[names[0]]
        case = Case(spec, *of_attribute, asked, combined, units)
        found = plan_attribute(case, [(m / total, g) for m, g in other], lambda: progress(STEP, next(done), work))
        planned |= dict.fromkeys(names, found)
        tables += [replace(each, attribute=name) for name in names for each in _expected(case, found)]
    entries = Entries(spec, establishments, {name: each.predicted.part for name, each in planned.items()})
    tables += [ExpectedErrors(*asked, entries.totals[asked], error, {}) for asked, error in entries.errors().items()]
    queries, figures = [query.name for query in spec.queries], _figures(spec)
    tables.sort(key=lambda each: (queries.index(each.query), figures.index(each.attribute)))
    return Plan(
        spec,
        total,
        establishments.keys.rows,
        establishments.groups_from,
        establishments.sizes_from,
        tuple(tables),
        tuple(Alternative(m, g, _errors_at(at, planned, entries, m / total, g)) for at, (m, g) in enumerate(other)),
        (*groups, *((name,) for name in dict.fromkeys(name for _, name in entries.totals) if name not in planned)),
    )


def _figures(spec: Spec) -> list[str]:
    """All that tables can be about."""
    return [COUNT, *spec.policy.attributes, *spec.combinations]


def _expected(case: Case, planned: PlannedAttribute) -> list[ExpectedErrors]:
    """The errors of all tables of one attribute."""
    totals, name = case.totals(), case.attribute.name
    return [
        ExpectedErrors(query, name, totals[query], np.sqrt(each), planned.others_without.get(query, {}))
        for query, each in planned.predicted.variances.items()
    ]


def _errors_at(
    at: int, planned: Mapping[str, PlannedAttribute], now: Entries, times: float, gamma_times: float
) -> dict[tuple[str, str], float]:
    """The mean errors of all tables at another setting; infinite where noise drowns what they depend on."""
    then = {name: each.at[at] for name, each in planned.items()}
    errors = {(query, name): error for name, each in then.items() for query, error in each.errors.items()}
    parts = {name: each.part for name, each in then.items() if each.part is not None}
    if len(parts) < len(then):
        return errors | dict.fromkeys(now.totals, math.inf)
    entries = replace(now, parts=parts, times=times, gamma_times=gamma_times)
    return errors | {asked: float(np.mean(error)) for asked, error in entries.errors().items()}


def _require_settings(mu: Sequence[float], gamma_times: Sequence[float]) -> None:
    for name, numbers in (("mu", mu), ("gamma_times", gamma_times)):
        if not all(is_number(number) and LEAST_SETTING < number < MOST_SETTING for number in numbers):
            between = f"between {LEAST_SETTING:g} and {MOST_SETTING:,.0f}"
            raise DomainError(f"{name}: other settings are numbers {between}, such as 0.5, 1 and 2")
