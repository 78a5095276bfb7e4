"""Results as documents, for the terminal and for pages: the index of all items, and one page per item."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape

from gedp._version import __version__
from gedp.documents import (
    Block,
    Charts,
    Document,
    Heading,
    Lines,
    OnPage,
    Paragraph,
    PrintedTable,
    blocks_html,
    table_html,
    to_html,
)
from gedp.markup import Html, html_table
from gedp.web import asset
from gedp_lab.reproduce.context import QCEW, Context
from gedp_lab.reproduce.results import (
    AGREES,
    DISAGREES,
    FAILED,
    IN_PART,
    PAPER,
    SKIPPED,
    CheckedClaim,
    Outcome,
    Result,
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
            _claims_held(each),
            f"{each.seconds:,.1f} s",
        ]
        for each in outcomes
    ]
    overview = html_table("Overview", ["item", "outcome", "claims", "time"], rows)
    document = Document(
        "The paper, computed anew",
        [
            Paragraph(
                "Webb, Protivash, Durrell, Slavković, Kifer, Toth: Statistics-Friendly Confidentiality Protection for "
                "Establishment Data, with Applications to the QCEW. Its tables, figures and claims, ours beside what "
                "is printed; the last item lists what is left out. Where we differ, the page says so with the numbers; "
                "nothing was tuned. The checks of a claim may look at the same releases, so each says how many "
                "independent ones there are."
            ),
            Paragraph(_about(context), "soft"),
            *(Paragraph(text, "warning") for text in _warnings(context)),
            Paragraph(f"{len(outcomes)} items: {counted}."),
            OnPage(f'<div class="overview">{overview}</div>'),
            *(OnPage(f"<section>{blocks_html(list(_section(each)))}</section>") for each in outcomes),
        ],
    )
    return to_html(document, style=asset("reproduce.css"))


def item_document(outcome: Outcome) -> Document:
    """One item with its tables and figures."""
    result = outcome.result
    charts = [Charts(result.figures)] if result.figures else []
    return Document(outcome.item.title, [*_summary(outcome), *map(_table, result.tables), *charts])


def item_page(context: Context, outcome: Outcome, *, stands_alone: bool = False) -> str:
    """The document as a page. One that stands alone has no link to the others."""
    document = item_document(outcome)
    link = [] if stands_alone else [OnPage('<nav><a href="index.html">All items</a></nav>')]
    about = Paragraph(f"gedp {__version__}." if stands_alone else _about(context), "soft")
    style = asset("reproduce.css") + asset("compare.css")
    return to_html(replace(document, blocks=[*link, *document.blocks, about]), style=style)


def outcome_blocks(outcomes: Sequence[Outcome]) -> Iterator[Block]:
    """One line per item, and every claim."""
    rows = [[each.item.name, each.result.verdict, f"{each.seconds:,.1f}", _note(each.result)] for each in outcomes]
    yield PrintedTable("", ("item", "outcome", "seconds", "ours"), rows, texts=("outcome", "ours"))
    claims = [f"{_said(claim, each.item.name)}" for each in outcomes for claim in each.result.claims]
    if claims:
        yield Heading("Claims, checked", 3)
        yield Lines(claims)


def _note(result: Result) -> str:
    return result.why if result.verdict in (SKIPPED, FAILED) else result.ours


def _section(outcome: Outcome) -> Iterator[Block]:
    result = outcome.result
    tables, figures = len(result.tables), len(result.figures)
    parts = [f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in ((tables, "table"), (figures, "figure"))]
    more = " and ".join(text for text, count in zip(parts, (tables, figures), strict=True) if count)
    yield Heading(outcome.item.title, anchor=outcome.item.name)
    yield from _summary(outcome)
    if more:
        yield OnPage(f'<p><a href="{outcome.item.name}.html">{more}</a></p>')


def _summary(outcome: Outcome) -> Iterator[Block]:
    """What is printed, what we get, whether that agrees, and every claim."""
    result = outcome.result
    said = {"Paper": result.printed, "Ours": result.ours, "Outcome": result.verdict, "Why": result.why}
    shown = {term: escape(text) for term, text in said.items() if text} | {"Outcome": _badge(result.verdict)}
    if result.links:
        links = (f'<a href="{escape(path)}">{escape(text)}</a>' for text, path in result.links.items())
        shown["More"] = " · ".join(links)
    shown["Time"] = f"{outcome.seconds:,.1f} s"
    listed = "".join(f"<dt>{term}</dt><dd>{text}</dd>" for term, text in shown.items())
    yield OnPage(f"<dl>{listed}</dl>", [Lines([f"{term}: {text}" for term, text in said.items() if text])])
    if result.claims:
        spoken = [f"{_said(each)}. {each.evidence}{drawn_from(each)}" for each in result.claims]
        yield OnPage(f'<ul class="claims">{"".join(map(_claim, result.claims))}</ul>', [Lines(spoken)])


def _claim(claim: CheckedClaim) -> str:
    reason = f'<p class="soft">Likely reason: {escape(claim.reason)}</p>' if claim.reason else ""
    whose = "" if claim.source == PAPER else ' <span class="soft">(our claim)</span>'
    return (
        f"<li><p>{_badge(claim.outcome)} <strong>{escape(claim.text)}.</strong>{whose}</p>"
        f"<p>{escape(claim.evidence)}{escape(drawn_from(claim))}</p>{reason}</li>"
    )


def _said(claim: CheckedClaim, item: str = "") -> str:
    return f"{claim.outcome:9}  {item}{': ' if item else ''}{claim.text} ({claim.source})"


def _claims_held(outcome: Outcome) -> str:
    claims = outcome.result.claims
    return f"{sum(each.outcome == AGREES for each in claims)} of {len(claims)} hold" if claims else "–"


def _table(table: PrintedTable) -> Block:
    """On the page, columns of numbers stay on their lines; columns of words do not."""
    wordy = any(len(cell) > WORDY for row in table.rows for cell in row)
    return OnPage(f'<div class="{"overview" if wordy else "numbers"}">{table_html(table)}</div>', [table])


def _badge(verdict: str) -> str:
    return f'<span class="verdict {verdict.replace(" ", "-")}">{escape(verdict)}</span>'


def _about(context: Context) -> str:
    where = f"synthetic states from {QCEW}: {', '.join(context.state_names)}" if context.qcew else "no QCEW file"
    return f"gedp {__version__}; {where}; {context.replicates} replicates, seed {context.seed}."


def _warnings(context: Context) -> Iterator[str]:
    if context.qcew is None:
        yield f"No {QCEW} was found: comparisons are of the demonstration state, and some items are skipped."
    if context.replicates < FEW:
        count = f"{context.replicates} replicate" + ("" if context.replicates == 1 else "s")
        yield f"With {count} what is claimed over replicates says little; the paper has 34."
