"""A plan on the terminal."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gedp.planning.layouts import PlanTable, guess_sentence, layouts, sources_sentence
from gedp.planning.plan import Plan


def print_plan(console: Console, plan: Plan) -> None:
    """Prints what errors to expect, what each table costs the others, and what other settings would change."""
    for sentence in filter(None, (sources_sentence(plan), guess_sentence(plan))):
        console.print(sentence, soft_wrap=True)
    console.print()
    for layout in layouts(plan):
        _print(console, layout)


def _print(console: Console, layout: PlanTable) -> None:
    table = Table(title=Text(layout.caption), title_justify="left")
    for heading in layout.headings:
        table.add_column(Text(heading), justify="left" if heading in layout.texts else "right", overflow="fold")
    for row in layout.rows:
        table.add_row(*map(Text, row))
    console.print(table)
    console.print(layout.note + "\n")
