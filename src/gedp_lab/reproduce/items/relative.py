"""Plot relative error against the size of a group."""

import numpy as np

from gedp.documents import Chart, PrintedTable
from gedp.numbers import short_share
from gedp_lab.evaluate.figures import relative_plot
from gedp_lab.evaluate.metrics import relative_errors
from gedp_lab.reproduce.claims import Check, claim, releases_of
from gedp_lab.reproduce.compared import JOBS, WAGES
from gedp_lab.reproduce.context import Context
from gedp_lab.reproduce.releases import NAMES, WORKFLOWS, baseline_release, releases
from gedp_lab.reproduce.results import Item, Result

LEVELS = ("NAICS-3", "NAICS-5", "county x NAICS-5")


def run(context: Context) -> Result:
    """The baseline budget; the last state is the largest, as in the paper's figure."""
    state = context.states[-1]
    found = baseline_release(context, state)
    figures, checks, rows = [], [], []
    for attribute in (JOBS, WAGES):
        for workflow in WORKFLOWS:
            medians = []
            for level in LEVELS:
                groups = releases(found, workflow, attribute, level).first
                errors = relative_errors(groups.truth, groups.protected)
                low, high = np.quantile(groups.truth, [0.25, 0.75])
                small, large = (float(np.median(errors[part])) for part in (groups.truth <= low, groups.truth >= high))
                number = f"{short_share(large)} against {short_share(small)}"
                checks.append(Check(f"{NAMES[workflow]} {attribute} {level}", large < small, number))
                medians.append(short_share(float(np.median(errors))))
                caption = f"{attribute}, {NAMES[workflow]}, {level}: median {medians[-1]}"
                figures.append(Chart(relative_plot(groups), caption))
            rows.append([f"{attribute}, {NAMES[workflow]}", *medians])
    falls = claim(
        "Relative error falls with size (largest quarter of the groups against the smallest)",
        checks,
        drawn=releases_of({state.name: found}),
    )
    return Result(
        "Scatter plots of relative error against size, NAICS-3 and two measured groupings, Syn-NJ",
        f"{state.title}: {falls.evidence}",
        falls.outcome,
        context.of_demo,
        claims=[falls],
        tables=[PrintedTable("Median relative error", ["what", *LEVELS], rows)],
        figures=figures,
    )


ITEM = Item("relative", "Relative error against size (figure in the appendix)", 130, run)
