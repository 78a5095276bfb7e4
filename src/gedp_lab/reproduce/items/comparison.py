"""Compare mechanisms and weights over replicates.

On the synthetic states: what the paper claims of them, and what we do.
"""

from gedp_lab.reproduce.claims import (
    Comparisons,
    biased_down,
    claim,
    covered,
    less_biased,
    more_accurate,
    near_oracle,
    no_less_accurate,
    ours,
    over_releases,
    places,
    unbiased,
    useless,
)
from gedp_lab.reproduce.compared import (
    COUNTY,
    FINEST,
    GDP,
    JOBS,
    LEVELS,
    MECHANISMS,
    NAICS3,
    NAICS5,
    ORACLES,
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
from gedp_lab.reproduce.results import AGREES, PAPER, CheckedClaim, Item, Result, verdict_of

ATTRIBUTES = (JOBS, WAGES)
WORKFLOWS = (*PRIVATE, *ORACLES, GDP)
BOTH = places(ATTRIBUTES, list(LEVELS))
UNITS = (
    "γ = 50 is small for wages in dollars, so even the largest establishment of a group is known well and clipping "
    "costs little. In thousands, as the paper's numbers suggest, it is otherwise: see the next item."
)


def run(context: Context) -> Result:
    """Ten workflows, two attributes, six levels."""
    found = compare_states(context, "equal", equal_spec(), WORKFLOWS, ATTRIBUTES)
    claims = over_releases(found, [*paper_claims(found), *our_claims(found)])
    tables, figures = [], []
    for state, comparison in found.items():
        for attribute in ATTRIBUTES:
            tables.append(median_table(comparison, state, attribute, WORKFLOWS))
            tables.append(bias_table(comparison, state, attribute, [*PRIVATE, GDP]))
            figures.append(total_figure(comparison, state, attribute, ["psi", "pnc", "auto", GDP]))
            figures += box_figures(comparison, state, attribute, ["psi", "pnc", "auto", GDP])
    of_paper = [each.outcome for each in claims if each.source == PAPER]
    held = sum(outcome == AGREES for outcome in of_paper)
    mine = [each.outcome for each in claims if each.source != PAPER]
    return Result(
        "Box plots of absolute errors over 34 replicates; statements about which mechanism wins where",
        f"{held} of {len(of_paper)} statements of the paper hold in full, {mine.count(AGREES)} of {len(mine)} of ours",
        verdict_of(of_paper),
        " ".join(
            filter(None, [context.of_demo, *dict.fromkeys(each.reason for each in claims if each.source == PAPER)])
        ),
        claims=claims,
        tables=tables,
        figures=figures,
        links=links(context, found),
        data={"comparison": lines_table(found)},
    )


def paper_claims(found: Comparisons) -> list[CheckedClaim]:
    """What the section on synthetic data says."""
    industries = [NAICS3, NAICS5]
    return [
        claim(
            "pnc beats sqrt on employment at every grouping drawn (state, county, NAICS-3, NAICS-5)",
            list(more_accurate(found, "pnc", "psi", places([JOBS], [STATE, COUNTY, *industries]))),
        ),
        claim(
            "pnc beats sqrt on the state totals of employment and wages",
            list(more_accurate(found, "pnc", "psi", places(ATTRIBUTES, [STATE]))),
        ),
        *county_wages(found, UNITS),
        claim(
            "sqrt beats pnc on wages by NAICS-3 and NAICS-5",
            list(more_accurate(found, "psi", "pnc", places([WAGES], industries))),
            reason=UNITS,
        ),
        claim(
            "Both mechanisms beat Gaussian DP",
            [*more_accurate(found, "psi", GDP, BOTH), *more_accurate(found, "pnc", GDP, BOTH)],
        ),
        claim(
            "Gaussian DP is useless: the median relative error by county x NAICS-5 is above 100%",
            list(useless(found, GDP, places(ATTRIBUTES, [FINEST]))),
        ),
        claim(
            "Plug-in weights pull the state total of the sqrt workflow down",
            list(biased_down(found, ["psi"], places(ATTRIBUTES, [STATE]))),
        ),
        claim(
            "pnc has less bias of the state total",
            list(less_biased(found, "pnc", "psi", places(ATTRIBUTES, [STATE]))),
        ),
    ]


def county_wages(found: Comparisons, reason: str) -> list[CheckedClaim]:
    """The paper's one statement that differs by state."""
    wins = {"RI": ("pnc", "psi"), "NJ": ("psi", "pnc")}
    checks = [
        check
        for state, (one, other) in wins.items()
        if state in found
        for check in more_accurate({state: found[state]}, one, other, places([WAGES], [COUNTY]))
    ]
    text = "On wages by county pnc is better for Rhode Island, and sqrt slightly better for New Jersey"
    return [claim(text, checks, reason=reason)] if checks else []


def our_claims(found: Comparisons) -> list[CheckedClaim]:
    """What we say of quasi weights and of choosing the mechanism group by group."""
    quasi = ["psi+quasi", "pnc+quasi", "auto"]
    totals = places(ATTRIBUTES, [STATE])
    return [
        ours(
            "With quasi weights the bias of the state total is within two standard errors of zero",
            list(unbiased(found, quasi, totals)),
            "One in twenty such checks fails by chance alone, and the workflows of a state share noise.",
        ),
        ours(
            "auto with quasi weights is at least as accurate as each other workflow, at every grouping, up to two "
            "standard errors",
            list(no_less_accurate(found, "auto", [name for name in (*PRIVATE, GDP) if name != "auto"], BOTH)),
            "These are many checks on the same noise, so some fail by chance. auto chooses for each answer, which "
            "need not be best for sums of several.",
        ),
        ours(
            "Quasi weights are within 2% of the true variances (mean absolute error)",
            list(near_oracle(found, MECHANISMS, BOTH)),
            "A level of one or few groups has few errors to average over, so its mean varies by more than 2%.",
        ),
        ours(
            "Between 92% and 98% of the 95% intervals hold the truth, measured groupings and others",
            list(covered(found, "auto", BOTH)),
            "The total is one group: with 34 replicates one more or less that holds it is 3%, so its share is often "
            "outside by chance.",
        ),
    ]


ITEM = Item("comparison", "Mechanisms on the synthetic states (box plots and statements)", 100, run)
