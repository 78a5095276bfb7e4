"""Self-contained HTML pages: style, script and data in one file, nothing fetched."""

import json
from collections.abc import Sequence
from html import escape
from importlib import resources
from string import Template


def asset(name: str) -> str:
    """The text of a file beside this module."""
    return (resources.files(__name__) / name).read_text(encoding="utf-8")


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
