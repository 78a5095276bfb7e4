"""The variance that other accounting frameworks need for the same protection."""

from gedp.lab.reproduce.claims import Check, claim
from gedp.lab.reproduce.context import Context
from gedp.lab.reproduce.frameworks import QUERIES, findings, framework_ratios, frameworks_figure
from gedp.lab.reproduce.results import Figure, Item, Result, verdict_of


def run(context: Context) -> Result:
    """The heat maps, and what the paper says about them."""
    ratios = [framework_ratios(queries) for queries in QUERIES]
    claims = [
        claim(
            "Gaussian DP never needs more variance than zCDP",
            [Check(f"queries {r.queries}", not r.zcdp_wins, f"zCDP needs less in {r.zcdp_wins:.1%}") for r in ratios],
        ),
        claim(
            "ε-DP is preferable with one query only",
            [
                Check("queries 1", ratios[0].pure_wins > 0.5, f"ε-DP needs less in {ratios[0].pure_wins:.1%}"),
                *(
                    Check(f"queries {r.queries}", r.pure_wins == 0, f"ε-DP needs less in {r.pure_wins:.1%}")
                    for r in ratios[1:]
                ),
            ],
            reason="With one query ε-DP needs less only where false alarms or misses are rare.",
        ),
    ]
    return Result(
        "Heat maps: ε-DP may need less variance with one query, zCDP never does",
        " ".join(findings(ratios)),
        verdict_of([each.outcome for each in claims]),
        claims[1].reason,
        claims=claims,
        figures=[Figure(frameworks_figure(ratios), "Red: needs more variance than Gaussian DP; blue: less.")],
    )


ITEM = Item("frameworks", "Accounting frameworks (figure of power and significance)", run)
