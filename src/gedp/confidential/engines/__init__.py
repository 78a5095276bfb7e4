"""Where confidential tables are read: passes, and the engines that run them.

A pass is a function from a batch of rows to partial results. An engine divides the rows as it likes and puts the
results together; it knows nothing of privacy. Nothing that a pass finds may depend on how rows are divided or ordered.

lookup      the cell of every row, from its public columns
sources     files that hold tables
part        some rows of a table, in DuckDB: the whole of it here, or what one worker has
local       one machine
tasks       what a worker does with the rows it is given
spark       many machines
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from gedp.arrays import CodeArray, FloatArray, IntArray
from gedp.confidential.engines.lookup import Lookup
from gedp.errors import Refused
from gedp.noise.entropy import Entropy, Words


@dataclass(frozen=True, repr=False)
class ColumnCounts:
    """What is wrong with a numeric column, as numbers of rows; and its total, which is confidential.

    Every value is null, not a number, not finite, not a whole multiple of the unit, or part of the total.
    """

    nulls: int
    not_numbers: int
    not_finite: int
    negatives: int
    zeros: int
    not_whole: int
    total: int  # of the magnitudes, in units


@dataclass(frozen=True, repr=False)
class Reads:
    """What a pass reads of every row: amounts, with their units; columns as they are; and its cell."""

    amounts: Mapping[str, Fraction] = field(default_factory=dict)
    plain: tuple[str, ...] = ()
    cells: Lookup | None = None

    def __or__(self, other: "Reads") -> "Reads":
        """What both read, in one go."""
        plain = tuple(dict.fromkeys((*self.plain, *other.plain)))
        return Reads({**self.amounts, **other.amounts}, plain, self.cells or other.cells)


@dataclass(frozen=True, repr=False)
class Batch:
    """Some rows: codes of public columns, whole numbers, columns as they are, and the cells of the rows."""

    codes: Mapping[str, CodeArray]
    amounts: Mapping[str, IntArray]
    plain: pa.RecordBatch
    rows: int
    cells: CodeArray = field(default_factory=lambda: np.zeros(0, dtype=np.int32))  # where they were asked for


Key = str | tuple[str, str]


@dataclass(frozen=True, repr=False)
class ByPlace:
    """By place, such as a cell: whole numbers that are added up, and numbers whose extremes are kept."""

    added: Mapping[Key, IntArray] = field(default_factory=dict)
    highest: Mapping[Key, FloatArray] = field(default_factory=dict)
    lowest: Mapping[Key, FloatArray] = field(default_factory=dict)

    def __or__(self, other: "ByPlace") -> "ByPlace":
        """The results of the rows of both."""
        return ByPlace(
            {name: values + other.added[name] for name, values in self.added.items()},
            {name: np.maximum(values, other.highest[name]) for name, values in self.highest.items()},
            {name: np.minimum(values, other.lowest[name]) for name, values in self.lowest.items()},
        )


class Pass(Protocol):
    """A pure function from a batch of rows to partial results; of no rows, it gives what nothing adds up to."""

    @property
    def reads(self) -> Reads:
        """What it needs of every row."""

    def __call__(self, batch: Batch) -> ByPlace:
        """The results of these rows."""


@dataclass(frozen=True, repr=False)
class Drawn:
    """Rows to be published, with noise; and random words that decide the order of rows with the same public columns."""

    table: pa.Table
    ties: Sequence[Words] = ()


class Drawing(Protocol):
    """A function from a batch of rows to published rows, one for each. What it gave once for a row must be kept."""

    @property
    def reads(self) -> Reads:
        """What it needs of every row."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns of the rows: those that are read as they are, and noisy numbers."""

    @property
    def ties(self) -> int:
        """How many random words every row gets."""

    @property
    def public(self) -> Sequence[str]:
        """The columns of the rows that repeat their values."""

    @property
    def keys(self) -> Sequence[str]:
        """The columns that order the rows."""

    def __call__(self, batch: Batch, entropy: Entropy) -> Drawn:
        """The rows, with noise of their own."""


class RowWriter(Protocol):
    """What takes rows as they are drawn."""

    def write_identity(
        self, batch: pa.Table, public: Sequence[str], keys: Sequence[str], ties: Sequence[Words]
    ) -> None:
        """Takes some rows, to be ordered by `keys` and then by `ties`."""

    def finish_identity(self) -> None:
        """Hears that there are no more rows, so that they can be sorted and written."""

    def identity_parts(self) -> Path:
        """A private folder in which workers write the rows instead, in parts that are ordered already."""


@runtime_checkable
class ArrowStream(Protocol):
    """A table of any library that hands its rows over as Arrow: pandas, polars, pyarrow, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows, in the Arrow C stream interface."""


class Engine(Protocol):
    """A confidential table as measuring reads it: names, counts, and passes. Every engine has all of these."""

    @property
    def name(self) -> str:
        """What messages call the table."""

    def files(self) -> list[Path]:
        """The files that are read, where this machine has them; none for a table in memory."""

    def require_unchanged(self) -> None:
        """Refuses a table whose files are no longer those that were opened."""

    @property
    def has_schema(self) -> bool:
        """Whether names of columns come from a schema. Those of a text are its first line, which may hold a record."""

    @property
    def has_own_names(self) -> bool:
        """Whether every column is under the name that the table gives it, and no two have the same."""

    def columns(self) -> list[str]:
        """The names of the columns."""

    def can_be_public(self, column: str) -> bool:
        """Whether a column of this type can be public or an id: written, read back, and the same text everywhere."""

    def can_be_amount(self, column: str) -> bool:
        """Whether the type of a column is one of numbers, or of texts, which may be numbers."""

    def rows(self) -> int:
        """The number of rows."""

    def blanks(self, columns: Sequence[str]) -> dict[str, int]:
        """The number of nulls and empty texts in each of these columns."""

    def duplicates(self, column: str) -> int:
        """The number of rows whose value in `column` appeared in a row before."""

    def count_faults(self, units: Mapping[str, Fraction]) -> dict[str, ColumnCounts]:
        """What is wrong with columns that should hold whole multiples of their units, which are decimals."""

    def distinct(self, column: str) -> list[str]:
        """The distinct values of a public column as text, sorted; their positions are its codes."""

    def combinations(self, columns: Sequence[str]) -> tuple[dict[str, list[str]], IntArray]:
        """The combinations of values of public columns that occur, as texts, and the number of rows of each."""

    def reduce(self, run: Pass) -> ByPlace:
        """The results of a pass over all rows."""

    def require_place(self, writer: RowWriter) -> None:
        """Refuses, before anything is spent, a place where drawn rows could not be written."""

    def draw(
        self,
        drawing: Drawing,
        entropy: Entropy,
        of_rows: Pass,
        of_drawn: Pass,
        writer: RowWriter,
        progress: Callable[[int], None],
    ) -> tuple[ByPlace, ByPlace]:
        """Draws every row once, into the writer: the results of a pass over the rows, and of one over what was drawn.

        `progress` hears how many rows are done.
        """


@runtime_checkable
class OrderedRows(Protocol):
    """An engine whose rows have places: they come in the same order every time."""

    def scan(
        self,
        *,
        coded: Sequence[str] = (),
        amounts: Mapping[str, Fraction] | None = None,
        plain: Sequence[str] = (),
        cells: Lookup | None = None,
    ) -> Iterator[Batch]:
        """All rows in batches, always in the same order; `amounts` maps columns to their units."""


def nothing(run: Pass) -> ByPlace:
    """What a pass finds in no rows."""
    none = np.zeros(0)
    amounts = {name: none.astype(np.int64) for name in run.reads.amounts}
    plain = pa.RecordBatch.from_arrays([pa.array(none) for _ in run.reads.plain], names=list(run.reads.plain))
    return run(Batch({}, amounts, plain, 0))


def in_order(engine: Engine) -> OrderedRows:
    """The engine, if its rows have places; refuses others."""
    if isinstance(engine, OrderedRows):
        return engine
    raise Refused(
        "rows of Spark come in no order, which individual accounting, queries of one's own and plans need. Nothing was "
        "spent. Use the local engine or, in the spec, give every query its mu"
    )
