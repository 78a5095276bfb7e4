"""Which ψ and γ protect what must be protected, on the terminal."""

from collections.abc import Sequence
from decimal import ROUND_FLOOR, Context

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from gedp.accounting.semantics import chance_within, mu_for_chance
from gedp.neighbors import Candidate, Demand, Log, Protection
from gedp.numbers import chance, interval, size

MUS = (0.5, 1, 2, 3)  # for which chances are shown
CHANCES = (0.5, 0.1)  # for which the μ is
_DIGITS = Context(prec=2, rounding=ROUND_FLOOR)  # of such a μ


def print_candidates(
    console: Console, demands: Sequence[Demand], candidates: Sequence[Candidate], p_percent: float | None = None
) -> None:
    """A line for what was asked, one for each candidate, one for the p% rule; then the chance of coming within p%."""
    table = Table(title=Text("Values that count as close, by size"), title_justify="left")
    table.add_column("")
    for demand in demands:
        table.add_column(Text(size(demand.size)), justify="right", overflow="fold")
    table.add_column("times what was asked", justify="right", overflow="fold")
    table.add_row("asked", *(_between(demand.low, demand.high) for demand in demands), "", end_section=True)
    for candidate in candidates:
        reached = (candidate.protection.interval(demand.size) for demand in demands)
        times = " to ".join(dict.fromkeys(f"{end(candidate.times):.2f}" for end in (min, max)))
        name = Text(str(candidate.protection))
        table.add_row(name, *(_between(float(low), float(high)) for low, high in reached), times)
    if p_percent is not None:
        part = p_percent / 100
        reached_by_rule = (_between(max(d.size * (1 - part), 0.0), d.size * (1 + part)) for d in demands)
        table.add_section()
        table.add_row(f"{p_percent:g}% rule", *reached_by_rule, "")
    console.print(table)
    sentences = [f"\nThe closest, for the spec: NAME = {candidates[0].in_spec}"]
    if not any(each.protection.psi == Log() for each in candidates):
        sentences.append("Log without a shift is not among them: no gamma makes 0 and another value close.")
    _print(console, sentences)
    if p_percent is not None and (sizes := [demand.size for demand in demands if demand.size]):
        _print_chances(console, candidates[0].protection, sizes, p_percent)
    _print(console, ["Next: write it into a spec, then gedp explain SPEC and gedp plan SPEC."])


def _print(console: Console, sentences: Sequence[str]) -> None:
    for sentence in sentences:
        console.print(Text(sentence), soft_wrap=True)


def _print_chances(console: Console, protection: Protection, sizes: Sequence[float], p_percent: float) -> None:
    """What the p% rule demands, what holds here instead, and which μ makes an estimate within p% unlikely."""
    share, near = p_percent / 100, f"within {p_percent:g}%"
    demanded = (
        f"\nThe {p_percent:g}% rule demands that the second largest contributor of a cell cannot work out the largest "
        f"to {near}, and blanks out cells in which they could."
    )
    promised = (
        "An interval here promises something else, for every establishment, against everybody and in all tables "
        f"together: values inside it are hard to tell apart. It does not rule out an estimate {near}. This is the "
        "chance of one, for an attacker who knows everything else and if all of mu is spent on this attribute:"
    )
    _print(console, [demanded, promised])
    table = Table("mu", *(Column(size(each), justify="right", overflow="fold") for each in sizes))
    for mu in MUS:
        table.add_row(f"{mu:g}", *(chance(chance_within(protection, mu, each, share)) for each in sizes))
    console.print(table)
    most = {seldom: min(mu_for_chance(protection, seldom, each, share) for each in sizes) for seldom in CHANCES}
    said = [f"at most {_DIGITS.create_decimal_from_float(mu):f} for {seldom:.0%}" for seldom, mu in most.items()]
    lower = f"For a lower chance at all these sizes, choose a lower mu: {', '.join(said)}."
    alone = "The figure of a cell with one establishment has the chance of the mu that its table gets."
    _print(console, [lower, alone])


def _between(low: float, high: float) -> str:
    texts = interval(low, high)
    return f"{texts.low} to {texts.high}"
