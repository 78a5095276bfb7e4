"""Tabulate the quartiles of signed differences by level.

The paper's are of one release of a state that it may not name, ours of several releases of synthetic states, with the
budget of that experiment.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from gedp.arrays import FloatArray
from gedp.documents import Chart, PrintedTable
from gedp_lab.evaluate.document import number
from gedp_lab.evaluate.figures import difference_boxes
from gedp_lab.reproduce.claims import CHANCE, Check, Comparisons, claim, more_accurate, places, releases_of
from gedp_lab.reproduce.compared import JOBS, lines_table, links
from gedp_lab.reproduce.context import Context, State
from gedp_lab.reproduce.releases import NAMES, WORKFLOWS, Releases, confidential_releases, releases
from gedp_lab.reproduce.results import Item, Result, verdict_of

#: First quartile, median, mean, third quartile: sqrt, then pnc.
PRINTED = {
    "state total": ((-6198, -6198, -6198, -6198), (-118, -118, -118, -118)),
    "supersector": ((-1083, -293, -563, -233), (-100, -48, -11, 24)),
    "NAICS-5": ((-32, -9, -9, 8), (-14, -1, 0, 12)),
    "county total": ((-420, -252, -4604, -143), (-64, -11, -4331, 27)),
    "county x supersector": ((-69, -18, -419, 16), (-43, -4, -394, 30)),
    "county x NAICS-5": ((-7, -1, -10, 4), (-6, -1, -9, 5)),
}
TOTAL = "state total"
BOXES = ("supersector", "NAICS-3", "NAICS-5", "county x supersector", "county x NAICS-3", "county x NAICS-5")


Found = Mapping[tuple[str, str, str], Releases]  # by state, workflow and level


def run(context: Context) -> Result:
    """Month-3 employment: the first release beside the paper's, and the paper's statements over all of them."""
    drawn = {state.name: confidential_releases(context, state) for state in context.states}
    found = {
        (state, workflow, level): releases(comparison, workflow, JOBS, level)
        for state, comparison in drawn.items()
        for workflow in WORKFLOWS
        for level in dict.fromkeys((*PRINTED, *BOXES))
    }
    figures = [
        Chart(
            difference_boxes([found[state.name, name, level].first for level in BOXES], f"{JOBS}, {NAMES[name]}"),
            f"{state.title}, {NAMES[name]}: signed differences of the first release",
        )
        for state in context.states
        for name in WORKFLOWS
    ]
    claims = [
        claim(
            "With sqrt and plug-in weights the differences lean downward at every level (median below 0)",
            list(_leaning(drawn, found)),
            drawn=releases_of(drawn),
        ),
        claim(
            "pnc has less bias (mean nearer to 0; groups add up, so the total stands for every level)",
            list(_less_biased(drawn, found)),
            drawn=releases_of(drawn),
        ),
        claim(
            "pnc is more accurate at every level (mean absolute difference)",
            list(more_accurate(drawn, "pnc", "psi", places([JOBS], list(PRINTED)))),
            drawn=releases_of(drawn),
        ),
    ]
    totals = [
        f"{state.title} {' and '.join(_with_error(found[state.name, name, TOTAL]) for name in ('psi', 'pnc'))}"
        for state in context.states
    ]
    return Result(
        "Quartiles by level for the confidential QCEW of a state that may not be named, μ = 2.28; its total −6,198 "
        "with sqrt, −118 with pnc",
        f"Mean error of the total with sqrt and with pnc: {'; '.join(totals)}",
        verdict_of([each.outcome for each in claims]),
        "The paper's state is confidential, so only the pattern can agree. Its means by county lie far outside the "
        f"quartiles, which nothing in our states does. {context.of_demo}".strip(),
        claims=claims,
        tables=[_table(state, found, drawn[state.name].replicates) for state in context.states],
        figures=figures,
        links=links(context, drawn),
        data={"differences": lines_table(drawn)},
    )


def _leaning(drawn: Comparisons, found: Found) -> Iterator[Check]:
    """Whether the median over the groups is below 0, release by release and beyond chance."""
    for state in drawn:
        for level in PRINTED:
            medians = np.median(found[state, "psi", level].differences, axis=1)
            text = f"median {_mean(medians)}, below 0 in {np.sum(medians < 0)} of {len(medians)}"
            yield Check(f"{state} {level}", _surely_positive(-medians), text)


def _less_biased(drawn: Comparisons, found: Found) -> Iterator[Check]:
    """Whether the error of the total is nearer to 0, release by release and beyond chance.

    Groups add up to the total, so their mean at any level is the total's error divided by their number: one check.
    """
    for state in drawn:
        pnc, psi = (found[state, name, TOTAL].differences[:, 0] for name in ("pnc", "psi"))
        gain = np.abs(psi) - np.abs(pnc)
        text = f"{_mean(pnc)} and {_mean(psi)}, nearer in {np.sum(gain > 0)} of {len(gain)}"
        yield Check(f"{state} {TOTAL}", _surely_positive(gain), text)


def _surely_positive(values: FloatArray) -> bool:
    """Whether a mean over releases is more than two of its standard errors above 0. One release tells nothing."""
    return len(values) > 1 and float(values.mean()) > CHANCE * _error(values)


def _error(values: FloatArray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def _mean(values: FloatArray) -> str:
    return f"{number(float(values.mean()))} ± {number(_error(values))}"


def _with_error(of_level: Releases) -> str:
    return _mean(of_level.differences.mean(axis=1))


def _table(state: State, found: Found, count: int) -> PrintedTable:
    rows = []
    for level, printed in PRINTED.items():
        for workflow, numbers in zip(("psi", "pnc", "auto"), (*printed, None), strict=True):
            quartiles = _quartiles(found[state.name, workflow, level])
            if numbers:
                rows.append([f"{level}, {NAMES[workflow]}: paper", *map(number, numbers)])
            rows.append([f"{level}, {NAMES[workflow]}: first release", *(number(x) for x in quartiles[0])])
            rows.append([f"mean of {count} releases", *(number(x) for x in quartiles.mean(axis=0))])
    headings = ["level", "1st quartile", "median", "mean", "3rd quartile"]
    return PrintedTable(f"{state.title}: protected − true, {JOBS}", headings, rows)


def _quartiles(of_level: Releases) -> FloatArray:
    """First quartile, median, mean and third quartile over the groups, one row per release."""
    lower, median, upper = np.quantile(of_level.differences, [0.25, 0.5, 0.75], axis=1)
    return np.stack([lower, median, of_level.differences.mean(axis=1), upper], axis=1)


ITEM = Item("differences", "Signed differences by level (table and box plots for the confidential QCEW)", 90, run)
