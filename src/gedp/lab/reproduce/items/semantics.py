"""What intervals mean to a person inside an establishment."""

from gedp.lab.reproduce.context import Context
from gedp.lab.reproduce.intervals import people
from gedp.lab.reproduce.results import Item, Result, ResultTable, verdict_of


def run(context: Context) -> Result:
    """The paper's example of a person who earns 20,000."""
    rows = people()
    texts = [[r.what, f"{r.printed:,.1f}", f"{r.ours:,.1f}", "yes" if r.agrees else "no"] for r in rows]
    agree = [row.agrees for row in rows]
    return Result(
        f"{len(rows)} numbers for a person who earns 20,000 (sqrt, γ = 100)",
        f"{sum(agree)} of {len(agree)} agree to the printed digit",
        verdict_of(agree),
        tables=[ResultTable("A person who earns 20,000 a quarter", ["who", "paper", "ours", "agrees"], texts)],
    )


ITEM = Item("semantics", "What intervals mean to people (examples in the text)", run)
