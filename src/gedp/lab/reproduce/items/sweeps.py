"""Plot error against the budget and a query's share of it."""

from itertools import pairwise

import numpy as np
import pyarrow as pa

from gedp.lab.compare import Comparison
from gedp.lab.compare.figures import sweep_lines
from gedp.lab.reproduce.claims import Check, claim, ours, relative_errors
from gedp.lab.reproduce.compared import lines_table
from gedp.lab.reproduce.context import Context
from gedp.lab.reproduce.results import Figure, Item, Result, ResultTable, verdict_of
from gedp.lab.reproduce.single import JOBS, WAGES, WORKFLOWS
from gedp.numbers import short_share
from gedp.policy.examples import find_spec

SWEEPS = {
    "mu": "mu=0.5,1,2.31,5",
    "query": "query:county x naics5=0.1,0.281,0.5,0.7",
    "attribute": "attribute:wage=0.02,0.1,0.25,0.5",
}
LEVELS = {"county total": ("cnty",), "NAICS-3": ("naics3",), "county x NAICS-5": ("cnty", "naics5")}
MOST_REPLICATES = 10


def run(context: Context) -> Result:
    """On the first state, which is the smallest."""
    state = context.states[0]
    tables, figures, data, links = [], [], {}, {}
    swept: dict[str, Comparison] = {}
    for name, sweep in SWEEPS.items():
        found = swept[name] = context.compare(
            f"sweep-{name}",
            state,
            find_spec("paper-baseline"),
            workflows=WORKFLOWS,
            attributes=(JOBS, WAGES),
            by=list(LEVELS.values()),
            replicates=min(context.replicates, MOST_REPLICATES),
            sweep=sweep,
        )
        for attribute in (JOBS, WAGES):
            tables.append(_table(found, attribute, sweep))
            figures += [_figure(found, attribute, level, sweep) for level in LEVELS]
        links[f"All numbers of {sweep}"] = context.link(found)
        data[f"sweep-{name}"] = lines_table({state.name: found})
    claims = [
        claim("Errors fall as the budget grows", _falls(swept["mu"], (JOBS, WAGES))),
        ours("Errors of wages fall as their share of the budget grows", _falls(swept["attribute"], (WAGES,))),
    ]
    return Result(
        "Box plots of relative errors as the overall budget varies, at the baseline allocation",
        f"{state.title}, {swept['mu'].replicates} replicates: {claims[0].evidence}",
        verdict_of([each.outcome for each in claims]),
        f"One small state is enough to see the pattern; shares are of μ². {context.of_demo}".strip(),
        claims=claims,
        tables=tables,
        figures=figures,
        links=links,
        data={name: _plain(table) for name, table in data.items()},
    )


def _falls(found: Comparison, attributes: tuple[str, ...]) -> list[Check]:
    checks = []
    for attribute in attributes:
        for level in LEVELS:
            for workflow in WORKFLOWS:
                errors = [found.line(workflow, attribute, level, s).mean_absolute for s in found.order.settings]
                number = " > ".join(f"{error:,.3g}" for error in errors)
                checks.append(Check(f"{workflow} {attribute} {level}", all(a > b for a, b in pairwise(errors)), number))
    return checks


def _table(found: Comparison, attribute: str, sweep: str) -> ResultTable:
    rows = []
    for level in LEVELS:
        for workflow in WORKFLOWS:
            errors = [relative_errors(found, workflow, attribute, level, setting) for setting in found.order.settings]
            medians = [float(np.median(each)) for each in errors]
            rows.append([f"{level}, {workflow}", *map(short_share, medians)])
    values = [setting.rpartition("=")[2] for setting in found.order.settings]
    what = sweep.rpartition("=")[0]
    return ResultTable(f"{attribute}: median relative error by {what}", ["level, workflow", *values], rows)


def _figure(found: Comparison, attribute: str, level: str, sweep: str) -> Figure:
    settings = found.order.settings
    values = [float(setting.rpartition("=")[2]) for setting in settings]
    errors = {
        workflow: [found.line(workflow, attribute, level, s).mean_absolute for s in settings] for workflow in WORKFLOWS
    }
    what = sweep.rpartition("=")[0]
    caption = f"{attribute} by {level} against {what}: sqrt solid, pnc dashed, auto dotted"
    return Figure(sweep_lines(values, errors, what, attribute, level), caption)


def _plain(table: pa.Table) -> pa.Table:
    return table.replace_schema_metadata(None)


ITEM = Item("sweeps", "Error against the budget and its division (figures in the appendix)", 140, run)
