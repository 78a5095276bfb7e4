"""Documents: content that is stated once, and shown on a terminal or as a page.

blocks     what a document is made of
page       a document as HTML
terminal   a document on a terminal
"""

from gedp.documents.blocks import Block, Chart, Charts, Document, Heading, Lines, OnPage, Paragraph, PrintedTable
from gedp.documents.page import blocks_html, table_html, to_html

__all__ = [
    "Block",
    "Chart",
    "Charts",
    "Document",
    "Heading",
    "Lines",
    "OnPage",
    "Paragraph",
    "PrintedTable",
    "blocks_html",
    "table_html",
    "to_html",
]
