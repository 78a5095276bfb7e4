"""Bias and coverage of the ψ-mechanism by simulation."""

from gedp.lab.reproduce.context import Context
from gedp.lab.reproduce.coverage import coverage
from gedp.lab.reproduce.results import Item, Result, ResultTable, verdict_of

DRAWS = 100_000


def run(context: Context) -> Result:
    """Theorem of unbiased estimates, and the intervals, with the mechanism itself."""
    rows = list(coverage(DRAWS, context.seed))
    checks = [row.covers and row.unbiased for row in rows]
    texts = [
        [row.psi, row.mu, f"{row.jobs:,}", f"{row.mean_error:+.1f}", f"{row.covered:.2%}", f"{row.plain:.2%}"]
        for row in rows
    ]
    headings = ["ψ", "μ", "jobs", "mean error (standard errors)", "covered", "±1.96 standard errors"]
    return Result(
        "Theorem: estimates are unbiased, and intervals hold the truth as often as they say",
        f"{sum(checks)} of {len(checks)} sizes: mean error within chance and 93% to 97% of the 95% intervals cover",
        verdict_of(checks),
        tables=[ResultTable(f"{DRAWS:,} draws a line", headings, texts)],
    )


ITEM = Item("coverage", "Unbiased estimates and their intervals (theorem on the ψ-mechanism)", run)
