"""A document on a terminal. Numbers and words of headings are never broken: a table that is too wide goes on below."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import wrap

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
    for number, part in enumerate(_parts(table, console.width)):
        console.print(*([""] if number else []), _rich(part, console.width), sep="\n")
    if table.note:
        _print_text(console, table.note)


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


def _parts(table: PrintedTable, room: int) -> list[PrintedTable]:
    """The table, or tables of some of its columns each, all of which begin with those that name a row."""
    least, first = _least_widths(table), [*table.are_texts, False].index(False)
    parts: list[list[int]] = []
    for place in range(first, len(table.headings)):
        if not parts or _width([least[each] for each in (*range(first), *parts[-1], place)], NARROW) > room:
            parts.append([])
        parts[-1].append(place)
    return [_columns(table, [*range(first), *part]) for part in parts] if len(parts) > 1 else [table]


def _columns(table: PrintedTable, places: Sequence[int]) -> PrintedTable:
    """Some columns of the table."""

    def taken(cells: Sequence[str]) -> list[str]:
        return [cells[place] for place in places]

    footer = taken(table.footer) if table.footer else ()
    return replace(table, headings=taken(table.headings), rows=[*map(taken, table.rows)], footer=footer)


def _rich(table: PrintedTable, room: int) -> Table:
    gap = USUAL if _width(_least_widths(table), USUAL) <= room else NARROW
    between = (0, gap - NARROW, 0, 0)  # the rest is a line of the box, which is not seen
    drawn = Table(box=box.SIMPLE, padding=between, pad_edge=False, show_edge=False, show_footer=bool(table.footer))
    for place, width in enumerate(_widths(table, room, gap)):
        drawn.add_column(
            Text(table.headings[place]),
            Text(table.footer[place]) if table.footer else "",
            justify="left" if table.are_texts[place] else "right",
            width=width,
            overflow="fold",
        )
    for row in table.rows:
        drawn.add_row(*map(Text, row))
    return drawn


def _widths(table: PrintedTable, room: int, gap: int) -> list[int]:
    """The widths of the columns: what is left over makes cells whole, and then headings of as few lines as can be."""
    widths = _least_widths(table)
    wanted = [max(map(cell_len, cells), default=0) for cells in _cells(table)]
    for _ in range(room - _width(widths, gap)):
        lacking = [want - width for want, width in zip(wanted, widths, strict=True)]
        if max(lacking) > 0:
            widths[lacking.index(max(lacking))] += 1
    for lines in range(1, MOST_LINES):
        wider = [max(width, _broken(text, lines)) for width, text in zip(widths, table.headings, strict=True)]
        if _width(wider, gap) <= room:
            return wider
    return widths


def _broken(heading: str, lines: int) -> int:
    """The least width at which a heading has at most so many lines."""
    return next((width for width in range(1, len(heading)) if len(wrap(heading, width)) <= lines), cell_len(heading))


def _least_widths(table: PrintedTable) -> list[int]:
    """Of each column, the width that breaks neither numbers nor words."""
    words = zip(table.headings, _cells(table), table.are_texts, strict=True)
    return [
        max(
            map(
                cell_len,
                [*heading.split(), *(word for cell in cells for word in (cell.split() if is_text else [cell]))],
            ),
            default=0,
        )
        for heading, cells, is_text in words
    ]


def _cells(table: PrintedTable) -> list[tuple[str, ...]]:
    """The texts of each column below its heading."""
    lines = [*table.rows, *([table.footer] if table.footer else [])]
    return [*zip(*lines, strict=True)] if lines else [()] * len(table.headings)


def _width(widths: Sequence[int], gap: int) -> int:
    return sum(widths) + gap * (len(widths) - 1)
