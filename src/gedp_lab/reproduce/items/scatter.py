"""Plot protected against true values, with a band of 3%."""

import numpy as np

from gedp.documents import Chart
from gedp_lab.evaluate.figures import scatter
from gedp_lab.reproduce.claims import Check, claim, releases_of
from gedp_lab.reproduce.compared import JOBS
from gedp_lab.reproduce.context import Context
from gedp_lab.reproduce.releases import NAMES, WORKFLOWS, confidential_releases, releases
from gedp_lab.reproduce.results import Item, Result, verdict_of

LEVELS = ("supersector", "NAICS-3", "NAICS-5")
BAND = 0.03
MOST = 0.95  # of the larger half of the groups are to be inside


def run(context: Context) -> Result:
    """Month-3 employment by supersector, NAICS-3 and NAICS-5, with the budget of the confidential experiment."""
    figures, inside, finer, drawn = [], [], [], {}
    for state in context.states:
        found = drawn[state.name] = confidential_releases(context, state)
        for workflow in WORKFLOWS:
            outside = []
            for level in LEVELS:
                groups = releases(found, workflow, JOBS, level)
                close = np.abs(groups.differences) <= BAND * groups.truth
                large = groups.truth >= np.median(groups.truth)
                outside.append(float(np.mean(~close)))
                if workflow != "auto":
                    share = float(np.mean(close[:, large]))
                    number = f"{share:.1%} within 3%"
                    inside.append(Check(f"{state.name} {NAMES[workflow]} {level}", share >= MOST, number))
                caption = f"{state.title}, {NAMES[workflow]}, {level}: {np.mean(close[0]):.0%} within 3%"
                figures.append(Chart(scatter(groups.first), caption))
            if workflow != "auto":
                number = ", ".join(f"{share:.0%}" for share in outside)
                finer.append(Check(f"{state.name} {NAMES[workflow]}", outside == sorted(outside), f"outside: {number}"))
    claims = [
        claim(
            f"Only the smallest groups are more than 3% off (at least {MOST:.0%} of the larger half are not)",
            inside,
            reason="How large a group must be to be within 3% depends on γ and μ, not on the state: a few hundred to a "
            "thousand jobs. Half of the five-digit industries of a small state are smaller.",
            drawn=releases_of(drawn),
        ),
        claim("Finer groupings have more groups outside the band", finer, drawn=releases_of(drawn)),
    ]
    return Result(
        "Scatter plots of the confidential QCEW, μ = 2.28: all but the smallest groups within 3% of the truth",
        " ".join(each.evidence for each in claims),
        verdict_of([each.outcome for each in claims]),
        " ".join(
            filter(None, ["The paper's state is confidential; ours are synthetic.", claims[0].reason, context.of_demo])
        ),
        claims=claims,
        figures=figures,
    )


ITEM = Item("scatter", "Protected against true employment (scatter plots)", 120, run)
