"""A document as a self-contained page."""

from collections.abc import Sequence
from html import escape

from gedp import web
from gedp.documents.blocks import (
    Block,
    Chart,
    Charts,
    Document,
    Heading,
    Lines,
    OnPage,
    Paragraph,
    PrintedTable,
    without_empty,
)
from gedp.markup import html_table


def to_html(
    document: Document,
    *,
    name: str = "",
    banner: str = "",
    style: str = "",
    script: str = "",
    data: object = None,
    classification: str = "",
) -> str:
    """The whole page. A browser calls it by its `name`, or else by the title of the document.

    `banner` is HTML above everything else; the rest is as `web.page` takes it.
    """
    body = f"{banner}<main>\n<h1>{escape(document.title)}</h1>\n{blocks_html(document.blocks)}\n</main>"
    called = name or f"gedp: {document.title}"
    return web.page(called, body, style=style, script=script, data=data, classification=classification)


def blocks_html(blocks: Sequence[Block]) -> str:
    """Some blocks as HTML, for a page that is put together otherwise."""
    return "\n".join(map(_html, without_empty(blocks)))


def table_html(table: PrintedTable) -> str:
    """A table as HTML, with its note."""
    drawn = html_table(table.caption, table.headings, table.rows, table.footer, table.texts)
    return drawn + (_html(Paragraph(table.note, "soft")) if table.note else "")


def _html(block: Block) -> str:
    match block:
        case Heading(text, level, anchor):
            named = f' id="{escape(anchor)}"' if anchor else ""
            return f"<h{level}{named}>{escape(text)}</h{level}>"
        case Paragraph(text, "warning"):
            return web.warnings([text])
        case Paragraph(text, style):
            return f'<p class="{style}">{escape(text)}</p>' if style else f"<p>{escape(text)}</p>"
        case Lines(texts):
            return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>"
        case PrintedTable():
            return table_html(block)
        case Charts(charts):
            return f'<div class="charts">{"".join(map(_chart, charts))}</div>'
        case OnPage(html):
            return html


def _chart(chart: Chart) -> str:
    style = f' class="{chart.style}"' if chart.style else ""
    caption = f"<figcaption>{escape(chart.caption)}</figcaption>" if chart.caption else ""
    return f"<figure{style}>{chart.svg}{caption}</figure>"
