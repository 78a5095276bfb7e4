"""The index of all items, and a page for each with its tables and figures. Nothing is fetched."""

from collections.abc import Sequence
from html import escape

from gedp._version import __version__
from gedp.markup import Html, html_table
from gedp.web import asset, page
from gedp_lab.reproduce.context import QCEW, Context
from gedp_lab.reproduce.results import (
    AGREES,
    DISAGREES,
    FAILED,
    IN_PART,
    PAPER,
    SKIPPED,
    CheckedClaim,
    Figure,
    Outcome,
    ResultTable,
    drawn_from,
)

FEW = 10  # replicates: below that, standard errors mean little
WORDY = 60  # characters of a cell
ORDER = (AGREES, IN_PART, DISAGREES, SKIPPED, FAILED)


def index_page(context: Context, outcomes: Sequence[Outcome]) -> str:
    """What the paper printed, what we get, and whether it agrees, item by item."""
    counts = [(verdict, sum(each.result.verdict == verdict for each in outcomes)) for verdict in ORDER]
    counted = ", ".join(f"{count} {verdict}" for verdict, count in counts if count)
    rows = [
        [
            Html(f'<a href="#{each.item.name}">{escape(each.item.title)}</a>'),
            Html(_badge(each.result.verdict)),
            Html(_claims_held(each)),
            f"{each.seconds:,.1f} s",
        ]
        for each in outcomes
    ]
    parts = [
        "<h1>The paper, computed anew</h1>",
        "<p>Webb, Protivash, Durrell, Slavković, Kifer, Toth: <em>Statistics-Friendly Confidentiality Protection for "
        "Establishment Data, with Applications to the QCEW</em>. Its tables, figures and claims, ours beside what is "
        "printed; the last item lists what is left out. Where we differ, the page says so with the numbers; nothing "
        "was tuned. The checks of a claim may look at the same releases, so each says how many independent ones there "
        "are.</p>",
        f'<p class="soft">{_about(context)}</p>',
        *(f"<p><strong>{escape(text)}</strong></p>" for text in _warnings(context)),
        f"<p>{escape(f'{len(outcomes)} items: {counted}.')}</p>",
        f'<div class="overview">{html_table("Overview", ["item", "outcome", "claims", "time"], rows)}</div>',
        *(_section(each) for each in outcomes),
    ]
    return page("gedp: the paper, computed anew", "\n".join(parts), style=asset("reproduce.css"))


def item_page(context: Context, outcome: Outcome, *, stands_alone: bool = False) -> str:
    """One item with its tables and figures. One that stands alone has no link to the others."""
    result = outcome.result
    parts = [
        "" if stands_alone else '<nav><a href="index.html">All items</a></nav>',
        f"<h1>{escape(outcome.item.title)}</h1>",
        _summary(outcome),
        _claims(result.claims),
        *map(_table, result.tables),
        f'<div class="charts">{"".join(map(_figure, result.figures))}</div>' if result.figures else "",
        f'<p class="soft">{f"gedp {__version__}." if stands_alone else _about(context)}</p>',
    ]
    style = asset("reproduce.css") + asset("compare.css")
    return page(f"gedp: {outcome.item.title}", "\n".join(filter(None, parts)), style=style)


def _section(outcome: Outcome) -> str:
    result = outcome.result
    tables, figures = len(result.tables), len(result.figures)
    parts = [f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in ((tables, "table"), (figures, "figure"))]
    more = " and ".join(text for text, count in zip(parts, (tables, figures), strict=True) if count)
    link = f'<p><a href="{outcome.item.name}.html">{more}</a></p>' if more else ""
    heading = f'<h2 id="{outcome.item.name}">{escape(outcome.item.title)}</h2>'
    return f"<section>{heading}{_summary(outcome)}{_claims(result.claims)}{link}</section>"


def _summary(outcome: Outcome) -> str:
    result = outcome.result
    lines = [("Paper", escape(result.printed)), ("Ours", escape(result.ours)), ("Outcome", _badge(result.verdict))]
    if result.why:
        lines.append(("Why", escape(result.why)))
    if result.links:
        links = (f'<a href="{escape(path)}">{escape(text)}</a>' for text, path in result.links.items())
        lines.append(("More", " · ".join(links)))
    lines.append(("Time", f"{outcome.seconds:,.1f} s"))
    return f"<dl>{''.join(f'<dt>{name}</dt><dd>{text}</dd>' for name, text in lines)}</dl>"


def _claims(claims: Sequence[CheckedClaim]) -> str:
    if not claims:
        return ""
    lines = []
    for each in claims:
        reason = f'<p class="soft">Likely reason: {escape(each.reason)}</p>' if each.reason else ""
        whose = "" if each.source == PAPER else ' <span class="soft">(our claim)</span>'
        lines.append(
            f"<li><p>{_badge(each.outcome)} <strong>{escape(each.text)}.</strong>{whose}</p>"
            f"<p>{escape(each.evidence)}{escape(drawn_from(each))}</p>{reason}</li>"
        )
    return f'<ul class="claims">{"".join(lines)}</ul>'


def _claims_held(outcome: Outcome) -> str:
    claims = outcome.result.claims
    return f"{sum(each.outcome == AGREES for each in claims)} of {len(claims)} hold" if claims else "–"


def _table(table: ResultTable) -> str:
    """Columns of numbers stay on their lines; columns of words do not."""
    drawn = html_table(table.caption, table.headings, table.rows)
    wordy = any(len(cell) > WORDY for row in table.rows for cell in row)
    note = f'<p class="soft">{escape(table.note)}</p>' if table.note else ""
    return f'<div class="{"overview" if wordy else "numbers"}">{drawn}</div>{note}'


def _figure(figure: Figure) -> str:
    wide = ' class="wide"' if figure.svg.startswith("<figure") else ""
    return f"<figure{wide}>{figure.svg}<figcaption>{escape(figure.caption)}</figcaption></figure>"


def _badge(verdict: str) -> str:
    return f'<span class="verdict {verdict.replace(" ", "-")}">{escape(verdict)}</span>'


def _about(context: Context) -> str:
    where = f"synthetic states from {QCEW}: {', '.join(context.state_names)}" if context.qcew else "no QCEW file"
    return f"gedp {__version__}; {escape(where)}; {context.replicates} replicates, seed {context.seed}."


def _warnings(context: Context) -> list[str]:
    texts = []
    if context.qcew is None:
        texts.append(f"No {QCEW} was found: comparisons are of the demonstration state, and some items are skipped.")
    if context.replicates < FEW:
        count = f"{context.replicates} replicate" + ("" if context.replicates == 1 else "s")
        texts.append(f"With {count} what is claimed over replicates says little; the paper has 34.")
    return texts
