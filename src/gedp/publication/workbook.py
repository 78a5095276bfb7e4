"""Excel workbooks: of a package, with contents, notes and a sheet for every table; of one table, with its notes.

Nothing in the file depends on when it was made: dates are those of the release.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import pyarrow as pa
import xlsxwriter
from xlsxwriter.exceptions import FileCreateError

from gedp.errors import Fault, FaultsError
from gedp.files import WriteError, reason, writing
from gedp.policy.names import folded
from gedp.publication.about import DO_NOT, About
from gedp.publication.figures import TableOfFigures

MOST_LINES = 1_000_000  # of a sheet; Excel allows a few more
MOST_WIDE, NARROWEST = 48, 11  # characters
NOTES_WIDE = 110
PAGE_WIDE = 190  # characters that can be read side by side on paper
LINE_HEIGHT = 15  # points
A4 = 9  # as Excel numbers paper
LONGEST_NAME = 31  # of a sheet
#: Of every attribute, after its figure.
ERRORS = {"std_error": "standard error", "cv": "CV", "quality": "quality"}
#: The style of the heading of a column, by that of its values, if these are not numbers.
ABOVE = {"text": "heading", "class": "above classes"}
FIRST_LINE = 3  # of the headings: a title, a note and an empty line are above them
CONTENTS, NOTES, WORKBOOK = "Contents", "Notes", "tables.xlsx"
MOST_OF_ONE = 100_000  # lines of a table by itself, which take about ten seconds
SAME_FOR_ALL = datetime(2000, 1, 1, tzinfo=UTC)  # so that the same table is the same file
#: Texts stay texts.
AS_THEY_ARE = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}


def write_sheet(table: pa.Table, file: IO[bytes], notes: Sequence[str]) -> None:
    """Writes one table with numbers that compute and texts that do not, and notes on what it is."""
    if table.num_rows > MOST_OF_ONE:
        problem = f"the table has {table.num_rows:,} lines, and a workbook takes at most {MOST_OF_ONE:,}"
        raise FaultsError("the table", [Fault("rows", problem, "Take another format, or choose coarser groups")])
    with xlsxwriter.Workbook(file, {**AS_THEY_ARE, "in_memory": True}) as book:
        book.set_properties({"created": SAME_FOR_ALL.replace(tzinfo=None)})
        bold, wrapped = book.add_format({"bold": True}), book.add_format({"text_wrap": True})
        sheet = book.add_worksheet("Table")
        for place, name in enumerate(table.column_names):
            sheet.write_string(0, place, name, bold)
            writers = {pa.string(): sheet.write_string, pa.bool_(): sheet.write_boolean}
            write = writers.get(table.schema.field(name).type, sheet.write_number)
            for line, value in enumerate(table[name].to_pylist(), 1):
                if value is not None:
                    write(line, place, value)
        sheet.freeze_panes(1, 0)
        sheet.autofilter(0, 0, table.num_rows, table.num_columns - 1)
        sheet.set_column(0, table.num_columns - 1, 16)
        sheet = book.add_worksheet(NOTES)
        sheet.set_column(0, 0, 100, wrapped)
        for line, note in enumerate(notes):
            sheet.write_string(line, 0, note)


def write_workbook(about: About, folder: Path) -> dict[str, dict[str, str]]:
    """Writes the workbook of a package. Returns the sheet of every table; those that are too long for one have none."""
    fitting = [table for table in about.tables if table.groups <= MOST_LINES]
    sheets = _sheet_names([table.chosen.name for table in fitting])
    with _new_book(folder / WORKBOOK) as book:
        created = about.microdata.release.manifest.created.replace(tzinfo=None)
        publisher = about.labels.spec.publication.publisher or ""
        book.set_properties({"title": about.title, "author": publisher, "created": created})
        styles = _styles(book)
        _contents(book, styles, about, sheets)
        _notes(book, styles, about)
        for table in fitting:
            _table(book.add_worksheet(sheets[table.chosen.name]), styles, about, table)
    return {name: {"sheet": sheet} for name, sheet in sheets.items()}


@contextmanager
def _new_book(path: Path) -> Iterator[Any]:
    """A workbook that keeps its temporary files beside itself, as long as it is written."""
    try:
        with (
            writing(path),
            TemporaryDirectory(dir=path.parent, prefix=".") as kept,
            xlsxwriter.Workbook(str(path), {**AS_THEY_ARE, "tmpdir": kept}) as book,
        ):
            yield book
    except FileCreateError as error:
        (refused,) = error.args
        raise WriteError(f"cannot write {path}: {reason(refused)}") from None


def _styles(book: Any) -> dict[str, Any]:
    heading = {"bold": True, "text_wrap": True, "valign": "top", "bottom": 1}
    return {
        "title": book.add_format({"bold": True, "font_size": 14}),
        "heading": book.add_format(heading),
        "above numbers": book.add_format({**heading, "align": "right"}),
        "above classes": book.add_format({**heading, "align": "center"}),
        "class": book.add_format({"align": "center"}),
        "text": book.add_format({"text_wrap": True, "valign": "top"}),
        "note": book.add_format({"italic": True}),
        "link": book.add_format({"font_color": "#0b4f8a", "underline": 1}),
        "whole": book.add_format({"num_format": "#,##0"}),
        "number": book.add_format({"num_format": "#,##0.########"}),
        "share": book.add_format({"num_format": "0.0##%"}),
    }


def _contents(book: Any, styles: dict[str, Any], about: About, sheets: dict[str, str]) -> None:
    sheet = book.add_worksheet(CONTENTS)
    _on_paper(sheet)
    sheet.set_column(0, 0, 60)
    sheet.set_column(1, 2, 22)
    sheet.write_string(0, 0, about.title, styles["title"])
    sheet.write_string(1, 0, about.citation(), styles["note"])
    for column, text in enumerate(("Table", "Sheet", "Groups")):
        sheet.write_string(FIRST_LINE, column, text, styles["heading"])
    for line, table in enumerate(about.tables, FIRST_LINE + 1):
        name = sheets.get(table.chosen.name)
        sheet.write_string(line, 0, table.chosen.title)
        if name is None:
            sheet.write_string(line, 1, "too long for a sheet; see the other formats")
        else:
            place = name.replace("'", "''")
            sheet.write_url(line, 1, f"internal:'{place}'!A1", styles["link"], name)
        sheet.write_number(line, 2, table.groups, styles["whole"])
    sheet.write_url(
        FIRST_LINE + 2 + len(about.tables), 0, f"internal:'{NOTES}'!A1", styles["link"], "Notes: read first"
    )


def _notes(book: Any, styles: dict[str, Any], about: About) -> None:
    sheet = book.add_worksheet(NOTES)
    _on_paper(sheet)
    sheet.set_column(0, 0, NOTES_WIDE)
    lines = [("Notes", "title"), *((note, "text") for note in about.notes()), ("", "text")]
    lines += [("What not to do", "title"), *((text, "text") for text in DO_NOT), ("", "text")]
    lines += [("Cite as", "title"), (about.citation(), "text")]
    for line, (text, style) in enumerate(lines):
        if style == "text":
            sheet.set_row(line, _height(text, NOTES_WIDE))
        sheet.write_string(line, 0, text, styles[style])


def _table(sheet: Any, styles: dict[str, Any], about: About, table: TableOfFigures) -> None:
    """A line for every group: its keys and names, establishments, and for each attribute its figure and errors."""
    chosen, labels = table.chosen, about.labels
    first = table.of(chosen.lines[0])
    columns: list[tuple[str, str, list[Any]]] = []
    for key in chosen.by:
        columns.append((labels.title(key), "text", first[key].to_pylist()))
        if key in table.names:
            columns.append((f"{labels.title(key)}, name", "text", first[table.names[key]].to_pylist()))
    if first["establishments"].null_count < first.num_rows:
        columns.append(("Establishments", "whole", first["establishments"].to_pylist()))
    for name in chosen.lines:
        lines = table.of(name)
        columns.append((labels.with_unit(name), "number", lines["estimate"].to_pylist()))
        styles_of = {"std_error": "number", "cv": "share", "quality": "class"}
        columns += [
            (f"{labels.title(name)}: {said}", styles_of[column], lines[column].to_pylist())
            for column, said in ERRORS.items()
        ]
    sheet.write_string(0, 0, chosen.title, styles["title"])
    sheet.write_url(1, 0, f"internal:'{NOTES}'!A1", styles["link"], "Notes: what the figures and the quality mean")
    sheet.set_row(FIRST_LINE, max(_height(title, _width(title, values)) for title, _, values in columns))
    for place, (title, kind, values) in enumerate(columns):
        _column(sheet, styles, place, title, kind, values)
    keys = len(chosen.by) + len(table.names)
    sheet.freeze_panes(FIRST_LINE + 1, keys)
    sheet.autofilter(FIRST_LINE, 0, FIRST_LINE + table.groups, len(columns) - 1)
    _on_paper(sheet, sum(_width(title, values) for title, _, values in columns))
    sheet.repeat_rows(FIRST_LINE)
    if keys:
        sheet.repeat_columns(0, keys - 1)


def _column(sheet: Any, styles: dict[str, Any], place: int, title: str, kind: str, values: Sequence[Any]) -> None:
    sheet.set_column(place, place, _width(title, values))
    sheet.write_string(FIRST_LINE, place, title, styles[ABOVE.get(kind, "above numbers")])
    for line, value in enumerate(values, FIRST_LINE + 1):
        if isinstance(value, str):
            sheet.write_string(line, place, value, styles["class"] if kind == "class" else None)
        elif value is not None:
            sheet.write_number(line, place, value, styles["whole" if _is_whole(kind, value) else kind])


def _width(title: str, values: Sequence[Any]) -> int:
    """The characters that a column has room for: its texts and numbers, and the longest word of its title."""
    texts = {value if isinstance(value, str) else f"{value:,.12g}" for value in values if value is not None}
    widest = max(map(len, [*title.split(), *texts]), default=0)
    return min(max(widest + 1, NARROWEST), MOST_WIDE)


def _height(text: str, width: int) -> int:
    """The points that a text takes in so many characters: not every program finds the height of wrapped lines."""
    return LINE_HEIGHT * max(len(textwrap.wrap(text, width - 1)), 1)


def _on_paper(sheet: Any, width: int = 0) -> None:
    """As many pages side by side as keep characters large enough to read."""
    sheet.set_landscape()
    sheet.set_paper(A4)
    sheet.fit_to_pages(1 + width // PAGE_WIDE, 0)


def _is_whole(kind: str, value: float) -> bool:
    return kind == "number" and value == int(value)


def _sheet_names(names: Sequence[str]) -> dict[str, str]:
    """A name for the sheet of every table: allowed, and different without regard to case."""
    taken, found = {folded(CONTENTS), folded(NOTES), folded("History")}, {}
    for name in names:
        plain = re.sub(r"[\[\]:*?/\\]", " ", name).strip("' ")[:LONGEST_NAME].strip("' ") or "Table"
        sheet, number = plain, 1
        while folded(sheet) in taken:
            number += 1
            end = f" {number}"
            sheet = plain[: LONGEST_NAME - len(end)] + end
        taken.add(folded(sheet))
        found[name] = sheet
    return found
