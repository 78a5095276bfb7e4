"""Uncertainty intervals of the two neighbor functions that the paper compares."""

from gedp.lab.reproduce.context import Context
from gedp.lab.reproduce.intervals import intervals
from gedp.lab.reproduce.results import Item, Result, ResultTable, verdict_of


def run(context: Context) -> Result:
    """All eight, to the printed digit."""
    rows = intervals()
    agree = [low.agrees and high.agrees for low, high in rows]
    texts = [
        [
            low.what,
            f"{low.printed:,.1f} – {high.printed:,.1f}",
            f"{low.ours:,.1f} – {high.ours:,.1f}",
            "yes" if ok else "no",
        ]
        for (low, high), ok in zip(rows, agree, strict=True)
    ]
    return Result(
        "8 intervals for sqrt (γ = 0.5) and log (γ = 0.1)",
        f"{sum(agree)} of {len(agree)} agree to the printed digit",
        verdict_of(agree),
        "" if not all(agree) else "The last upper end is printed as 39.786.2, a slip for 39,786.2.",
        tables=[ResultTable("Uncertainty intervals", ["ψ, value", "paper", "ours", "agrees"], texts)],
    )


ITEM = Item("intervals", "Uncertainty intervals (table in the section on neighbor functions)", run)
