"""One table in every kind of file, and a workbook written by hand: the readers under test write none."""

import gzip
import sqlite3
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/xl/workbook.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>{}</Types>'
)
_SHEET_TYPE = (
    '<Override PartName="/xl/worksheets/sheet{}.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>'
)
_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_RELATIONS = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}'
    "</Relationships>"
)
_RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def write_workbook(path: Path, sheets: dict[str, Sequence[Sequence[Any]]]) -> None:
    """A workbook with these rows in its sheets."""
    numbers = range(1, len(sheets) + 1)
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{i}" r:id="rId{i}"/>' for i, name in zip(numbers, sheets, strict=True)
    )
    related = "".join(
        f'<Relationship Id="rId{i}" Type="{_RELATED}/worksheet" Target="worksheets/sheet{i}.xml"/>' for i in numbers
    )
    top = f'<Relationship Id="rId1" Type="{_RELATED}/officeDocument" Target="xl/workbook.xml"/>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("[Content_Types].xml", _TYPES.format("".join(map(_SHEET_TYPE.format, numbers))))
        file.writestr("_rels/.rels", _RELATIONS.format(top))
        file.writestr("xl/workbook.xml", f'<workbook {_MAIN} xmlns:r="{_RELATED}"><sheets>{listed}</sheets></workbook>')
        file.writestr("xl/_rels/workbook.xml.rels", _RELATIONS.format(related))
        for i, rows in zip(numbers, sheets.values(), strict=True):
            cells = "".join(f'<row r="{at}">{"".join(map(_cell, row))}</row>' for at, row in enumerate(rows, 1))
            file.writestr(
                f"xl/worksheets/sheet{i}.xml", f"<worksheet {_MAIN}><sheetData>{cells}</sheetData></worksheet>"
            )


def _cell(value: Any) -> str:
    if value is None:
        return "<c/>"
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f"<c><v>{value!r}</v></c>"


def rows_of(table: pa.Table) -> list[list[Any]]:
    """Names, and then the rows."""
    return [table.column_names, *map(list, zip(*(column.to_pylist() for column in table.columns), strict=True))]


def text_of(table: pa.Table, delimiter: str = ",", decimal: str = ".", thousands: str = "") -> str:
    """The table as a text, its floats with other signs."""

    def cell(value: Any) -> str:
        if not isinstance(value, float):
            return str(value)
        return f"{value:,.2f}".replace(",", "t").replace(".", decimal).replace("t", thousands)

    return "".join(delimiter.join(map(cell, row)) + "\r\n" for row in rows_of(table))


@dataclass(frozen=True)
class Case:
    """A kind of source: what it is called, what the spec says of it, how it is written, what reads it."""

    source: str
    write: Callable[[pa.Table, Path], None]
    keys: dict[str, Any] = field(default_factory=dict)
    needs: str | None = None


def _zipped(table: pa.Table, path: Path) -> None:
    path.write_bytes(gzip.compress(text_of(table).encode()))


def _compressed(table: pa.Table, path: Path) -> None:
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        file.write(text_of(table).encode())


def _sqlite(table: pa.Table, path: Path) -> None:
    connection = sqlite3.connect(path)
    names, *rows = rows_of(table)
    connection.execute(f"CREATE TABLE establishments ({', '.join(names)})")
    connection.executemany(f"INSERT INTO establishments VALUES ({', '.join('?' * len(names))})", rows)
    connection.execute("CREATE TABLE other (x)")
    connection.execute("CREATE VIEW all_of_them AS SELECT * FROM establishments")
    connection.commit()
    connection.close()


def _duckdb(table: pa.Table, path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.register("rows", table)
        connection.execute("CREATE TABLE establishments AS SELECT * FROM rows")
        connection.execute("CREATE SCHEMA archive; CREATE TABLE archive.old (x INTEGER)")
        connection.execute("CREATE VIEW all_of_them AS SELECT * FROM establishments")


def _statistical(function: str, **options: Any) -> Callable[[pa.Table, Path], None]:
    def write(table: pa.Table, path: Path) -> None:
        getattr(import_module("pyreadstat"), function)(table.to_pandas(), str(path), **options)

    return write


def _encoded(encoding: str, *how: str) -> Callable[[pa.Table, Path], None]:
    def write(table: pa.Table, path: Path) -> None:
        path.write_bytes(text_of(table, *how).encode(encoding))

    return write


QUERY = "SELECT * FROM establishments WHERE emp >= 0; "
CASES = {
    "Parquet": Case("t.parquet", lambda table, path: pq.write_table(table, path)),
    "CSV": Case("t.csv", _encoded("utf-8")),
    "CSV with a mark": Case("t.csv", _encoded("utf-8-sig")),
    "TSV": Case("t.tsv", _encoded("utf-8", "\t")),
    "CSV in gzip": Case("t.csv.gz", _zipped),
    "CSV in zstd": Case("t.csv.zst", _compressed),
    "CSV as in Finland": Case(
        "t.csv",
        _encoded("cp1252", ";", ",", "\N{NO-BREAK SPACE}"),
        {"encoding": "cp1252", "decimal": ",", "thousands": "\N{NO-BREAK SPACE}"},
    ),
    "CSV as in Germany": Case("t.txt", _encoded("utf-8", ";", ",", "."), {"decimal": ",", "thousands": "."}),
    "CSV as in Switzerland": Case(
        "t.csv", _encoded("latin-1", "#", ".", "'"), {"encoding": "latin-1", "delimiter": "#", "thousands": "'"}
    ),
    "TSV in UTF-16": Case("t.tsv", _encoded("utf-16", "\t"), {"encoding": "utf-16"}),
    "Arrow": Case("t.arrow", lambda table, path: pyarrow.feather.write_feather(table, str(path))),
    "Feather": Case(
        "t.feather", lambda table, path: pyarrow.feather.write_feather(table, str(path), compression="uncompressed")
    ),
    "SQLite table": Case("t.sqlite", _sqlite, {"table": "Establishments"}),
    "SQLite view": Case("t.db", _sqlite, {"table": "all_of_them"}),
    "SQLite query": Case("t.db", _sqlite, {"query": QUERY}),
    "DuckDB table": Case("t.duckdb", _duckdb, {"table": "main.establishments"}),
    "DuckDB view": Case("t.duckdb", _duckdb, {"table": "all_of_them"}),
    "DuckDB query": Case("t.db", _duckdb, {"query": QUERY}),
    "Excel": Case(
        "t.xlsx",
        lambda table, path: write_workbook(path, {"Notes": [["a"]], "Register": rows_of(table)}),
        {"sheet": "Register"},
        "python_calamine",
    ),
    "Stata": Case("t.dta", _statistical("write_dta"), {}, "pyreadstat"),
    "SPSS": Case("t.sav", _statistical("write_sav"), {}, "pyreadstat"),
    "SPSS compressed": Case("t.zsav", _statistical("write_sav", compress=True), {}, "pyreadstat"),
    "SAS transport": Case("t.xpt", _statistical("write_xport"), {}, "pyreadstat"),
}
