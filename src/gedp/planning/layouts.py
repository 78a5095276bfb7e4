"""The tables of a plan in words and rounded numbers, for the terminal and the page alike."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gedp.folding import each_of, together
from gedp.numbers import short, short_share, strength
from gedp.planning.plan import CV_LIMITS, ExpectedErrors, Plan
from gedp.release.words import AS_WRITTEN, Words

#: What is left out of the errors of these tables.
BY_CLASSES = " In tables by classes, errors are those of the noise alone; the fit makes them smaller."
#: The tables to show, each with the words for its query and its attributes.
Named = Sequence[tuple[tuple[str, str], ExpectedErrors]]


@dataclass(frozen=True)
class PlanTable:
    """A table as it is shown, and a sentence about it."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str
    texts: tuple[str, ...] = ()


def sources_sentence(plan: Plan, words: Words = AS_WRITTEN) -> str:
    """What the plan was made from."""
    return (
        f"A plan for mu = {strength(plan.mu)} and {plan.establishments:,} establishments; no confidential value was "
        f"read, and nothing is spent. Groups: {plan.groups_from}. Sizes: {plan.sizes_from.said(words.attribute)}."
    )


def guess_sentence(plan: Plan, words: Words = AS_WRITTEN) -> str:
    """What to do where nothing at all is known of sizes; empty where something is."""
    guessed = [*map(words.attribute, plan.sizes_from.guessed)]
    if not guessed:
        return ""
    return (
        f"The sizes of {together(guessed)} are a guess, and the errors with them: say in the spec what is `typical`, "
        "or give --total or --like."
    )


def named_together(plan: Plan, words: Words = AS_WRITTEN) -> dict[str, str]:
    """The attributes to show, each with its heading: of those with the same errors the first stands for all."""
    return {names[0]: each_of([*map(words.attribute, names)]) for names in plan.alike}


def layouts(plan: Plan, words: Words = AS_WRITTEN) -> Iterator[PlanTable]:
    """All tables, in the order in which one reads them."""
    headings = named_together(plan, words)
    tables = [
        ((words.query(each.query), headings[each.attribute]), each)
        for each in plan.tables
        if each.attribute in headings
    ]
    yield _errors(tables, has_classes=bool(plan.spec.by_classes))
    for attribute, heading in headings.items():
        yield _by_size(heading, [(names, each) for names, each in tables if each.attribute == attribute])
    if any(each.others_without for _, each in tables):
        yield _others({query.name: words.query(query.name) for query in plan.spec.queries}, tables)
    if plan.settings:
        yield _settings(plan, tables)


def _errors(tables: Named, *, has_classes: bool) -> PlanTable:
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
    return PlanTable(
        "Errors to expect",
        ("table", "attribute", "cells", "± mean", "± middle", *limits),
        tuple(rows),
        "± mean: the mean standard error of the cells; ± middle: that of the middle cell, relative to its total; then "
        "the share of cells whose relative standard error is below 5, 10 and 30%." + BY_CLASSES * has_classes,
        ("table", "attribute"),
    )


def _by_size(heading: str, tables: Named) -> PlanTable:
    found = [{row.low: row for row in each.by_size()} for _, each in tables]
    highs = {row.low: row.high for rows in found for row in rows.values()}
    rows = []
    for low in sorted(highs):
        cells = [
            f"{short(row.error, 2)} ({short_share(row.relative_error)})" if (row := of_query.get(low)) else ""
            for of_query in found
        ]
        rows.append((f"{short(low)} to {short(highs[low])}", *cells))
    return PlanTable(
        f"{heading}, by size of cell",
        ("total of the cell", *(query for (query, _), _ in tables)),
        tuple(rows),
        "The mean standard error of cells of each size and, in brackets, the relative one of the middle cell.",
        ("total of the cell",),
    )


def _others(queries: Mapping[str, str], tables: Named) -> PlanTable:
    rows = [
        (*names, *(_change(each.others_without.get(other)) for other in queries))
        for names, each in tables
        if each.others_without
    ]
    return PlanTable(
        "What each table costs the others",
        ("without", "attribute", *queries.values()),
        tuple(rows),
        "How the mean errors of the other tables would change if a table were not asked for and the release cost the "
        "same: where the number is far below 0, this table is dear. It can also be above 0, since tables help each "
        "other.",
        ("without", "attribute"),
    )


def _settings(plan: Plan, tables: Named) -> PlanTable:
    headings = [_setting(plan, setting.mu, setting.gamma_times) for setting in plan.settings]
    rows = [
        (*names, short(each.error, 3), *(short(s.errors[each.query, each.attribute], 3) for s in plan.settings))
        for names, each in tables
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
