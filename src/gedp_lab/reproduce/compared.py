"""What the comparisons over replicates share: workflows, levels, and their tables and figures."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa

from gedp.documents import Chart, PrintedTable
from gedp.numbers import short
from gedp.policy import Spec
from gedp.policy.examples import find_spec
from gedp_lab.compare import Comparison
from gedp_lab.compare.figures import error_boxes, total_boxes
from gedp_lab.reproduce.claims import Comparisons
from gedp_lab.reproduce.context import Context

JOBS, WAGES = "m3emp", "wage"  # the appendix evaluates month 3; elsewhere the paper names no month
PRIVATE = ("psi", "psi+quasi", "pnc", "pnc+quasi", "auto+plug-in", "auto")
ORACLES = ("psi+oracle", "pnc+oracle", "auto+oracle")
MECHANISMS = ("psi", "pnc", "auto")
GDP = "gdp"
STATE, COUNTY, NAICS3, NAICS5 = "state total", "county total", "NAICS-3", "NAICS-5"
LEVELS = {
    STATE: (),
    COUNTY: ("cnty",),
    NAICS5: ("naics5",),
    "county x NAICS-5": ("cnty", "naics5"),
    NAICS3: ("naics3",),
    "county x supersector": ("cnty", "supersector"),
}
FINEST = "county x NAICS-5"
#: γ = 50 on the square root of thousands is γ = 50·√1000 on the square root of dollars: √(x/1000) = √x/√1000.
IN_THOUSANDS = Decimal(50) * Decimal(1000).sqrt()


def equal_spec(wage_gamma: Decimal | None = None) -> Spec:
    """The paper's policy with equal budgets; with another γ for wages if one is given."""
    spec = find_spec("paper-equal")
    if wage_gamma is None:
        return spec
    wage = spec.policy.attributes[WAGES]
    changed = replace(wage, closeness=replace(wage.closeness, gamma=wage_gamma.quantize(Decimal("1e-9"))))
    attributes = {**spec.policy.attributes, WAGES: changed}
    return replace(spec, policy=replace(spec.policy, attributes=attributes))


def compare_states(
    context: Context, name: str, spec: Spec, workflows: Sequence[str], attributes: Sequence[str]
) -> Comparisons:
    """Replicates of the workflows on every state, at all levels."""
    by = list(LEVELS.values())
    return {
        state.name: context.compare(name, state, spec, workflows=workflows, attributes=attributes, by=by)
        for state in context.states
    }


def links(context: Context, found: Comparisons) -> dict[str, str]:
    """The pages with all numbers, one for each state."""
    return {f"All numbers for {state}": context.link(comparison) for state, comparison in found.items()}


def median_table(found: Comparison, state: str, attribute: str, workflows: Sequence[str]) -> PrintedTable:
    """Median over groups of the absolute error averaged over replicates."""
    rows = []
    for level in found.order.levels:
        lines = [found.line(workflow, attribute, level) for workflow in workflows]
        rows.append([level, f"{lines[0].groups:,}", *(short(line.median_absolute, 3) for line in lines)])
    caption = f"{state}, {attribute}: median absolute error of a group over {found.replicates} replicates"
    return PrintedTable(caption, ["level", "groups", *workflows], rows)


def bias_table(found: Comparison, state: str, attribute: str, workflows: Sequence[str]) -> PrintedTable:
    """Mean error of a group with its standard error."""
    rows = []
    for level in found.order.levels:
        lines = [found.line(workflow, attribute, level) for workflow in workflows]
        rows.append([level, *(f"{short(line.bias, 3)} ± {short(line.bias_se or 0.0, 2)}" for line in lines)])
    return PrintedTable(f"{state}, {attribute}: mean error ± standard error", ["level", *workflows], rows)


def box_figures(found: Comparison, state: str, attribute: str, workflows: Sequence[str]) -> list[Chart]:
    """Boxes of the groups for the levels that the paper draws."""
    figures = []
    for level in (COUNTY, NAICS3, NAICS5):
        errors = {name: found.groups_of(name, attribute, level)["mean_absolute"].to_numpy() for name in workflows}
        figures.append(Chart(error_boxes(errors, attribute, level), f"{state}, {attribute} by {level}"))
    return figures


def total_figure(found: Comparison, state: str, attribute: str, workflows: Sequence[str]) -> Chart:
    """Boxes of the replicates for the state total, which is one group."""
    errors = {name: found.absolute_errors(name, attribute, STATE) for name in workflows}
    return Chart(
        total_boxes(errors, attribute), f"{state}, {attribute}: state total over {found.replicates} replicates"
    )


def lines_table(comparisons: Comparisons) -> pa.Table:
    """Every line of every state, tidy."""
    parts = []
    for state, found in comparisons.items():
        table = found.results()
        parts.append(table.add_column(0, "state", pa.repeat(state, table.num_rows)))
    return pa.concat_tables(parts)
