"""The facts about a spec as terminal tables."""

from rich.console import Console
from rich.table import Table

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
from gedp.policy import PriceList
from gedp.semantics import membership_mu


def shown(number: float) -> str:
    """A number for a table: one decimal, or three digits where it is small."""
    return f"{number:.3g}" if 0 < abs(number) < 1 else f"{number:,.1f}"


def size_shown(size: float) -> str:
    """A round size for a table."""
    return f"{size:,.0f}" if size == round(size) else f"{size:,g}"


def percent(share: float) -> str:
    """A share for a table."""
    return f"{share:,.1%}"


def chance(probability: float) -> str:
    """A probability for a table; only certainty is shown as 100%."""
    return "> 99.9%" if 0.9995 <= probability < 1 else percent(probability)


def print_promise(console: Console, loss: PrivacyLoss) -> None:
    """The promise in one sentence."""
    reached = float(power(loss.mu, 0.05))
    console.print(
        "[bold]The promise.[/] Nobody can tell the true values of an establishment from any other values inside its "
        f"uncertainty intervals better than one can tell N(0,1) from N({loss.mu:.4g},1) by a single draw: an attacker "
        f"who accepts 5% false alarms is right at most {percent(reached)} of the time.\n"
    )


def print_intervals(console: Console, group: ProtectionGroup) -> None:
    """The uncertainty intervals by size."""
    table = Table(title=f"Uncertainty intervals of {', '.join(group.names)} ({group.protection})", title_justify="left")
    for heading in ("value", "from", "to", "width", "width / value"):
        table.add_column(heading, justify="right")
    for row in interval_rows(group.protection, group.sizes):
        low_to_width = map(shown, (row.low, row.high, row.width))
        table.add_row(size_shown(row.size), *low_to_width, percent(row.relative_width))
    console.print(table)


def print_power(console: Console, loss: PrivacyLoss) -> None:
    """What an attacker can achieve."""
    table = Table(
        title="The attacker's power: chance to detect a change, at a chance of a false alarm", title_justify="left"
    )
    for heading in ("what changes", "mu", *(f"at {percent(s)}" for s in SIGNIFICANCES)):
        table.add_column(heading, justify="left" if heading == "what changes" else "right")
    for row in power_rows(loss):
        table.add_row(row.change, f"{row.mu:.4g}", *map(chance, row.powers))
    console.print(table)


def print_people(console: Console, group: ProtectionGroup, loss: PrivacyLoss) -> None:
    """What a person inside an establishment, and mere existence, are promised."""
    names = ", ".join(group.names)
    if group.person is not None:
        table = Table(title=f"A person who contributes {size_shown(group.person)} to {names}", title_justify="left")
        for heading in ("establishment's value", "indistinguishable from", "to", "mu"):
            table.add_column(heading, justify="right")
        for row in person_rows(group, loss):
            table.add_row(size_shown(row.establishment_size), shown(row.low), shown(row.high), f"{row.mu:.4g}")
        console.print(table)
    smallest = group.sizes[0]
    console.print(
        f"Existence: telling {names} = {size_shown(smallest)} from 0 is as hard as mu = "
        f"{membership_mu(group.protection, loss, smallest):.4g}. Who is in the data is not meant to be hidden.\n"
    )


def print_prices(console: Console, prices: PriceList) -> None:
    """What every query and attribute costs."""
    layout = price_table(prices)
    table = Table(title="Price: mu of each query and attribute", title_justify="left", show_footer=True)
    for i, (heading, total) in enumerate(zip(layout.headings, layout.totals, strict=True)):
        table.add_column(heading, justify="right" if i else "left", footer=total)
    for row in layout.rows:
        table.add_row(*row)
    console.print(table)
    verdict = "within" if prices.within_budget else "[bold red]over[/]"
    console.print(f"Total mu = {prices.total.mu:.6g}, {verdict} the budget of {prices.budget.mu:.6g}.\n")


def print_other_accounting(console: Console, prices: PriceList) -> None:
    """The same promise in other frameworks."""
    other = other_accounting(prices)
    console.print("[bold]In other accounting[/] (between close records, not about mere presence)")
    for delta, epsilon in other.epsilons:
        console.print(f"  (epsilon, delta): epsilon = {epsilon:.4g} at delta = {delta:g}")
    console.print(
        f"  To hold an attacker to {percent(other.power)} at {percent(other.significance)} over the "
        f"{other.queries} sums published, rho-zCDP would need {other.zcdp_variance_ratio:.3g} times our variance, "
        f"epsilon-DP {other.pure_variance_ratio:.3g} times.\n"
    )


def print_together(console: Console, promise: Promise, other: str) -> None:
    """What holds when another publisher releases statistics about the same establishments."""
    console.print(f"[bold]Together with {other}:[/] mu = {promise.loss.mu:.4g}, within these intervals:")
    for name, protection in promise.protections.items():
        console.print(f"  {name}: {protection}")
