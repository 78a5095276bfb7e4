"""Results on the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from gedp_lab.reproduce.results import FAILED, SKIPPED, CheckedClaim, Outcome, Result, ResultTable, drawn_from


def print_result(console: Console, result: Result) -> None:
    """Tables, claims, and what they come to; figures are for pages."""
    for table in result.tables:
        console.print(_table(table))
        if table.note:
            console.print(table.note, soft_wrap=True)
    for each in result.claims:
        console.print(f"{_claim(each)}. {each.evidence}{drawn_from(each)}", soft_wrap=True)
    for sentence in filter(None, (result.why, result.ours)):
        console.print(f"{sentence.rstrip('.')}.", soft_wrap=True)


def print_outcomes(console: Console, outcomes: Sequence[Outcome]) -> None:
    """One line per item, and every claim."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in ("item", "outcome", "seconds", "ours"):
        table.add_column(heading, justify="right" if heading == "seconds" else "left", no_wrap=heading != "ours")
    for outcome in outcomes:
        result = outcome.result
        note = result.why if result.verdict in (SKIPPED, FAILED) else result.ours
        table.add_row(outcome.item.name, result.verdict, f"{outcome.seconds:,.1f}", note)
    console.print(table)
    claims = [(outcome.item.name, each) for outcome in outcomes for each in outcome.result.claims]
    if claims:
        console.print("\nClaims, checked:")
    for name, each in claims:
        console.print(_claim(each, name), soft_wrap=True)


def _claim(claim: CheckedClaim, item: str = "") -> str:
    return f"{claim.outcome:9}  {item}{': ' if item else ''}{claim.text} ({claim.source})"


def _table(table: ResultTable) -> Table:
    shown = Table(title=table.caption, title_justify="left")
    for place, heading in enumerate(table.headings):
        shown.add_column(heading, justify="right" if place else "left")
    for row in table.rows:
        shown.add_row(*row)
    return shown
