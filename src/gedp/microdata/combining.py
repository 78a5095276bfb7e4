"""Codes of several columns as one: the combinations that occur, and the one of every row."""

from collections.abc import Sequence

import numpy as np

from gedp.arrays import CodeArray, IntArray, label_codes, slices
from gedp.policy.model import JOINT

MOST_JOINED_CELLS = 50_000_000


def joined(keys: Sequence[tuple[CodeArray, list[str]]], rows: int) -> tuple[CodeArray, list[str]]:
    """The key whose groups are the combinations of others."""
    of_row, codes = combinations([codes for codes, _ in keys], rows)
    texts = [[labels[code] for code in of] for (_, labels), of in zip(keys, codes, strict=True)]
    labels, of_text = label_codes([JOINT.join(parts) for parts in zip(*texts, strict=True)])
    return of_text[of_row], labels


def combinations(columns: Sequence[CodeArray], rows: int) -> tuple[CodeArray, list[CodeArray]]:
    """The combinations of codes that occur, and the one of every row; compacted column by column."""
    of_row, known = np.zeros(rows, dtype=np.int32), 1
    found: list[CodeArray] = []
    for column in columns:
        size = int(column.max(initial=0)) + 1
        if known * size <= MOST_JOINED_CELLS:
            present = _combine(of_row, column, size, known * size)
        else:
            present, places = np.unique(of_row.astype(np.int64) * size + column, return_inverse=True)
            of_row = places.astype(np.int32)
        known = len(present)
        before, last = np.divmod(present, size)
        found = [*(codes[before] for codes in found), last.astype(np.int32)]
    return of_row, found


def _combine(of_row: CodeArray, column: CodeArray, size: int, possible: int) -> IntArray:
    """Makes the numbers of the rows those of their combinations with a further column; returns which of them occur."""
    seen = np.zeros(possible, dtype=bool)
    for rows in slices(len(of_row)):
        part = of_row[rows]
        part *= np.int32(size)
        part += column[rows]
        seen[part] = True
    position = np.cumsum(seen, dtype=np.int32) - np.int32(1)
    for rows in slices(len(of_row)):
        of_row[rows] = position[of_row[rows]]
    return np.flatnonzero(seen)
