"""The page for a decision: promises, what is withheld, errors by size, what an attacker learns, and time."""

from collections.abc import Mapping, Sequence
from html import escape

from gedp.folding import Title
from gedp.markup import html_table
from gedp.numbers import short, short_share
from gedp.web import asset
from gedp_lab.baselines.strength import strength_text
from gedp_lab.compare import Comparison
from gedp_lab.compare.page import about_section
from gedp_lab.compare.terminal import times
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
from gedp_lab.evaluate.report import stamped_page
from gedp_lab.suppress.study import PRIMARY, Pattern, SuppressionStudy
from gedp_lab.suppress.terminal import SECOND_HEADINGS, second_rows

PAGE = "decision.html"


def decision_page(comparison: Comparison, facts: Mapping[str, AttributeFacts], title: Title = str) -> str:
    """One page for all attributes, each under its title."""
    attributes = list(facts)
    links = [f'<a href="#a{place}">{escape(title(name))}</a>' for place, name in enumerate(attributes)]
    links += ['<a href="#time">time</a>', '<a href="#about">what was compared</a>']
    count = f"{comparison.replicates} replicate" + ("s" if comparison.replicates > 1 else "")
    parts = [
        f"<style>{asset('compare.css')}</style>",
        "<h1>Which method to publish with?</h1>",
        "<p>The same table by every method: what agencies use today, what others propose, and gedp. "
        f"{count} where there is noise. Methods with a budget spend the same μ; where they protect differently, they "
        "protect the same at one size, the reference.</p>",
        _promises(comparison, facts),
        f'<nav class="soft">On this page: {" · ".join(links)}</nav>',
    ]
    for place, name in enumerate(attributes):
        parts += _attribute(comparison, name, facts[name], f"a{place}", title)
    rows = [[workflow, f"{seconds:.2g}"] for workflow, seconds in times(comparison)]
    rows += [
        [f"{title(name)}: {each.method}", f"{each.seconds + each.audit_seconds:.2g}"]
        for name in attributes
        for each in _patterns(facts[name])
    ]
    parts.append('<h2 id="time">Time</h2>')
    parts.append(html_table("Seconds: one replicate, drawn and fitted; suppression with its audit", _TIME, rows))
    parts.append(about_section(comparison))
    return stamped_page("which method to publish with", "\n".join(parts), comparison.stamp)


_TIME = ("method", "seconds")


def _promises(comparison: Comparison, facts: Mapping[str, AttributeFacts]) -> str:
    names = [*dict.fromkeys(workflow.partition("+")[0] for workflow in comparison.order.workflows), SUPPRESSION]
    alphas = [each.reference.alpha for each in facts.values()]
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(promise(name, alphas))}</dd>" for name in names)
    return f'<h2>What each promises</h2><dl class="about">{listed}</dl>'


def _attribute(comparison: Comparison, name: str, facts: AttributeFacts, anchor: str, title: Title) -> list[str]:
    classes, errors = errors_by_size(comparison, name)
    parts = [
        f'<h2 id="{anchor}">{escape(title(name))}</h2>',
        _glance(comparison, name, facts, classes.names[smallest_class(errors)]),
        "<h3>Share of figures withheld</h3>",
        _withheld(comparison, facts),
    ]
    rows = [[workflow, *map(short_share, found)] for workflow, found in errors.items()]
    parts += [
        "<h3>Error by size of cell</h3>",
        '<p class="soft">Of all cells of all levels: the error, averaged over replicates, over the true value; '
        "its median over the cells of a size.</p>",
        html_table("Median relative error, by true value of the cell", ("method", *classes.names), rows),
    ]
    if facts.suppression is not None:
        parts.append(_suppressed_by_size(facts.suppression, classes))
    parts += [_coarsest(comparison, name), "<h3>What an attacker learns</h3>", _strengths(facts, title(name))]
    return [*parts, *_ezs(facts, title), *_audited(facts)]


def _glance(comparison: Comparison, name: str, facts: AttributeFacts, small: str) -> str:
    text = (
        f"Small cells: the median relative error of those {small}. Largest total: its mean absolute error. "
        "An attacker who knows all but one establishment guesses whether it has a value or one "
        f"{facts.reference.alpha:.0%} larger: 50% is blind, 100% certain."
    )
    rows = glance_rows(comparison, name, facts)
    table = html_table("At a glance", GLANCE_HEADINGS, rows, texts=("an attacker",))
    return f'{table}<p class="soft">{escape(text)}</p>'


def _withheld(comparison: Comparison, facts: AttributeFacts) -> str:
    headings, rows = withheld_by_level(facts, comparison.order.levels)
    notes = [facts.left_out] if facts.left_out else list(facts.suppression.notes if facts.suppression else ())
    left_out = "".join(f'<p class="soft">Left out: {escape(note)}.</p>' for note in notes)
    return html_table("Withheld, by level", headings, rows) + left_out


def _suppressed_by_size(study: SuppressionStudy, classes: CellSizes) -> str:
    shown = study.tables.is_shown & (study.tables.values > 0)
    sizes = study.tables.values[shown]
    rows = [
        [each.method, *map(short_share, classes.shares(sizes, each.hidden[shown]))]
        for each in study.patterns
        if each.method != PRIMARY
    ]
    return html_table(
        "Suppression: share withheld by true value; the others are exact", ("method", *classes.names), rows
    )


def _coarsest(comparison: Comparison, name: str) -> str:
    """The largest total: where equal relative error hurts most."""
    level = largest_level(comparison, name)
    rows = []
    for workflow in comparison.order.workflows:
        line = comparison.line(workflow, name, level)
        bias = f"{short(line.bias, 3)} ± {short(line.bias_se or 0.0, 2)}"
        rows.append([workflow, short(line.mean_absolute, 3), bias])
    return html_table(f"The largest total ({level}): mean absolute error, and bias", ("method", "error", "bias"), rows)


def _strengths(facts: AttributeFacts, heading: str) -> str:
    reference = facts.reference
    alike = f"all but {GDP}" if any(name.partition("+")[0] == GDP for name in facts.strengths) else "all"
    headings = ("method", *(short(size, 2) for size in facts.sizes))
    rows = [[workflow, *map(strength_text, found)] for workflow, found in facts.strengths.items()]
    text = (
        f'<p class="soft">An attacker who knows all but one establishment wants to tell its value from one '
        f"{reference.alpha:.0%} larger. The μ of that, by its size: with 1 the better guess is right in 69% of cases, "
        f"with 2 in 84%, with 4 in 98%. At the reference, {short(reference.size, 3)}, {alike} protect the same "
        "interval.</p>"
    )
    return text + html_table(f"μ between a value of {heading} and one {reference.alpha:.0%} larger", headings, rows)


def _ezs(facts: AttributeFacts, title: Title) -> list[str]:
    texts = []
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
        texts.append(f"<p>{escape(text)}</p>")
    return texts


def _audited(facts: AttributeFacts) -> list[str]:
    study = facts.suppression
    if study is None:
        return []
    text = (
        f"Suppression by the rule {study.rule}, audited by linear programs. Unsafe: sensitive cells that the published "
        "ones pin down more closely than the rule allows. Exact: withheld cells whose value follows. Interval: the "
        "median width of what an attacker must think possible, relative to the value."
    )
    parts = [
        f'<p class="soft">{escape(text)}</p>',
        html_table("What an attacker derives after suppression", AUDIT_HEADINGS, audit_rows(study)),
    ]
    rows = second_rows(study)
    if rows:
        caption = "Two publishers: a second table, safe by itself, and how many sensitive cells of the first it opens"
        parts.append(html_table(caption, SECOND_HEADINGS, rows))
    return parts


def _patterns(facts: AttributeFacts) -> Sequence[Pattern]:
    return () if facts.suppression is None else facts.suppression.patterns
