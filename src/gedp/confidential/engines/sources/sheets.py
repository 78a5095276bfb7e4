"""A sheet of a workbook, read by calamine in a process of its own, with a limit on its memory.

A few kilobytes can stand for billions of cells, and calamine ends the process where memory ends. So `workbooks` runs
this module, which writes the rows to standard output as an Arrow stream, and nothing to any file.
"""

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import pyarrow as pa
import pyarrow.ipc

from gedp.confidential.engines.sources.kinds import WORKBOOK
from gedp.confidential.engines.sources.streams import PIECE_ROWS, text_of, texts
from gedp.errors import Fault
from gedp.policy.section import did_you_mean

NAMES, FAULT = b"names", b"fault"  # of the metadata of the stream
LEAST_LIMIT = 2**32  # bytes, some of which libraries take without using them


def calamine() -> ModuleType:
    """The library."""
    return import_module("python_calamine")


def read_sheet(path: Path, sheet: str | None) -> pa.Table:
    """The rows below the first as texts, and the names in it; or, in the place of rows, what is wrong with the file."""
    reader, rows = calamine(), list[list[Any]]()
    try:
        with reader.CalamineWorkbook.from_path(str(path)) as workbook:
            fault = _unknown(workbook.sheet_names, sheet)
            if fault is None:
                found = workbook.get_sheet_by_name(sheet or workbook.sheet_names[0]).to_python()
                rows = [row for row in found if any(cell != "" for cell in row)]
                fault = None if rows else Fault("the sheet", "it is empty", "Check the sheet")
    except reader.PasswordError:
        fault = Fault("the file", "it is protected by a password", "Save it without one")
    except MemoryError:
        raise
    except Exception:  # its message can quote a cell
        fault = Fault("the file", f"it is damaged, or not {WORKBOOK}", "Get a complete copy, or save it again")
    if fault:
        return pa.table({}).replace_schema_metadata({FAULT: json.dumps(vars(fault)).encode()})
    first, *below = rows
    pieces = (below[start : start + PIECE_ROWS] for start in range(0, max(len(below), 1), PIECE_ROWS))
    empty: list[tuple[Any, ...]] = [()] * len(first)
    batches = [texts([*zip(*piece, strict=True)] or empty, text_of) for piece in pieces]
    names = json.dumps([text_of(cell) or "" for cell in first])
    return pa.Table.from_batches(batches).replace_schema_metadata({NAMES: names.encode()})


def _unknown(sheets: list[str], sheet: str | None) -> Fault | None:
    if sheet is None and len(sheets) > 1:
        return Fault("data.sheet", f"it is missing, and there are {len(sheets)} sheets", did_you_mean("", sheets))
    if sheet is not None and sheet not in sheets:
        return Fault("data.sheet", f"there is no sheet {sheet!r}", did_you_mean(sheet, sheets))
    return None


def memory_limit() -> int:
    """Half the memory of the machine, in bytes."""
    return max(LEAST_LIMIT, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)


def limit_memory() -> None:
    """Lets the system refuse more memory to this process, where the system can."""
    try:
        import resource
    except ImportError:
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = memory_limit() if most == resource.RLIM_INFINITY else min(memory_limit(), most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))


def write_sheet(to: IO[bytes], path: str, sheet: str | None = None) -> None:
    """Writes the rows as a stream, within the limit."""
    limit_memory()
    table = read_sheet(Path(path), sheet)
    with pa.ipc.new_stream(to, table.schema) as stream:
        stream.write_table(table)


if __name__ == "__main__":
    write_sheet(sys.stdout.buffer, *sys.argv[1:])
