"""An evaluation as one document: tables for the terminal and the page, and the paper's pictures on the page."""

import math
from collections.abc import Callable, Iterator, Sequence

from gedp.documents import Block, Chart, Charts, Document, Heading, OnPage, Paragraph, PrintedTable, blocks_html
from gedp.numbers import short, short_share
from gedp_lab.evaluate.figures import difference_boxes, relative_plot, scatter
from gedp_lab.evaluate.groups import ComparedGroups
from gedp_lab.evaluate.metrics import largest_errors, size_order
from gedp_lab.evaluate.pages import links_to, stamped_page
from gedp_lab.evaluate.results import EvaluationResults
from gedp_lab.evaluate.sharpened import EXPLANATION as SHARPENED_EXPLANATION
from gedp_lab.evaluate.sharpened import HEADINGS as SHARPENED_HEADINGS
from gedp_lab.evaluate.sharpened import sharpened_rows

DRAWN_FROM = 20  # groups: fewer are in the table, and a plot of them says nothing more
WORST_SHOWN = 3

HEADINGS = ("level", "groups", "Q1", "Q2", "Q3", "mean", "mean abs.", "rel.", "≤3%", "≤10%", "cover", "raw")


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
                *(short(difference, 2) for difference in differences),
                short(errors.mean_absolute, 2),
                short_share(errors.median_relative),
                short_share(errors.within_3),
                short_share(errors.within_10),
                short_share(errors.covered),
                ", ".join(map(short_share, answers)),
            ]
        )
    return rows


def evaluation_document(evaluation: EvaluationResults) -> Document:
    """Tables and pictures of every attribute."""
    manifest = evaluation.release.manifest
    headings = [Heading(name, anchor=f"a{place}") for place, name in enumerate(evaluation.attributes)]
    about = (
        f"{evaluation.release.folder}, made {manifest.created:%Y-%m-%d}: {manifest.establishments:,} establishments, "
        f"μ = {manifest.prices.total.mu:.4g}, microdata fitted with {evaluation.weights} weights."
    )
    seeded = Paragraph("NOT PROTECTED: the noise of this release came from a seed.", "warning")
    return Document(
        "How far is the release from the truth?",
        [
            Paragraph(about),
            *([OnPage(blocks_html([seeded]))] if manifest.is_seeded else []),  # the command says so at its end
            Paragraph(_reading(evaluation), "soft"),
            links_to(headings),
            *(block for heading in headings for block in (heading, *_attribute(evaluation, heading.text))),
        ],
    )


def evaluation_page(evaluation: EvaluationResults) -> str:
    """The document as a page."""
    return stamped_page(evaluation_document(evaluation), "evaluation of a release", evaluation.stamp)


def _reading(evaluation: EvaluationResults) -> str:
    confidence = f"{100 * evaluation.confidence:g}%"
    return (
        "A difference is protected − true, so negative where the release is too low: quartiles (Q), mean, mean "
        "absolute value. Relative error (its median) is |protected − true| / (|true| + 1). ≤3% and ≤10% are shares of "
        f"groups that are so close to the truth. Cover is the share of groups whose {confidence} interval from the "
        "microdata holds the truth, raw the same for the answers as released, where the level was measured: both "
        f"should be near {confidence}, but the groups of one release err together, so one release may be some way off."
    )


def _attribute(evaluation: EvaluationResults, attribute: str) -> Iterator[Block]:
    comparisons = evaluation.of(attribute)
    yield PrintedTable(f"{attribute}: protected − true", HEADINGS, error_rows(evaluation, attribute))
    yield OnPage(blocks_html([*_pictures(comparisons, attribute), *_by_size(comparisons), *_worst(comparisons)]))
    if rows := sharpened_rows(evaluation.comparisons, attribute):
        yield Heading("With earlier releases", 3)
        yield PrintedTable(f"{attribute}: {SHARPENED_EXPLANATION}", SHARPENED_HEADINGS, rows)
    for baseline, found in evaluation.beside:
        rows = [baseline.texts(line) for line in found.to_pylist() if line["attribute"] == attribute]
        yield Heading(f"Beside {baseline.name}", 3)
        yield PrintedTable(f"{attribute}: {baseline.explanation}", baseline.headings, rows)


def _pictures(comparisons: Sequence[ComparedGroups], attribute: str) -> Iterator[Block]:
    drawn = [c for c in comparisons if c.groups >= DRAWN_FROM] or [max(comparisons, key=lambda c: c.groups)]

    def charts(draw: Callable[[ComparedGroups], str], note: Callable[[ComparedGroups], str]) -> Charts:
        return Charts([Chart(draw(each), f"{each.level.name}: {note(each)}") for each in drawn])

    explained = (
        "Median, quartiles, whiskers and outliers; the number of groups in brackets. The scale is linear around 0 and "
        "logarithmic beyond."
    )
    yield Heading("Signed differences", 3)
    yield Charts([Chart(difference_boxes(comparisons, attribute), explained, "boxes")])
    yield Heading("Protected against true", 3)
    yield Paragraph(
        "The band is ±3% of the true value; groups outside it are red. Values below the axis are at its end.", "soft"
    )
    yield charts(scatter, lambda each: f"{each.errors().within_3:.0%} within 3%")
    yield Heading("Relative error against size", 3)
    yield Paragraph("A point is a group. The line joins medians of half decades.", "soft")
    yield charts(relative_plot, lambda each: f"median {short_share(each.errors().median_relative)}")


def _by_size(comparisons: Sequence[ComparedGroups]) -> Iterator[Block]:
    found = [(each.level.name, each.errors_by_size()) for each in comparisons]
    sizes = size_order([size for _, by_size in found for size in by_size])
    rows = [
        [name, *(f"{short_share(e.median_relative)} of {e.groups:,}" if (e := by_size.get(s)) else "" for s in sizes)]
        for name, by_size in found
    ]
    yield Heading("Error by size of group", 3)
    yield PrintedTable("Median relative error, and number of groups, by true value", ["level", *sizes], rows)


def _worst(comparisons: Sequence[ComparedGroups]) -> Iterator[Block]:
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
    yield Heading("Where it is furthest off", 3)
    yield PrintedTable(f"The {WORST_SHOWN} largest differences of each level", headings, rows)
