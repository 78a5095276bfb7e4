"""The facts about a spec as terminal tables."""

import math

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gedp.accounting.composition import PrivacyLoss, Promise, power
from gedp.explain.facts import (
    SIGNIFICANCES,
    ProtectionGroup,
    interval_rows,
    other_accounting,
    person_rows,
    power_rows,
    price_table,
)
from gedp.explain.wording import (
    at_most,
    chance,
    other_accounting_sentences,
    percent,
    promise_sentence,
    shown,
    size_shown,
)
from gedp.policy import PriceList
from gedp.semantics import membership_mu


def _table(title: str, *headings: str) -> Table:
    """A table whose first column is for names and whose others are for numbers."""
    table = Table(title=Text(title), title_justify="left")
    for i, heading in enumerate(headings):
        table.add_column(Text(heading), justify="right" if i else "left", overflow="fold")
    return table


def print_promise(console: Console, loss: PrivacyLoss) -> None:
    """The promise in one sentence."""
    console.print(Text("The promise", style="bold"))
    console.print(promise_sentence(loss.mu, float(power(loss.mu, 0.05))) + "\n")


def print_intervals(console: Console, group: ProtectionGroup) -> None:
    """The uncertainty intervals by size."""
    title = f"Uncertainty intervals of {', '.join(group.names)} ({group.protection})"
    table = _table(title, "value", "from", "to", "width", "width / value")
    for row in interval_rows(group.protection, group.sizes):
        low_to_width = map(shown, (row.low, row.high, row.width))
        table.add_row(size_shown(row.size), *low_to_width, percent(row.relative_width))
    console.print(table)


def print_power(console: Console, loss: PrivacyLoss) -> None:
    """What an attacker can achieve."""
    title = "The attacker's power: chance to detect a change, at a chance of a false alarm"
    table = _table(title, "what changes", "mu", *(f"at {percent(s)}" for s in SIGNIFICANCES))
    for row in power_rows(loss):
        table.add_row(row.change, f"{row.mu:.4g}", *map(chance, row.powers))
    console.print(table)


def print_people(console: Console, group: ProtectionGroup, loss: PrivacyLoss) -> None:
    """What a person inside an establishment, and mere existence, are promised."""
    names = ", ".join(group.names)
    if group.person is not None:
        title = f"A person who contributes {size_shown(group.person)} to {names}"
        table = _table(title, "establishment's value", "indistinguishable from", "to", "mu")
        for row in person_rows(group, loss):
            table.add_row(size_shown(row.establishment_size), shown(row.low), shown(row.high), f"{row.mu:.4g}")
        console.print(table)
    smallest = min(group.sizes)
    mu = membership_mu(group.protection, loss, smallest)
    said = f"Existence: {names} of {size_shown(smallest)} against 0 "
    if math.isinf(mu):
        console.print(said + "is not protected: this psi has no value at 0.\n")
    else:
        reached = at_most(float(power(mu, 0.05)))
        console.print(said + f"is detected with a chance of at most {reached} at 5% false alarms (mu = {mu:.4g}).\n")


def print_prices(console: Console, prices: PriceList) -> None:
    """What every query and attribute costs."""
    layout = price_table(prices)
    if 30 + 9 * len(layout.attributes) <= console.width:
        table = _table("Price: mu of each query and attribute", *layout.headings)
        table.show_footer = True
        for column, total in zip(table.columns, layout.totals, strict=True):
            column.footer = total
        for row in layout.rows:
            table.add_row(*map(Text, row))
    else:
        table = _table("Price of each query and attribute", "query: attribute", "mu")
        for line in prices.lines:
            table.add_row(Text(f"{line.query}: {line.attribute}"), str(line.mu))
    console.print(table)
    verdict = "within" if prices.within_budget else "over"
    console.print(f"Total mu = {prices.total.mu:.6g}, {verdict} the budget of {prices.budget.mu:.6g}.\n")


def print_other_accounting(console: Console, prices: PriceList) -> None:
    """The same promise in other frameworks."""
    console.print(Text("In other accounting", style="bold"))
    for sentence in other_accounting_sentences(other_accounting(prices)):
        console.print(sentence)
    console.print()


def print_together(console: Console, promise: Promise, other: str) -> None:
    """What holds when another publisher releases statistics about the same establishments."""
    console.print(Text(f"Together with {other}", style="bold"))
    console.print(f"Both releases together promise mu = {promise.loss.mu:.4g} within these intervals:")
    for name, protection in promise.protections.items():
        console.print(f"  {name}: {protection}")
