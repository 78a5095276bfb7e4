"""What a worker does with the rows it is given. Rows come and results go as Arrow; nothing here knows of Spark.

A task may be done twice, by one worker after another or by two at once: whoever runs it keeps one outcome.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce, wraps
from io import BytesIO
from operator import or_
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ipc

from gedp.confidential.engines import Drawing, Drawn, part
from gedp.confidential.engines.part import Part
from gedp.noise.entropy import Entropy
from gedp.passes import EMPTY, Batch, Key, PartialResults, Pass, Reads, Rewriting, nothing

Records = Iterable[pa.RecordBatch]
NDArray = npt.NDArray[Any]
Task = Callable[[Records], Iterator[pa.RecordBatch]]

PLACE, ROWS, MESSAGE = "place", "rows", "message"


@dataclass(frozen=True)
class RowGroup:
    """Some rows of a Parquet file, as far as they were written together."""

    file: str
    place: int  # in the file
    rows: int


class TaskFailedError(Exception):
    """What a worker tells of an error: its kind alone, since messages and frames can hold records."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"<gedp {kind}>")


@dataclass(frozen=True, repr=False)
class Keyed:
    """A drawing whose rows also have public columns, by which they are known again."""

    drawing: Drawing
    known_by: tuple[str, ...]

    @property
    def reads(self) -> Reads:
        """These columns too."""
        return self.drawing.reads | Reads(plain=self.known_by)

    @property
    def columns(self) -> Sequence[str]:
        """These, and then what is drawn."""
        return [*self.known_by, *self.drawing.columns]

    @property
    def ties(self) -> int:
        """None: these rows are not published."""
        return 0

    @property
    def public(self) -> Sequence[str]:
        """All but what is drawn."""
        return self.known_by

    @property
    def keys(self) -> Sequence[str]:
        """As the drawing itself."""
        return self.drawing.keys

    def __call__(self, batch: Batch, entropy: Entropy) -> Drawn:
        """What is drawn, behind these columns."""
        known = pa.Table.from_batches([batch.plain]).select(list(self.known_by))
        drawn = self.drawing(batch, entropy).table
        return Drawn(pa.Table.from_arrays([*known.columns, *drawn.columns], list(self.columns)))


def sealed_task(task: Task) -> Task:
    """The same, whose errors say their kind and nothing else."""

    @wraps(task)
    def sealing(records: Records) -> Iterator[pa.RecordBatch]:
        try:
            yield from task(records)
        except Exception as error:
            kind = type(error).__name__
        else:
            return
        raise TaskFailedError(kind)  # after the handler, so that nothing from inside hangs on as its context

    return sealing


def named(columns: Sequence[str], task: Task) -> Task:
    """The same for rows whose columns come under other names, since Spark does not take every name."""

    def naming(records: Records) -> Iterator[pa.RecordBatch]:
        return task(record.rename_columns(list(columns)) for record in records)

    return naming


def from_files(groups: Sequence[RowGroup], schema: pa.Schema, task: Task) -> Task:
    """The same for rows that the worker reads by itself: what comes are numbers of row groups, in a column."""
    coded = [field.name for field in schema if pa.types.is_dictionary(field.type)]

    def read(numbers: Records) -> Iterator[pa.RecordBatch]:
        for number in (number for record in numbers for number in record.column(0).to_pylist()):
            with pq.ParquetFile(groups[number].file, read_dictionary=coded) as file:
                for record in file.iter_batches(part.BATCH_ROWS, [groups[number].place], schema.names):
                    yield record.select(schema.names).cast(schema)

    return lambda numbers: task(read(numbers))


def counting(question: Callable[[Part], Sequence[int]]) -> Task:
    """Answers a question whose answers for some rows are added up: whole numbers of any size, as texts."""

    def task(records: Records) -> Iterator[pa.RecordBatch]:
        for held in _held(records):
            yield pa.RecordBatch.from_arrays([pa.array([" ".join(map(str, question(held)))])], ["counts"])

    return task


def combining(columns: Sequence[str], listed: Mapping[str, list[str]] | None = None) -> Task:
    """The combinations of texts that occur, with their numbers of rows, to be added up."""

    def task(records: Records) -> Iterator[pa.RecordBatch]:
        for held in _held(records):
            texts, rows = held.combinations(columns, listed)
            arrays = [*(pa.array(texts[column], pa.string()) for column in columns), pa.array(rows)]
            yield pa.RecordBatch.from_arrays(arrays, [*combined_names(columns), ROWS])

    return task


def combined_names(columns: Sequence[str]) -> list[str]:
    """What texts of columns are called on the way, whatever the columns are called."""
    return [f"text{place}" for place in range(len(columns))]


def reducing(run: Pass) -> Task:
    """The results of a pass over all rows of a task, as one message."""

    def task(records: Records) -> Iterator[pa.RecordBatch]:
        found = nothing(run)
        for held in _held(records):
            for batch in held.batches(run.reads):
                found |= run(batch)
        yield message(found)

    return task


def merging(run: Pass) -> Task:
    """Several messages as one."""

    def task(records: Records) -> Iterator[pa.RecordBatch]:
        empty = nothing(run)
        texts = (text for record in records for text in record.column(0).to_pylist())
        yield message(reduce(or_, (received(text, empty) for text in texts), empty))

    return task


def drawing_rows(drawing: Drawing, source: Callable[[], Entropy], schema: pa.Schema) -> Task:
    """The drawn rows and their ties, with noise from a source of the worker's own."""

    def task(records: Records) -> Iterator[pa.RecordBatch]:
        entropy = source()
        for held in _held(records):
            for batch in held.batches(drawing.reads):
                drawn = drawing(batch, entropy)
                ties = [pa.array(tie.view(np.int64)) for tie in drawn.ties]
                yield from pa.Table.from_arrays([*drawn.table.columns, *ties], schema.names).cast(schema).to_batches()

    return task


def rewriting_rows(run: Rewriting, schema: pa.Schema) -> Task:
    """The rows in the place of those that come."""

    def task(records: Records) -> Iterator[pa.RecordBatch]:
        for held in _held(records):
            for batch in held.batches(run.reads):
                yield from run(batch).cast(schema).to_batches()

    return task


def message(results: PartialResults) -> pa.RecordBatch:
    """Results as they travel, in one row: the places where something was found, and a column for each array.

    As bytes they pass through Spark as they are. As rows, each number would be taken apart and put together again.
    """
    columns = _travelling(results)
    found = [column != EMPTY[kind] for (kind, _), column in columns.items()]
    places = np.flatnonzero(np.logical_or.reduce(found)) if found else np.zeros(0, dtype=np.int64)
    arrays = [pa.array(places), *(pa.array(column[places]) for column in columns.values())]
    table = pa.Table.from_arrays(arrays, [PLACE, *(f"{kind}{number}" for kind, number in columns)])
    written = BytesIO()
    with ipc.new_stream(written, table.schema) as stream:
        stream.write_table(table)
    return pa.RecordBatch.from_arrays([pa.array([written.getvalue()], pa.binary())], [MESSAGE])


def received(text: bytes, like: PartialResults) -> PartialResults:
    """The results in a message, where `like` is what is found in no rows."""
    table = ipc.open_stream(text).read_all()
    places = table[PLACE].to_numpy()

    def filled(kind: str, empty: Mapping[Key, NDArray]) -> dict[Key, NDArray]:
        arrays = {key: column.copy() for key, column in empty.items()}
        for number, array in enumerate(arrays.values()):
            array[places] = table[f"{kind}{number}"].to_numpy()
        return arrays

    return PartialResults(*(filled(kind, getattr(like, kind)) for kind in EMPTY))


def _travelling(results: PartialResults) -> dict[tuple[str, int], NDArray]:
    """The arrays of results by kind and number: their names may be anything."""
    return {(kind, number): array for kind in EMPTY for number, array in enumerate(getattr(results, kind).values())}


def _held(records: Records) -> Iterator[Part]:
    """The rows, as many at a time as a batch may have, in one and the same place."""
    held = Part("a part of the table")
    for rows in _gathered(records):
        held.hold(rows)
        yield held


def _gathered(records: Records) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for record in records:
        waiting.append(record)
        rows += record.num_rows
        if rows >= part.BATCH_ROWS:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting).combine_chunks()
