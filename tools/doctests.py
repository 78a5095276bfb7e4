"""Shows the examples in docstrings as code: an extension of griffe, which reads docstrings for the Python reference."""

from typing import Any

from griffe import Extension, Object

from tools.site import fenced


class Doctests(Extension):
    """Puts fences around lines that start with >>> and what they print."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Is called for every function, class and attribute."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)
