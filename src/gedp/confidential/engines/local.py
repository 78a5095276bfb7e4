"""The engine for one machine: DuckDB over Parquet or CSV files or an Arrow table, in batches of bounded size."""

import glob
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from gedp.confidential.engines import ArrowStream, Batch, ByPlace, Drawing, Drawn, Pass, RowWriter, nothing
from gedp.confidential.engines.part import Part
from gedp.confidential.engines.sources import Stamp, delimiter_of, is_csv, require_readable, stamps_of, unread
from gedp.errors import Fault, FaultsError, TableChangedError
from gedp.noise.entropy import Entropy
from gedp.sql import quoted_text

IN_MEMORY = "a table in memory"
#: Batches that are worked on at a time, at most: more would take more memory than they save time.
MOST_WORKERS = 4

S = TypeVar("S")
T = TypeVar("T")


class LocalEngine(Part):
    """A table that DuckDB can read, as one part; its batches are worked on side by side."""

    def __init__(self, source: str | Path | ArrowStream) -> None:
        self._stamps: dict[Path, Stamp] | None = None
        if isinstance(source, str | Path):
            super().__init__(str(source))
            self._stamps = stamps_of(self.name)
            if not self._stamps:
                raise FaultsError(self.name, [unread(self.name)])
            require_readable(self.name, self.files())
            view = self._censored(lambda: _reader(self.files()))
            self._execute(f"CREATE VIEW source AS SELECT * FROM {view}")
            self._describe()
            self._has_own_names = all(map(self._are_own, self._headers()))
        else:
            super().__init__(IN_MEMORY)
            in_memory = _arrow_table(source)
            self.hold(in_memory)
            self._has_own_names = self._are_own(in_memory.column_names)

    def files(self) -> list[Path]:
        """The files that are read; none for a table in memory."""
        return list(self._stamps or ())

    @property
    def has_schema(self) -> bool:
        """Whether names of columns come from a schema: of Parquet files. A DataFrame may have been read from a text."""
        return bool(self.files()) and not any(map(is_csv, self.files()))

    @property
    def has_own_names(self) -> bool:
        """Whether no column got a name from DuckDB that may be another's.

        It renames one whose name, but for case, was there before: of x, X and x_1 it makes x, X_1 and x_1_1. And it
        gives a name to a column without one.
        """
        return self._has_own_names

    def reduce(self, run: Pass) -> ByPlace:
        """The results of a pass, batches side by side."""
        return reduce(or_, _mapped(run, self.batches(run.reads)), nothing(run))

    def require_place(self, writer: RowWriter) -> None:
        """Rows are written by the writer, here."""

    def draw(
        self,
        drawing: Drawing,
        entropy: Entropy,
        of_rows: Pass,
        of_drawn: Pass,
        writer: RowWriter,
        progress: Callable[[int], None],
    ) -> tuple[ByPlace, ByPlace]:
        """Draws batch by batch, in one pass over the table; a seed gives its words to the rows in their order."""

        def drawn(batch: Batch) -> tuple[Drawn, ByPlace, ByPlace]:
            found = drawing(batch, entropy)
            (published,) = found.table.combine_chunks().to_batches()
            return found, of_rows(batch), of_drawn(Batch({}, {}, published, batch.rows, batch.cells))

        done, result = 0, (nothing(of_rows), nothing(of_drawn))
        workers = MOST_WORKERS if entropy.kind == "system" else 1
        for found, rows, published in _mapped(drawn, self.batches(drawing.reads | of_rows.reads), workers):
            writer.write_identity(found.table, drawing.public, drawing.keys, found.ties)
            result = result[0] | rows, result[1] | published
            done += found.table.num_rows
            progress(done)
        writer.finish_identity()
        return result

    def require_unchanged(self) -> None:
        """Refuses files that are not the ones that were opened."""
        if self._stamps is not None and stamps_of(self.name) != self._stamps:
            raise TableChangedError

    def _headers(self) -> list[list[str]]:
        """The names of columns as the files have them: of each Parquet file, or in the first line of the first text."""
        if self.has_schema:
            parts = "SELECT name, num_children FROM parquet_schema"
            return [_outermost(self._execute(f"{parts}({_quoted(path)})")) for path in self.files()]
        first = self._execute(f"SELECT * FROM {_reader(self.files()[:1], header=False)} LIMIT 1")
        return [[(name or "").strip() for name in line] for line in first]  # as DuckDB takes them

    def _are_own(self, names: Sequence[str]) -> bool:
        """Whether columns of these names keep them; of one file among several, as far as its names alone decide."""
        given = [name.lower() for name in names if name]
        moved = len(self.files()) < 2 and any(a and a != b for a, b in zip(names, self._types, strict=False))
        return len(set(given)) == len(given) and not moved


def _mapped(function: Callable[[S], T], items: Iterable[S], most: int = MOST_WORKERS) -> Iterator[T]:
    """The function of every item, in order, by as many threads as there are cores; few items are waiting at a time."""
    workers = min(most, os.cpu_count() or 1)
    with ThreadPoolExecutor(workers, thread_name_prefix="gedp-batch") as threads:
        waiting: deque[Future[T]] = deque()
        for item in items:
            waiting.append(threads.submit(function, item))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _arrow_table(source: object) -> pa.Table:
    """Rows of another library; its messages can quote them, so only the kind of an error gets through."""
    if not isinstance(source, ArrowStream):
        hint = "Give a path, or a DataFrame or table of pandas, polars, pyarrow or DuckDB"
        raise FaultsError(IN_MEMORY, [Fault("the table", f"{type(source).__name__} is not a table", hint)])
    try:
        table = pa.table(source)
    except Exception as error:
        problem = f"its columns cannot be read ({type(error).__name__})"
    else:
        return table
    raise FaultsError(IN_MEMORY, [Fault("the table", problem, "Give every column a name of its own, and one type")])


def _reader(files: Sequence[Path], *, header: bool = True) -> str:
    """DuckDB's table function for these files. CSV columns stay text, so that codes keep their zeros.

    Nothing about a CSV file is guessed from its rows: a guess can drop a line that does not fit, or take it for the
    header.
    """
    quoted = ", ".join(map(_quoted, files))
    if not is_csv(files[0]):  # folders called key=value are not columns
        by_name = f"union_by_name = {len(files) > 1}"  # else the first file's types round others
        return f"read_parquet([{quoted}], {by_name}, hive_partitioning = false)"
    dialect = f"delim = {quoted_text(delimiter_of(files[0]))}, quote = '\"', escape = '\"', comment = '', skip = 0"
    return f"read_csv([{quoted}], all_varchar = true, header = {header}, hive_partitioning = false, {dialect})"


def _quoted(path: Path) -> str:
    """A path in SQL: absolute, lest DuckDB expands what pathlib does not."""
    return quoted_text(glob.escape(str(path.absolute())))


def _outermost(parts: Sequence[tuple[Any, ...]]) -> list[str]:
    """The names of columns in the schema of a Parquet file, which lists what is inside a column right after it."""
    names, inside = [], 0
    for name, children in parts[1:]:  # the first is the file
        if not inside:
            names.append(str(name))
        inside += (children or 0) - bool(inside)
    return names
