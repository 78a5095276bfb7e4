"""Drawing rows that come in the same order every time. What is drawn first waits in memory, by place.

The system's noise is drawn for several batches at a time; a seed gives its words to the rows in their order.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TypeVar

import numpy as np
import pyarrow as pa

from gedp.arrays import CodeArray, FloatArray, IntArray
from gedp.confidential.engines import Draw, Drawn, OrderedRows, Results
from gedp.errors import TableChangedError
from gedp.passes import Batch, PartialResults, Reads, nothing
from gedp.passes.in_memory import NumbersInMemory

#: Batches that are worked on at a time, at most: more would take more memory than they save time.
MOST_WORKERS = 4

S = TypeVar("S")
T = TypeVar("T")


def draw_in_order(rows: OrderedRows, asked: Draw) -> Results:
    """Draws every row into the writer, in one pass over the rows."""
    drawing, of_drawn = asked.drawing, asked.of_drawn

    def drawn(batch: Batch) -> tuple[Drawn, PartialResults, PartialResults]:
        found, of_rows = drawing(batch, asked.entropy), asked.of_rows(batch)
        if of_drawn is None:
            return found, of_rows, PartialResults()
        (published,) = found.table.combine_chunks().to_batches()
        return found, of_rows, of_drawn(Batch({}, {}, published, batch.rows, batch.cells))

    done, results = 0, Results(nothing(asked.of_rows), PartialResults() if of_drawn is None else nothing(of_drawn))
    for found, of_rows, published in _mapped(asked, drawn, rows):
        asked.writer.write_identity(found.table, drawing.public, drawing.keys, found.ties)
        results = Results(results.of_rows | of_rows, results.of_drawn | published)
        done += found.table.num_rows
        asked.progress(done)
    asked.writer.finish_identity()
    return results


def draw_first_in_order(rows: OrderedRows, asked: Draw) -> "FirstInMemory":
    """Draws every row for the first of two times, in one pass over the rows."""
    seen, result, done = _Seen(), nothing(asked.of_rows), 0
    cells, columns = list[CodeArray](), dict[str, list[FloatArray]]()

    def drawn(batch: Batch) -> tuple[Batch, Drawn, PartialResults]:
        return batch, asked.drawing(batch, asked.entropy), asked.of_rows(batch)

    for batch, answers, found in _mapped(asked, drawn, rows):
        seen.add(batch.amounts)
        cells.append(batch.cells)
        for name in answers.table.column_names:
            columns.setdefault(name, []).append(answers.table[name].to_numpy())
        result |= found
        done += batch.rows
        asked.progress(done)
    of_row: CodeArray = np.concatenate(cells or [np.zeros(0, dtype=np.int32)])
    together = {name: np.concatenate(columns.pop(name)) for name in list(columns)}  # each is given up on the way
    return FirstInMemory(of_row, together, rows, result, seen.result())


@dataclass(frozen=True, repr=False)
class FirstInMemory(NumbersInMemory):
    """First answers in the order of the rows. Passes go over these; the second drawing reads the rows with them."""

    rows: OrderedRows
    of_rows: PartialResults
    seen: Mapping[str, bytes]  # digests of the values

    def draw(self, asked: Draw) -> Results:
        """The second drawing."""
        return draw_in_order(self, asked)

    def batches(self, reads: Reads) -> Iterator[Batch]:
        """The rows, each with its first answers; rejects values that are not those of the first time, in its order."""
        again, start = _Seen(), 0
        others = tuple(name for name in reads.plain if name not in self.columns)
        for batch in self.rows.batches(replace(reads, plain=others)):
            again.add(batch.amounts)
            yield self._beside(batch, start)
            start += batch.rows
        if again.result() != {name: digest for name, digest in self.seen.items() if name in reads.amounts}:
            raise TableChangedError

    def _beside(self, batch: Batch, start: int) -> Batch:
        """A batch with the first answers of its rows; rejects more rows than there were the first time."""
        here = [column[start : start + batch.rows] for column in self.columns.values()]
        if any(len(column) != batch.rows for column in here):
            raise TableChangedError
        names = [*batch.plain.schema.names, *self.columns]
        return replace(batch, plain=pa.RecordBatch.from_arrays([*batch.plain.columns, *map(pa.array, here)], names))


class _Seen:
    """Digests of the values of a pass in their order, in memory alone: whether another pass saw the same."""

    def __init__(self) -> None:
        self._digests: dict[str, blake2b] = {}

    def add(self, amounts: Mapping[str, IntArray]) -> None:
        """The values of more rows."""
        for name, values in amounts.items():
            digest = self._digests.setdefault(name, blake2b())
            digest.update(np.ascontiguousarray(values, dtype=np.int64).data)

    def result(self) -> dict[str, bytes]:
        """Equal for passes that saw the same."""
        return {name: digest.digest() for name, digest in self._digests.items()}


def _mapped(asked: Draw, drawn: Callable[[Batch], T], rows: OrderedRows) -> Iterator[T]:
    batches = rows.batches(asked.drawing.reads | asked.of_rows.reads)
    return side_by_side(drawn, batches) if asked.entropy.kind == "system" else map(drawn, batches)


def side_by_side(function: Callable[[S], T], items: Iterable[S], most: int = MOST_WORKERS) -> Iterator[T]:
    """The function of every item, in order, by as many threads as there are cores; few items are waiting at a time."""
    workers = min(most, os.cpu_count() or 1)
    with ThreadPoolExecutor(workers, thread_name_prefix="gedp-batch") as threads:
        waiting: deque[Future[T]] = deque()
        try:
            for item in items:
                waiting.append(threads.submit(function, item))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # what has not begun when something fails is not begun any more
            for future in waiting:
                future.cancel()
