"""Repeat the comparison for wages in thousands of dollars.

The paper's numbers suggest that unit, in which the same γ = 50 protects a thousandfold more.
"""

from gedp_lab.reproduce.claims import claim, more_accurate, no_less_accurate, ours, over_releases, places
from gedp_lab.reproduce.compared import (
    COUNTY,
    IN_THOUSANDS,
    LEVELS,
    NAICS3,
    NAICS5,
    PRIVATE,
    STATE,
    WAGES,
    bias_table,
    box_figures,
    compare_states,
    equal_spec,
    lines_table,
    links,
    median_table,
    total_figure,
)
from gedp_lab.reproduce.context import Context
from gedp_lab.reproduce.items.comparison import county_wages
from gedp_lab.reproduce.results import AGREES, PAPER, Item, Result, verdict_of

OTHER_WAGES = "Our wages are not the paper's: they add up to the published ones, which are less than half of its total."
EVERY = places([WAGES], list(LEVELS))


def run(context: Context) -> Result:
    """The same comparison for wages alone, with γ = 50·√1000 in dollars, which is γ = 50 in thousands."""
    found = compare_states(context, "thousands", equal_spec(IN_THOUSANDS), PRIVATE, [WAGES])
    checked = [
        claim("pnc beats sqrt on the state total", list(more_accurate(found, "pnc", "psi", places([WAGES], [STATE])))),
        *county_wages(found, OTHER_WAGES),
        claim(
            "sqrt beats pnc on wages by NAICS-3 and NAICS-5",
            list(more_accurate(found, "psi", "pnc", places([WAGES], [NAICS3, NAICS5]))),
            reason=OTHER_WAGES,
        ),
        ours(
            "auto with quasi weights is at least as accurate as each other workflow, up to two standard errors",
            list(no_less_accurate(found, "auto", [name for name in PRIVATE if name != "auto"], EVERY)),
            "With this γ noise drowns most cells. Plug-in weights then pull everything down, totals by a large part of "
            "what they are, and small cells gain from being nearer to 0. Quasi weights do not.",
        ),
    ]
    claims = over_releases(found, checked)
    tables = [
        table(comparison, state, WAGES, PRIVATE)
        for state, comparison in found.items()
        for table in (median_table, bias_table)
    ]
    of_paper = [each.outcome for each in claims if each.source == PAPER]
    return Result(
        "The same box plots of wages; their numbers look like thousands of dollars",
        f"{of_paper.count(AGREES)} of {len(of_paper)} statements of the paper hold in full",
        verdict_of(of_paper),
        f"γ = 50 on the square root of thousands is γ = 50·√1000 ≈ {IN_THOUSANDS:,.0f} on the square root of dollars, "
        f"which is what runs here; errors stay in dollars. {context.of_demo}".strip(),
        claims=claims,
        tables=tables,
        figures=[
            figure
            for state, comparison in found.items()
            for figure in (
                total_figure(comparison, state, WAGES, ["psi", "pnc", "auto"]),
                *box_figures(comparison, state, WAGES, ["psi", "pnc", "auto"]),
            )
        ],
        links=links(context, found),
        data={"thousands": lines_table(found)},
    )


ITEM = Item("thousands", f"Wages in thousands of dollars (the same figure; {COUNTY}, NAICS-3, NAICS-5)", 110, run)
