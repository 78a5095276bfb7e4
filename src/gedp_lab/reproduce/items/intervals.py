"""Compute the table of uncertainty intervals for sqrt (gamma 0.5) and log (gamma 0.1)."""

from gedp.documents import PrintedTable
from gedp.neighbors import Log, Protection, Sqrt
from gedp_lab.reproduce.context import Context
from gedp_lab.reproduce.printed import PrintedNumber
from gedp_lab.reproduce.results import Item, Result, verdict_of, yes_or_no

SQRT = Protection(Sqrt(), 0.5)
LOG = Protection(Log(), 0.1)
HEADINGS = ("ψ, value", "paper", "ours", "agrees")

# As printed, except that "39.786.2" has a slip in its thousands separator and is read as 39,786.2.
PRINTED = (
    (3, SQRT, 1.5, 5.0),
    (36, SQRT, 30.2, 42.2),
    (360, SQRT, 341.3, 379.2),
    (36_000, SQRT, 35_810.5, 36_190.0),
    (3, LOG, 2.7, 3.3),
    (36, LOG, 32.6, 39.8),
    (360, LOG, 325.7, 397.9),
    (36_000, LOG, 32_574.1, 39_786.2),
)


def intervals() -> list[tuple[PrintedNumber, PrintedNumber]]:
    """The lower and upper ends of the eight intervals."""
    rows = []
    for x, protection, low, high in PRINTED:
        ours = protection.interval(x)
        what = f"{protection.psi}, {x:,}"
        rows.append((PrintedNumber(what, low, float(ours.low)), PrintedNumber(what, high, float(ours.high))))
    return rows


def run(context: Context) -> Result:
    """All eight, to the printed digit."""
    found = intervals()
    agree = [low.agrees and high.agrees for low, high in found]
    rows = [
        [
            low.what,
            f"[{low.printed:,.1f} – {high.printed:,.1f}]",
            f"[{low.ours:,.1f} – {high.ours:,.1f}]",
            yes_or_no(agrees),
        ]
        for (low, high), agrees in zip(found, agree, strict=True)
    ]
    return Result(
        "8 intervals for sqrt (γ = 0.5) and log (γ = 0.1)",
        f"{sum(agree)} of {len(agree)} intervals agree to the printed digit",
        verdict_of(agree),
        "The paper prints the last upper end as 39.786.2, a slip for 39,786.2.",
        tables=[PrintedTable("Uncertainty intervals: the paper's and ours", HEADINGS, rows)],
    )


ITEM = Item("intervals", "Uncertainty intervals (table in the section on neighbor functions)", 10, run, is_printed=True)
