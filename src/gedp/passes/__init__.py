"""What is to be done with the rows of a table, and what comes of it: passes, whoever runs them.

A pass is a function from a batch of rows to partial results. Who runs it divides the rows as they like and puts the
results together. Nothing that a pass finds may depend on how rows are divided or ordered.

lookup      the cell of every row, from its public columns
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from gedp.arrays import CodeArray, FloatArray, IntArray
from gedp.passes.lookup import Lookup


@dataclass(frozen=True, repr=False)
class Reads:
    """What is read of every row: amounts, with their units; columns as they are; its cell; codes of public columns."""

    amounts: Mapping[str, Fraction] = field(default_factory=dict)
    plain: Sequence[str] = ()
    cells: Lookup | None = None
    coded: Sequence[str] = ()

    def __or__(self, other: "Reads") -> "Reads":
        """What both read, in one go."""
        plain = tuple(dict.fromkeys((*self.plain, *other.plain)))
        coded = tuple(dict.fromkeys((*self.coded, *other.coded)))
        return Reads({**self.amounts, **other.amounts}, plain, self.cells or other.cells, coded)


@dataclass(frozen=True, repr=False)
class Batch:
    """Some rows: codes of public columns, whole numbers, columns as they are, and the cells of the rows."""

    codes: Mapping[str, CodeArray]
    amounts: Mapping[str, IntArray]
    plain: pa.RecordBatch
    rows: int
    cells: CodeArray = field(default_factory=lambda: np.zeros(0, dtype=np.int32))  # where they were asked for


Key = str | tuple[str | int, "Key"]
#: What nothing adds up to, for each way in which results are put together.
EMPTY = {"added": 0, "highest": -np.inf, "lowest": np.inf, "summed": 0}


@dataclass(frozen=True, repr=False)
class PartialResults:
    """By place, such as a cell: numbers that are added up, and numbers whose extremes are kept.

    Sums of whole numbers are exact. Others are rounded, so their last digits depend on how rows are divided: they are
    for what is public.
    """

    added: Mapping[Key, IntArray] = field(default_factory=dict)
    highest: Mapping[Key, FloatArray] = field(default_factory=dict)
    lowest: Mapping[Key, FloatArray] = field(default_factory=dict)
    summed: Mapping[Key, FloatArray] = field(default_factory=dict)

    def __or__(self, other: "PartialResults") -> "PartialResults":
        """The results of the rows of both."""
        return PartialResults(
            {name: values + other.added[name] for name, values in self.added.items()},
            {name: np.maximum(values, other.highest[name]) for name, values in self.highest.items()},
            {name: np.minimum(values, other.lowest[name]) for name, values in self.lowest.items()},
            {name: values + other.summed[name] for name, values in self.summed.items()},
        )


class Pass(Protocol):
    """A pure function from a batch of rows to partial results; of no rows, it gives what nothing adds up to."""

    @property
    def reads(self) -> Reads:
        """What it needs of every row."""

    def __call__(self, batch: Batch) -> PartialResults:
        """The results of these rows."""


@dataclass(frozen=True, repr=False)
class Joined:
    """Several passes over the same rows as one, by name; all read the same cells.

    All arrays of a pass are about the same places, so shorter ones are filled up with what nothing adds up to.
    """

    passes: Mapping[str, Pass]

    @property
    def reads(self) -> Reads:
        """What any of them needs."""
        return reduce(or_, (run.reads for run in self.passes.values()), Reads())

    def __call__(self, batch: Batch) -> PartialResults:
        """The results of all, each under the name of its pass."""
        results = {name: run(batch) for name, run in self.passes.items()}
        arrays = [array for found in results.values() for kind in EMPTY for array in getattr(found, kind).values()]
        places = max(map(len, arrays))

        def filled(kind: str) -> dict[Key, Any]:
            return {
                (name, key): np.pad(array, (0, places - len(array)), constant_values=EMPTY[kind])
                for name, found in results.items()
                for key, array in getattr(found, kind).items()
            }

        return PartialResults(*map(filled, EMPTY))

    def split(self, found: PartialResults) -> dict[str, PartialResults]:
        """The results of every pass by its name, for its own places."""

        def own(name: str, kind: str, empty: PartialResults) -> dict[Key, Any]:
            return {key: getattr(found, kind)[name, key][: len(array)] for key, array in getattr(empty, kind).items()}

        nothings = {name: nothing(run) for name, run in self.passes.items()}
        return {name: PartialResults(*(own(name, kind, empty) for kind in EMPTY)) for name, empty in nothings.items()}


class Rewriting(Protocol):
    """A pure function from a batch of rows to as many others: some columns as they are, then numbers."""

    @property
    def reads(self) -> Reads:
        """What it needs of every row."""

    @property
    def kept(self) -> Sequence[str]:
        """The columns that stay as they are."""

    @property
    def numbers(self) -> Sequence[str]:
        """The columns of numbers after these."""

    def __call__(self, batch: Batch) -> pa.Table:
        """The rows that take the place of these."""


class Reducible(Protocol):
    """Rows that passes can go over, again and again."""

    def reduce(self, run: Pass) -> PartialResults:
        """The results of a pass over all rows."""


class StoredRows(Reducible, Protocol):
    """The rows of a table on file, wherever passes over them are run."""

    def combinations(self, columns: Sequence[str]) -> tuple[dict[str, list[str]], IntArray]:
        """The combinations of values of some columns that occur, as texts, and the number of rows of each."""

    def rewrite(self, run: Rewriting, target: Path) -> None:
        """Writes other rows in the place of these, in an order that discloses nothing: a file, or a folder of parts."""


@dataclass(frozen=True)
class OnFile:
    """What opens the rows of a table that is a file or a folder of parts; and whether few rows stay there too."""

    open: Callable[[Path], StoredRows]
    always: bool = False


def nothing(run: Pass) -> PartialResults:
    """What a pass finds in no rows."""
    none = np.zeros(0)
    amounts = {name: none.astype(np.int64) for name in run.reads.amounts}
    plain = pa.RecordBatch.from_arrays([pa.array(none) for _ in run.reads.plain], names=list(run.reads.plain))
    return run(Batch({}, amounts, plain, 0))
