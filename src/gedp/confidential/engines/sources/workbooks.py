"""Workbooks of Excel and OpenDocument, by calamine: a sheet is held in memory, as it cannot be read in pieces.

Of the libraries that read workbooks, calamine reads all five formats, and a sheet in seconds; openpyxl reads one of
them, in minutes. It works in a process of its own (`sheets`): a small file can need more memory than there is.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from gedp.confidential.engines.sources import sheets
from gedp.confidential.engines.sources.extras import needed
from gedp.confidential.engines.sources.files import Stamp
from gedp.confidential.engines.sources.kinds import WORKBOOK
from gedp.confidential.engines.sources.streams import Streamed
from gedp.errors import Fault, FaultsError

TOO_LARGE = Fault("the file", "its sheet does not fit into memory", "Save it as CSV or Parquet, without empty cells")


class Workbook(Streamed):
    """A sheet whose first row has the names of the columns."""

    has_schema = False
    held_because = "a sheet of a workbook cannot be read in pieces"

    def __init__(self, name: str, stamps: Mapping[Path, Stamp], sheet: str | None) -> None:
        needed(sheets.calamine, "python-calamine", name, str(WORKBOOK))
        rows = _rows(name, next(iter(stamps)), sheet)
        said = rows.schema.metadata or {}
        if sheets.FAULT in said:
            raise FaultsError(name, [Fault(**json.loads(said[sheets.FAULT]))])
        super().__init__(name, stamps, json.loads(said[sheets.NAMES]))
        self._rows: list[pa.RecordBatch] = rows.to_batches()

    def done(self) -> None:
        """One copy of the rows is enough."""
        self._rows.clear()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows below the names."""
        yield from self._rows


def _rows(name: str, path: Path, sheet: str | None) -> pa.Table:
    """What the other process reads. What it says about errors is withheld, as that can quote a cell."""
    command = [sys.executable, "-P", "-m", sheets.__name__, str(path), *([] if sheet is None else [sheet])]
    nowhere = subprocess.DEVNULL
    read = subprocess.run(command, stdin=nowhere, stdout=subprocess.PIPE, stderr=nowhere, check=False)
    if read.returncode:
        raise FaultsError(name, [TOO_LARGE])
    return pa.ipc.open_stream(read.stdout).read_all()
