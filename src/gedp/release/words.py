"""What readers are told in: the names of the spec on a terminal, titles and numbers in words on a page."""

from collections.abc import Callable
from dataclasses import dataclass

from gedp.numbers import in_words, short
from gedp.release import Labels


@dataclass(frozen=True)
class Words:
    """How attributes, queries and numbers of so many digits are written."""

    attribute: Callable[[str], str] = str
    query: Callable[[str], str] = str
    number: Callable[[float, int], str] = short


AS_WRITTEN = Words()


def in_titles(labels: Labels) -> Words:
    """Titles where there are labels, and millions in words."""
    titles = {query.name: labels.of_query(query) for query in labels.spec.queries}
    return Words(labels.title, lambda name: titles.get(name, name), in_words)
