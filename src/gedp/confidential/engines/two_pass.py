"""Rows that are drawn twice, by an engine whose rows have places: what was drawn first waits in memory, by place."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from gedp.arrays import CodeArray, FloatArray, IntArray
from gedp.confidential.engines import Drawing, Drawn, Mapped, OrderedRows, RowWriter, Second
from gedp.errors import TableChangedError
from gedp.noise.entropy import Entropy
from gedp.passes import Batch, PartialResults, Pass, Reads, Reducible, nothing
from gedp.passes.in_memory import NumbersInMemory


def draw_in_order(
    rows: OrderedRows,
    first: Drawing,
    of_rows: Pass,
    then: Callable[[Reducible, PartialResults], Second],
    entropy: Entropy,
    writer: RowWriter,
    progress: tuple[Callable[[int], None], Callable[[int], None]],
    mapped: Mapped = map,
) -> PartialResults:
    """As `Engine.draw_two_pass`. The values must come as in the first pass, in its order."""
    seen, again = _Seen(), _Seen()
    kept, result = _Kept(), nothing(of_rows)

    def drawn_first(batch: Batch) -> tuple[Batch, Drawn, PartialResults]:
        return batch, first(batch, entropy), of_rows(batch)

    for batch, drawn, found in mapped(drawn_first, _batches(rows, first.reads | of_rows.reads)):
        seen.add(batch.amounts)
        kept.add(batch.cells, drawn.table)
        result |= found
        progress[0](kept.count)
    answered = kept.together()
    second = then(answered, result)
    drawing, of_second = second.drawing, second.of_rows
    result, done = nothing(of_second), 0
    reads = drawing.reads | of_second.reads
    reads = replace(reads, plain=tuple(name for name in reads.plain if name not in answered.columns))

    def with_first() -> Iterator[Batch]:
        start = 0
        for batch in _batches(rows, reads):
            here = slice(start, start + batch.rows)
            start += batch.rows
            yield _beside(batch, {name: column[here] for name, column in answered.columns.items()})

    def drawn_second(batch: Batch) -> tuple[Batch, Drawn, PartialResults]:
        return batch, drawing(batch, entropy), of_second(batch)

    for batch, drawn, found in mapped(drawn_second, with_first()):
        again.add(batch.amounts)
        writer.write_identity(drawn.table, drawing.public, drawing.keys, drawn.ties)
        result |= found
        done += batch.rows
        progress[1](done)
    if again.result() != seen.result():
        raise TableChangedError
    writer.finish_identity()
    return result


def _batches(rows: OrderedRows, reads: Reads) -> Iterator[Batch]:
    return rows.scan(amounts=reads.amounts, plain=reads.plain, cells=reads.cells)


def _beside(batch: Batch, columns: Mapping[str, FloatArray]) -> Batch:
    """A batch with more columns; refuses one of more rows than there were the first time."""
    if any(len(column) != batch.rows for column in columns.values()):
        raise TableChangedError
    arrays = [*batch.plain.columns, *map(pa.array, columns.values())]
    plain = pa.RecordBatch.from_arrays(arrays, names=[*batch.plain.schema.names, *columns])
    return Batch(batch.codes, batch.amounts, plain, batch.rows, batch.cells)


class _Kept:
    """What was drawn first: numbers alone, and cells."""

    def __init__(self) -> None:
        self.count = 0
        self._cells: list[CodeArray] = []
        self._columns: dict[str, list[FloatArray]] = {}

    def add(self, cells: CodeArray, drawn: pa.Table) -> None:
        self.count += len(cells)
        self._cells.append(cells)
        for name in drawn.column_names:
            self._columns.setdefault(name, []).append(drawn[name].to_numpy())

    def together(self) -> NumbersInMemory:
        """All of it, in the order of the table; what was collected is given up on the way."""
        none = [np.zeros(0, dtype=np.int32)]
        cells: CodeArray = np.concatenate(self._cells or none)
        columns = {name: np.concatenate(self._columns.pop(name)) for name in list(self._columns)}
        self._cells.clear()
        return NumbersInMemory(cells, columns)


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
