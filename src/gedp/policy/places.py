"""Where in a TOML text each key stands, so that a fault can name its line. The parser itself keeps no positions."""

import re
from collections.abc import Iterator

Path = tuple[str | int, ...]

_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_KEYS = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_KEYS})\s*\]")
_ASSIGNMENT = re.compile(rf"\s*({_KEYS})\s*=\s*(.*)", re.DOTALL)
_INLINE_KEY = re.compile(rf"[{{,]\s*({_KEY})\s*=")
_QUOTED = re.compile(
    r'''"""(?:[^\\]|\\.)*?"""|(?<!")"(?!"")(?:[^"\\\n]|\\.)*"'''  # basic strings
    r"""|'{3}.*?'{3}|(?<!')'(?!'')[^'\n]*'""",  # literal strings
    re.DOTALL,
)
_QUOTED_OR_COMMENT = re.compile(rf"({_QUOTED.pattern})|#[^\n]*", re.DOTALL)


def lines_of(text: str) -> dict[Path, int]:
    """The line of every key of `text`, by its path: tables by name, tables of an array by number from 0."""
    lines: dict[Path, int] = {}
    array_sizes: dict[Path, int] = {}
    table: Path = ()
    for number, statement in _statements(text):
        if header := _HEADER.match(statement):
            table = ()
            for name in _names(header[2]):
                table = (*table, array_sizes[table] - 1, name) if table in array_sizes else (*table, name)
            if header[1] == "[[":
                lines.setdefault(table, number)
                array_sizes[table] = array_sizes.get(table, 0) + 1
                table = (*table, array_sizes[table] - 1)
            lines[table] = number
        elif assignment := _ASSIGNMENT.match(statement):
            key = (*table, *_names(assignment[1]))
            lines[key] = number
            for inner in _INLINE_KEY.finditer(assignment[2]):
                before = statement[: assignment.start(2) + inner.start(1)]
                lines.setdefault((*key, *_names(inner[1])), number + before.count("\n"))
    return lines


def line_of(lines: dict[Path, int], path: Path) -> int | None:
    """The line of `path`, or of the nearest table around it."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path)


def _names(keys: str) -> tuple[str, ...]:
    return tuple(key.strip("\"'") for key in re.findall(_KEY, keys))


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each statement without its comments, and the line on which it starts; it may span several lines."""
    text = _QUOTED_OR_COMMENT.sub(lambda found: found[1] or "", text) + "\n"
    masked = _QUOTED.sub(lambda found: "x" * len(found[0]), text)
    start, line, depth = 0, 1, 0
    for found in re.finditer(r"[\[\]{}\n]", masked):
        if found[0] != "\n":
            depth += 1 if found[0] in "[{" else -1
        elif depth <= 0:
            statement = text[start : found.start()]
            yield line, statement
            start, line, depth = found.end(), line + statement.count("\n") + 1, 0
