"""Which ψ and γ protect what must be protected, on the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gedp.neighbors import Candidate, Demand, Log
from gedp.numbers import interval, size


def print_candidates(
    console: Console, demands: Sequence[Demand], candidates: Sequence[Candidate], p_percent: float | None = None
) -> None:
    """A line for what was asked, one for every candidate, and one for the p% rule."""
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
    for sentence in _sentences(candidates, p_percent):
        console.print(Text(sentence), soft_wrap=True)


def _between(low: float, high: float) -> str:
    texts = interval(low, high)
    return f"{texts.low} to {texts.high}"


def _sentences(candidates: Sequence[Candidate], p_percent: float | None) -> list[str]:
    closest = candidates[0]
    sentences = [f"\nThe closest, for the spec: NAME = {closest.in_spec}"]
    if not any(each.protection.psi == Log() for each in candidates):
        sentences.append("Log without a shift is not among them: no gamma makes 0 and another value close.")
    if p_percent is not None:
        sentences.append(
            f"The {p_percent:g}% rule blanks out cells in which the second largest contributor could estimate the "
            "largest to within this. It promises that interval against this one attacker, in these cells; here it "
            "holds against everybody, for every establishment, in all tables together."
        )
    sentences.append("Next: write it into a spec, then gedp explain SPEC and gedp plan SPEC.")
    return sentences
