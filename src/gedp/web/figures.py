"""Static matplotlib figures as SVG, for self-contained pages."""

import io
from html import escape

import matplotlib as mpl
from matplotlib.figure import Figure


def inline_svg(figure: Figure, label: str) -> str:
    """A figure as SVG inside the page, with `label` as its alternative text."""
    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "gedp", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    opening = f'<svg role="img" aria-label="{escape(label)}"'
    return f"<figure>{opening}{svg[svg.index('<svg') + len('<svg') :]}</figure>"
