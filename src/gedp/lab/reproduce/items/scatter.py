"""Plot protected against true values, with a band of 3%."""

import numpy as np

from gedp.lab.evaluate.figures import scatter
from gedp.lab.reproduce.claims import Check, claim
from gedp.lab.reproduce.context import Context
from gedp.lab.reproduce.results import Figure, Item, Result, verdict_of
from gedp.lab.reproduce.single import JOBS, NAMES, WORKFLOWS, groups_of, single

LEVELS = ("supersector", "NAICS-3", "NAICS-5")
MOST = 0.95  # of the larger half of the groups are to be inside


def run(context: Context) -> Result:
    """Month-3 employment by supersector, NAICS-3 and NAICS-5."""
    figures, inside, finer = [], [], []
    for state in context.states:
        found = single(context, state)
        for workflow in WORKFLOWS:
            shares = []
            for level in LEVELS:
                groups = groups_of(found, workflow, JOBS, level)
                large = groups.truth >= np.median(groups.truth)
                close = np.abs(groups.protected - groups.truth) <= 0.03 * groups.truth
                shares.append(float(np.mean(~close)))
                share = float(np.mean(close[large]))
                if workflow != "auto":
                    number = f"{share:.1%} within 3%"
                    inside.append(Check(f"{state.name} {NAMES[workflow]} {level}", share >= MOST, number))
                caption = f"{state.title}, {NAMES[workflow]}, {level}: {np.mean(close):.0%} within 3%"
                figures.append(Figure(scatter(groups), caption))
            if workflow != "auto":
                number = ", ".join(f"{share:.0%}" for share in shares)
                finer.append(Check(f"{state.name} {NAMES[workflow]}", shares == sorted(shares), f"outside: {number}"))
    claims = [
        claim(
            f"Only the smallest groups are more than 3% off (at least {MOST:.0%} of the larger half are not)",
            inside,
            reason="How large a group must be to be within 3% depends on γ and μ, not on the state: a few hundred to a "
            "thousand jobs. Half of the five-digit industries of a small state are smaller.",
        ),
        claim("Finer groupings have more groups outside the band", finer),
    ]
    return Result(
        "Scatter plots of the confidential QCEW: all but the smallest groups within 3% of the truth",
        " ".join(each.evidence for each in claims),
        verdict_of([each.outcome for each in claims]),
        " ".join(
            filter(None, ["The paper's state is confidential; ours are synthetic.", claims[0].reason, context.of_demo])
        ),
        claims=claims,
        figures=figures,
    )


ITEM = Item("scatter", "Protected against true employment (scatter plots)", 120, run)
