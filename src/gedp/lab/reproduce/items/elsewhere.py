"""List what the paper shows and public data does not allow."""

from gedp.lab.reproduce.context import Context
from gedp.lab.reproduce.results import SKIPPED, Item, Result, ResultTable

ROWS = (
    (
        "signed differences, scatter plots and box plots of a state's QCEW",
        "the data is confidential; synthetic states instead",
    ),
    (
        "suppressed values in CBP and QWI",
        "the national files of CBP and QWI are not among the data; `gedp synth cbp` reads them",
    ),
    ("synthetic states from CBP, imputed CBP and QWI", "the same; ours are made from the published QCEW"),
    (
        "proportions of the Dirichlet divider for nine Gamma distributions",
        "the nine pairs of parameters are not printed",
    ),
    ("table of notation, example of suppression, algorithms", "nothing to compute"),
)


def run(context: Context) -> Result:
    """Lists what is left out, each with its reason."""
    return Result(
        f"{len(ROWS)} tables and figures",
        "not computed",
        SKIPPED,
        "They need confidential data or files that are not at hand; see the list.",
        tables=[ResultTable("Left out", ["what", "why"], ROWS)],
    )


ITEM = Item("elsewhere", "What public data does not allow", 1000, run)
