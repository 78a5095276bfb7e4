"""Tables to take away: CSV and Arrow as `gedp tabulate` gives them, and an Excel workbook with notes."""

import io
from collections.abc import Sequence
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.ipc
from xlsxwriter import Workbook

from gedp.csvfiles import write_csv
from gedp.errors import Fault, FaultsError

MOST_IN_EXCEL = 100_000  # lines, which take about ten seconds
_SAME_FOR_ALL = datetime(2000, 1, 1, tzinfo=UTC)  # so that the same table is the same file


def as_csv(table: pa.Table) -> bytes:
    """The table as CSV, its texts guarded against spreadsheets that compute them."""
    file = io.BytesIO()
    write_csv(table, file)
    return file.getvalue()


def as_arrow(table: pa.Table) -> bytes:
    """The table as a stream of Arrow."""
    file = io.BytesIO()
    with pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    return file.getvalue()


def as_excel(table: pa.Table, notes: Sequence[str]) -> bytes:
    """A workbook: the table with numbers that compute and texts that do not, and notes on what it is."""
    if table.num_rows > MOST_IN_EXCEL:
        problem = f"the table has {table.num_rows:,} lines, and a workbook takes at most {MOST_IN_EXCEL:,}"
        raise FaultsError("request", [Fault("rows", problem, "Take CSV or Arrow, or choose coarser groups")])
    file = io.BytesIO()
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with Workbook(file, options) as workbook:
        workbook.set_properties({"created": _SAME_FOR_ALL.replace(tzinfo=None)})
        bold, wrapped = workbook.add_format({"bold": True}), workbook.add_format({"text_wrap": True})
        sheet = workbook.add_worksheet("Table")
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
        sheet = workbook.add_worksheet("Notes")
        sheet.set_column(0, 0, 100, wrapped)
        for line, note in enumerate(notes):
            sheet.write_string(line, 0, note)
    return file.getvalue()
