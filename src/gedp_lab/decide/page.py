"""The page for a decision: promises, what is withheld, errors by size, what an attacker learns, and time."""

from collections.abc import Iterator, Mapping, Sequence

from gedp.documents import Block, Document, Heading, Paragraph, PrintedTable
from gedp.folding import Title
from gedp.numbers import short, short_share
from gedp.web import asset
from gedp_lab.baselines.strength import strength_text
from gedp_lab.compare import Comparison
from gedp_lab.compare.document import ABOUT_HEADING, about_blocks, count_of, time_rows
from gedp_lab.compare.workflows import GDP
from gedp_lab.decide.gather import AttributeFacts
from gedp_lab.decide.sizes import CellSizes, errors_by_size
from gedp_lab.decide.tables import (
    AUDIT_HEADINGS,
    GLANCE_HEADINGS,
    SUPPRESSION,
    audit_rows,
    glance_rows,
    largest_level,
    smallest_class,
    withheld_by_level,
)
from gedp_lab.decide.words import promise
from gedp_lab.evaluate.pages import defined, links_to, stamped_page
from gedp_lab.suppress.document import second_tables_of
from gedp_lab.suppress.study import PRIMARY, Pattern, SuppressionStudy

PAGE = "decision.html"


def decision_page(comparison: Comparison, facts: Mapping[str, AttributeFacts], title: Title = str) -> str:
    """One page for all attributes, each under its title."""
    headings = {name: Heading(title(name), anchor=f"a{place}") for place, name in enumerate(facts)}
    time = Heading("Time", anchor="time")
    times = time_rows(comparison)
    times += [
        [f"{title(name)}: {each.method}", f"{each.seconds + each.audit_seconds:.2g}"]
        for name, found in facts.items()
        for each in _patterns(found)
    ]
    document = Document(
        "Which method to publish with?",
        [
            Paragraph(
                "The same table by every method: what agencies use today, what others propose, and gedp. "
                f"{count_of(comparison)} where there is noise. Methods with a budget spend the same μ; where they "
                "protect differently, they protect the same at one size, the reference."
            ),
            Heading("What each promises"),
            _promises(comparison, facts),
            links_to([*headings.values(), time, ABOUT_HEADING]),
            *(
                block
                for name, heading in headings.items()
                for block in (heading, *_attribute(comparison, name, facts[name], title))
            ),
            time,
            PrintedTable(
                "Seconds: one replicate, drawn and fitted; suppression with its audit", ("method", "seconds"), times
            ),
            *about_blocks(comparison),
        ],
    )
    return stamped_page(document, "which method to publish with", comparison.stamp, style=asset("compare.css"))


def _promises(comparison: Comparison, facts: Mapping[str, AttributeFacts]) -> Block:
    names = [*dict.fromkeys(workflow.partition("+")[0] for workflow in comparison.order.workflows), SUPPRESSION]
    alphas = [each.reference.alpha for each in facts.values()]
    return defined([(name, promise(name, alphas)) for name in names])


def _attribute(comparison: Comparison, name: str, facts: AttributeFacts, title: Title) -> Iterator[Block]:
    classes, errors = errors_by_size(comparison, name)
    yield _glance(comparison, name, facts, classes.names[smallest_class(errors)])
    yield Heading("Share of figures withheld", 3)
    yield from _withheld(comparison, facts)
    yield Heading("Error by size of cell", 3)
    yield PrintedTable(
        "Median relative error, by true value of the cell",
        ("method", *classes.names),
        [[workflow, *map(short_share, found)] for workflow, found in errors.items()],
        "Of all cells of all levels: the error, averaged over replicates, over the true value; its median over the "
        "cells of a size.",
    )
    if facts.suppression is not None:
        yield _suppressed_by_size(facts.suppression, classes)
    yield _coarsest(comparison, name)
    yield Heading("What an attacker learns", 3)
    yield _strengths(facts, title(name))
    yield from _ezs(facts, title)
    yield from _audited(facts)


def _glance(comparison: Comparison, name: str, facts: AttributeFacts, small: str) -> PrintedTable:
    note = (
        f"Small cells: the median relative error of those {small}. Largest total: its mean absolute error. "
        "An attacker who knows all but one establishment guesses whether it has a value or one "
        f"{facts.reference.alpha:.0%} larger: 50% is blind, 100% certain."
    )
    rows = glance_rows(comparison, name, facts)
    return PrintedTable("At a glance", GLANCE_HEADINGS, rows, note, texts=("an attacker",))


def _withheld(comparison: Comparison, facts: AttributeFacts) -> Iterator[Block]:
    yield PrintedTable("Withheld, by level", *withheld_by_level(facts, comparison.order.levels))
    notes = [facts.left_out] if facts.left_out else list(facts.suppression.notes if facts.suppression else ())
    yield from (Paragraph(f"Left out: {note}.", "soft") for note in notes)


def _suppressed_by_size(study: SuppressionStudy, classes: CellSizes) -> PrintedTable:
    shown = study.tables.is_shown & (study.tables.values > 0)
    sizes = study.tables.values[shown]
    rows = [
        [each.method, *map(short_share, classes.shares(sizes, each.hidden[shown]))]
        for each in study.patterns
        if each.method != PRIMARY
    ]
    caption = "Suppression: share withheld by true value; the others are exact"
    return PrintedTable(caption, ("method", *classes.names), rows)


def _coarsest(comparison: Comparison, name: str) -> PrintedTable:
    """The largest total: where equal relative error hurts most."""
    level = largest_level(comparison, name)
    rows = []
    for workflow in comparison.order.workflows:
        line = comparison.line(workflow, name, level)
        bias = f"{short(line.bias, 3)} ± {short(line.bias_se or 0.0, 2)}"
        rows.append([workflow, short(line.mean_absolute, 3), bias])
    caption = f"The largest total ({level}): mean absolute error, and bias"
    return PrintedTable(caption, ("method", "error", "bias"), rows)


def _strengths(facts: AttributeFacts, heading: str) -> PrintedTable:
    reference = facts.reference
    alike = f"all but {GDP}" if any(name.partition("+")[0] == GDP for name in facts.strengths) else "all"
    headings = ("method", *(short(size, 2) for size in facts.sizes))
    rows = [[workflow, *map(strength_text, found)] for workflow, found in facts.strengths.items()]
    note = (
        "An attacker who knows all but one establishment wants to tell its value from one "
        f"{reference.alpha:.0%} larger. The μ of that, by its size: with 1 the better guess is right in 69% of cases, "
        f"with 2 in 84%, with 4 in 98%. At the reference, {short(reference.size, 3)}, {alike} protect the same "
        "interval."
    )
    return PrintedTable(f"μ between a value of {heading} and one {reference.alpha:.0%} larger", headings, rows, note)


def _ezs(facts: AttributeFacts, title: Title) -> Iterator[Paragraph]:
    for name, each in facts.ezs.items():
        text = (
            f"{name}: noise is bounded, so two values 10% apart are told apart with certainty in {each.told_apart:.0%} "
            "of cases, and no true value is within 9% of the published one."
        )
        if each.attack:
            text += (
                f" Factors are permanent: of {each.attack.cells:,} establishments that are alone in a finest cell, who "
                f"knows {title(each.known)} finds {title(each.found)} exactly for {each.attack.exact:,}, and to "
                f"within one unit or 1% for {each.attack.near:,}."
            )
        yield Paragraph(text)


def _audited(facts: AttributeFacts) -> Iterator[Block]:
    if (study := facts.suppression) is None:
        return
    note = (
        f"Suppression by the rule {study.rule}, audited by linear programs. Unsafe: sensitive cells that the published "
        "ones pin down more closely than the rule allows. Exact: withheld cells whose value follows. Interval: the "
        "median width of what an attacker must think possible, relative to the value."
    )
    yield PrintedTable("What an attacker derives after suppression", AUDIT_HEADINGS, audit_rows(study), note)
    yield from second_tables_of(study)


def _patterns(facts: AttributeFacts) -> Sequence[Pattern]:
    return () if facts.suppression is None else facts.suppression.patterns
