"""A comparison as one self-contained page."""

import math
from collections.abc import Callable
from html import escape

import numpy as np
import pyarrow.compute

from gedp._version import __version__
from gedp.arrays import FloatArray
from gedp.markup import html_table
from gedp.numbers import short, short_share
from gedp.web import asset
from gedp_lab.compare.figures import KINDS, error_boxes, sweep_lines
from gedp_lab.compare.results import CONFIDENCE, ComparisonResults, Line
from gedp_lab.compare.sweeps import TOTAL
from gedp_lab.compare.terminal import TEXTS, rows_of, second_heading, times, winner_headings, winner_rows
from gedp_lab.evaluate.report import stamped_page

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
DRAWN_FROM = 4  # groups: a box of fewer says less than their numbers


def comparison_page(comparison: ComparisonResults) -> str:
    """Tables and figures for every attribute."""
    order = comparison.order
    count = f"{comparison.replicates} replicate" + ("s" if comparison.replicates > 1 else "")
    flows = ", ".join(order.workflows)
    parts = [
        f"<style>{asset('compare.css')}</style>",
        "<h1>Which workflow is closest to the truth?</h1>",
        f"<p>The same table and budget through {escape(flows)}: {count}, each with noise of its own.</p>",
        _reading(comparison),
    ]
    links = [f'<a href="#a{i}">{escape(name)}</a>' for i, name in enumerate(order.attributes)]
    links += ['<a href="#time">time</a>', '<a href="#about">what was compared</a>']
    parts.append(f'<nav class="soft">On this page: {" · ".join(links)}</nav>')
    for place, attribute in enumerate(order.attributes):
        parts += _attribute(comparison, attribute, f"a{place}")
    rows = [[workflow, f"{seconds:.2g}"] for workflow, seconds in times(comparison)]
    parts.append('<h2 id="time">Time</h2>')
    parts.append(html_table("Seconds for one replicate: drawing and fitting", ["workflow", "seconds"], rows))
    parts.append(about_section(comparison))
    return stamped_page("comparison of workflows", "\n".join(parts), comparison.stamp)


def _reading(comparison: ComparisonResults) -> str:
    chance = f"{CONFIDENCE:.0%}"
    return (
        "<p>The error of a group is protected − true. Its absolute value is averaged over the replicates; the tables "
        "have the median and the mean of that over the groups of a level. A workflow wins a level with the least mean; "
        "<em>its error</em> says how much larger that of the runner-up is, and <em>beyond chance</em> whether the "
        f"difference, by replicates, is more than chance explains ({chance}). <em>Covered</em> is the share of "
        f"groups whose {100 * comparison.confidence:g}% interval holds the truth.</p>"
    )


def _attribute(comparison: ComparisonResults, attribute: str, anchor: str) -> list[str]:
    errors = [
        _table(comparison, attribute, "Absolute error of a group: median / mean over the groups", _errors),
        _winners(comparison, attribute),
    ]
    if len(comparison.order.settings) > 1:
        heading = f"<h3>Error against {escape(_swept(comparison)[0])}</h3>"
        errors = [heading, _legend(comparison), _sweeps(comparison, attribute), *errors]
    else:
        errors += [
            "<h3>Errors of the groups</h3>",
            '<p class="soft">A box is of the mean absolute errors of the groups: median, quartiles, whiskers '
            "and outliers.</p>",
            _boxes(comparison, attribute),
        ]
    parts = [f'<h2 id="{anchor}">{escape(attribute)}</h2>', *errors, "<h3>Bias and coverage</h3>"]
    if comparison.replicates > 1:
        caption = "Mean error of a group ± its standard error"
        parts.append(_table(comparison, attribute, caption, _bias))
        caption = "Share of groups whose mean error is beyond chance; without bias it would be about 5%"
        parts.append(_table(comparison, attribute, caption, lambda line: _share(line.biased)))
    parts.append(_table(comparison, attribute, "Covered", lambda line: _share(line.coverage)))
    return parts


def _table(comparison: ComparisonResults, attribute: str, caption: str, text: Callable[[Line], str]) -> str:
    headings = ["level", second_heading(comparison), *comparison.order.workflows]
    return html_table(caption, headings, rows_of(comparison, attribute, text), texts=TEXTS)


def _winners(comparison: ComparisonResults, attribute: str) -> str:
    caption = "Who has the least mean absolute error"
    return html_table(caption, winner_headings(comparison), winner_rows(comparison, attribute), texts=TEXTS)


def _boxes(comparison: ComparisonResults, attribute: str) -> str:
    """A figure for each level with enough groups."""
    figures = []
    for level in comparison.levels_of(attribute):
        names = [name for name in comparison.order.workflows if name in comparison.lines_at(attribute, level)]
        found = {name: _of_groups(comparison, name, attribute, level) for name in names}
        groups = len(next(iter(found.values())))
        if groups >= DRAWN_FROM:
            caption = f"<figcaption>{escape(level)}: {groups:,} groups</figcaption>"
            figures.append(f'<figure class="boxes">{error_boxes(found, attribute, level)}{caption}</figure>')
    return f'<div class="charts">{"".join(figures)}</div>' if figures else "<p>No level has enough groups.</p>"


def _of_groups(comparison: ComparisonResults, workflow: str, attribute: str, level: str) -> FloatArray:
    table, same = comparison.per_group, pyarrow.compute.equal
    wanted = [same(table["workflow"], workflow), same(table["attribute"], attribute), same(table["level"], level)]
    rows = table.filter(pyarrow.compute.and_(pyarrow.compute.and_(*wanted[:2]), wanted[2]))
    return np.asarray(rows["mean_absolute"].to_numpy(), dtype=np.float64)


def _sweeps(comparison: ComparisonResults, attribute: str) -> str:
    """A figure for each level: one line per workflow."""
    order, figures = comparison.order, []
    what, values = _swept(comparison)
    for level in comparison.levels_of(attribute):
        errors = {
            workflow: [comparison.line(workflow, attribute, level, s).mean_absolute for s in order.settings]
            for workflow in comparison.lines_at(attribute, level)
        }
        drawn = sweep_lines(values, errors, what, attribute, level)
        figures.append(f"<figure>{drawn}<figcaption>{escape(level)}</figcaption></figure>")
    return f'<div class="charts">{"".join(figures)}</div>'


def _swept(comparison: ComparisonResults) -> tuple[str, list[float]]:
    """What the settings differ in, and its values."""
    parts = [setting.rpartition("=") for setting in comparison.order.settings]
    what = parts[0][0]
    return what if what == TOTAL else f"share of {what.replace(':', ' ', 1)}", [float(value) for _, _, value in parts]


def _legend(comparison: ComparisonResults) -> str:
    """Which line is whose; the lines themselves are in every figure's words."""
    keys = [
        f'<li><svg aria-hidden="true" viewBox="0 0 52 12"><path class="flow flow{i % KINDS}" d="M0 6H52"/></svg>'
        f"{escape(name)}</li>"
        for i, name in enumerate(comparison.order.workflows)
    ]
    return f'<ul class="keys">{"".join(keys)}</ul>'


def about_section(comparison: ComparisonResults) -> str:
    """What the comparison is of: everything that it takes to repeat it, but the table."""
    about = {"replicates": comparison.replicates, "gedp": __version__, **comparison.about}
    said = [(heading, _said(about[name])) for name, heading in ABOUT.items() if about.get(name, []) != []]
    listed = "".join(f"<dt>{escape(heading)}</dt><dd>{escape(text)}</dd>" for heading, text in said)
    spec = f'<h3>The spec</h3><div class="scroll"><pre>{escape(about["spec"])}</pre></div>' if "spec" in about else ""
    return f'<h2 id="about">What was compared</h2><dl class="about">{listed}</dl>{spec}'


def _said(value: object) -> str:
    if value is None:
        return "none"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _errors(line: Line) -> str:
    return f"{short(line.median_absolute, 3)} / {short(line.mean_absolute, 3)}"


def _bias(line: Line) -> str:
    return f"{short(line.bias, 3)} ± {short(line.bias_se or 0.0, 3)}"


def _share(value: float | None) -> str:
    return short_share(math.nan if value is None else value)
