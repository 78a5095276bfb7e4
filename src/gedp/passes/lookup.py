"""The cell of every row, from its public columns: small tables, of which every worker has a copy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gedp.arrays import CodeArray, IntArray
from gedp.errors import TableChangedError

#: Up to so many combinations of codes have a table of all; more have a sorted list of those that occur.
MOST_IN_A_TABLE = 2**24
MOST_COMBINED = 2**62


@dataclass(frozen=True, repr=False)
class _Step:
    """Some columns more: their codes and the number found so far, as one number, and what is found for it."""

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    present: IntArray | None  # sorted; None where every combination has an entry
    found: CodeArray  # -1 where there is no such combination

    def __call__(self, so_far: CodeArray, codes: Mapping[str, CodeArray]) -> CodeArray:
        combined = _combined(so_far, [codes[column] for column in self.columns], self.sizes)
        if self.present is None:
            return self.found[combined]
        places = np.minimum(np.searchsorted(self.present, combined), len(self.present) - 1)
        return np.where(self.present[places] == combined, self.found[places], np.int32(-1))


@dataclass(frozen=True, repr=False)
class Lookup:
    """The cell of a row from the codes of its public columns, which are positions among their texts."""

    texts: Mapping[str, list[str]]
    count: int  # of cells
    steps: tuple[_Step, ...]
    listed: str | None = None  # a column of which only some texts are listed: all others have the code after the last

    def cells(self, codes: Mapping[str, CodeArray], rows: int) -> CodeArray:
        """The cells of rows; rejects a combination that did not occur when the cells were found."""
        found: CodeArray = np.zeros(rows, dtype=np.int32)
        for step in self.steps:
            found = step(found, codes)
            if (found < 0).any():
                raise TableChangedError
        return found


def make_lookup(
    texts: Mapping[str, list[str]],
    combinations: Mapping[str, CodeArray],
    cell_of: CodeArray,
    count: int,
    listed: str | None = None,
) -> Lookup:
    """The lookup of the cell of every combination of codes."""
    steps: list[_Step] = []
    so_far: CodeArray = np.zeros(len(cell_of), dtype=np.int32)
    known, left = 1, list(texts)
    codes = {column: len(known_texts) + (column == listed) for column, known_texts in texts.items()}
    while left:
        columns = _that_fit(known, {column: codes[column] for column in left})
        left = left[len(columns) :]
        sizes = tuple(codes[column] for column in columns)
        combined = _combined(so_far, [combinations[column] for column in columns], sizes)
        present, first, number = np.unique(combined, return_index=True, return_inverse=True)
        so_far = number.astype(np.int32)
        found = cell_of[first] if not left else np.arange(len(present), dtype=np.int32)
        total = known * int(np.prod([1, *sizes], dtype=object))
        if total <= MOST_IN_A_TABLE:
            table = np.full(total, -1, dtype=np.int32)
            table[present] = found
            steps.append(_Step(columns, sizes, None, table))
        else:
            steps.append(_Step(columns, sizes, present, found))
        known = len(present)
    return Lookup(texts, count, tuple(steps), listed)


def _that_fit(known: int, sizes: Mapping[str, int]) -> tuple[str, ...]:
    """The first of these columns, as many as can be combined in one number: at least one."""
    fitting: list[str] = []
    for column, size in sizes.items():
        known *= size
        if fitting and known > MOST_COMBINED:
            break
        fitting.append(column)
    return tuple(fitting)


def _combined(so_far: CodeArray, codes: Sequence[CodeArray], sizes: Sequence[int]) -> IntArray:
    """One number for what was found so far and the codes of further columns."""
    combined = so_far.astype(np.int64)
    for code, size in zip(codes, sizes, strict=True):
        combined *= size
        combined += code
    return combined


def numbered(codes: Sequence[CodeArray], sizes: Sequence[int], items: int) -> tuple[IntArray, CodeArray]:
    """The combinations of codes that occur, in order: an item that has each, and the number of every item's own."""
    number, first = np.zeros(items, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for code, size in zip(codes, sizes, strict=True):
        number = number * size + code
        _, first, number = np.unique(number, return_index=True, return_inverse=True)
    return first, number.astype(np.int32)
