"""The README of a package shows texts of a spec sign by sign: as an independent reader of Markdown renders it."""

from html import unescape
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import gedp
from gedp.publication.markdown import plain
from tests.helpers.builder import JOBS, spec_of, table_of

RENDERER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
HOSTILE = [
    "</script><script>alert(1)</script>",
    "# Not a heading #",
    "a | b **bold** _em_ `code` ~~gone~~",
    "[official](https://evil.example.org) ![x](https://evil.example.org/x.png) <https://evil.example.org>",
    "&lt;b&gt; R&D \\*",
    "1. first",
    "- item",
    "--- + ***",
    "https://example.org/a_b#c",
]
signs = st.sampled_from([*"\\`*_{}[]()#+-.!<>&|~$:=\"'/ \n\t\u2028ab1é", "<b>", "&amp;", "](", "```", "    ", "1. "])


@given(st.lists(signs, max_size=12).map("".join))
@example("a | b\n--- | ---\nc | d")
def test_any_text_is_shown_as_it_is(text: str) -> None:
    expected = " ".join(text.split())
    before, after = "<ul>\n<li>", "</li>\n</ul>\n"
    shown = RENDERER.render(f"- {plain(text)}\n")
    assert shown.startswith(before)
    assert shown.endswith(after)
    inside = shown.removeprefix(before).removesuffix(after)
    assert "<" not in inside
    assert unescape(inside) == expected


@pytest.mark.parametrize("text", HOSTILE)
def test_titles_are_no_markup_in_the_readme(text: str, tmp_path: Path) -> None:
    spec = spec_of(
        attributes=JOBS,
        queries=[
            {"name": "identity", "by": "establishment", "mu": 3},
            {"name": "county", "by": ["cnty"], "mu": 1, "title": text},
        ],
        labels={"emp": text, "cnty": text},
        publication=dict.fromkeys(("title", "publisher", "contact", "licence"), text),
    )
    release = gedp.run(spec, table_of(), out=tmp_path / "out", seed=1, answers_only=True)
    gedp.publish(release, tmp_path / "p", formats=["csv"])
    shown = RENDERER.render((tmp_path / "p" / "README.md").read_text(encoding="utf-8"))
    tags = {piece.split(">")[0].strip("/") for piece in shown.split("<")[1:]}
    assert tags == {"h1", "h2", "p", "ul", "li", "code"}
    assert f"<h1>{text}</h1>" in unescape(shown)
    assert f"Published by {text}. Contact: {text}. Licence: {text}." in unescape(shown)
    assert f"<li>{text}: 3 groups" in unescape(shown)
