"""Published rows in an order that public values alone decide.

The order of a confidential table is confidential: in a file sorted by size it gives the values away, whatever noise
they carry. So rows wait, noisy, in the private folder of a release in the making, and leave it sorted by public
columns, with random numbers where those are equal. Groups of rows in the file have one fixed size.

Rows that come sorted already, as those of most registers do, are written at once; the file is the same.
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
import pyarrow.compute
import pyarrow.parquet as pq

from gedp.files import WriteError
from gedp.sql import draw_no_progress, quoted_name, quoted_text

ROWS_PER_GROUP = 1_000_000
MEMORY = "1GB"  # for sorting; beyond it sorted parts wait on disk, in the private folder

Ties = npt.NDArray[np.uint64]


class SortedRows:
    """Takes noisy rows batch by batch, in any order, and writes them to `target`, sorted.

    `keys` are the columns to sort by, the first of which matters most; the columns in `repeating` get dictionaries.
    Files are written by one of `threads` while the caller goes on.
    """

    def __init__(
        self,
        target: Path,
        schema: pa.Schema,
        keys: Sequence[str],
        repeating: Sequence[str],
        ties: int,
        threads: Executor,
    ) -> None:
        self._target, self._schema, self._repeating, self._threads = target, schema, list(repeating), threads
        free = "tie" + "_" * max(map(len, schema.names))
        self._ties = [f"{free}{i}" for i in range(ties)]
        self._keys = [*keys, *self._ties]
        self._order = Order(keys[0]) if len(keys) == 1 and not ties and is_simple(schema.field(keys[0]).type) else None
        self._waiting: list[Path] = []  # files whose rows are still to be sorted
        self._chunks = Chunks(schema)
        self._writer = self._open_target() if self._order else self._open_waiting()
        self._last: Future[None] | None = None

    def add(self, batch: pa.Table, ties: Sequence[Ties]) -> None:
        """Takes rows; returns when those before are on disk."""
        if self._order and not self._order.goes_on(batch):
            self._order = None
            self._write(self._chunks.rest())
            self._close()
            self._waiting.append(self._target.rename(self._target.with_name("rows-in-order")))
            self._writer = self._open_waiting()
        if self._order:
            for table in self._chunks.whole(batch):
                self._write(table)
        else:
            names = [*batch.column_names, *self._ties]
            self._write(pa.table([*batch.columns, *map(pa.array, ties)], names=names))

    def finish(self) -> Future[None]:
        """All rows are there; the result is done when they are in the file."""
        self._write(self._chunks.rest())
        self._close()
        return self._threads.submit(self._sort if self._waiting else lambda: None)

    def close(self) -> None:
        """Takes no more rows, and leaves what there is."""
        self._writer.close()

    def _write(self, table: pa.Table) -> None:
        if self._last:
            self._last.result()
        if table.num_rows:
            self._last = self._threads.submit(self._writer.write_table, table, ROWS_PER_GROUP)

    def _close(self) -> None:
        if self._last:
            self._last.result()
        self._writer.close()

    def _open_target(self) -> pq.ParquetWriter:
        return pq.ParquetWriter(self._target, self._schema, compression="zstd", use_dictionary=self._repeating)

    def _open_waiting(self) -> pq.ParquetWriter:
        path = self._target.with_name("rows")
        self._waiting.append(path)
        ties = [pa.field(name, pa.uint64()) for name in self._ties]
        return pq.ParquetWriter(path, pa.schema([*self._schema, *ties]), compression="none", use_dictionary=False)

    def _sort(self) -> None:
        spill = self._target.with_name("sorting")
        try:
            with self._open_target() as writer:
                for batch in self._sorted(spill):
                    for table in self._chunks.whole(pa.Table.from_batches([batch]).cast(self._schema)):
                        writer.write_table(table, ROWS_PER_GROUP)
                if (rest := self._chunks.rest()).num_rows:
                    writer.write_table(rest, ROWS_PER_GROUP)
        except duckdb.Error as error:
            problem = f"its rows cannot be sorted ({type(error).__name__})"
            raise WriteError(f"cannot write {self._target.name}: {problem}") from None
        for path in self._waiting:
            path.unlink()
        shutil.rmtree(spill, ignore_errors=True)

    def _sorted(self, spill: Path) -> Iterator[pa.RecordBatch]:
        files = ", ".join(quoted_text(glob.escape(str(path))) for path in self._waiting)
        columns, order = (", ".join(map(quoted_name, names)) for names in (self._schema.names, self._keys))
        with duckdb.connect(config={"temp_directory": str(spill), "memory_limit": MEMORY}) as connection:
            draw_no_progress(connection)
            source = f"read_parquet([{files}], hive_partitioning = false)"
            yield from connection.sql(f"SELECT {columns} FROM {source} ORDER BY {order}").to_arrow_reader(
                ROWS_PER_GROUP
            )


class Chunks:
    """Rows in tables of ROWS_PER_GROUP, whatever the tables they come in."""

    def __init__(self, schema: pa.Schema) -> None:
        self._rest = schema.empty_table()

    def whole(self, table: pa.Table) -> Iterator[pa.Table]:
        """Adds rows; gives the tables that are full."""
        self._rest = pa.concat_tables([self._rest, table])
        while self._rest.num_rows >= ROWS_PER_GROUP:
            yield self._rest.slice(0, ROWS_PER_GROUP)
            self._rest = self._rest.slice(ROWS_PER_GROUP)

    def rest(self) -> pa.Table:
        """What is left; there is nothing then."""
        rest, self._rest = self._rest, self._rest.slice(self._rest.num_rows)
        return rest


class Order:
    """Whether the values of a column have come in increasing order so far."""

    def __init__(self, column: str) -> None:
        self._column = column
        self._last = pa.chunked_array([pa.nulls(0)])

    def goes_on(self, table: pa.Table) -> bool:
        """Whether they still do with these rows."""
        values = table[self._column]
        seen = pa.chunked_array([*self._last.cast(values.type).chunks, *values.chunks], values.type).combine_chunks()
        self._last = pa.chunked_array([seen[-1:]])
        return pa.compute.all(pa.compute.less(seen[:-1], seen[1:])).as_py() is not False


def is_simple(kind: pa.DataType) -> bool:
    """Whether values of this type are ordered alike here and where they are sorted."""
    return bool(pa.types.is_integer(kind) or pa.types.is_string(kind))
