"""What the pages of results have in common: a stamp on every sheet, links, terms."""

from collections.abc import Sequence
from html import escape

from gedp.documents import Document, Heading, OnPage, to_html
from gedp_lab.evaluate.folder import Stamp


def stamped_page(document: Document, title: str, stamp: Stamp, style: str = "") -> str:
    """A page that says on its screen, on every sheet of paper and in its metadata who may see it."""
    name = f"{stamp.text}: {title}"
    return to_html(document, name=name, banner=stamp.banner, style=style, classification=stamp.text)


def links_to(headings: Sequence[Heading]) -> OnPage:
    """Links to parts of the page."""
    links = (f'<a href="#{heading.anchor}">{escape(heading.text)}</a>' for heading in headings)
    return OnPage(f'<nav class="soft">On this page: {" · ".join(links)}</nav>')


def defined(terms: Sequence[tuple[str, str]]) -> OnPage:
    """Terms with what is said of each, on the page alone."""
    listed = "".join(f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" for term, text in terms)
    return OnPage(f'<dl class="about">{listed}</dl>')
