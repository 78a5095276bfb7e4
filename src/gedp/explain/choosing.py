"""Which ψ and γ protect what must be protected."""

from collections.abc import Sequence
from decimal import ROUND_FLOOR, Context

from gedp.accounting.semantics import chance_within, mu_for_chance
from gedp.documents import Block, Document, Paragraph, PrintedTable
from gedp.neighbors import Candidate, Demand, Log, Protection
from gedp.numbers import chance, interval, size

MUS = (0.5, 1, 2, 3)  # for which chances are shown
CHANCES = (0.5, 0.1)  # for which the μ is
_DIGITS = Context(prec=2, rounding=ROUND_FLOOR)  # of such a μ


def candidates_document(
    demands: Sequence[Demand], candidates: Sequence[Candidate], p_percent: float | None = None
) -> Document:
    """A row for what was asked, one for each candidate, one for the p% rule; then the chance of coming within p%."""
    rows = [["asked", *(_between(demand.low, demand.high) for demand in demands), ""]]
    for candidate in candidates:
        reached = (candidate.protection.interval(demand.size) for demand in demands)
        times = " to ".join(dict.fromkeys(f"{end(candidate.times):.2f}" for end in (min, max)))
        rows.append([str(candidate.protection), *(_between(float(low), float(high)) for low, high in reached), times])
    rule: list[str] = []
    if p_percent is not None:
        part = p_percent / 100
        reached_by_rule = (_between(max(d.size * (1 - part), 0.0), d.size * (1 + part)) for d in demands)
        rule = [f"{p_percent:g}% rule", *reached_by_rule, ""]
    headings = ("", *(size(demand.size) for demand in demands), "times what was asked")
    blocks: list[Block] = [
        PrintedTable("Values that count as close, by size", headings, rows, footer=rule),
        Paragraph(f"The closest, for the spec: NAME = {candidates[0].in_spec}"),
    ]
    if not any(each.protection.psi == Log() for each in candidates):
        blocks.append(Paragraph("Log without a shift is not among them: no gamma makes 0 and another value close."))
    if p_percent is not None and (sizes := [demand.size for demand in demands if demand.size]):
        blocks += _chances(candidates[0].protection, sizes, p_percent)
    blocks.append(Paragraph("Next: write it into a spec, then gedp explain SPEC and gedp plan SPEC."))
    return Document("Neighbor functions that protect what was asked", blocks)


def _chances(protection: Protection, sizes: Sequence[float], p_percent: float) -> list[Block]:
    """What the p% rule demands, what holds here instead, and which μ makes an estimate within p% unlikely."""
    share, near = p_percent / 100, f"within {p_percent:g}%"
    demanded = (
        f"The {p_percent:g}% rule demands that the second largest contributor of a cell cannot work out the largest "
        f"to {near}, and blanks out cells in which they could."
    )
    promised = (
        "An interval here promises something else, for every establishment, against everybody and in all tables "
        f"together: values inside it are hard to tell apart. It does not rule out an estimate {near}."
    )
    rows = [(f"{mu:g}", *(chance(chance_within(protection, mu, each, share)) for each in sizes)) for mu in MUS]
    table = PrintedTable(
        f"Chance of an estimate {near}, by mu and size, for an attacker who knows everything else",
        ("mu", *map(size, sizes)),
        rows,
        "All of mu is spent on this attribute. The figure of a cell with one establishment has the chance of the mu "
        "that its table gets.",
    )
    most = {seldom: min(mu_for_chance(protection, seldom, each, share) for each in sizes) for seldom in CHANCES}
    said = [f"at most {_DIGITS.create_decimal_from_float(mu):f} for {seldom:.0%}" for seldom, mu in most.items()]
    lower = f"For a lower chance at all these sizes, choose a lower mu: {', '.join(said)}."
    return [Paragraph(demanded), Paragraph(promised), table, Paragraph(lower)]


def _between(low: float, high: float) -> str:
    texts = interval(low, high)
    return f"{texts.low} to {texts.high}"
