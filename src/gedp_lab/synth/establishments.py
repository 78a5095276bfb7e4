"""The common last step: a table of cells to a Parquet file of establishments with the paper's 18 columns."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise, product
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from gedp.arrays import IntArray
from gedp.errors import GedpError
from gedp.files import replacing
from gedp.industries import sector_of, supersector_of
from gedp.progress import Advance
from gedp_lab.synth.cells import ATTRIBUTES, KEYS, check_cells, class_counts
from gedp_lab.synth.draws import Stream
from gedp_lab.synth.sizes import count_by_size
from gedp_lab.synth.spreads import SPREADS, Attributes, DividedCells, Spread, SpreadSettings

SCHEMA = pa.schema(
    [
        ("year", pa.int16()),
        ("qtr", pa.int8()),
        *((name, pa.string()) for name in ("state", "cnty", "naics", "naics5", "naics4", "naics3")),
        *((name, pa.string()) for name in ("sector", "supersector", "own")),
        *((name, pa.int64()) for name in (*ATTRIBUTES, "primary_key")),
        *((name, pa.string()) for name in ("can_agg", "rectype")),
    ]
)
BATCH = 262_144  # establishments made and written at a time
_WORKERS = 2
_CODES = pa.dictionary(pa.int32(), pa.string())
_PLAIN = (*ATTRIBUTES, "primary_key")

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Summary:
    """What a file of establishments adds up to."""

    path: Path
    establishments: int
    cells: int
    counties: int
    m1emp: int
    m2emp: int
    m3emp: int
    wage: int
    sizes: tuple[int, ...]  # without jobs in month 3, then by size class
    largest: int  # jobs in month 3 of the largest establishment


def write_establishments(
    cells: pa.Table,
    out: Path,
    *,
    year: int,
    quarter: int,
    seed: int,
    spread: str = "skewed",
    settings: SpreadSettings | None = None,
    progress: Advance | None = None,
    batch: int = BATCH,
    times: int = 1,
) -> Summary:
    """Makes the establishments of `cells` (schema `gedp_lab.synth.cells.CELL_SCHEMA`) and writes them to `out`.

    The spread `classes` needs the columns of CLASS_SCHEMA too. Rows are ordered by state, county, NAICS and
    ownership, and adding them up gives every cell back exactly.
    The same seed gives the same file whatever `batch` is, and a state is the same alone or among others. The
    file appears only when it is whole. All of it is written so many `times`, one after the other, with fresh ids: a
    large table to try things on.
    """
    if spread not in SPREADS:
        raise GedpError(f"spread {spread!r}: no such spread. Use one of {', '.join(SPREADS)}.")
    if seed < 0:
        raise GedpError(f"seed {seed}: must not be negative.")
    if times < 1:
        raise GedpError(f"times {times}: must be 1 or more.")
    way = SPREADS[spread](settings or SpreadSettings())
    check_cells(cells, by_class=way.by_class)
    cells = cells.sort_by([(name, "ascending") for name in KEYS])
    work = _Work(cells, year, quarter, seed, way)
    summary = Summary(out, 0, cells.num_rows, work.counties, 0, 0, 0, 0, (0,) * 10, 0)
    with replacing(out) as temporary, establishments_writer(temporary) as writer:
        for made in _in_order(work.make, work.ranges(batch, times)):
            writer.write_table(made)
            summary = _add(summary, made)
            if progress is not None:
                progress(made.num_rows)
    return summary


def establishments_writer(path: Path) -> pq.ParquetWriter:
    """Takes tables with the columns of SCHEMA.

    Codes become dictionaries of a few bits per row; without the Arrow schema readers see plain strings.
    """
    coded = [name for name in SCHEMA.names if name not in _PLAIN]
    return pq.ParquetWriter(
        path,
        pa.schema([(field.name, _CODES if pa.types.is_string(field.type) else field.type) for field in SCHEMA]),
        compression="zstd",
        compression_level=1,
        use_dictionary=coded,
        column_encoding={"primary_key": "DELTA_BINARY_PACKED"},
        store_schema=False,
        write_statistics=True,
    )


def _in_order(make: Callable[[Task], Result], tasks: Iterator[Task]) -> Iterator[Result]:
    """Results in the order of their tasks, made by a few threads that never run far ahead of the reader."""
    with ThreadPoolExecutor(_WORKERS) as pool:
        pending: deque[Future[Result]] = deque()
        try:
            for task in tasks:
                pending.append(pool.submit(make, task))
                if len(pending) > _WORKERS:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


@dataclass(frozen=True)
class Coded:
    """A column of few distinct words: an index into the words for each cell."""

    index: NDArray[np.int32]
    words: list[str]

    def take(self, cells: IntArray) -> pa.DictionaryArray:
        """The column for rows of which the cells are given."""
        return pa.DictionaryArray.from_arrays(self.index[cells], pa.array(self.words, pa.string()))


class _Work:
    """Cells as NumPy arrays and code lists, ready to be turned into establishments range by range."""

    def __init__(self, cells: pa.Table, year: int, quarter: int, seed: int, spread: Spread) -> None:
        self.year, self.quarter, self.seed, self.spread = year, quarter, seed, spread
        self.estabs: IntArray = cells["estabs"].to_numpy()
        self.totals = {name: cells[name].to_numpy() for name in ATTRIBUTES}
        self.classes = class_counts(cells) if spread.by_class else None
        self.codes = code_columns(cells)
        state = self.codes["state"].index
        self.state_starts = np.flatnonzero(np.diff(state, prepend=-1))
        self.ends = np.cumsum(self.estabs)
        pairs = state.astype(np.int64) * 1000 + self.codes["cnty"].index
        self.counties = len(np.unique(pairs))

    def ranges(self, batch: int, times: int) -> Iterator[tuple[int, int, int]]:
        """Which time, and runs of cells of one state with about `batch` establishments, at least one cell each."""
        borders = [*self.state_starts.tolist(), len(self.estabs)]
        for time, (first, last) in product(range(times), pairwise(borders)):
            while first < last:
                before = self.ends[first] - self.estabs[first]
                stop = int(np.searchsorted(self.ends, before + batch, side="right"))
                stop = min(max(stop, first + 1), last)
                yield time, first, stop
                first = stop

    def make(self, cell_range: tuple[int, int, int]) -> pa.Table:
        """The establishments of cells first … last - 1, all of one state, with the ids that they have this time."""
        time, first, last = cell_range
        cells = slice(first, last)
        estabs = self.estabs[cells]
        start = int(self.ends[first] - self.estabs[first])
        count = int(self.ends[last - 1]) - start
        state_cell = self.state_starts[np.searchsorted(self.state_starts, first, side="right") - 1]
        in_state = start - int(self.ends[state_cell] - self.estabs[state_cell])
        stream = Stream(self.seed, int(self.codes["state"].words[self.codes["state"].index[first]]))
        draws = stream.draw(self.spread.recipe, in_state, count)
        totals = Attributes(**{name: values[cells] for name, values in self.totals.items()})
        classes = None if self.classes is None else self.classes[cells]
        made = self.spread.divide(DividedCells(totals, estabs, classes), draws)
        before = time * int(self.ends[-1]) + start
        ids = np.arange(before + 1, before + count + 1)
        return establishments_table(
            self.codes, np.repeat(np.arange(first, last), estabs), made, ids, self.year, self.quarter
        )


def establishments_table(
    codes: Mapping[str, Coded], cell: IntArray, values: Attributes, ids: IntArray, year: int, quarter: int
) -> pa.Table:
    """Establishments of coded cells, by the number of each one's cell, as a table with the columns of SCHEMA."""
    count = len(cell)
    columns: dict[str, pa.Array] = {name: coded.take(cell) for name, coded in codes.items()}
    columns |= {name: pa.array(getattr(values, name)) for name in ATTRIBUTES}
    columns["year"] = pa.array(np.full(count, year, np.int16))
    columns["qtr"] = pa.array(np.full(count, quarter, np.int8))
    columns["primary_key"] = pa.array(ids)
    columns["can_agg"], columns["rectype"] = _constant("Y", count), _constant("C", count)
    return pa.table([columns[name] for name in SCHEMA.names], names=SCHEMA.names)


def code_columns(cells: pa.Table) -> dict[str, Coded]:
    """The public columns of cells, coarser industries among them."""
    codes = {name: _encode(cells[name].combine_chunks()) for name in KEYS}
    return codes | _industry_codes(codes["naics"])


def _encode(column: pa.Array) -> Coded:
    encoded = column.dictionary_encode()
    return Coded(encoded.indices.to_numpy(), encoded.dictionary.to_pylist())


def _industry_codes(naics: Coded) -> dict[str, Coded]:
    """The coarser industry columns, worked out once per distinct NAICS code."""
    coarser = {
        "naics5": [code[:5] for code in naics.words],
        "naics4": [code[:4] for code in naics.words],
        "naics3": [code[:3] for code in naics.words],
        "sector": [sector_of(code) or "" for code in naics.words],
        "supersector": [supersector_of(code) or "" for code in naics.words],
    }
    coded = {}
    for name, words in coarser.items():
        distinct, index = np.unique(words, return_inverse=True)
        coded[name] = Coded(index.astype(np.int32)[naics.index], distinct.tolist())
    return coded


def _constant(word: str, count: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), pa.array([word]))


def _add(summary: Summary, made: pa.Table) -> Summary:
    """The summary with one more batch in it."""
    sums = {name: getattr(summary, name) + int(made[name].to_numpy().sum()) for name in ATTRIBUTES}
    jobs = made["m3emp"].to_numpy()
    sizes = np.array(summary.sizes) + count_by_size(jobs)
    return replace(
        summary,
        establishments=summary.establishments + made.num_rows,
        sizes=tuple(sizes.tolist()),
        largest=max(summary.largest, int(jobs.max())),
        **sums,
    )
