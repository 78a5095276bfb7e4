"""Where confidential tables are read. An engine knows columns and rows; it knows nothing of privacy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Protocol, runtime_checkable

import pyarrow as pa

from gedp.arrays import CodeArray, IntArray


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
class Batch:
    """Some rows, in the order of the table: codes of public columns, whole numbers, and columns as they are."""

    codes: Mapping[str, CodeArray]
    amounts: Mapping[str, IntArray]
    plain: pa.RecordBatch


@runtime_checkable
class ArrowStream(Protocol):
    """A table of any library that hands its rows over as Arrow: pandas, polars, pyarrow, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows, in the Arrow C stream interface."""


class Engine(Protocol):
    """A confidential table as measuring reads it: names, counts and batches of rows. Every engine has all of these."""

    @property
    def name(self) -> str:
        """What messages call the table."""

    def files(self) -> list[Path]:
        """The files that are read; none for a table in memory."""

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

    def scan(
        self, *, coded: Sequence[str] = (), amounts: Mapping[str, Fraction] | None = None, plain: Sequence[str] = ()
    ) -> Iterator[Batch]:
        """All rows in batches, always in the same order; `amounts` maps columns to their units."""
