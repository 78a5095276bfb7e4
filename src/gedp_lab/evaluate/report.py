"""An evaluation to look at: tables on the terminal, and one self-contained page with the paper's pictures."""

import math
from collections.abc import Iterator, Sequence
from html import escape

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from gedp.markup import html_table
from gedp.numbers import short, short_share
from gedp.web import page
from gedp_lab.evaluate.baseline import Baseline
from gedp_lab.evaluate.figures import difference_boxes, relative_plot, scatter
from gedp_lab.evaluate.folder import Stamp
from gedp_lab.evaluate.groups import ComparedGroups
from gedp_lab.evaluate.metrics import largest_errors, size_order
from gedp_lab.evaluate.results import EvaluationResults
from gedp_lab.evaluate.sharpened import EXPLANATION as SHARPENED_EXPLANATION
from gedp_lab.evaluate.sharpened import HEADINGS as SHARPENED_HEADINGS
from gedp_lab.evaluate.sharpened import sharpened_rows

DRAWN_FROM = 20  # groups: fewer are in the table, and a plot of them says nothing more
WORST_SHOWN = 3

HEADINGS = (
    "level",
    "groups",
    "lower quartile",
    "median",
    "upper quartile",
    "mean",
    "mean abs.",
    "median rel.",
    "≤3%",
    "≤10%",
    "covered",
    "answers",
)


def number(value: float) -> str:
    """Whole from 100 on, else three digits; a dash where there is none."""
    if math.isnan(value):
        return "–"
    text = f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:.3g}"
    return text.replace("-", "−")


def error_rows(evaluation: EvaluationResults, attribute: str) -> list[list[str]]:
    """The errors of one attribute, a row for each level, under HEADINGS."""
    rows = []
    for each in evaluation.of(attribute):
        errors = each.errors()
        answers = [found.errors().covered for found in evaluation.answers_at(each.level, attribute)]
        differences = (errors.lower_quartile, errors.median, errors.upper_quartile, errors.mean)
        rows.append(
            [
                each.level.name,
                f"{errors.groups:,}",
                *(short(difference, 3) for difference in differences),
                short(errors.mean_absolute, 3),
                short_share(errors.median_relative),
                short_share(errors.within_3),
                short_share(errors.within_10),
                short_share(errors.covered),
                ", ".join(map(short_share, answers)),
            ]
        )
    return rows


def print_evaluation(console: Console, evaluation: EvaluationResults) -> None:
    """Prints the summary on the terminal."""
    for attribute in evaluation.attributes:
        title = f"{attribute}: protected − true ({evaluation.stamp.text})"
        table = _table(title, ("level", "groups", "Q1", "Q2", "Q3", "mean", "rel.", "≤3%", "≤10%", "cover", "raw"))
        for each in evaluation.of(attribute):
            errors = each.errors()
            answers = [found.errors().covered for found in evaluation.answers_at(each.level, attribute)]
            differences = (errors.lower_quartile, errors.median, errors.upper_quartile, errors.mean)
            shares = (errors.median_relative, errors.within_3, errors.within_10, errors.covered, *answers[:1])
            numbers = (short(difference, 2) for difference in differences)
            table.add_row(each.level.name, f"{errors.groups:,}", *numbers, *map(short_share, shares))
        console.print(table)
        if rows := sharpened_rows(evaluation.comparisons, attribute):
            table = _table(f"{attribute}: direct → with earlier releases, by a model", SHARPENED_HEADINGS)
            for row in rows:
                table.add_row(*row)
            console.print(table)
    for baseline, found in evaluation.beside:
        for attribute in evaluation.attributes:
            table = _table(f"{attribute} {baseline.title}", baseline.narrow_headings)
            for row in _rows_beside(baseline, found, attribute):
                table.add_row(*row)
            console.print(table)


def _table(title: str, headings: Sequence[str]) -> Table:
    """Narrow enough for 80 characters."""
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "level" else "right", no_wrap=True)
    return table


def evaluation_page(evaluation: EvaluationResults) -> str:
    """The whole page as HTML."""
    stamp, manifest = evaluation.stamp, evaluation.release.manifest
    parts = [
        "<h1>How far is the release from the truth?</h1>",
        f"<p>{escape(str(evaluation.release.folder))}, made {manifest.created:%Y-%m-%d}: "
        f"{manifest.establishments:,} establishments, μ = {manifest.prices.total.mu:.4g}, microdata fitted with "
        f"{escape(evaluation.weights)} weights.</p>",
    ]
    if manifest.is_seeded:
        parts.append("<p><strong>NOT PROTECTED: the noise of this release came from a seed.</strong></p>")
    parts.append(_reading(evaluation))
    links = [f'<a href="#a{i}">{escape(name)}</a>' for i, name in enumerate(evaluation.attributes)]
    parts.append(f'<nav class="soft">On this page: {" · ".join(links)}</nav>')
    for place, attribute in enumerate(evaluation.attributes):
        parts += _attribute(evaluation, attribute, f"a{place}")
    return stamped_page("evaluation of a release", "\n".join(parts), stamp)


def stamped_page(title: str, body: str, stamp: Stamp) -> str:
    """A page that says on its screen, on every sheet of paper and in its metadata who may see it."""
    whole = f"{stamp.banner}<main>{body}</main>"
    return page(f"{stamp.text}: {title}", whole, classification=stamp.text)


def _reading(evaluation: EvaluationResults) -> str:
    confidence = f"{100 * evaluation.confidence:g}%"
    return (
        "<p>A difference is protected − true, so negative where the release is too low. Relative error is "
        "|protected − true| / (|true| + 1). ≤3% and ≤10% are shares of groups that are so close to the truth. "
        f"<em>Covered</em> is the share of groups whose {confidence} interval from the microdata holds the truth, "
        f"<em>answers</em> the same for the intervals as released, where the level was measured: both should be near "
        f"{confidence}, but the groups of one release err together, so one release may be some way off.</p>"
    )


def _attribute(evaluation: EvaluationResults, attribute: str, anchor: str) -> list[str]:
    comparisons = evaluation.of(attribute)
    drawn = [c for c in comparisons if c.groups >= DRAWN_FROM] or [max(comparisons, key=lambda c: c.groups)]
    return [
        f'<h2 id="{anchor}">{escape(attribute)}</h2>',
        html_table(
            "Protected − true: quartiles and mean; absolute and relative errors; intervals",
            HEADINGS,
            error_rows(evaluation, attribute),
        ),
        "<h3>Signed differences</h3>",
        '<figure class="boxes">'
        + difference_boxes(comparisons, attribute)
        + "<figcaption>Median, quartiles, whiskers and outliers; the number of groups in brackets. The scale is linear "
        "around 0 and logarithmic beyond.</figcaption></figure>",
        "<h3>Protected against true</h3>",
        '<p class="soft">The band is ±3% of the true value; groups outside it are red. Values below the axis are at '
        "its end.</p>",
        _charts(drawn, [scatter(c) for c in drawn], [f"{c.errors().within_3:.0%} within 3%" for c in drawn]),
        "<h3>Relative error against size</h3>",
        '<p class="soft">A point is a group. The line joins medians of half decades.</p>',
        _charts(
            drawn,
            [relative_plot(c) for c in drawn],
            [f"median {short_share(c.errors().median_relative)}" for c in drawn],
        ),
        "<h3>Error by size of group</h3>",
        _by_size(comparisons),
        "<h3>Where it is furthest off</h3>",
        _worst(comparisons),
        *_sharpened(evaluation, attribute),
        *_beside(evaluation, attribute),
    ]


def _charts(comparisons: Sequence[ComparedGroups], drawings: Sequence[str], notes: Sequence[str]) -> str:
    figures = [
        f"<figure>{drawing}<figcaption>{escape(each.level.name)}: {note}</figcaption></figure>"
        for each, drawing, note in zip(comparisons, drawings, notes, strict=True)
    ]
    return f'<div class="charts">{"".join(figures)}</div>'


def _by_size(comparisons: Sequence[ComparedGroups]) -> str:
    found = [(each.level.name, each.errors_by_size()) for each in comparisons]
    sizes = size_order([size for _, by_size in found for size in by_size])
    rows = [
        [name, *(f"{short_share(e.median_relative)} of {e.groups:,}" if (e := by_size.get(s)) else "" for s in sizes)]
        for name, by_size in found
    ]
    return html_table("Median relative error, and number of groups, by true value", ["level", *sizes], rows)


def _worst(comparisons: Sequence[ComparedGroups]) -> str:
    rows = []
    for each in comparisons:
        codes = each.codes()
        for place in largest_errors(each.truth, each.protected, WORST_SHOWN):
            values = str(codes[int(place)]).split(",")
            keys = ", ".join(f"{key} {value}" for key, value in zip(each.level.by, values, strict=False)) or "all"
            true, protected = float(each.truth[place]), float(each.protected[place])
            difference = number(protected - true)
            relative = short_share(abs(protected - true) / (abs(true) + 1))
            rows.append([each.level.name, keys, number(true), number(protected), difference, relative])
    headings = ["level", "group", "true", "protected", "difference", "relative error"]
    return html_table(f"The {WORST_SHOWN} largest differences of each level", headings, rows)


def _rows_beside(baseline: Baseline, found: pa.Table, attribute: str) -> list[list[str]]:
    return [baseline.texts(line) for line in found.to_pylist() if line["attribute"] == attribute]


def _sharpened(evaluation: EvaluationResults, attribute: str) -> Iterator[str]:
    if rows := sharpened_rows(evaluation.comparisons, attribute):
        yield "<h3>With earlier releases</h3>"
        yield html_table(SHARPENED_EXPLANATION, SHARPENED_HEADINGS, rows)


def _beside(evaluation: EvaluationResults, attribute: str) -> Iterator[str]:
    for baseline, found in evaluation.beside:
        yield f"<h3>Beside {baseline.name}</h3>"
        yield html_table(baseline.explanation, baseline.headings, _rows_beside(baseline, found, attribute))
