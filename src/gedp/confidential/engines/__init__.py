"""Where confidential tables are read: engines, which run passes and know nothing of privacy.

sources     where tables come from: files of many kinds, databases
part        some rows of a table, in DuckDB: the whole of it here, or what one worker has
local       one machine
ordered     drawing rows that come in one order, once or twice
tasks       what a worker does with the rows it is given
spark       many machines
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import pyarrow as pa

from gedp.arrays import IntArray
from gedp.errors import Refused
from gedp.noise.entropy import Entropy, Words
from gedp.passes import Batch, PartialResults, Pass, Reads, Reducible, Rewriting


@dataclass(frozen=True, repr=False)
class ColumnCounts:
    """What is wrong with a numeric column, as numbers of rows; and its total, which is confidential.

    Every value is null, not a number, not finite, not a whole multiple of the unit, or part of the total.
    """

    nulls: int
    not_numbers: int
    with_commas: int  # of those that are not numbers
    not_finite: int
    negatives: int
    zeros: int
    not_whole: int
    total: int  # of the magnitudes, in units


@dataclass(frozen=True, repr=False)
class TableCounts:
    """The number of rows; of nulls and empty texts, by public column; and what is wrong with numeric columns."""

    rows: int
    blanks: Mapping[str, int]
    faults: Mapping[str, ColumnCounts]

    @classmethod
    def of(cls, numbers: Iterable[int], public: Sequence[str], amounts: Iterable[str]) -> "TableCounts":
        """The counts in these numbers, which stand in the order of the fields."""
        left = iter(numbers)
        rows, blanks = next(left), {column: next(left) for column in public}
        return cls(rows, blanks, {name: ColumnCounts(*islice(left, len(fields(ColumnCounts)))) for name in amounts})


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
        """Called after the last row, so that rows can be sorted and written."""

    def identity_parts(self) -> Path:
        """A private folder in which workers write the rows instead, in parts that are ordered already."""


@dataclass(frozen=True, repr=False)
class Draw:
    """One drawing of every row, with passes that go along: over the rows, and over what is drawn of them."""

    drawing: Drawing
    entropy: Entropy
    writer: RowWriter
    of_rows: Pass
    progress: Callable[[int], None]  # hears how many rows are done
    of_drawn: Pass | None = None


class Results(NamedTuple):
    """What the passes of a drawing found."""

    of_rows: PartialResults
    of_drawn: PartialResults


class AnsweredRows(Reducible, Protocol):
    """What was drawn first, kept from everybody else: passes go over it, and then its rows are drawn once more."""

    @property
    def of_rows(self) -> PartialResults:
        """What the pass over the rows of the table found on the way."""

    def draw(self, asked: Draw) -> Results:
        """As `Engine.draw`; drawing and passes may also read the columns of the first drawing."""


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

    def origins(self) -> list[Path]:
        """The files that the rows come from: those that are read, or those behind a table in memory, if it tells."""

    def identities(self) -> list[str]:
        """What the table, or each that it is made of, is called in its database, or elsewhere; none for files here."""

    def require_unchanged(self) -> None:
        """Rejects a table whose files are no longer those that were opened."""

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

    def count_faults(self, units: Mapping[str, Fraction], public: Sequence[str] = ()) -> TableCounts:
        """What is wrong with columns that should hold whole multiples of their units, which are decimals, and codes."""

    def duplicates(self, column: str, rows: int) -> int:
        """The number of rows, of so many, whose value in `column` appeared in a row before."""

    def distinct(self, column: str) -> list[str]:
        """The distinct values of a public column as text, sorted; their positions are its codes."""

    def repeated(self, column: str) -> list[str]:
        """The values of a public column that several rows have, as text, sorted."""

    def combinations(
        self, columns: Sequence[str], listed: Mapping[str, list[str]] | None = None
    ) -> tuple[dict[str, list[str]], IntArray]:
        """The combinations of values of public columns that occur, as texts, and the number of rows of each.

        Of a column that has `listed` texts, all others are "".
        """

    def reduce(self, run: Pass) -> PartialResults:
        """The results of a pass over all rows."""

    def rewrite(self, run: Rewriting, target: Path) -> None:
        """Writes other rows in the place of these, in an order that discloses nothing: a file, or a folder of parts."""

    def require_place(self, writer: RowWriter) -> None:
        """Rejects, before anything is spent, a place where drawn rows could not be written."""

    def draw(self, asked: Draw) -> Results:
        """Draws every row once, into the writer."""

    def require_known_again(self, key: str | None) -> None:
        """Rejects, before anything is spent, rows that could not be drawn twice: nothing tells which is which."""

    def draw_first(self, asked: Draw) -> AnsweredRows:
        """Draws every row for the first of two times. The writer says where there is room, and gets nothing yet."""


@runtime_checkable
class OrderedRows(Protocol):
    """An engine whose rows have places: they come in the same order every time."""

    def batches(self, reads: Reads) -> Iterator[Batch]:
        """All rows in batches, always in the same order."""


def in_order(engine: Engine) -> OrderedRows:
    """The engine, if its rows have places; rejects others."""
    if isinstance(engine, OrderedRows):
        return engine
    raise Refused(
        "rows of Spark come in no order, which queries of one's own and plans need. Nothing was spent. Use the local "
        "engine"
    )
