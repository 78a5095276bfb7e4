"""The registry of formats of tables: for packages, for downloads of the desk, and for files of commands."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from gedp.csvfiles import write_csv
from gedp.publication.about import About
from gedp.publication.figures import TableOfFigures
from gedp.publication.parquet import write_parquet
from gedp.publication.plain import write_plain_csv
from gedp.publication.sdmx import SdmxIds, write_sdmx_csv, write_structures
from gedp.publication.workbook import WORKBOOK, write_sheet, write_workbook

#: What has been written of every table, by its name: a kind, and the file or sheet that it is in.
Written = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class AsFile:
    """One table as a file or a download. A format that has no place for notes leaves them out."""

    suffix: str
    media_type: str
    write: Callable[[pa.Table, IO[bytes], Sequence[str]], None]


@dataclass(frozen=True)
class InPackage:
    """All tables of a package: the file or folder that holds them, and what a README says of it."""

    place: str
    contents: str
    write: Callable[[About, Path], Written]


@dataclass(frozen=True)
class Format:
    """A format by the name that options know, and by its title for people."""

    name: str
    title: str
    as_file: AsFile | None = None
    in_package: InPackage | None = None


def _write_each(about: About, folder: Path, suffix: str, write: Callable[[TableOfFigures, Path], None]) -> Written:
    """Writes a file for every table, into a folder that is called as the format is."""
    folder.mkdir()
    files = {table.chosen.name: f"{folder.name}/{table.chosen.file}{suffix}" for table in about.tables}
    for table in about.tables:
        write(table, folder.parent / files[table.chosen.name])
    return {name: {folder.name: file} for name, file in files.items()}


def _write_csv(about: About, folder: Path) -> Written:
    return _write_each(about, folder / "csv", ".csv", lambda table, path: write_plain_csv(table.arrow, path))


def _write_parquet(about: About, folder: Path) -> Written:
    return _write_each(about, folder / "parquet", ".parquet", lambda table, path: write_parquet(about, table, path))


def _write_sdmx(about: About, folder: Path) -> Written:
    ids = SdmxIds(about)
    written = _write_each(about, folder / "sdmx", ".csv", lambda table, path: write_sdmx_csv(ids, table, path))
    write_structures(about, ids, folder / "sdmx" / "structure.xml")
    return written


def _write_arrow(table: pa.Table, file: IO[bytes]) -> None:
    with pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)


FORMATS = (
    Format(
        "csv",
        "CSV",
        AsFile(".csv", "text/csv; charset=utf-8", lambda table, file, _: write_csv(table, file)),
        InPackage("csv/", "tables as CSV, one line for each group and attribute", _write_csv),
    ),
    Format(
        "parquet",
        "Parquet",
        AsFile(".parquet", "application/vnd.apache.parquet", lambda table, file, _: pq.write_table(table, file)),
        InPackage("parquet/", "the same as Parquet, with titles and notes in the metadata", _write_parquet),
    ),
    Format(
        "xlsx",
        "Excel",
        AsFile(".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", write_sheet),
        InPackage(WORKBOOK, "all tables in one Excel workbook, one line for each group", write_workbook),
    ),
    Format(
        "sdmx",
        "SDMX",
        in_package=InPackage("sdmx/", "the tables as SDMX-CSV 1.0, and their structures as SDMX-ML 2.1", _write_sdmx),
    ),
    Format(
        "arrow",
        "Arrow",
        AsFile(".arrows", "application/vnd.apache.arrow.stream", lambda table, file, _: _write_arrow(table, file)),
    ),
)
#: Those that one table can be written in, and those of packages, by name.
AS_FILES = {each.name: each.as_file for each in FORMATS if each.as_file}
IN_PACKAGES = {each.name: each.in_package for each in FORMATS if each.in_package}
