"""A comparison as tables on the terminal, 80 characters wide with the usual workflows."""

import math
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table

from gedp.numbers import short, short_share
from gedp_lab.compare.results import ComparisonResults, Line

TEXTS = ("level", "setting", "winner", "runner-up", "workflow")
WIDEST = 400  # characters: with many workflows, lines go on in the next rather than lose numbers
COARSE = 100  # groups: up to so many, a bias would show in published totals


def print_comparison(console: Console, comparison: ComparisonResults) -> None:
    """Prints errors, bias and winners of every attribute, and how long it took."""
    for left_out in comparison.about.get("left_out", ()):
        console.print(f"Not compared: {left_out}.", soft_wrap=True, markup=False)
    for attribute in comparison.order.attributes:
        about = f"{attribute} ({comparison.stamp.text})"
        headings = ("level", second_heading(comparison), *comparison.order.workflows)
        title = f"{about}: absolute error of a group, median / mean over the groups"
        _print(console, title, headings, rows_of(comparison, attribute, error_text))
        if comparison.replicates > 1:
            title = f"{about}: mean error of a group ± its standard error, coarse levels"
            _print(console, title, headings, rows_of(comparison, attribute, bias_text, most_groups=COARSE))
        title = f"{about}: who has the least mean absolute error"
        _print(console, title, winner_headings(comparison), winner_rows(comparison, attribute))
    rows = [[workflow, f"{seconds:.2g}"] for workflow, seconds in times(comparison)]
    _print(console, "Seconds for one replicate: drawing and fitting", ("workflow", "seconds"), rows)


def error_text(line: Line) -> str:
    """Median and mean absolute error of a line, in one cell of a table."""
    return f"{short(line.median_absolute, 2)} / {short(line.mean_absolute, 2)}"


def bias_text(line: Line) -> str:
    """Mean error of a group and its standard error."""
    return short(line.bias, 2) if line.bias_se is None else f"{short(line.bias, 2)} ±{short(line.bias_se, 2)}"


def rows_of(
    comparison: ComparisonResults, attribute: str, text: Callable[[Line], str], most_groups: float = math.inf
) -> list[list[str]]:
    """A row for each level (and setting) with a text for each workflow; of levels with at most so many groups."""
    order, rows = comparison.order, []
    for level in comparison.levels_of(attribute):
        for setting in order.settings:
            lines = comparison.lines_at(attribute, level, setting)
            first = next(iter(lines.values()))
            if first.groups <= most_groups:
                texts = (text(lines[workflow]) if workflow in lines else "–" for workflow in order.workflows)
                rows.append([level, _second(comparison, first), *texts])
    return rows


def winner_headings(comparison: ComparisonResults) -> tuple[str, ...]:
    """The headings over `winner_rows`."""
    return ("level", second_heading(comparison), "winner", "runner-up", "its error", "beyond chance")


def winner_rows(comparison: ComparisonResults, attribute: str) -> list[list[str]]:
    """Winner, runner-up, by how much, and whether that is beyond chance."""
    rows = []
    for level in comparison.order.levels:
        for winner in comparison.winners:
            if (winner.attribute, winner.level) == (attribute, level):
                second = _second(comparison, comparison.line(winner.workflow, attribute, level, winner.setting))
                gain = f"+{short_share(winner.gain)}" if winner.runner_up else "–"
                sure = "yes" if winner.sure else "no"
                rows.append([level, second, winner.workflow, winner.runner_up or "–", gain, sure])
    return rows


def times(comparison: ComparisonResults) -> list[tuple[str, float]]:
    """For each workflow the seconds of one replicate, all attributes together, averaged over settings."""
    found = []
    for workflow in comparison.order.workflows:
        by_setting = {line.setting: line.seconds for line in comparison.lines if line.workflow == workflow}
        if by_setting:
            found.append((workflow, sum(by_setting.values()) / len(by_setting)))
    return found


def second_heading(comparison: ComparisonResults) -> str:
    """What tells lines of the same level apart, if anything does."""
    return "setting" if len(comparison.order.settings) > 1 else "groups"


def _second(comparison: ComparisonResults, line: Line) -> str:
    return line.setting if len(comparison.order.settings) > 1 else f"{line.groups:,}"


def _print(console: Console, title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if not rows:
        return
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in TEXTS else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console.print(title, soft_wrap=True)
    console.print(table)
    console.print()
