"""The facts about a spec, as tables and sentences on the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gedp.accounting.composition import PrivacyLoss, Promise
from gedp.accounting.semantics import RecordDistance
from gedp.explain.expected import error_lines, errors_sentence
from gedp.explain.facts import (
    ALL_ATTRIBUTES,
    SHARE,
    SIGNIFICANCES,
    ProtectionGroup,
    Record,
    TextTable,
    existence_rows,
    importance_table,
    interval_rows,
    other_accounting,
    person_table,
    power_rows,
    price_table,
)
from gedp.explain.wording import (
    existence_sentences,
    most_on_a_period,
    other_accounting_sentences,
    pool_sentence,
    record_sentence,
    sampling_sentences,
)
from gedp.folding import named
from gedp.numbers import chance, fixed, interval, percent, size, strength
from gedp.policy import PriceList, Spec, price


def _table(title: str, *headings: str) -> Table:
    """A table whose first column is for names and whose others are for numbers."""
    table = Table(title=Text(title), title_justify="left")
    for i, heading in enumerate(headings):
        table.add_column(Text(heading), justify="right" if i else "left", overflow="fold")
    return table


def print_promise(console: Console, sentences: Sequence[str]) -> None:
    """Prints the promise: a sentence for what is looked at, and some for all releases from the same data."""
    console.print(Text("The promise", style="bold"))
    for sentence in sentences:
        console.print(Text(f"{sentence}\n"))


def print_warnings(console: Console, warnings: Sequence[str]) -> None:
    """Prints what the policy names and yet fails to protect."""
    for warning in warnings:
        console.print(Text(f"Warning: {warning}\n", style="bold"))


def print_intervals(console: Console, group: ProtectionGroup) -> None:
    """Prints the uncertainty intervals of one group of attributes, by size."""
    title = f"Uncertainty intervals of {', '.join(group.names)} ({group.protection})"
    table = _table(title, "value", "from", "to", "width", "width / value")
    for row in interval_rows(group.protection, group.sizes):
        table.add_row(size(row.size), *interval(row.low, row.high), percent(row.relative_width))
    console.print(table)


def print_power(console: Console, loss: PrivacyLoss) -> None:
    """Prints an attacker's chance of detecting one establishment, wider intervals, or firms."""
    title = "The attacker's power: chance of detecting a change, by chance of a false alarm"
    table = _table(title, "what changes", "mu", *(f"at {s:.0%}" for s in SIGNIFICANCES))
    for row in power_rows(loss):
        table.add_row(row.change, strength(row.mu), *map(chance, row.powers))
    console.print(table)


def print_people(console: Console, group: ProtectionGroup, loss: PrivacyLoss) -> None:
    """Prints what a person inside an establishment is promised, within one step and within several."""
    if group.person is not None:
        layout = person_table(group, loss)
        title = f"A person who contributes {size(group.person)} to {named(group.names)} hides"
        table = _table(title, *layout.headings)
        for row in layout.rows:
            table.add_row(*row)
        console.print(table)


def print_existence(console: Console, groups: Sequence[ProtectionGroup], loss: PrivacyLoss) -> None:
    """Prints how well it is hidden that an establishment has anything, in all attributes together."""
    console.print(Text("Existence", style="bold"))
    for sentence in existence_sentences(groups, existence_rows(groups, loss)):
        console.print(sentence)
    console.print()


def print_records(console: Console, x: Record, y: Record, apart: RecordDistance) -> None:
    """Prints how far two records are apart in each attribute, and how well the promise hides which is true."""
    table = _table("One record against another", "attribute", "record", "against", "steps")
    for name, steps in apart.steps_of.items():
        table.add_row(Text(name), size(x[name]), size(y[name]), fixed(steps, 0))
    console.print(table)
    console.print(record_sentence(apart) + "\n")


def print_sampling(console: Console, groups: Sequence[ProtectionGroup]) -> None:
    """Prints which survey would tell an attacker as much as the intervals of a square root leave open."""
    said = sampling_sentences(groups)
    if said:
        console.print(Text("What a survey would tell", style="bold"))
    for sentence in said:
        console.print(sentence + "\n")


def print_prices(console: Console, spec: Spec) -> None:
    """Prints what every query and attribute costs, or how much it counts, and whether the total is within budget."""
    prices = price(spec)
    if importance := importance_table(spec):
        _print_numbers(console, "Importance of each query and attribute", importance)
        _print_numbers(console, "Price: mu of all answers about each attribute", price_table(prices))
        console.print(pool_sentence(prices))
    else:
        _print_numbers(console, "Price: mu of each query and attribute", price_table(prices))
    verdict = "within" if prices.within_budget else "over"
    most = most_on_a_period(prices)
    console.print(f"Total mu = {prices.total.mu:.6g}{most}, {verdict} the budget of {prices.budget.mu:.6g}.\n")


def _print_numbers(console: Console, title: str, layout: TextTable) -> None:
    """Prints a table, or its numbers one by one where there are too many columns."""
    if layout.headings[0] == "attribute" or 3 + 9 * len(layout.headings) <= console.width:
        table = _table(title, *layout.headings)
        table.show_footer = bool(layout.totals)
        for column, total in zip(table.columns, layout.totals, strict=False):
            column.footer = total
        for row in layout.rows:
            table.add_row(*map(Text, row))
    else:
        table = _table(title, "query: attribute", "")
        for query, *numbers in layout.rows:
            for attribute, number in zip(layout.headings[1:], numbers, strict=True):
                if number and attribute not in (ALL_ATTRIBUTES, SHARE):
                    table.add_row(Text(f"{query}: {attribute}"), number)
    console.print(table)


def print_errors(console: Console, spec: Spec) -> None:
    """Prints a line of expected errors for every query."""
    console.print(Text("Errors to expect", style="bold"))
    console.print(errors_sentence(spec))
    for line in error_lines(spec):
        console.print(Text(f"  {line}"))
    console.print()


def print_missing(console: Console, sentences: Sequence[str]) -> None:
    """Prints what missing values count as."""
    if sentences:
        console.print(Text("Missing values", style="bold"))
        for sentence in sentences:
            console.print(Text(sentence))
        console.print()


def print_series(console: Console, sentences: Sequence[str]) -> None:
    """Prints what is promised over several periods of a series."""
    if sentences:
        console.print(Text("Over several periods", style="bold"))
        for sentence in sentences:
            console.print(sentence)
        console.print()


def print_other_accounting(console: Console, prices: PriceList) -> None:
    """Prints the same promise in the terms of other frameworks."""
    console.print(Text("In other frameworks", style="bold"))
    for sentence in other_accounting_sentences(other_accounting(prices)):
        console.print(sentence)
    console.print()


def print_together(console: Console, promise: Promise, others: Sequence[str]) -> None:
    """Prints what still holds when other publishers release statistics about the same establishments."""
    console.print(Text(f"Together with {', '.join(others)}", style="bold"))
    releases = "Both" if len(others) == 1 else f"All {len(others) + 1}"
    console.print(f"{releases} releases together promise mu = {strength(promise.loss.mu)} within these intervals:")
    for name, protection in promise.protections.items():
        console.print(f"  {name}: {protection}")
