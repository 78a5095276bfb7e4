"""Workbooks of Excel and OpenDocument, by calamine: a sheet is held in memory, as it cannot be read in pieces.

Of the libraries that read workbooks, calamine reads all five formats, and a sheet in seconds; openpyxl reads one of
them, in minutes.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from gedp.confidential.engines.sources.extras import needed
from gedp.confidential.engines.sources.files import Stamp
from gedp.confidential.engines.sources.kinds import WORKBOOK
from gedp.confidential.engines.sources.streams import PIECE_ROWS, Streamed, text_of, texts
from gedp.errors import Fault, FaultsError
from gedp.policy.section import did_you_mean


class Workbook(Streamed):
    """A sheet whose first row has the names of the columns."""

    has_schema = False
    held_because = "a sheet of a workbook cannot be read in pieces"

    def __init__(self, name: str, stamps: Mapping[Path, Stamp], sheet: str | None) -> None:
        first, *self._rows = _sheet(name, next(iter(stamps)), sheet)
        super().__init__(name, stamps, [text_of(cell) or "" for cell in first])

    def done(self) -> None:
        """One copy of the rows is enough."""
        self._rows.clear()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows below the names."""
        for start in range(0, len(self._rows), PIECE_ROWS):
            yield texts([*zip(*self._rows[start : start + PIECE_ROWS], strict=True)], text_of)


def _sheet(name: str, path: Path, sheet: str | None) -> list[list[Any]]:
    """The rows of the sheet, or of the only one; its place is told where it is not there."""
    reader = needed(lambda: import_module("python_calamine"), "python-calamine", name, str(WORKBOOK))
    fault = None
    try:
        with reader.CalamineWorkbook.from_path(str(path)) as workbook:
            fault = _unknown(workbook.sheet_names, sheet)
            if fault is None:
                found = workbook.get_sheet_by_name(sheet or workbook.sheet_names[0]).to_python()
                rows: list[list[Any]] = [row for row in found if any(cell != "" for cell in row)]
                fault = None if rows else Fault("the sheet", "it is empty", "Check the sheet")
    except reader.PasswordError:
        fault = Fault("the file", "it is protected by a password", "Save it without one")
    except Exception:  # its message can quote a cell
        fault = Fault("the file", f"it is damaged, or not {WORKBOOK}", "Get a complete copy, or save it anew")
    if fault:
        raise FaultsError(name, [fault])
    return rows


def _unknown(sheets: list[str], sheet: str | None) -> Fault | None:
    if sheet is None and len(sheets) > 1:
        return Fault("data.sheet", f"it is missing, and there are {len(sheets)} sheets", did_you_mean("", sheets))
    if sheet is not None and sheet not in sheets:
        return Fault("data.sheet", f"there is no sheet {sheet!r}", did_you_mean(sheet, sheets))
    return None
