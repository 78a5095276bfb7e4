"""The page of the desk: what does not change while one looks at tables. The rest is made by its scripts."""

from html import escape

from gedp.desk.source import DeskSource
from gedp.publication.formats import FORMATS
from gedp.release.notices import SEEDED
from gedp.web import fill

MADE = (
    "This page was made from the release alone: it holds no confidential value, and looking at tables costs no budget."
)
FINISHED = (
    "These are the finished tables of a package: they can be chosen, filtered, sorted, drawn and taken away, with "
    "figures, flags and rounding as published. Other tables cannot be made from it, since nothing here is added up; "
    "the publisher can make them from the release. The page holds no confidential value."
)


def desk_page(source: DeskSource) -> str:
    """The page as HTML, every text escaped."""
    facts = source.facts
    kinds = {True: 'class="banner" role="alert"', False: 'class="note"'}
    banners = [f"<p {kinds[text == SEEDED]}>{escape(text)}</p>" for text in facts.warnings]
    return fill(
        "desk.html",
        title=escape(facts.title),
        kicker="Not protected" if facts.is_seeded else "Protected statistics",
        made=escape(facts.made),
        banners="".join(banners),
        protection="".join(f"<li>{escape(text)}</li>" for text in facts.protection),
        quality="".join(
            f"<li><strong>{escape(name)}</strong>: {escape(said)}</li>" for name, said in facts.quality.items()
        ),
        limits=FINISHED if facts.is_finished else MADE,
        citation=escape(facts.citation),
        downloads="\n".join(
            f'<a id="as-{each.name}" href="api/table.{each.name}">{each.title}</a>' for each in FORMATS if each.as_file
        ),
    )
