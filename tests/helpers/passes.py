"""What every engine must find in a small table, beside a few lines of plain Python that say what it is."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st

from gedp.confidential.drawings import IdentityAnswers
from gedp.confidential.engines import AnsweredRows, Draw, Engine, Results, TableCounts
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.engines.tasks import (
    ROWS,
    Task,
    combined_names,
    combining,
    counting,
    drawing_rows,
    merging,
    received,
    reducing,
    rewriting_rows,
)
from gedp.confidential.mechanisms import psi_mechanism
from gedp.confidential.table import ConfidentialTable, FinestCells, find_cells, open_table
from gedp.confidential.tally import ROWS as CELL_ROWS
from gedp.confidential.tally import CellSums, ClippedCells, Clipping
from gedp.microdata.by_kind import FittedRows, FittedValues, RowsOnFile
from gedp.microdata.kinds import Kinds
from gedp.partitions import Partition
from gedp.passes import OnFile, PartialResults, Rewriting, StoredRows, nothing
from gedp.policy import Attribute, Closeness, Data, Grouper, Query
from gedp.release.manifest import part_name
from gedp.release.parts import read_columns

Row = tuple[str, str, int, int]  # county, industry, employment, profit
UNIT = {"emp": Fraction(1), "profit": Fraction(1, 2)}
ATTRIBUTES = {
    "emp": Attribute("emp", Closeness("sqrt", Decimal("0.5"))),
    "profit": Attribute("profit", Closeness("sqrt", Decimal(3)), unit=Decimal("0.5"), signed=True),
}
DATA = Data("t", ("cnty", "naics"), "key", synthetic=True)
SECTOR = {"sector": Grouper("sector", "naics", 2)}
QUERIES = [Query("county", ("cnty",), {}), Query("sector", ("sector", "cnty"), {})]

some_rows = st.lists(
    st.tuples(
        st.sampled_from(["001", "003", "00é"]),
        st.sampled_from(["1111", "1122", "2222", "33"]),
        st.integers(0, 2**40),
        st.integers(-(2**40), 2**40),
    ),
    min_size=1,
    max_size=25,
)


def table_of(rows: Sequence[Row]) -> pa.Table:
    """The rows with an id each; profit in steps of a half, as texts."""
    return pa.table(
        {
            "key": [f"k{place:03}" for place in range(len(rows))],
            "cnty": pa.array([row[0] for row in rows], pa.string()),
            "naics": pa.array([row[1] for row in rows], pa.string()),
            "emp": pa.array([row[2] for row in rows], pa.int64()),
            "profit": pa.array([str(Decimal(row[3]) / 2) for row in rows], pa.string()),
        }
    )


def faulty_table() -> pa.Table:
    """Something of everything that can be wrong with a column."""
    amounts = [None, "abc", "NaN", "-3", "0", "1.25", "12", "12", str(2**60), "1e3"]
    return pa.table(
        {
            "key": ["a", "b", None, "a", "d", "e", "f", "a", "d", "h"],
            "cnty": ["001", "", None, "003", "", "1", "1", "1", "1", "1"],
            "amount": pa.array(amounts, pa.string()),
            "number": pa.array([1.0, 2.5, float("nan"), -1.0, 0.0, None, 1e30, 3.0, 4.0, 5.0]),
        }
    )


def agrees_on_faults(engine: Engine) -> None:
    """Whether an engine counts what is wrong with the faulty table."""
    counts = engine.count_faults({"amount": Fraction(1), "number": Fraction(1, 2)}, ["cnty", "key"])
    assert counts.rows == engine.rows() == engine.count_faults({}).rows == 10
    assert counts.blanks == {"cnty": 3, "key": 1}
    assert engine.duplicates("key", 10) == 3
    amount, number = counts.faults["amount"], counts.faults["number"]
    assert (amount.nulls, amount.not_numbers, amount.not_finite) == (1, 1, 1)
    assert (amount.negatives, amount.zeros, amount.not_whole) == (1, 1, 1)
    assert amount.total == 3 + 0 + 12 + 12 + 2**60 + 1000
    assert (number.nulls, number.not_finite, number.negatives, number.zeros, number.not_whole) == (1, 1, 1, 1, 1)


def opened(engine: Engine) -> tuple[ConfidentialTable, FinestCells]:
    """The table as measuring opens it, with the cells of two queries."""
    table = open_table(engine, DATA, ATTRIBUTES, SECTOR)
    return table, find_cells(table, QUERIES)


def agrees(engine: Engine, rows: Sequence[Row], bound: int) -> None:
    """Whether an engine finds in a table what plain Python finds."""
    assert engine.rows() == len(rows)
    assert engine.duplicates("key", len(rows)) == 0
    assert engine.distinct("cnty") == sorted({row[0] for row in rows})
    texts, counts = engine.combinations(["cnty", "naics"])
    found = dict(zip(zip(texts["cnty"], texts["naics"], strict=True), counts.tolist(), strict=True))
    assert found == Counter((row[0], row[1]) for row in rows)
    _, cells = opened(engine)
    keys = sorted({(row[0], row[1][:2]) for row in rows})
    assert [tuple(cells.labels[k][cells.codes[k][i]] for k in ("cnty", "sector")) for i in range(cells.count)] == keys
    assert cells.counts.tolist() == [sum(cell_of(row) == key for row in rows) for key in keys]

    found_sums = engine.reduce(CellSums(cells.lookup, UNIT))
    sums = found_sums.added
    assert sums[CELL_ROWS].tolist() == cells.counts.tolist()
    for name, values in {"emp": [row[2] for row in rows], "profit": [row[3] for row in rows]}.items():
        here = [[value for value, row in zip(values, rows, strict=True) if cell_of(row) == key] for key in keys]
        assert sums[name].tolist() == list(map(sum, here))
        assert found_sums.highest[name].tolist() == [max(map(abs, values)) for values in here]
    bounds = np.array([bound if place % 2 else 0 for place in range(cells.count)])
    clippings = {"profit": [Clipping("county", bounds), Clipping("sector", 2 * bounds)]}
    excess = engine.reduce(ClippedCells(cells.lookup, {"profit": UNIT["profit"]}, clippings)).added
    for times, query in ((1, "county"), (2, "sector")):
        expected = [
            sum(row[3] - clipped(row[3], times * int(most)) for row in rows if cell_of(row) == key)
            for key, most in zip(keys, bounds, strict=True)
        ]
        assert excess["profit", query].tolist() == expected
    for clipping in clippings["profit"]:
        assert clipping.may_change(found_sums.highest["profit"]) or not excess["profit", clipping.query].any()
    assert excess["profit"].tolist() == sums["profit"].tolist()


def cell_of(row: Row) -> tuple[str, str]:
    return row[0], row[1][:2]


def clipped(value: int, bound: int) -> int:
    return max(-bound, min(bound, value)) if bound > 0 else value


def identity_drawing(with_id: bool = True) -> IdentityAnswers:
    """Answers about establishments, at μ = 1 for each attribute."""
    mechanisms = {name: psi_mechanism(attribute, Fraction(1)) for name, attribute in ATTRIBUTES.items()}
    return IdentityAnswers(replace(DATA, id="key" if with_id else None), mechanisms, UNIT)


def agrees_with_drawn(table: pa.Table, cells: FinestCells, found: PartialResults) -> None:
    """Whether results about drawn rows are those of the rows that were published."""
    names = list(zip(table["cnty"].to_pylist(), table["naics"].to_pylist(), strict=True))
    for place in range(cells.count):
        key = tuple(cells.labels[k][cells.codes[k][place]] for k in ("cnty", "sector"))
        here = [i for i, (cnty, naics) in enumerate(names) if (cnty, naics[:2]) == key]
        for name, unit in UNIT.items():
            omega = table[f"{name}__psi"].to_numpy()[here]
            assert (found.highest[name][place], found.lowest[name][place]) == (omega.max(), omega.min())
            whole = sum(int(np.rint(value / float(unit))) for value in table[name].to_numpy()[here])
            assert int(found.added[name, "high"][place]) * 2**31 + int(found.added[name, "low"][place]) == whole


class DividedEngine(LocalEngine):
    """A table in parts, some of them empty, whose tasks are done in any order, and some twice: Spark without Spark."""

    def __init__(self, table: pa.Table, cuts: Sequence[int], order: Callable[[list[int]], list[int]]) -> None:
        super().__init__(table)
        ends = [0, *sorted(min(cut, table.num_rows) for cut in cuts), table.num_rows]
        self.parts = [table.slice(start, stop - start) for start, stop in pairwise(ends)]
        self.table, self.cuts, self.order = table, cuts, order

    def done(self, task: Task) -> list[pa.RecordBatch]:
        """What the tasks give, each of them tried before."""
        for part in self.parts[::2]:
            list(task(part.to_batches()))
        places = self.order(list(range(len(self.parts))))
        return [record for place in places for record in task(_small(self.parts[place]))]

    def _counted(self, question: Any) -> list[int]:
        texts = [text for record in self.done(counting(question)) for text in record["counts"].to_pylist()]
        return [sum(counts) for counts in zip(*(map(int, text.split()) for text in texts), strict=True)]

    def rows(self) -> int:
        return self._counted(lambda part: [part.rows()])[0]

    def count_faults(self, units: Mapping[str, Fraction], public: Sequence[str] = ()) -> TableCounts:
        return TableCounts.of(self._counted(lambda part: part.counts(units, public)), public, units)

    def repeated(self, column: str) -> list[str]:
        texts, rows = self.combinations([column])
        return sorted(text for text, count in zip(texts[column], rows, strict=True) if count > 1)

    def combinations(
        self, columns: Sequence[str], listed: Mapping[str, list[str]] | None = None
    ) -> tuple[dict[str, list[str]], Any]:
        names = combined_names(columns)
        whole = _grouped(self.done(combining(columns, listed)), names, {ROWS: "sum"})
        return {c: whole[name].to_pylist() for c, name in zip(columns, names, strict=True)}, whole[ROWS].to_numpy()

    def reduce(self, run: Any) -> PartialResults:
        (whole,) = merging(run)(self.done(reducing(run)))
        return received(whole.column(0)[0].as_py(), nothing(run))

    def rewrite(self, run: Rewriting, target: Path) -> None:
        numbers = [pa.field(name, pa.float64()) for name in run.numbers]
        schema = pa.schema([*map(self.parts[0].schema.field, run.kept), *numbers])
        target.mkdir()
        for place, record in enumerate(self.done(rewriting_rows(run, schema))):
            pq.write_table(pa.Table.from_batches([record]), target / part_name(place))

    def drawn(self, drawing: IdentityAnswers, source: Callable[[], Any], schema: pa.Schema) -> pa.Table:
        return pa.Table.from_batches(self.done(drawing_rows(drawing, source, schema)))


class DividedThroughout(DividedEngine):
    """The same, which also goes over drawn rows in parts. That takes three times as long for a release.

    Noise alone is drawn row by row in the order of the table, so that a release is that of the local engine.
    """

    of_rows = PartialResults()  # of the rows before the columns of first answers came to them

    def draw(self, asked: Draw) -> Results:
        drawn = self.published(asked)
        asked.progress(drawn.num_rows)
        of_drawn = PartialResults() if asked.of_drawn is None else self.divided(drawn).reduce(asked.of_drawn)
        return Results(self.reduce(asked.of_rows), of_drawn)

    def draw_first(self, asked: Draw) -> AnsweredRows:
        drawing = asked.drawing
        answers = pa.concat_tables([drawing(batch, asked.entropy).table for batch in self.batches(drawing.reads)])
        names = [*self.table.column_names, *answers.column_names]
        both = self.divided(pa.table([*self.table.columns, *answers.columns], names))
        asked.progress(answers.num_rows)
        both.of_rows = self.reduce(asked.of_rows)
        return both

    def published(self, asked: Draw) -> pa.Table:
        """What is drawn for every row, once it is written."""
        drawing = asked.drawing
        drawn = [drawing(batch, asked.entropy) for batch in self.batches(drawing.reads)]
        for each in drawn:
            asked.writer.write_identity(each.table, drawing.public, drawing.keys, each.ties)
        asked.writer.finish_identity()
        return pa.concat_tables([each.table for each in drawn])

    def divided(self, table: pa.Table) -> "DividedThroughout":
        """Another table in such parts."""
        return DividedThroughout(table, self.cuts, self.order)


def answered_table(rows: Sequence[Row]) -> pa.Table:
    """The rows as a release has them: estimates of jobs, many below 0, and ψ."""
    estimates = [float(row[2] % 97) - 40.25 for row in rows]
    table = table_of(rows).select(["key", "cnty", "naics"])
    table = table.append_column("emp__psi", pa.array([value / 8 for value in estimates]))
    return table.append_column("emp", pa.array(estimates))


def agrees_on_kinds(stored: StoredRows, rows: Sequence[Row], target: Path) -> None:
    """Whether passes over the rows of a release find what plain Python finds, and rewrite every row once."""
    texts, counts = stored.combinations(["naics", "cnty"])
    kinds = Kinds(target, OnFile(lambda _: stored), texts, counts, ["emp"])
    listed = list(zip(texts["cnty"], texts["naics"], strict=True))
    here = [[float(row[2] % 97) - 40.25 for row in rows if row[:2] == kind] for kind in listed]
    assert counts.tolist() == list(map(len, here))
    together = kinds.together("emp")
    assert together.sums == pytest.approx(list(map(sum, here)))
    assert together.highest.tolist() == list(map(max, here))
    assert together.highest_omega.tolist() == [max(each) / 8 for each in here]
    cells = Partition.single(len(here))
    on_file, limit = RowsOnFile(kinds, "emp", cells, 2.0, 9.0), np.linspace(-30, 60, len(here))
    below, above = on_file.seen(limit)
    lines = [[2 * value + 9 for value in each] for each in here]
    assert below.tolist() == [sum(x <= at for x in each) for each, at in zip(lines, limit, strict=True)]
    assert above == pytest.approx([sum(x for x in each if x > at) for each, at in zip(lines, limit, strict=True)])
    moved, each_row = np.linspace(-1, 1, len(here)), on_file.each(on_file.at(on_file.sums + 3))
    values = FittedValues(cells.group_of, moved, each_row)
    stored.rewrite(FittedRows(kinds.lookup, ["key", "cnty", "naics"], {"emp": values}), target)
    written = read_columns(target).sort_by("key")
    assert written.select(["key", "cnty", "naics"]).equals(table_of(rows).select(["key", "cnty", "naics"]))
    for row, found in zip(rows, written["emp"].to_pylist(), strict=True):
        kind, answer = listed.index(row[:2]), float(row[2] % 97) - 40.25
        own = max((2 * answer + 9) * each_row.growth[kind], each_row.least[kind])
        assert found == pytest.approx(answer + moved[kind] * own)


def _small(table: pa.Table) -> list[pa.RecordBatch]:
    return [record for start in range(0, table.num_rows, 2) for record in table.slice(start, 2).to_batches()]


def _grouped(records: Iterable[pa.RecordBatch], keys: list[str], how: Mapping[str, str]) -> pa.Table:
    whole = pa.Table.from_batches(list(records)).group_by(keys).aggregate(list(how.items()))
    return whole.select([*keys, *(f"{name}_{kind}" for name, kind in how.items())]).rename_columns([*keys, *how])
