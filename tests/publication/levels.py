"""Whether tables add up to each other: read back from CSV, and added up in Python's own whole numbers."""

import csv
from collections import defaultdict
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

Key = tuple[str, ...]


def read_table(path: Path) -> list[dict[str, str]]:
    """The lines of a published CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def figures(
    rows: list[dict[str, str]], by: Key, units: Mapping[str, str] | None = None, column: str = "estimate"
) -> dict[tuple[str, Key], int]:
    """Every figure by attribute and keys, as a whole number of units; one that is not whole is an error."""
    found = {}
    for row in rows:
        number = Decimal(row[column]) / Decimal((units or {}).get(row["attribute"], "1"))
        assert number == int(number), row
        found[row["attribute"], tuple(row[key] for key in by)] = int(number)
    return found


def added_up(fine: Mapping[tuple[str, Key], int], by: Key, coarse: Key) -> dict[tuple[str, Key], int]:
    """A table added up to coarser keys: some of its own, or their first characters, as naics3 of naics5."""
    sums: dict[tuple[str, Key], int] = defaultdict(int)
    for (attribute, codes), figure in fine.items():
        row = dict(zip(by, codes, strict=True))
        sums[attribute, tuple(_code(row, key) for key in coarse)] += figure
    return dict(sums)


def follows(by: Key, coarse: Key) -> bool:
    """Whether every coarse key is one of the finer ones, or a shorter prefix of one."""
    return all(any(key == each or _is_prefix(key, each) for each in by) for key in coarse)


def _is_prefix(key: str, finer: str) -> bool:
    stem, other = key.rstrip("0123456789"), finer.rstrip("0123456789")
    return stem == other and key != stem and (finer == other or int(key[len(stem) :]) < int(finer[len(other) :]))


def _code(row: Mapping[str, str], key: str) -> str:
    if key in row:
        return row[key]
    finer = next(each for each in row if _is_prefix(key, each))
    stem = key.rstrip("0123456789")
    return row[finer][: int(key[len(stem) :])]
