"""Shows the examples in docstrings as code: an extension of griffe, which reads docstrings for the Python reference."""

import re
from typing import Any

from griffe import Extension, Object

EXAMPLE = re.compile(r"(?:^>>> .*\n?(?:^(?!>>> )\S.*\n?|^>>> .*\n?)*)+", re.MULTILINE)


class Doctests(Extension):
    """Puts fences around lines that start with >>> and what they print."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Is called for every function, class and attribute."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The text with its examples in fences."""
    return EXAMPLE.sub(lambda match: f"```pycon\n{match[0].rstrip()}\n```\n", text)
