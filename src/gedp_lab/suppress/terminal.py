"""A study of suppression as tables on the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from gedp.numbers import short, short_share
from gedp_lab.suppress.study import OURS, SuppressionStudy

SHOWN_SECOND = 5
HEADINGS = ("level", "cells", "sensitive", "withheld", "share", "of the total", "unsafe", "exact", "rel. width")
SECOND_HEADINGS = ("table of a second publisher", "cells", "shown", "unsafe alone", "opens", "exactly")


def outcome_rows(study: SuppressionStudy, method: str) -> list[list[str]]:
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
        if each.method == method
    ]


def second_rows(study: SuppressionStudy) -> list[list[str]]:
    """A row for each table of a second publisher that opens a cell, under SECOND_HEADINGS."""
    counts = [
        (each.name, each.cells, each.shown, each.unsafe_alone, int(each.opened.sum()), int(each.exact.sum()))
        for each in study.second
    ]
    return [[name, *(f"{number:,}" for number in numbers)] for name, *numbers in counts if numbers[3]][:SHOWN_SECOND]


def method_line(study: SuppressionStudy, method: str) -> str:
    """What a method comes to, in one sentence."""
    pattern, tables = study.pattern(method), study.tables
    hidden, unsafe, exact = (
        int(marked.sum())
        for marked in (pattern.hidden, pattern.found.is_unsafe(tables), pattern.found.is_exact(tables))
    )
    shown = int(tables.is_shown.sum())
    return (
        f"{method}: {hidden:,} of {shown:,} cells withheld ({short_share(hidden / shown)}), {unsafe:,} sensitive "
        f"cells unsafe, {exact:,} withheld values known exactly; {seconds_text(pattern.seconds)} s, audit "
        f"{seconds_text(pattern.audit_seconds)} s ({pattern.found.programs:,} linear programs)"
    )


def seconds_text(seconds: float) -> str:
    """A time as it is shown: to hundredths at best."""
    return short(round(seconds, 2), 2)


def print_study(console: Console, study: SuppressionStudy) -> None:
    """Prints what every method withholds and what an attacker learns, level by level for ours."""
    console.print(f"{study.attribute}, rule {study.rule}", soft_wrap=True)
    for pattern in study.patterns:
        console.print(f"  {method_line(study, pattern.method)}", soft_wrap=True)
    for note in study.notes:
        console.print(f"  Left out: {note}.", soft_wrap=True)
    _print(console, f"Cells withheld by our secondary suppression ({OURS})", HEADINGS, outcome_rows(study, OURS))
    title = "Two publishers: a second table, safe by itself, and how many sensitive cells of the first it opens"
    _print(console, title, SECOND_HEADINGS, second_rows(study))


def _print(console: Console, title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if not rows:
        return
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console.print(title, soft_wrap=True)
    console.print(table)
    console.print()
