"""Published rows in an order that public values alone decide.

The order of a confidential table is confidential: in a file sorted by size it gives the values away, whatever noise
they carry. So rows wait, noisy, in the private folder of a release in the making, and leave it sorted by public
columns, with random numbers where those are equal. Groups of rows in the file have one fixed size.
"""

import glob
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from gedp.files import WriteError

ROWS_A_GROUP = 1_000_000
MEMORY = "1GB"  # for sorting; beyond it sorted parts wait on disk, in the private folder

Ties = npt.NDArray[np.uint64]


class SortedRows:
    """Takes noisy rows batch by batch, in any order, and writes them sorted.

    `keys` are the columns to sort by, the first of which matters most. Rows are written and sorted by one of `threads`
    while the caller goes on.
    """

    def __init__(self, folder: Path, schema: pa.Schema, keys: Sequence[str], ties: int, threads: Executor) -> None:
        self._schema, self._threads = schema, threads
        self._keys = [f"c{schema.get_field_index(key)}" for key in keys] + [f"t{i}" for i in range(ties)]
        names = [f"c{i}" for i in range(len(schema))] + [f"t{i}" for i in range(ties)]
        types = [*schema.types, *[pa.uint64()] * ties]
        self._waiting = pa.schema(list(zip(names, types, strict=True)))
        self._path, self._spill = folder / "rows", folder / "sorting"
        self._writer = pq.ParquetWriter(self._path, self._waiting, compression="none", use_dictionary=False)
        self._last: Future[None] | None = None

    def add(self, batch: pa.Table, ties: Sequence[Ties]) -> None:
        """Takes rows; returns when those before are on disk."""
        if self._last:
            self._last.result()
        columns = [*batch.columns, *map(pa.array, ties)]
        self._last = self._threads.submit(self._writer.write_table, pa.table(columns, schema=self._waiting))

    def write(self, path: Path, repeating: Sequence[str]) -> Future[None]:
        """Begins to write all rows to `path`; the columns in `repeating` get dictionaries."""
        if self._last:
            self._last.result()
        self.close()
        return self._threads.submit(self._write, path, list(repeating))

    def close(self) -> None:
        """Takes no more rows."""
        self._writer.close()

    def _write(self, path: Path, repeating: list[str]) -> None:
        try:
            self._write_sorted(path, repeating)
        except duckdb.Error as error:
            raise WriteError(f"cannot write {path.name}: its rows cannot be sorted ({type(error).__name__})") from None

    def _write_sorted(self, path: Path, repeating: list[str]) -> None:
        with pq.ParquetWriter(path, self._schema, compression="zstd", use_dictionary=repeating) as writer:
            for table in _even(self._sorted(), self._schema):
                writer.write_table(table, row_group_size=ROWS_A_GROUP)
        self._path.unlink()
        shutil.rmtree(self._spill, ignore_errors=True)

    def _sorted(self) -> Iterator[pa.RecordBatch]:
        columns = ", ".join(f"c{i}" for i in range(len(self._schema)))
        source = "'" + glob.escape(str(self._path)).replace("'", "''") + "'"
        with duckdb.connect(config={"temp_directory": str(self._spill), "memory_limit": MEMORY}) as connection:
            connection.execute("SET enable_progress_bar = false")
            order = ", ".join(self._keys)
            yield from connection.sql(f"SELECT {columns} FROM read_parquet({source}) ORDER BY {order}").to_arrow_reader(
                ROWS_A_GROUP
            )


def _even(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows in tables of ROWS_A_GROUP each but the last, whatever the batches; names and types are `schema`'s."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        while rows >= ROWS_A_GROUP:
            table = pa.Table.from_batches(waiting)
            yield table.slice(0, ROWS_A_GROUP).rename_columns(schema.names).cast(schema)
            waiting = table.slice(ROWS_A_GROUP).to_batches()
            rows -= ROWS_A_GROUP
    if rows:
        yield pa.Table.from_batches(waiting).rename_columns(schema.names).cast(schema)
