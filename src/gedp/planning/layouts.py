"""The tables of a plan in words and rounded numbers, for the terminal and the page alike."""

from collections.abc import Iterator
from dataclasses import dataclass

from gedp.numbers import short, short_share, strength
from gedp.planning.plan import CV_LIMITS, Plan


@dataclass(frozen=True)
class PlanTable:
    """A table as it is shown, and a sentence about it."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str
    texts: tuple[str, ...] = ()


def sources_sentence(plan: Plan) -> str:
    """What the plan was made from."""
    return (
        f"A plan for mu = {strength(plan.mu)} and {plan.establishments:,} establishments; no confidential value was "
        f"read, and nothing is spent. Groups: {plan.groups_from}. Sizes: {plan.sizes_from}."
    )


def layouts(plan: Plan) -> Iterator[PlanTable]:
    """All tables, in the order in which one reads them."""
    yield _errors(plan)
    for attribute in plan.spec.asked:
        yield _by_size(plan, attribute)
    if any(each.others_without for each in plan.tables):
        yield _others(plan)
    if plan.settings:
        yield _settings(plan)


def _errors(plan: Plan) -> PlanTable:
    rows = [
        (
            each.query,
            each.attribute,
            f"{each.cells:,}",
            short(each.error, 3),
            short_share(each.relative_error),
            *(f"{each.share_below(limit):.0%}" for limit in CV_LIMITS),
        )
        for each in plan.tables
    ]
    limits = (f"< {limit:.0%}" for limit in CV_LIMITS)
    return PlanTable(
        "Errors to expect",
        ("table", "attribute", "cells", "± mean", "± middle", *limits),
        tuple(rows),
        "± mean: the mean standard error of the cells; ± middle: that of the middle cell, relative to its total; then "
        "the share of cells whose relative standard error is below 5, 10 and 30%.",
        ("table", "attribute"),
    )


def _by_size(plan: Plan, attribute: str) -> PlanTable:
    tables = [each for each in plan.tables if each.attribute == attribute]
    found = {each.query: {row.low: row for row in each.by_size()} for each in tables}
    highs = {row.low: row.high for rows in found.values() for row in rows.values()}
    rows = []
    for low in sorted(highs):
        cells = [
            f"{short(row.error, 2)} ({short_share(row.relative_error)})" if (row := found[each.query].get(low)) else ""
            for each in tables
        ]
        rows.append((f"{short(low)} to {short(highs[low])}", *cells))
    return PlanTable(
        f"{attribute}, by size of cell",
        ("total of the cell", *found),
        tuple(rows),
        "The mean standard error of cells of each size and, in brackets, the relative one of the middle cell.",
        ("total of the cell",),
    )


def _others(plan: Plan) -> PlanTable:
    queries = [query.name for query in plan.spec.queries]
    rows = [
        (each.query, each.attribute, *(_change(each.others_without.get(other)) for other in queries))
        for each in plan.tables
        if each.others_without
    ]
    return PlanTable(
        "What each table costs the others",
        ("without", "attribute", *queries),
        tuple(rows),
        "How the mean errors of the other tables would change if a table were not asked for and the release cost the "
        "same: where the number is far below 0, this table is dear. It can also be above 0, since tables help each "
        "other.",
        ("without", "attribute"),
    )


def _settings(plan: Plan) -> PlanTable:
    now = {(each.query, each.attribute): each.error for each in plan.tables}
    headings = [_setting(plan, setting.mu, setting.gamma_times) for setting in plan.settings]
    rows = [
        (query, attribute, short(error, 3), *(short(s.errors[query, attribute], 3) for s in plan.settings))
        for (query, attribute), error in now.items()
    ]
    return PlanTable(
        "Other settings",
        ("table", "attribute", f"mu {strength(plan.mu)}", *headings),
        tuple(rows),
        "Mean standard errors if the whole release cost another mu, or if every gamma were so many times as large.",
        ("table", "attribute"),
    )


def _setting(plan: Plan, mu: float, gamma_times: float) -> str:
    return f"mu {strength(mu)}" if gamma_times == 1 else f"gamma x {gamma_times:g}"


def _change(ratio: float | None) -> str:
    return "" if ratio is None else f"{100 * (ratio - 1):+.0f}%".replace("-", "\N{MINUS SIGN}")
