"""A document on a terminal. Numbers and words of headings are never broken: a table that is too wide goes on below."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gedp.documents.blocks import (
    Block,
    Charts,
    Document,
    Heading,
    Lines,
    OnPage,
    Paragraph,
    PrintedTable,
    without_empty,
)

USUAL, NARROW = 2, 1  # characters between columns
MOST_LINES = 6  # of a heading, where there is room for better


def to_terminal(console: Console, document: Document) -> None:
    """Prints the document under its title."""
    _print(console, Heading(document.title))
    print_blocks(console, document.blocks)


def print_blocks(console: Console, blocks: Sequence[Block]) -> None:
    """Prints some blocks, with an empty line between those that do not belong together."""
    before: Block | None = None
    for block in without_empty([*_shown(blocks)]):
        if before and not isinstance(before, Heading) and not (isinstance(before, Paragraph) and _follows(block)):
            console.print()
        _print(console, block)
        before = block


def print_table(console: Console, table: PrintedTable) -> None:
    """Prints a table under its caption, in several parts if it is too wide."""
    if table.caption:
        _print_text(console, table.caption, "italic")
    for number, part in enumerate(_parts(_columns(table), console.width)):
        console.print(*([""] if number else []), _drawn(part, console.width), sep="\n")
    if table.note:
        _print_text(console, table.note)


def print_first_columns(console: Console, table: PrintedTable) -> int:
    """Prints as many columns of a table as there is room for, and returns their number."""
    part = _parts(_columns(table), console.width)[0]
    console.print(_drawn(part, console.width))
    return len(part)


def _follows(block: Block) -> bool:
    """Whether a block goes on after a paragraph without an empty line."""
    return isinstance(block, Lines) or (isinstance(block, Paragraph) and block.style != "warning")


def _shown(blocks: Sequence[Block]) -> Iterator[Block]:
    """The blocks that a terminal can show."""
    for block in blocks:
        match block:
            case OnPage(_, otherwise):
                yield from _shown(otherwise)
            case Charts(_, sentence):
                yield from [Paragraph(sentence)] if sentence else []
            case _:
                yield block


def _print(console: Console, block: Block) -> None:
    match block:
        case Heading(text):
            _print_text(console, text, "bold")
        case Paragraph(text, "warning"):
            _print_text(console, f"Warning: {text}", "bold")
        case Paragraph(text):
            _print_text(console, text)
        case Lines(texts):
            for text in texts:
                _print_text(console, f"  {text}")
        case PrintedTable():
            print_table(console, block)


def _print_text(console: Console, text: str, style: str = "") -> None:
    """On a terminal a line ends between two words; in a file every sentence is whole."""
    console.print(Text(text, style=style), soft_wrap=not console.is_terminal)


@dataclass(frozen=True)
class _Column:
    heading: str
    cells: Sequence[str]
    footer: str
    is_text: bool

    @property
    def least(self) -> int:
        """The width that breaks neither numbers nor words."""
        texts = [*self.cells, self.footer]
        whole = " ".join(texts).split() if self.is_text else texts
        return max(map(cell_len, [*map(str.rstrip, self.words), *whole]), default=0)

    @property
    def wanted(self) -> int:
        """The width that breaks no cell."""
        return max(map(cell_len, [*self.cells, self.footer]))

    @property
    def words(self) -> list[str]:
        """What a line of the heading may end with: words, also those of a name with underscores."""
        return re.findall(r"[^\s_]*_+\s*|[^\s_]+\s*", self.heading)

    def lines(self, width: int) -> list[str]:
        """The heading in lines of at most this width."""
        made = [""]
        for word in self.words:
            made[-1:] = [made[-1] + word] if cell_len((made[-1] + word).rstrip()) <= width else [made[-1], word]
        return [line.rstrip() for line in made if line]

    def broken(self, lines: int) -> int:
        """The least width at which the heading has at most so many lines."""
        return next(width for width in count(self.least) if len(self.lines(width)) <= lines)


def _columns(table: PrintedTable) -> list[_Column]:
    footer = table.footer or [""] * len(table.headings)
    return [
        _Column(heading, [row[place] for row in table.rows], footer[place], table.are_texts[place])
        for place, heading in enumerate(table.headings)
    ]


def _parts(columns: list[_Column], room: int) -> list[list[_Column]]:
    """The columns as they are printed side by side; each part begins with those that name a row."""
    naming = list(takewhile(lambda column: column.is_text, columns))
    parts = [naming]
    for column in columns[len(naming) :]:
        if len(parts[-1]) > len(naming) and _width([each.least for each in (*parts[-1], column)], NARROW) > room:
            parts.append(naming)
        parts[-1] = [*parts[-1], column]
    return parts


def _drawn(columns: list[_Column], room: int) -> Table:
    gap = USUAL if _width([column.least for column in columns], USUAL) <= room else NARROW
    between = (0, gap - NARROW, 0, 0)  # the rest is a line of the box, which is not seen
    has_footer = any(column.footer for column in columns)
    drawn = Table(box=box.SIMPLE, padding=between, pad_edge=False, show_edge=False, show_footer=has_footer)
    for column, width in zip(columns, _widths(columns, room, gap), strict=True):
        justify: Literal["left", "right"] = "left" if column.is_text else "right"
        heading = Text("\n".join(column.lines(width)))
        drawn.add_column(heading, Text(column.footer), justify=justify, width=width, overflow="fold")
    for row in zip(*(column.cells for column in columns), strict=True):
        drawn.add_row(*map(Text, row))
    return drawn


def _widths(columns: list[_Column], room: int, gap: int) -> list[int]:
    """The widths of the columns: what is left over makes cells whole, and then headings of as few lines as can be.

    The cells of the column that lacks least are made whole first.
    """
    widths = [column.least for column in columns]
    lacking = {place: column.wanted - column.least for place, column in enumerate(columns)}
    for place in sorted(lacking, key=lambda place: lacking[place]):
        widths[place] += max(0, min(lacking[place], room - _width(widths, gap)))
    for lines in range(1, MOST_LINES):
        wider = [max(width, column.broken(lines)) for width, column in zip(widths, columns, strict=True)]
        if _width(wider, gap) <= room:
            return wider
    return widths


def _width(widths: Sequence[int], gap: int) -> int:
    return sum(widths) + gap * (len(widths) - 1)
