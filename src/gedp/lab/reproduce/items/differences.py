"""Tabulate the quartiles of signed differences by level.

The paper's are of a state that it may not name, ours of synthetic ones.
"""

from collections.abc import Mapping

from gedp.lab.evaluate.figures import difference_boxes
from gedp.lab.evaluate.metrics import Errors
from gedp.lab.evaluate.report import number
from gedp.lab.reproduce.claims import Check, claim
from gedp.lab.reproduce.context import Context
from gedp.lab.reproduce.results import Figure, Item, Result, ResultTable, verdict_of
from gedp.lab.reproduce.single import JOBS, NAMES, WORKFLOWS, groups_of, single

#: First quartile, median, mean, third quartile: sqrt, then pnc.
PRINTED = {
    "state total": ((-6198, -6198, -6198, -6198), (-118, -118, -118, -118)),
    "supersector": ((-1083, -293, -563, -233), (-100, -48, -11, 24)),
    "NAICS-5": ((-32, -9, -9, 8), (-14, -1, 0, 12)),
    "county total": ((-420, -252, -4604, -143), (-64, -11, -4331, 27)),
    "county x supersector": ((-69, -18, -419, 16), (-43, -4, -394, 30)),
    "county x NAICS-5": ((-7, -1, -10, 4), (-6, -1, -9, 5)),
}
BOXES = ("supersector", "NAICS-3", "NAICS-5", "county x supersector", "county x NAICS-3", "county x NAICS-5")


def run(context: Context) -> Result:
    """One release of each workflow, month-3 employment, as the paper's."""
    tables, figures, errors = [], [], {}
    for state in context.states:
        found = single(context, state)
        for workflow in WORKFLOWS:
            groups = {
                level: groups_of(found, workflow, JOBS, level) for level in (*PRINTED, "NAICS-3", "county x NAICS-3")
            }
            errors.update({(state.name, workflow, level): each.errors() for level, each in groups.items()})
            drawn = difference_boxes([groups[level] for level in BOXES], f"{JOBS}, {NAMES[workflow]}")
            figures.append(Figure(drawn, f"{state.title}, {NAMES[workflow]}: signed differences"))
        tables.append(_table(state.name, state.title, errors))
    claims = [
        claim(
            "With sqrt and plug-in weights the differences lean downward at every level (median below 0)",
            [
                Check(f"{state.name} {level}", (e := errors[state.name, "psi", level]).median < 0, number(e.median))
                for state in context.states
                for level in PRINTED
            ],
        ),
        claim(
            "pnc has less bias at every level (mean nearer to 0)",
            [
                Check(
                    f"{state.name} {level}",
                    abs(errors[state.name, "pnc", level].mean) < abs(errors[state.name, "psi", level].mean),
                    " and ".join(number(errors[state.name, name, level].mean) for name in ("pnc", "psi")),
                )
                for state in context.states
                for level in PRINTED
            ],
        ),
        claim(
            "pnc is more accurate at every level (mean absolute difference)",
            [
                Check(
                    f"{state.name} {level}",
                    errors[state.name, "pnc", level].mean_absolute < errors[state.name, "psi", level].mean_absolute,
                    " and ".join(number(errors[state.name, name, level].mean_absolute) for name in ("pnc", "psi")),
                )
                for state in context.states
                for level in PRINTED
            ],
        ),
    ]
    totals = [
        f"{state.title} {number(errors[state.name, 'psi', 'state total'].mean)} and "
        f"{number(errors[state.name, 'pnc', 'state total'].mean)}"
        for state in context.states
    ]
    return Result(
        "Quartiles by level for the confidential QCEW of a state that may not be named; its total −6,198 with sqrt, "
        "−118 with pnc",
        f"Totals of one release with sqrt and with pnc: {'; '.join(totals)}",
        verdict_of([each.outcome for each in claims]),
        "The paper's state is confidential, so only the pattern can agree. Its means by county lie far outside the "
        f"quartiles, which nothing in our states does. {context.of_demo}".strip(),
        claims=claims,
        tables=tables,
        figures=figures,
    )


def _table(state: str, title: str, errors: Mapping[tuple[str, str, str], Errors]) -> ResultTable:
    rows = []
    for level, printed in PRINTED.items():
        for workflow, numbers in zip(("psi", "pnc"), printed, strict=True):
            rows.append([f"{level}, {NAMES[workflow]}: paper", *(number(value) for value in numbers)])
            rows.append(["ours", *_quartiles(errors[state, workflow, level])])
        rows.append([f"{level}, {NAMES['auto']}: ours", *_quartiles(errors[state, "auto", level])])
    headings = ["level", "1st quartile", "median", "mean", "3rd quartile"]
    return ResultTable(f"{title}: protected − true, {JOBS}, one release", headings, rows)


def _quartiles(errors: Errors) -> list[str]:
    return [number(x) for x in (errors.lower_quartile, errors.median, errors.mean, errors.upper_quartile)]


ITEM = Item("differences", "Signed differences by level (table and box plots for the confidential QCEW)", 90, run)
