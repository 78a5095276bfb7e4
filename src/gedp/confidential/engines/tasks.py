"""What a worker does with the rows it is given. Rows come and results go as Arrow; nothing here knows of Spark.

A task may be done twice, by one worker after another or by two at once: whoever runs it keeps one outcome.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gedp.confidential.engines import Drawing, Drawn, part
from gedp.confidential.engines.part import Part
from gedp.noise.entropy import Entropy
from gedp.passes import EMPTY, Batch, ByPlace, Key, Pass, Reads, Rewriting, nothing

Records = Iterable[pa.RecordBatch]
NDArray = npt.NDArray[Any]
Task = Callable[[Records], Iterator[pa.RecordBatch]]

PLACE, ROWS = "place", "rows"


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


def counting(question: Callable[[Part], Sequence[int]]) -> Task:
    """Answers a question whose answers for some rows are added up: whole numbers of any size, as texts."""

    def task(records: Records) -> Iterator[pa.RecordBatch]:
        for held in _held(records):
            yield pa.RecordBatch.from_arrays([pa.array([" ".join(map(str, question(held)))])], ["counts"])

    return task


def combining(columns: Sequence[str]) -> Task:
    """The combinations of texts that occur, with their numbers of rows, to be added up."""

    def task(records: Records) -> Iterator[pa.RecordBatch]:
        for held in _held(records):
            texts, rows = held.combinations(columns)
            arrays = [*(pa.array(texts[column], pa.string()) for column in columns), pa.array(rows)]
            yield pa.RecordBatch.from_arrays(arrays, [*combined_names(columns), ROWS])

    return task


def combined_names(columns: Sequence[str]) -> list[str]:
    """What texts of columns are called on the way, whatever the columns are called."""
    return [f"text{place}" for place in range(len(columns))]


def reducing(run: Pass) -> Task:
    """The results of a pass, by place; those of other tasks are to be added, or their extremes taken."""

    def task(records: Records) -> Iterator[pa.RecordBatch]:
        found = nothing(run)
        for held in _held(records):
            for batch in held.batches(run.reads):
                found |= run(batch)
        yield sent(found)

    return task


def placing(reads: Reads, schema: pa.Schema) -> Task:
    """The cell of every row, and the columns that are read as they are."""

    def task(records: Records) -> Iterator[pa.RecordBatch]:
        for held in _held(records):
            for batch in held.batches(reads):
                yield pa.RecordBatch.from_arrays([pa.array(batch.cells), *batch.plain.columns], schema=schema)

    return task


def reducing_placed(run: Pass) -> Task:
    """The results of a pass over rows whose cells are known."""

    def task(records: Records) -> Iterator[pa.RecordBatch]:
        found, names = nothing(run), list(run.reads.plain)
        for record in records:
            plain = pa.RecordBatch.from_arrays(record.columns[1:], names)
            found |= run(Batch({}, {}, plain, record.num_rows, record.column(0).to_numpy()))
        yield sent(found)

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


def sent(results: ByPlace) -> pa.RecordBatch:
    """Results as they travel: the places where something was found, and a column for each array."""
    columns = travelling(results)
    found = [column != EMPTY[kind] for (kind, _), column in columns.items()]
    places = np.flatnonzero(np.logical_or.reduce(found)) if found else np.zeros(0, dtype=np.int64)
    arrays = [pa.array(places.astype(np.int64)), *(pa.array(column[places]) for column in columns.values())]
    return pa.RecordBatch.from_arrays(arrays, [PLACE, *(f"{kind}{number}" for kind, number in columns)])


def received(table: pa.Table, like: ByPlace) -> ByPlace:
    """The results that arrived, where `like` is what is found in no rows."""
    places = table[PLACE].to_numpy()

    def filled(kind: str, empty: Mapping[Key, NDArray]) -> dict[Key, NDArray]:
        arrays = {key: column.copy() for key, column in empty.items()}
        for number, array in enumerate(arrays.values()):
            array[places] = table[f"{kind}{number}"].to_numpy()
        return arrays

    return ByPlace(*(filled(kind, getattr(like, kind)) for kind in EMPTY))


def travelling(results: ByPlace) -> dict[tuple[str, int], NDArray]:
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
