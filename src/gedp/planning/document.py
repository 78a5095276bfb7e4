"""A plan as a document: relative errors by size of cell, errors by μ, and both in numbers."""

import math

import numpy as np

from gedp.arrays import FloatArray
from gedp.documents import Block, Chart, Charts, Document, Heading, Paragraph, to_html
from gedp.numbers import short_share
from gedp.planning.layouts import guess_sentence, layouts, named_together, sources_sentence
from gedp.planning.plan import ExpectedErrors, Plan
from gedp.release import Labels
from gedp.release.words import AS_WRITTEN, Words, in_titles
from gedp.web.svg import Axis, Panel

#: Relative errors are drawn between these: what is beyond is at the edge.
LEAST_SHARE, MOST_SHARE = 1e-4, 10.0


def plan_page(plan: Plan, title: str) -> str:
    """The whole page as HTML."""
    return to_html(plan_document(plan, title, in_titles(Labels(plan.spec))), name=f"gedp plan: {title}")


def plan_document(plan: Plan, title: str, words: Words = AS_WRITTEN) -> Document:
    """What errors to expect, what dropping a table would change, and what other settings would."""
    said = filter(None, (sources_sentence(plan, words), guess_sentence(plan, words)))
    blocks: list[Block] = [Paragraph(sentence, "promise") for sentence in said]
    for attribute, heading in named_together(plan, words).items():
        tables = [(words.query(each.query), each) for each in plan.tables if each.attribute == attribute]
        shown = heading[0].upper() + heading[1:]
        cells = (_cells(query, heading, each) for query, each in tables)
        blocks += [Heading(f"{shown}: every cell"), Charts([*filter(None, cells)])]
        if len(_by_mu(plan, tables[0][1])) > 1:
            lines = (_trade_off(plan, query, heading, each) for query, each in tables)
            blocks += [Heading(f"{shown}: mean error by μ"), Charts([*filter(None, lines)])]
    return Document(f"Errors to expect: {title}", [*blocks, Heading("In numbers"), *layouts(plan, words)])


def _cells(query: str, heading: str, each: ExpectedErrors) -> Chart | None:
    some = (each.totals > 0) & np.isfinite(each.relative_errors) & (each.relative_errors > 0)
    cells = "1 cell" if each.cells == 1 else f"{each.cells:,} cells"
    caption = f"{query}: {cells}, the middle one ± {short_share(each.relative_error)}"
    if not some.any():
        return None
    x, y = each.totals[some], each.relative_errors[some]
    if beyond := int(np.sum(y > MOST_SHARE)):
        caption += f"; {beyond:,} above {short_share(MOST_SHARE)} at the upper edge"
    shares = _axis("relative error", np.clip(y, LEAST_SHARE, MOST_SHARE), share=True)
    panel = Panel(_axis("total of the cell", x), shares)
    label = f"Relative standard error against size of the cells of {query}, {heading}"
    drawn = panel.drawn([panel.points(x, y, "point-in")], label)
    return Chart(drawn, caption)


def _trade_off(plan: Plan, query: str, heading: str, each: ExpectedErrors) -> Chart | None:
    points = {mu: error for mu, error in _by_mu(plan, each).items() if 0 < error < math.inf}
    if not points:
        return None
    mus, errors = (np.array(side) for side in zip(*sorted(points.items()), strict=True))
    panel = Panel(_axis("mu of the whole release", mus), _axis("mean standard error", errors))
    marks = [panel.line(mus, errors, "line-now"), panel.points(mus, errors, "point-in")]
    marks.append(panel.ring(plan.mu, each.error, "ring"))
    label = f"Mean standard error of {query}, {heading}, by mu"
    return Chart(panel.drawn(marks, label), f"{query} (ring: as the spec says)")


def _by_mu(plan: Plan, each: ExpectedErrors) -> dict[float, float]:
    others = {s.mu: s.errors[each.query, each.attribute] for s in plan.settings if s.gamma_times == 1}
    return {**others, plan.mu: each.error}


def _axis(title: str, values: FloatArray, *, share: bool = False) -> Axis:
    """A logarithmic axis that holds the values, from one power of ten to another."""
    low, high = (float(10**end) for end in (np.floor(np.log10(values.min())), np.ceil(np.log10(values.max()))))
    if share:
        return Axis(title, low if low < high else high / 10, high, text=short_share)
    return Axis(title, low, high if low < high else 10 * low)
