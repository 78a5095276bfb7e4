"""CSV that a spreadsheet takes for texts and numbers, never for formulas.

A text that a spreadsheet would compute gets an apostrophe before it, as one types it there by hand: texts that begin
with =, +, - or @ (also after spaces, and in the wide forms of East Asia) or with a tab or a line break. The same after
a semicolon, a tab or a line break inside a text, since in some countries these separate cells. Plain numbers stay as
they are. The way back is unique: `unguarded` takes off what `guarded` put on, and nothing else.
"""

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv

#: What a spreadsheet may pass over: blanks and control characters, but for those that separate cells.
_BLANK = "[\x00-\x08\x0b\x0c\x0e-\x20\x7f-\xa0\u2000-\u200f\u2028-\u202f\u3000\ufeff]*"
_FORMULA = f"{_BLANK}[-=+@＝＋－＠]"
_INSIDE = f"([;\t\r\n])('*)({_FORMULA})"
_FIRST = f"^('*)({_FORMULA}|[\t\r\n])"
_NUMBER = r"'*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"
_SUSPECT = f"{_INSIDE}|{_FIRST}"


def guarded(text: str) -> str:
    """A text as it is safe in a cell.

    >>> guarded("=1+1"), guarded("-5"), guarded("44-45")
    ("'=1+1", '-5', '44-45')
    """
    inside = re.sub(_INSIDE, r"\1'\2\3", text)
    return inside if re.fullmatch(_NUMBER, inside) else re.sub(_FIRST, r"'\1\2", inside)


def unguarded(cell: str) -> str:
    """The text that `guarded` made this cell of."""
    first = cell if re.fullmatch(_NUMBER, cell) else re.sub(f"^'{_FIRST[1:]}", r"\1\2", cell)
    return re.sub(_INSIDE.replace("('*)", "'('*)"), r"\1\2\3", first)


def write_csv(table: pa.Table, target: str | Path | IO[bytes]) -> None:
    """Writes a table with a line of headings; its texts and headings guarded."""
    columns = [_guarded_column(column) for column in table.columns]
    pa.csv.write_csv(pa.table(columns, names=[guarded(name) for name in table.column_names]), target)


def write_rows(rows: Iterable[Sequence[str]], file: IO[str]) -> None:
    """Writes rows of texts, guarded, every cell in quotes."""
    writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([*map(guarded, row)] for row in rows)


def read_rows(file: IO[str]) -> list[list[str]]:
    """The rows that `write_rows` wrote, their texts as they were before."""
    return [[*map(unguarded, row)] for row in csv.reader(file)]


def _guarded_column(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """Each different text is looked at once, and a column that needs nothing is used as it is."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not _is_text(column.type):
        return column
    texts = column.unique()
    suspect = pa.compute.fill_null(pa.compute.match_substring_regex(texts, _SUSPECT), fill_value=False)
    if not pa.compute.any(suspect).as_py():
        return column
    made = pa.array([guarded(text) for text in texts.filter(suspect).to_pylist()], column.type)
    places = pa.compute.index_in(column, value_set=texts)
    return pa.compute.replace_with_mask(texts, suspect, made).take(places.combine_chunks())


def _is_text(kind: pa.DataType) -> bool:
    checks: tuple[Callable[[pa.DataType], bool], ...] = (pa.types.is_string, pa.types.is_large_string)
    return any(check(kind) for check in checks)
