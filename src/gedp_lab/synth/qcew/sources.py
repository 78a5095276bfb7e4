"""The tables in the files of the BLS: quarterly single file, by-area CSVs, a zip or folder, or Parquet."""

import csv
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from gedp.errors import Fault, FaultsError
from gedp.progress import Advance

TEXT = ("area_fips", "own_code", "industry_code", "disclosure_code")
WHOLE = (
    "agglvl_code",
    "qtrly_estabs",
    "month1_emplvl",
    "month2_emplvl",
    "month3_emplvl",
    "total_qtrly_wages",
)
WHEN = ("year", "qtr")  # the Parquet extract has none
_ALIASES = {"qtrly_estabs_count": "qtrly_estabs"}  # what some by-area files call it
_SUFFIXES = (".csv", ".zip", ".parquet")
_BLOCK_BYTES = 8 << 20


@dataclass(frozen=True)
class Source:
    """One table: a file, or a member of a zip."""

    path: Path
    size: int  # bytes, unpacked
    member: str | None = None

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.path.name if self.member is None else f"{self.path.name}/{self.member}"


def find_sources(paths: Sequence[Path]) -> list[Source]:
    """The tables in files, zips and folders; raises FaultsError for what is absent, empty or broken."""
    sources: list[Source] = []
    faults = []
    for path in paths:
        try:
            found = _inside(path)
        except FileNotFoundError:
            faults.append(Fault(str(path), "no such file", "Check the path"))
        except zipfile.BadZipFile:
            faults.append(Fault(str(path), "not a whole zip file", "It may be cut short; download it again"))
        else:
            sources += found
            if not found:
                faults.append(Fault(str(path), "holds no CSV or Parquet file", "Name the QCEW data files"))
    if faults:
        raise FaultsError("QCEW input", faults)
    return sources


def _inside(path: Path) -> list[Source]:
    if path.is_dir():
        files = sorted(entry for entry in path.iterdir() if entry.suffix.lower() in _SUFFIXES)
        return [source for entry in files for source in _inside(entry)]
    if path.suffix.lower() != ".zip":
        return [Source(path, path.stat().st_size)]
    with zipfile.ZipFile(path) as archive:
        members = [info for info in archive.infolist() if info.filename.lower().endswith(".csv")]
        return [Source(path, info.file_size, info.filename) for info in members]


def read_chunks(source: Source, progress: Advance | None = None) -> Iterator[pa.Table]:
    """The wanted columns of a table, in chunks, named as in `TEXT`, `WHOLE` and `WHEN` (text)."""
    reader = _parquet_chunks if source.path.suffix.lower() == ".parquet" else _csv_chunks
    for chunk in reader(source, progress):
        yield chunk.rename_columns([_ALIASES.get(name, name) for name in chunk.column_names])


def _parquet_chunks(source: Source, progress: Advance | None) -> Iterator[pa.Table]:
    with pq.ParquetFile(source.path) as file:
        wanted = _wanted(source, file.schema_arrow.names)
        for group in range(file.num_row_groups):
            chunk = file.read_row_group(group, columns=list(wanted))
            yield chunk.cast(pa.schema([(name, wanted[name]) for name in chunk.column_names]))
            if progress is not None:
                progress(source.size // file.num_row_groups)


def _csv_chunks(source: Source, progress: Advance | None) -> Iterator[pa.Table]:
    with _opened(source) as file:
        header = file.readline().decode("utf-8-sig")
    names = next(csv.reader([header]), [])
    wanted = _wanted(source, names)
    done = 0
    with _opened(source) as file:
        reader = pa_csv.open_csv(
            pa.PythonFile(file, mode="r"),
            read_options=pa_csv.ReadOptions(block_size=_BLOCK_BYTES, skip_rows=1, column_names=names),
            convert_options=pa_csv.ConvertOptions(
                include_columns=list(wanted), column_types=wanted, strings_can_be_null=False
            ),
        )
        for batch in reader:
            yield pa.Table.from_batches([batch])
            if progress is not None:
                progress(min(_BLOCK_BYTES, source.size - done))
                done = min(done + _BLOCK_BYTES, source.size)
    if progress is not None:
        progress(source.size - done)


@contextmanager
def _opened(source: Source) -> Iterator[IO[bytes]]:
    if source.member is None:
        with source.path.open("rb") as file:
            yield file
    else:
        with zipfile.ZipFile(source.path) as archive, archive.open(source.member) as member:
            yield member


def _wanted(source: Source, names: Sequence[str]) -> dict[str, pa.DataType]:
    """The columns to read, by their name in the file; raises FaultsError if one is missing."""
    spelled = {_ALIASES.get(name, name): name for name in names}
    missing = [name for name in (*TEXT, *WHOLE) if name not in spelled]
    if missing:
        columns = ", ".join(missing)
        raise FaultsError(
            "QCEW input",
            [
                Fault(
                    source.name,
                    f"no column {columns}",
                    "Use the quarterly files of the BLS with their header line",
                )
            ],
        )
    text = {spelled[name]: pa.string() for name in (*TEXT, *WHEN) if name in spelled}
    return text | {spelled[name]: pa.int64() for name in WHOLE}
