"""List what the paper shows and is left out here, with the reason."""

from gedp.documents import PrintedTable
from gedp_lab.reproduce.context import Context
from gedp_lab.reproduce.results import SKIPPED, Item, Result

ROWS = (
    (
        "signed differences, scatter plots and box plots of a state's confidential QCEW",
        "the data is confidential; the same of synthetic states is in differences and scatter",
    ),
    (
        "suppressed values in County Business Patterns and Quarterly Workforce Indicators",
        "the national files are not among the data; `gedp synth cbp` reads them",
    ),
    (
        "Syn-NJ and Syn-RI as made from these files",
        "the same; ours are made from the published QCEW, and stand beside the printed summaries",
    ),
    ("tables of notation and of variables", "nothing to compute"),
)


def run(context: Context) -> Result:
    """Lists what is left out, each with its reason."""
    return Result(
        f"{len(ROWS)} tables and figures",
        "not computed",
        SKIPPED,
        "They need confidential data or files that are not at hand; see the list.",
        tables=[PrintedTable("Left out", ["what", "why"], ROWS)],
    )


ITEM = Item("elsewhere", "What is left out, and why", 1000, run)
