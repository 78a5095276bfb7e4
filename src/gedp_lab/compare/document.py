"""A comparison as one document, for the terminal and for a page of its own."""

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape

from gedp._version import __version__
from gedp.documents import Block, Chart, Charts, Document, Heading, OnPage, Paragraph, PrintedTable, table_html
from gedp.numbers import short, short_share
from gedp.web import asset
from gedp_lab.compare.figures import KINDS, error_boxes, sweep_lines
from gedp_lab.compare.results import CONFIDENCE, ComparisonResults, Line
from gedp_lab.compare.sweeps import TOTAL
from gedp_lab.evaluate.metrics import ROUNDING
from gedp_lab.evaluate.pages import defined, links_to, stamped_page

ABOUT = {
    "table": "table",
    "budget_mu": "budget (mu)",
    "settings": "settings",
    "workflows": "workflows",
    "attributes": "attributes",
    "levels": "levels",
    "left_out": "not compared",
    "replicates": "replicates",
    "seed": "seed",
    "gedp": "gedp",
    "created": "date",
}
TEXTS = ("level", "setting", "winner", "runner-up", "workflow")
DRAWN_FROM = 4  # groups: a box of fewer says less than their numbers
TIMES = "Seconds for one replicate: drawing and fitting"
ABOUT_HEADING = Heading("What was compared", anchor="about")


def comparison_document(comparison: ComparisonResults) -> Document:
    """Errors, winners, bias and coverage of every attribute, and how long it took."""
    attributes = comparison.order.attributes
    headings = [Heading(name, anchor=f"a{place}") for place, name in enumerate(attributes)]
    time = Heading("Time", anchor="time")
    return Document(
        "Which workflow is closest to the truth?",
        [
            Paragraph(
                f"The same table and budget through {', '.join(comparison.order.workflows)}: {count_of(comparison)}, "
                "each with noise of its own."
            ),
            *(Paragraph(f"Not compared: {left_out}.") for left_out in comparison.about.get("left_out", ())),
            Paragraph(_reading(comparison), "soft"),
            links_to([*headings, time, ABOUT_HEADING]),
            *(block for heading in headings for block in (heading, *_attribute(comparison, heading.text))),
            time,
            PrintedTable(
                "Seconds for one replicate: drawing and fitting", ("workflow", "seconds"), time_rows(comparison)
            ),
            *about_blocks(comparison),
        ],
    )


def comparison_page(comparison: ComparisonResults) -> str:
    """The document as a page."""
    document = comparison_document(comparison)
    return stamped_page(document, "comparison of workflows", comparison.stamp, style=asset("compare.css"))


def count_of(comparison: ComparisonResults) -> str:
    """The number of replicates, in words."""
    return f"{comparison.replicates} replicate" + ("s" if comparison.replicates > 1 else "")


def _reading(comparison: ComparisonResults) -> str:
    return (
        "The error of a group is protected − true. Its absolute value is averaged over the replicates; the tables "
        "have the median and the mean of that over the groups of a level. A workflow wins a level with the least mean; "
        "its error says how much larger that of the runner-up is, and beyond chance whether the difference, by "
        f"replicates, is more than chance explains ({CONFIDENCE:.0%}). Covered is the share of groups whose "
        f"{100 * comparison.confidence:g}% interval holds the truth."
    )


def _attribute(comparison: ComparisonResults, attribute: str) -> Iterator[Block]:
    def table(caption: str, text: Callable[[Line], str]) -> PrintedTable:
        headings = ["level", _second_heading(comparison), *comparison.order.workflows]
        return PrintedTable(f"{attribute}: {caption}", headings, _rows(comparison, attribute, text), texts=TEXTS)

    if len(comparison.order.settings) > 1:
        yield from _sweeps(comparison, attribute)
    yield table("absolute error of a group, median / mean over the groups", _errors)
    yield PrintedTable(
        f"{attribute}: who has the least mean absolute error",
        ("level", _second_heading(comparison), "winner", "runner-up", "its error", "beyond chance"),
        _winner_rows(comparison, attribute),
        texts=TEXTS,
    )
    if len(comparison.order.settings) == 1:
        yield from _boxes(comparison, attribute)
    if comparison.replicates > 1:
        yield table("mean error of a group ± its standard error", _bias)
        biased = table(
            "share of groups whose mean error is beyond chance; without bias about 5%", lambda line: _share(line.biased)
        )
        yield OnPage(table_html(biased))
    yield table("covered", lambda line: _share(line.coverage))


def _rows(comparison: ComparisonResults, attribute: str, text: Callable[[Line], str]) -> list[list[str]]:
    """A row for each level (and setting) with a text for each workflow that answers it."""
    order, rows = comparison.order, []
    for level in comparison.levels_of(attribute):
        for setting in order.settings:
            lines = comparison.lines_at(attribute, level, setting)
            texts = (text(lines[workflow]) if workflow in lines else "–" for workflow in order.workflows)
            rows.append([level, _second(comparison, next(iter(lines.values()))), *texts])
    return rows


def _winner_rows(comparison: ComparisonResults, attribute: str) -> list[list[str]]:
    """Winner, runner-up, by how much, and whether that is beyond chance."""
    rows = []
    for winner in (each for each in comparison.winners if each.attribute == attribute):
        line = comparison.line(winner.workflow, attribute, winner.level, winner.setting)
        gain = f"+{short_share(winner.gain)}" if winner.runner_up else "–"
        names = [winner.level, _second(comparison, line), winner.workflow, winner.runner_up or "–"]
        rows.append([*names, gain, "yes" if winner.sure else "no"])
    return rows


def time_rows(comparison: ComparisonResults) -> list[list[str]]:
    """A row for each workflow under `workflow` and `seconds`."""
    return [[workflow, f"{seconds:.2g}"] for workflow, seconds in comparison.times.items()]


def _second_heading(comparison: ComparisonResults) -> str:
    """What tells lines of the same level apart, if anything does."""
    return "setting" if len(comparison.order.settings) > 1 else "groups"


def _second(comparison: ComparisonResults, line: Line) -> str:
    return line.setting if len(comparison.order.settings) > 1 else f"{line.groups:,}"


def _boxes(comparison: ComparisonResults, attribute: str) -> Iterator[Block]:
    """A figure for each level with enough groups."""
    charts = []
    for level in comparison.levels_of(attribute):
        names = [name for name in comparison.order.workflows if name in comparison.lines_at(attribute, level)]
        groups = comparison.line(names[0], attribute, level).groups
        if groups >= DRAWN_FROM:
            found = {name: comparison.groups_of(name, attribute, level)["mean_absolute"].to_numpy() for name in names}
            charts.append(Chart(error_boxes(found, attribute, level), f"{level}: {groups:,} groups", "boxes"))
    if charts:
        said = "A box is of the mean absolute errors of the groups: median, quartiles, whiskers and outliers."
        yield OnPage(f'<h3>Errors of the groups</h3><p class="soft">{said}</p>')
        yield Charts(charts)


def _sweeps(comparison: ComparisonResults, attribute: str) -> Iterator[Block]:
    """A figure for each level: one line per workflow."""
    order, charts = comparison.order, []
    what, values = _swept(comparison)
    for level in comparison.levels_of(attribute):
        errors = {
            workflow: [comparison.line(workflow, attribute, level, s).mean_absolute for s in order.settings]
            for workflow in comparison.lines_at(attribute, level)
        }
        charts.append(Chart(sweep_lines(values, errors, what, attribute, level), level))
    yield OnPage(f"<h3>Error against {escape(what)}</h3>{_legend(order.workflows)}")
    yield Charts(charts)


def _swept(comparison: ComparisonResults) -> tuple[str, list[float]]:
    """What the settings differ in, and its values."""
    parts = [setting.rpartition("=") for setting in comparison.order.settings]
    what = parts[0][0]
    return what if what == TOTAL else f"share of {what.replace(':', ' ', 1)}", [float(value) for _, _, value in parts]


def _legend(workflows: Sequence[str]) -> str:
    """Which line is whose; the lines themselves are in every figure's words."""
    keys = [
        f'<li><svg aria-hidden="true" viewBox="0 0 52 12"><path class="flow flow{i % KINDS}" d="M0 6H52"/></svg>'
        f"{escape(name)}</li>"
        for i, name in enumerate(workflows)
    ]
    return f'<ul class="keys">{"".join(keys)}</ul>'


def about_blocks(comparison: ComparisonResults) -> Iterator[Block]:
    """What the comparison is of: everything that it takes to repeat it, but the table."""
    about = {"replicates": comparison.replicates, "gedp": __version__, **comparison.about}
    said = [(heading, _said(about[name])) for name, heading in ABOUT.items() if about.get(name, []) != []]
    yield ABOUT_HEADING
    yield defined(said)
    if "spec" in about:
        yield OnPage(f'<h3>The spec</h3><div class="scroll"><pre>{escape(about["spec"])}</pre></div>')


def _said(value: object) -> str:
    if value is None:
        return "none"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _errors(line: Line) -> str:
    return f"{short(line.median_absolute, 3)} / {short(line.mean_absolute, 3)}"


def _bias(line: Line) -> str:
    """Groups that are fitted to known totals have a bias of 0, but for rounding."""
    numbers = (line.bias, line.bias_se or 0.0)
    return " ± ".join(short(number if abs(number) > ROUNDING * line.mean_absolute else 0.0, 3) for number in numbers)


def _share(value: float | None) -> str:
    return short_share(math.nan if value is None else value)
