"""Texts as a page of Markdown shows them sign by sign, whatever is in them: no markup, no HTML, no second line."""

import re

_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
#: An underscore inside a word and # inside a line mark nothing up, and addresses have them.
_MARKUP = re.compile(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])|(?<!\S)#")
_BULLET, _NUMBER = re.compile(r"^[-+]"), re.compile(r"^([0-9]+)([.)])")


def plain(text: str) -> str:
    r"""A text on one line, its signs escaped where Markdown or HTML would take them for their own.

    >>> plain("</script> *all* [jobs](x) | snake_case"), plain("1. R&D")
    ('&lt;/script&gt; \\*all\\* \\[jobs\\](x) \\| snake_case', '1\\. R&amp;D')
    """
    escaped = _MARKUP.sub(r"\\\g<0>", " ".join(text.split()).translate(_HTML))
    return _NUMBER.sub(r"\1\\\2", _BULLET.sub(r"\\\g<0>", escaped))
