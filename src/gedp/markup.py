"""Tables in HTML, as notebooks and pages show them."""

from collections.abc import Collection, Sequence
from html import escape


class Html(str):
    """A text that is HTML already, so that `html_table` does not escape it."""


def html_table(
    caption: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    footer: Sequence[str] | None = None,
    texts: Collection[str] = (),
) -> str:
    """A plain table of texts, escaped unless they are HTML. Columns under the headings `texts` are flush left."""
    kinds = [' class="text"' if heading in texts else "" for heading in headings]

    def row(cells: Sequence[str], tag: str = "td") -> str:
        written = [cell if isinstance(cell, Html) else escape(cell) for cell in cells]
        tags = [tag if cell else "td" for cell in written]  # a heading says something
        marked = zip(tags, kinds, written, strict=True)
        return "<tr>" + "".join(f"<{tag}{kind}>{cell}</{tag}>" for tag, kind, cell in marked) + "</tr>"

    foot = f"<tfoot>{row(footer)}</tfoot>" if footer else ""
    named = f'tabindex="0" role="group" aria-label="{escape(caption) or "Table"}"'  # a keyboard can scroll it
    return (
        f'<div class="scroll" {named}><table><caption>{escape(caption)}</caption><thead>{row(headings, "th")}</thead>'
        f"<tbody>{''.join(map(row, rows))}</tbody>{foot}</table></div>"
    )
