"""Self-contained HTML pages: style, script and data in one file, nothing fetched."""

import json
from collections.abc import Collection, Sequence
from html import escape
from importlib import resources
from string import Template


def asset(name: str) -> str:
    """The text of a file beside this module."""
    return (resources.files(__name__) / name).read_text(encoding="utf-8")


class Html(str):
    """A text that is HTML already, so that `table` does not escape it."""


def page(
    title: str, body: str, *, style: str = "", script: str = "", data: object = None, classification: str = ""
) -> str:
    """A whole page. `style` adds to that of all pages; `data` is there for the script under the id "data".

    `classification` says who may see the page.
    """
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',
        *([f'<meta name="classification" content="{escape(classification)}">'] if classification else []),
        f"<title>{escape(title)}</title>",
        f"<style>\n{asset('page.css')}{style}</style></head><body>",
        body,
    ]
    if data is not None:
        in_script = json.dumps(data, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
        parts.append(f'<script type="application/json" id="data">{in_script}</script>')
    if script:
        parts.append(f"<script>\n{script}</script>")
    return "\n".join([*parts, "</body></html>", ""])


def fill(template: str, **values: str) -> str:
    """A template of this folder with its $names replaced; the values must be HTML already."""
    return Template(asset(template)).substitute(values)


def warnings(texts: Sequence[str]) -> str:
    """Warnings as HTML, each a paragraph that screen readers announce."""
    return "".join(f'<p class="warning" role="alert"><strong>Warning:</strong> {escape(text)}</p>' for text in texts)


def table(
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
