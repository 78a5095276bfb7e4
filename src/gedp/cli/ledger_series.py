"""What `gedp ledger` says about a series: every period, every year, all periods."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

    from gedp.accounting.composition import PrivacyLoss
    from gedp.ledger import LedgerState


def print_statement(console: "Console", state: "LedgerState") -> None:
    """Prints what is spent on every period, every year and all periods; nothing where there is no series."""
    from gedp.documents import PrintedTable
    from gedp.documents.terminal import print_table
    from gedp.ledger.amounts import mu_down, mu_up
    from gedp.ledger.statement import statement
    from gedp.numbers import chance

    if state.series is None:
        return
    rows = []
    for stated in statement(state):
        span = stated.span
        name = span.name if stated.what != "all" else f"all: {span.name}"
        limits = ("" if loss is None else mu_down(loss, 4) for loss in (stated.budget, stated.left))
        rows.append((name, mu_up(span.loss, 4), chance(stated.chance), *limits))
    note = "told apart: the chance of telling the true values of these periods from others, at 5% false alarms"
    print_table(console, PrintedTable("Periods", ("tables of", "mu", "told apart", "budget", "mu remains"), rows, note))


def echo_remaining(state: "LedgerState", budget: "PrivacyLoss") -> None:
    """Prints what remains of every budget of a series, and for the next period."""
    from gedp.ledger.amounts import loss_text, mu_down, mu_up
    from gedp.ledger.statement import for_next, statement

    for stated in statement(state, budget):
        spent, whole, left = stated.span.loss, stated.budget, stated.left
        line = f"{stated.what:<6}  {stated.span.name}: spent mu = {mu_up(spent)}  (mu squared = {loss_text(spent)})"
        if whole is not None and left is not None:
            line += f" of {mu_down(whole)}; remaining mu = {mu_down(left)}  (mu squared = {loss_text(left)})"
        click.echo(line)
    if found := for_next(state, budget):
        coming, limit = found
        left = limit.left()
        click.echo(
            f"next    {coming.period}: at most mu = {mu_down(left)}  (mu squared = {loss_text(left)}), by the budget "
            f"of {limit.what}"
        )
