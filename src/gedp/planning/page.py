"""A plan as a self-contained page: relative errors by size of cell, errors by μ, and the tables of the terminal."""

from html import escape

import numpy as np

from gedp import web
from gedp.arrays import FloatArray
from gedp.numbers import short, short_share
from gedp.planning.layouts import layouts, sources_sentence
from gedp.planning.plan import ExpectedErrors, Plan
from gedp.web.svg import Axis, Panel


def plan_page(plan: Plan, title: str) -> str:
    """The whole page as HTML."""
    parts = [
        f"<main><h1>Errors to expect: {escape(title)}</h1>",
        f'<p class="promise">{escape(sources_sentence(plan))}</p>',
    ]
    for attribute in plan.spec.asked:
        tables = [each for each in plan.tables if each.attribute == attribute]
        figures = "".join(_cells(each) for each in tables)
        parts.append(f'<h2>{escape(attribute)}: every cell</h2><div class="charts">{figures}</div>')
        if len(_by_mu(plan, tables[0])) > 1:
            figures = "".join(_trade_off(plan, each) for each in tables)
            parts.append(f'<h2>{escape(attribute)}: mean error by μ</h2><div class="charts">{figures}</div>')
    parts.append("<h2>In numbers</h2>")
    for layout in layouts(plan):
        parts.append(web.table(layout.caption, layout.headings, layout.rows, texts=layout.texts))
        parts.append(f'<p class="soft">{escape(layout.note)}</p>')
    return web.page(f"gedp plan: {title}", "\n".join([*parts, "</main>"]))


def _cells(each: ExpectedErrors) -> str:
    some = (each.totals > 0) & np.isfinite(each.relative_errors) & (each.relative_errors > 0)
    cells = "1 cell" if each.cells == 1 else f"{each.cells:,} cells"
    caption = f"{each.query}: {cells}, the middle one ± {short_share(each.relative_error)}"
    if not some.any():
        return ""
    x, y = each.totals[some], each.relative_errors[some]
    panel = Panel(_axis("total of the cell", x), _axis("relative error", y, share=True))
    label = f"Relative standard error against size of the cells of {each.query}, {each.attribute}"
    drawn = panel.drawn([panel.points(x, y, "point-in")], label)
    return f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"


def _trade_off(plan: Plan, each: ExpectedErrors) -> str:
    points = _by_mu(plan, each)
    mus, errors = (np.array(side) for side in zip(*sorted(points.items()), strict=True))
    panel = Panel(_axis("mu of the whole release", mus), _axis("mean standard error", errors))
    marks = [panel.line(mus, errors, "line-now"), panel.points(mus, errors, "point-in")]
    marks.append(panel.points(np.array([plan.mu]), np.array([each.error]), "point-out"))
    label = f"Mean standard error of {each.query}, {each.attribute}, by mu"
    caption = f"{each.query} (red: as the spec says)"
    return f"<figure>{panel.drawn(marks, label)}<figcaption>{escape(caption)}</figcaption></figure>"


def _by_mu(plan: Plan, each: ExpectedErrors) -> dict[float, float]:
    others = {s.mu: s.errors[each.query, each.attribute] for s in plan.settings if s.gamma_times == 1}
    return {**others, plan.mu: each.error}


def _axis(title: str, values: FloatArray, *, share: bool = False) -> Axis:
    """A logarithmic axis that holds the values, from one power of ten to another."""
    low, high = 10 ** np.floor(np.log10(values.min())), 10 ** np.ceil(np.log10(values.max()))
    ends = float(low), float(high if high > low else 10 * low)
    return Axis(title, *ends, text=lambda tick: f"{short(100 * tick)}%") if share else Axis(title, *ends)
