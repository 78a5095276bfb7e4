"""Plot error against the budget, a query's or an attribute's share of it, and the share of wages in a query."""

from collections.abc import Iterable
from itertools import pairwise, product

import numpy as np

from gedp.documents import Chart, PrintedTable
from gedp.numbers import short_share
from gedp.policy.examples import find_spec
from gedp_lab.compare import Comparison
from gedp_lab.compare.figures import relative_boxes, sweep_lines
from gedp_lab.reproduce.claims import Check, claim, ours, relative_errors, releases_of
from gedp_lab.reproduce.compared import JOBS, WAGES, lines_table
from gedp_lab.reproduce.context import Context, State
from gedp_lab.reproduce.releases import NAMES, WORKFLOWS
from gedp_lab.reproduce.results import Item, Result, verdict_of

BUDGETS = "mu=0.5,1,2.31,5"
#: Shares of μ²: of a query in all, of wages in all, of wages in a query.
SHARES = {
    "query": "query:county x naics5=0.1,0.281,0.5,0.7",
    "attribute": "attribute:wage=0.02,0.1,0.25,0.5",
    "within": "within:county x naics5:wage=0.015,0.1,0.3,0.6",
}
LEVELS = {"county total": ("cnty",), "NAICS-3": ("naics3",), "county x NAICS-5": ("cnty", "naics5")}
MOST_REPLICATES = 5


def run(context: Context) -> Result:
    """Budgets on every state; shares on the first, which is the smallest."""
    tables: list[PrintedTable] = []
    figures: list[Chart] = []
    budgets = {state.name: _swept(context, state, "mu", BUDGETS) for state in context.states}
    for state in context.states:
        found = budgets[state.name]
        for attribute in (JOBS, WAGES):
            tables.append(_table(found, attribute, state.name, BUDGETS))
            figures += [_boxes(found, attribute, state.name, level) for level in LEVELS]
    first = context.states[0]
    shares = {name: _swept(context, first, name, sweep) for name, sweep in SHARES.items()}
    for name, sweep in SHARES.items():
        for attribute in (JOBS, WAGES):
            tables.append(_table(shares[name], attribute, first.name, sweep))
            figures += [_lines(shares[name], attribute, first.name, level, sweep) for level in LEVELS]
    of_first = {first.name: budgets[first.name]}
    finest = "county x NAICS-5"
    claims = [
        claim(
            "Errors fall as the budget grows",
            [check for state, found in budgets.items() for check in _falls(found, state, (JOBS, WAGES), LEVELS)],
            drawn=f"{releases_of(budgets)} for each budget",
        ),
        ours(
            "Errors of wages fall as their share of the budget grows",
            _falls(shares["attribute"], first.name, (WAGES,), LEVELS),
            drawn=f"{releases_of(of_first)} for each share",
        ),
        ours(
            "Errors of wages by county x NAICS-5 fall as their share of that query grows",
            _falls(shares["within"], first.name, (WAGES,), [finest]),
            drawn=f"{releases_of(of_first)} for each share",
        ),
    ]
    every = {"mu": budgets, **{name: {first.name: found} for name, found in shares.items()}}
    return Result(
        "Box plots of relative errors as the overall budget varies, at the baseline allocation; a description of how "
        "shares of a query, and of wages within a query, are varied",
        " ".join(each.evidence for each in claims),
        verdict_of([each.outcome for each in claims]),
        f"Neither the budgets nor the shares are printed; these are ours. {context.of_demo}".strip(),
        claims=claims,
        tables=tables,
        figures=figures,
        links={
            f"All numbers of {name}, {state}": context.link(found)
            for name, states in every.items()
            for state, found in states.items()
        },
        data={f"sweep-{name}": lines_table(states).replace_schema_metadata(None) for name, states in every.items()},
    )


def _swept(context: Context, state: State, name: str, sweep: str) -> Comparison:
    return context.compare(
        f"sweep-{name}",
        state,
        find_spec("paper-baseline"),
        workflows=WORKFLOWS,
        attributes=(JOBS, WAGES),
        by=list(LEVELS.values()),
        replicates=min(context.replicates, MOST_REPLICATES),
        sweep=sweep,
    )


def _falls(found: Comparison, state: str, attributes: Iterable[str], levels: Iterable[str]) -> list[Check]:
    checks = []
    for attribute, level, workflow in product(attributes, levels, WORKFLOWS):
        errors = [found.line(workflow, attribute, level, s).mean_absolute for s in found.order.settings]
        number = " > ".join(f"{error:,.3g}" for error in errors)
        falls = all(one > other for one, other in pairwise(errors))
        checks.append(Check(f"{state} {workflow} {attribute} {level}", falls, number))
    return checks


def _table(found: Comparison, attribute: str, state: str, sweep: str) -> PrintedTable:
    rows = []
    for level, workflow in product(LEVELS, WORKFLOWS):
        errors = [relative_errors(found, workflow, attribute, level, setting) for setting in found.order.settings]
        rows.append([f"{level}, {workflow}", *(short_share(float(np.median(each))) for each in errors)])
    what, _, values = sweep.rpartition("=")
    return PrintedTable(f"{state}, {attribute}: median relative error by {what}", ["", *values.split(",")], rows)


def _boxes(found: Comparison, attribute: str, state: str, level: str) -> Chart:
    """The figure of the paper, with a box for each budget and workflow."""
    errors = {
        f"μ = {setting.rpartition('=')[2]}, {NAMES[workflow]}": relative_errors(
            found, workflow, attribute, level, setting
        )
        for setting, workflow in product(found.order.settings, WORKFLOWS)
    }
    caption = (
        f"{state}, {attribute} by {level}: relative errors of the groups, averaged over {found.replicates} releases"
    )
    return Chart(relative_boxes(errors, attribute, level), caption)


def _lines(found: Comparison, attribute: str, state: str, level: str, sweep: str) -> Chart:
    what, _, values = sweep.rpartition("=")
    errors = {
        workflow: [found.line(workflow, attribute, level, s).mean_absolute for s in found.order.settings]
        for workflow in WORKFLOWS
    }
    caption = f"{state}, {attribute} by {level} against {what}: sqrt solid, pnc dashed, auto dotted"
    return Chart(sweep_lines([float(value) for value in values.split(",")], errors, what, attribute, level), caption)


ITEM = Item("sweeps", "Error against the budget and its division (figures in the appendix)", 140, run)
