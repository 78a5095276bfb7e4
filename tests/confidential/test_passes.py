"""The contract of engines: whatever the parts, their order, empty ones, and tries before, they find what is there."""

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import ipc

from gedp.confidential.engines import Draw, part
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.engines.ordered import side_by_side
from gedp.confidential.engines.tasks import TaskFailedError, message, received, reducing, sealed_task
from gedp.confidential.tally import CellSums, DrawnCells
from gedp.noise.entropy import SeededEntropy, SystemEntropy
from gedp.passes import Batch, PartialResults, nothing
from tests.helpers.passes import (
    UNIT,
    DividedEngine,
    Row,
    agrees,
    agrees_on_faults,
    agrees_on_kinds,
    agrees_with_drawn,
    answered_table,
    faulty_table,
    identity_drawing,
    opened,
    some_rows,
    table_of,
)


def shuffled(seed: int) -> Callable[[list[int]], list[int]]:
    return lambda places: random.Random(seed).sample(places, len(places))


@given(some_rows, st.integers(1, 2**41))
@settings(max_examples=10)
def test_the_local_engine_finds_what_plain_python_finds(rows: list[Row], bound: int) -> None:
    agrees(LocalEngine(table_of(rows)), rows, bound)


@given(some_rows, st.integers(1, 2**41), st.lists(st.integers(0, 25), max_size=4), st.integers(0, 99))
@settings(max_examples=4)
def test_parts_find_together_what_is_there(rows: list[Row], bound: int, cuts: Sequence[int], seed: int) -> None:
    agrees(DividedEngine(table_of(rows), cuts, shuffled(seed)), rows, bound)


@given(some_rows, st.lists(st.integers(0, 25), max_size=4), st.integers(0, 99))
@settings(max_examples=5)
def test_rows_of_a_release_are_gone_over_alike(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], cuts: Sequence[int], seed: int
) -> None:
    folder, table = tmp_path_factory.mktemp("rows"), answered_table(rows)
    agrees_on_kinds(LocalEngine(table), rows, folder / "one.parquet")
    agrees_on_kinds(DividedEngine(table, cuts, shuffled(seed)), rows, folder / "parts.parquet")


def test_a_part_that_takes_several_batches_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[Row] = [(f"00{place % 3}", "1111", place, -place) for place in range(23)]
    monkeypatch.setattr(part, "BATCH_ROWS", 5)
    agrees(DividedEngine(table_of(rows), [11], shuffled(3)), rows, 7)


def test_what_is_wrong_is_counted_alike_in_one_piece_and_in_parts() -> None:
    agrees_on_faults(LocalEngine(faulty_table()))
    agrees_on_faults(DividedEngine(faulty_table(), [0, 3, 3, 7], shuffled(1)))


@given(some_rows, st.lists(st.integers(0, 25), max_size=3), st.booleans())
@settings(max_examples=3)
def test_drawn_rows_are_what_is_published_and_counted(rows: list[Row], cuts: Sequence[int], with_id: bool) -> None:
    """A task draws as the local engine does, and what is read back of the rows is what they say."""
    engine, drawing = DividedEngine(table_of(rows), cuts, lambda places: places), identity_drawing(with_id)
    _, cells = opened(engine)
    kept = Kept()
    passes = CellSums(cells.lookup, UNIT), DrawnCells(cells.lookup, UNIT)
    asked = Draw(drawing, SeededEntropy(1), kept, passes[0], kept.done.append, passes[1])
    of_rows, of_drawn = LocalEngine(table_of(rows)).draw(asked)
    assert kept.done[-1] == len(rows)
    agrees_with_drawn(kept.table, cells, of_drawn)
    assert np.array_equal(of_rows.added["emp"], engine.reduce(CellSums(cells.lookup, UNIT)).added["emp"])
    schema = pa.schema([*kept.table.schema, *(pa.field(f"tie{number}", pa.int64()) for number in range(drawing.ties))])
    whole = DividedEngine(table_of(rows), [], lambda places: places)
    drawn = whole.drawn(drawing, lambda: SeededEntropy(1), schema)
    assert drawn.select(drawing.columns).equals(kept.table)
    parts = engine.drawn(drawing, SystemEntropy().for_worker(), schema)
    assert parts.select(drawing.reads.plain).equals(kept.table.select(drawing.reads.plain))
    assert set(parts["emp__psi"].to_pylist()).isdisjoint(kept.table["emp__psi"].to_pylist())
    again = DividedEngine(parts, cuts, lambda places: places[::-1]).reduce(DrawnCells(cells.lookup, UNIT))
    agrees_with_drawn(parts, cells, again)


class Kept:
    """A writer that keeps rows."""

    def __init__(self) -> None:
        self.table, self.done = pa.table({}), list[int]()

    def write_identity(self, batch: pa.Table, *_: object) -> None:
        self.table = pa.concat_tables([self.table, batch]) if self.table.num_columns else batch

    def finish_identity(self) -> None:
        pass

    def identity_parts(self) -> Path:
        raise AssertionError


def test_results_travel_as_the_places_where_something_was_found() -> None:
    none = np.full(5, np.inf)
    found = PartialResults(
        {"a": np.array([0, 5, 0, -5, 0])},
        {"h": np.array([*-none[:2], 2.0, 1.0, -np.inf])},
        {"l": np.array([*none[:4], 0])},
    )
    (text,) = message(found)["message"].to_pylist()
    assert ipc.open_stream(text).read_all()["place"].to_pylist() == [1, 2, 3, 4]
    empty = PartialResults({"a": np.zeros(5, dtype=np.int64)}, {"h": -none}, {"l": none})
    back = received(text, empty)
    assert np.array_equal(back.added["a"], found.added["a"])
    assert np.array_equal(back.highest["h"], found.highest["h"])
    assert np.array_equal(back.lowest["l"], found.lowest["l"])
    (nothing_found,) = message(empty)["message"].to_pylist()
    assert ipc.open_stream(nothing_found).read_all().num_rows == 0
    assert np.array_equal(received(nothing_found, empty).highest["h"], -none)


def test_a_worker_tells_the_kind_of_an_error_alone() -> None:
    class Failing(CellSums):
        def __call__(self, batch: Batch) -> PartialResults:
            if batch.rows:
                raise ValueError(f"bad value {batch.amounts['emp']}")
            return super().__call__(batch)

    table = table_of([("001", "1111", 987654321, 1)])
    _, cells = opened(LocalEngine(table))
    with pytest.raises(TaskFailedError, match=r"^<gedp ValueError>$") as raised:
        list(sealed_task(reducing(Failing(cells.lookup, UNIT)))(table.to_batches()))
    assert raised.value.__context__ is None
    assert raised.value.__cause__ is None


def test_nothing_adds_nothing() -> None:
    _, cells = opened(LocalEngine(table_of([("001", "1111", 7, 1), ("003", "22", 5, -1)])))
    run = CellSums(cells.lookup, UNIT)
    found = LocalEngine(table_of([("001", "1111", 7, 1)])).reduce(run)
    assert (found | nothing(run)).added["emp"].tolist() == found.added["emp"].tolist() == [7, 0]


def test_batches_are_worked_on_side_by_side_and_few_at_a_time() -> None:
    taken = list[int]()

    def items() -> Iterator[int]:
        for item in range(20):
            taken.append(item)
            yield item

    results = side_by_side(lambda item: item * item, items(), 2)
    assert next(results) == 0
    assert len(taken) <= 4
    assert list(results) == [item * item for item in range(1, 20)]
