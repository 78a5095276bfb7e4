"""Parquet files, of which DuckDB reads the columns it needs, and Arrow files."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.ipc

from gedp.confidential.engines.sources import Ask, TableSource
from gedp.confidential.engines.sources.files import Stamp
from gedp.confidential.engines.sources.streams import Streamed, chosen, distinct
from gedp.errors import Fault, FaultsError
from gedp.sql import quoted_path


class ParquetFiles(TableSource):
    """Parquet files, each with its own columns."""

    def offered(self, connection: duckdb.DuckDBPyConnection) -> str:
        """DuckDB's table function for the files; folders called key=value are not columns."""
        listed = ", ".join(map(quoted_path, self.files()))
        by_name = f"union_by_name = {len(self.files()) > 1}"  # else the first file's types round others
        return f"read_parquet([{listed}], {by_name}, hive_partitioning = false)"

    def headers(self, ask: Ask) -> list[list[str]]:
        """The outermost names in the schema of every file."""
        parts = "SELECT name, num_children FROM parquet_schema"
        return [_outermost(ask(f"{parts}({quoted_path(path)})")) for path in self.files()]


class ArrowFiles(Streamed):
    """Arrow files with the same columns, mapped into memory by the system as they are read."""

    def __init__(self, name: str, stamps: Mapping[Path, Stamp], wanted: Sequence[str]) -> None:
        schemas = [_schema(name, path) for path in stamps]
        if any(not schema.equals(schemas[0]) for schema in schemas):
            raise FaultsError(name, [Fault("the table", "the files have other columns", "Name files that are alike")])
        names = chosen(schemas[0].names, wanted)
        super().__init__(name, stamps, names)
        self._places = [place for place, column in enumerate(schemas[0].names) if column in names]
        self._types = [schemas[0].field(place).type for place in self._places]

    def schema(self) -> pa.Schema:
        """The types of the files."""
        return pa.schema(list(zip(distinct(self.names), self._types, strict=True)))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The batches of every file, in their order."""
        options = pyarrow.ipc.IpcReadOptions(included_fields=self._places)
        for path in self.files():
            with pa.memory_map(str(path)) as file, pyarrow.ipc.open_file(file, options=options) as reader:
                for number in range(reader.num_record_batches):
                    yield reader.get_batch(number)


def _schema(name: str, path: Path) -> pa.Schema:
    try:
        with pa.memory_map(str(path)) as file, pyarrow.ipc.open_file(file) as reader:
            return reader.schema
    except (pa.ArrowException, OSError):
        fault = Fault("the file", "it cannot be read: it is damaged or incomplete", "Get a complete copy")
    raise FaultsError(name, [fault])


def _outermost(parts: Sequence[tuple[Any, ...]]) -> list[str]:
    """The names of columns in the schema of a Parquet file, which lists what is inside a column right after it."""
    names, inside = [], 0
    for name, children in parts[1:]:  # the first is the file
        if not inside:
            names.append(str(name))
        inside += (children or 0) - bool(inside)
    return names
