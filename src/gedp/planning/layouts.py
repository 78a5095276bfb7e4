"""The tables of a plan in words and rounded numbers, for the terminal and the page alike."""

from collections.abc import Iterator, Mapping

from gedp.documents import PrintedTable
from gedp.folding import each_of, together
from gedp.numbers import short, short_share, strength
from gedp.planning.plan import Named, Plan, errors_table
from gedp.release.words import AS_WRITTEN, Words

#: What is left out of the errors of these tables.
BY_CLASSES = " In tables by classes, errors are those of the noise alone; the fit makes them smaller."


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


def layouts(plan: Plan, words: Words = AS_WRITTEN) -> Iterator[PrintedTable]:
    """All tables, in the order in which one reads them."""
    headings = named_together(plan, words)
    tables = [
        ((words.query(each.query), headings[each.attribute]), each)
        for each in plan.tables
        if each.attribute in headings
    ]
    yield errors_table(tables, BY_CLASSES if plan.spec.by_classes else "")
    for attribute, heading in headings.items():
        yield _by_size(heading, [(names, each) for names, each in tables if each.attribute == attribute])
    if any(each.others_without for _, each in tables):
        yield _others({query.name: words.query(query.name) for query in plan.spec.queries}, tables)
    if plan.settings:
        yield _settings(plan, tables)


def _by_size(heading: str, tables: Named) -> PrintedTable:
    found = [{row.low: row for row in each.by_size()} for _, each in tables]
    highs = {row.low: row.high for rows in found for row in rows.values()}
    rows = []
    for low in sorted(highs):
        cells = [
            f"{short(row.error, 2)} ({short_share(row.relative_error)})" if (row := of_query.get(low)) else ""
            for of_query in found
        ]
        rows.append((f"{short(low)} to {short(highs[low])}", *cells))
    return PrintedTable(
        f"{heading}, by size of cell",
        ("total of the cell", *(query for (query, _), _ in tables)),
        rows,
        "The mean standard error of cells of each size and, in brackets, the relative one of the middle cell.",
        ("total of the cell",),
    )


def _others(queries: Mapping[str, str], tables: Named) -> PrintedTable:
    rows = [
        (*names, *(_change(each.others_without.get(other)) for other in queries))
        for names, each in tables
        if each.others_without
    ]
    return PrintedTable(
        "Effect of dropping each table",
        ("without", "attribute", *queries.values()),
        rows,
        "How the mean errors of the other tables would change if a table were not asked for and the release cost the "
        "same. A number far below 0 marks an expensive table. Numbers can also be above 0, since tables help each "
        "other.",
        ("without", "attribute"),
    )


def _settings(plan: Plan, tables: Named) -> PrintedTable:
    headings = [_setting(plan, setting.mu, setting.gamma_times) for setting in plan.settings]
    rows = [
        (*names, short(each.error, 3), *(short(s.errors[each.query, each.attribute], 3) for s in plan.settings))
        for names, each in tables
    ]
    return PrintedTable(
        "Other settings",
        ("table", "attribute", f"mu {strength(plan.mu)}", *headings),
        rows,
        "Mean standard errors if the whole release cost another mu, or if every gamma were so many times as large.",
        ("table", "attribute"),
    )


def _setting(plan: Plan, mu: float, gamma_times: float) -> str:
    return f"mu {strength(mu)}" if gamma_times == 1 else f"gamma x {gamma_times:g}"


def _change(ratio: float | None) -> str:
    return "" if ratio is None else f"{100 * (ratio - 1):+.0f}%".replace("-", "\N{MINUS SIGN}")
