"""A study of suppression as blocks of a document."""

from collections.abc import Iterator

from gedp.documents import Block, Heading, Lines, PrintedTable
from gedp.numbers import short, short_share
from gedp_lab.suppress.study import OURS, Pattern, SuppressionStudy

SHOWN_SECOND = 5
HEADINGS = ("level", "cells", "sensitive", "withheld", "share", "of the total", "unsafe", "exact", "rel. width")
SECOND_HEADINGS = ("table of a second publisher", "cells", "shown", "unsafe alone", "opens", "exactly")


def _outcome_rows(study: SuppressionStudy) -> list[list[str]]:
    """A row for each table under HEADINGS."""
    return [
        [
            each.level,
            f"{each.cells:,}",
            f"{each.sensitive:,}",
            f"{each.hidden:,}",
            short_share(each.share_hidden),
            short_share(each.value_hidden),
            f"{each.unsafe:,}",
            f"{each.exact:,}",
            short_share(each.median_width),
        ]
        for each in study.outcomes()
        if each.method == OURS
    ]


def _method_line(study: SuppressionStudy, pattern: Pattern) -> str:
    """What a method comes to, in one sentence."""
    tables = study.tables
    hidden, unsafe, exact = (
        int(marked.sum())
        for marked in (pattern.hidden, pattern.found.is_unsafe(tables), pattern.found.is_exact(tables))
    )
    shown = int(tables.is_shown.sum())
    return (
        f"{pattern.method}: {hidden:,} of {shown:,} cells withheld ({short_share(hidden / shown)}), {unsafe:,} "
        f"sensitive cells unsafe, {exact:,} withheld values known exactly; {seconds_text(pattern.seconds)} s, audit "
        f"{seconds_text(pattern.audit_seconds)} s ({pattern.found.programs:,} linear programs)"
    )


def seconds_text(seconds: float) -> str:
    """A time as it is shown: to hundredths at best."""
    return short(round(seconds, 2), 2)


def study_blocks(study: SuppressionStudy) -> Iterator[Block]:
    """What every method withholds and what an attacker learns, level by level for ours."""
    notes = [f"Left out: {note}." for note in study.notes]
    yield Heading(f"{study.attribute}, rule {study.rule}")
    yield Lines([*(_method_line(study, pattern) for pattern in study.patterns), *notes])
    yield PrintedTable(f"Cells withheld by our secondary suppression ({OURS})", HEADINGS, _outcome_rows(study))
    yield from second_tables_of(study)


def second_tables_of(study: SuppressionStudy) -> Iterator[PrintedTable]:
    """A row for each table of a second publisher that opens a cell; nothing where none does."""
    counts = [
        (each.name, each.cells, each.shown, each.unsafe_alone, int(each.opened.sum()), int(each.exact.sum()))
        for each in study.second
    ]
    rows = [[name, *(f"{number:,}" for number in numbers)] for name, *numbers in counts if numbers[3]]
    if rows:
        caption = "Two publishers: a second table, safe by itself, and how many sensitive cells of the first it opens"
        yield PrintedTable(caption, SECOND_HEADINGS, rows[:SHOWN_SECOND])
