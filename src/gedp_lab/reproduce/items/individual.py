"""Measure what individual accounting gains over the paper's workflows.

The paper's third plan for the future: queries and budgets chosen from the answers so far. The same total for every
establishment, on the synthetic states.
"""

import math
from collections.abc import Iterator, Sequence

from gedp.documents import PrintedTable
from gedp_lab.reproduce.claims import Check, Comparisons, covered, ours, over_releases, unbiased
from gedp_lab.reproduce.compared import (
    COUNTY,
    FINEST,
    JOBS,
    NAICS3,
    NAICS5,
    STATE,
    WAGES,
    bias_table,
    box_figures,
    equal_spec,
    lines_table,
    links,
    total_figure,
)
from gedp_lab.reproduce.context import Context
from gedp_lab.reproduce.results import Item, Result, verdict_of

ATTRIBUTES = (JOBS, WAGES)
PAPERS, INDIVIDUAL, FLOORS = "pnc", "individual", "floors"
WORKFLOWS = (PAPERS, "auto", INDIVIDUAL, FLOORS)
LEVELS = {
    STATE: (),
    COUNTY: ("cnty",),
    NAICS3: ("naics3",),
    NAICS5: ("naics5",),
    "county x NAICS-3": ("cnty", "naics3"),
    FINEST: ("cnty", "naics5"),
}
#: Mean absolute errors, as parts of those of the paper's workflow: all groupings together, and any one of them.
TOGETHER, EACH = 0.70, 0.90
FEW = "A level of one or few groups has few errors to average over, so its mean varies much with few releases."


def run(context: Context) -> Result:
    """Two attributes, six groupings, half of them what the queries ask for."""
    found = {
        state.name: context.compare(
            "individual",
            state,
            equal_spec(),
            workflows=WORKFLOWS,
            attributes=ATTRIBUTES,
            by=list(LEVELS.values()),
        )
        for state in context.states
    }
    each = [(attribute, level) for attribute in ATTRIBUTES for level in LEVELS]
    claims = over_releases(
        found,
        [
            ours(
                f"The mean absolute error, geometric mean over six groupings, is at most {TOGETHER} of that of pnc",
                list(gains(found, INDIVIDUAL, TOGETHER)),
                FEW,
            ),
            ours(f"At no grouping is it above {EACH}", list(at_every_level(found, INDIVIDUAL, EACH)), FEW),
            ours(
                "With the paper's prices set aside as floors, no grouping is worse than under them",
                list(at_every_level(found, FLOORS, 1.0)),
                FEW,
            ),
            ours(
                "The bias of the state total is within two standard errors of zero",
                list(unbiased(found, [INDIVIDUAL], [(name, STATE) for name in ATTRIBUTES])),
                "By chance alone one in twenty is not.",
            ),
            ours(
                "Between 92% and 98% of the 95% intervals hold the truth", list(covered(found, INDIVIDUAL, each)), FEW
            ),
        ],
    )
    tables, figures = [], []
    for state, comparison in found.items():
        for attribute in ATTRIBUTES:
            tables.append(ratio_table(found, state, attribute))
            tables.append(bias_table(comparison, state, attribute, WORKFLOWS))
            figures.append(total_figure(comparison, state, attribute, WORKFLOWS))
            figures += box_figures(comparison, state, attribute, WORKFLOWS)
    return Result(
        "Planned: to choose queries and budgets adaptively, from the answers so far",
        "; ".join(f"{check.where}: {check.number}" for check in gains(found, INDIVIDUAL, TOGETHER)),
        verdict_of([claim.outcome for claim in claims]),
        context.of_demo,
        claims=claims,
        tables=tables,
        figures=figures,
        links=links(context, found),
        data={"individual": lines_table(found)},
    )


def ratios(found: Comparisons, state: str, workflow: str, attribute: str) -> list[float]:
    """The mean absolute error of every level, as a part of the paper's."""
    lines = (
        [found[state].line(name, attribute, level).mean_absolute for level in LEVELS] for name in (workflow, PAPERS)
    )
    return [one / other for one, other in zip(*lines, strict=True)]


def geometric_mean(numbers: Sequence[float]) -> float:
    """Of positive numbers."""
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def gains(found: Comparisons, workflow: str, most: float) -> Iterator[Check]:
    """Whether all levels together are at most such a part of the paper's."""
    for state in found:
        for attribute in ATTRIBUTES:
            mean = geometric_mean(ratios(found, state, workflow, attribute))
            yield Check(f"{state} {attribute}", mean <= most, f"{mean:.2f} × {PAPERS}")


def at_every_level(found: Comparisons, workflow: str, most: float) -> Iterator[Check]:
    """Whether every level is at most such a part of the paper's."""
    for state in found:
        for attribute in ATTRIBUTES:
            for level, ratio in zip(LEVELS, ratios(found, state, workflow, attribute), strict=True):
                yield Check(f"{state} {attribute} {level}", ratio <= most, f"{ratio:.2f} × {PAPERS}")


def ratio_table(found: Comparisons, state: str, attribute: str) -> PrintedTable:
    """Every workflow at every level, as a part of the paper's."""
    rows = []
    for workflow in WORKFLOWS[1:]:
        parts = ratios(found, state, workflow, attribute)
        rows.append([workflow, *(f"{part:.2f}" for part in (*parts, geometric_mean(parts)))])
    caption = f"{state}, {attribute}: mean absolute error as a part of that of {PAPERS}"
    return PrintedTable(caption, ["workflow", *LEVELS, "geometric mean"], rows)


ITEM = Item("individual", "Individual accounting (the paper's third plan for the future)", 115, run)
