"""The confidential table: roles of columns, validation before anything else, and the finest cells.

Public columns become dense codes once. The finest cells are the combinations of all grouping keys of a workload that
occur; every group of every query is a union of such cells, so a row needs to know nothing but its cell.
"""

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from gedp.accounting.composition import exact
from gedp.engines import MOST_UNITS, CodeArray, ColumnCounts, Engine, IntArray
from gedp.errors import Fault, FaultsError, TableChangedError
from gedp.policy import Attribute, Data, Grouper, Query
from gedp.sealing import sealed


@dataclass(frozen=True, repr=False)
class ConfidentialTable:
    """A table with its roles. Use `open_table` to get a validated one."""

    engine: Engine
    data: Data
    attributes: Mapping[str, Attribute]
    groupers: Mapping[str, Grouper]
    lookups: Mapping[str, tuple[str, dict[str, str]]]  # grouping -> (public column, code -> group)

    def __repr__(self) -> str:
        return f"ConfidentialTable({self.engine!r})"


@dataclass(frozen=True)
class Groups:
    """The groups of one query: their keys as texts, and the group of every finest cell."""

    keys: Mapping[str, list[str]]
    of_cell: CodeArray
    count: int


@dataclass(frozen=True, repr=False)
class Cells:
    """The finest cells of a workload, and the cell of every row."""

    count: int
    of_row: CodeArray
    codes: Mapping[str, CodeArray]  # for each grouping key, its code in every cell
    labels: Mapping[str, list[str]]

    def groups(self, by: Sequence[str]) -> Groups:
        """The groups by these keys that occur, in the order of their labels."""
        if not by:
            return Groups({}, np.zeros(self.count, dtype=np.int32), 1)
        combined = _combine([self.codes[key] for key in by], [len(self.labels[key]) for key in by])
        present, first, of_cell = np.unique(combined, return_index=True, return_inverse=True)
        keys = {key: [self.labels[key][code] for code in self.codes[key][first]] for key in by}
        return Groups(keys, of_cell.astype(np.int32), len(present))


@sealed
def open_table(
    engine: Engine,
    data: Data,
    attributes: Mapping[str, Attribute],
    groupers: Mapping[str, Grouper] | None = None,
    folder: Path = Path(),
) -> ConfidentialTable:
    """A validated table; every fault in one error. Map files are looked up from `folder`."""
    faults: list[Fault] = []
    columns = engine.columns()
    needed = [*data.public, *attributes, *([data.id] if data.id else [])]
    missing = [name for name in needed if name not in columns]
    # Where no name is known, the first line of the file may be a record.
    hint = "Is there a first line with names?" if missing == needed else f"The table has: {', '.join(columns)}"
    faults += [Fault(f"column {name}", "there is no such column", hint) for name in missing]
    if not engine.rows():
        faults.append(Fault("the table", "it has no rows", "Check the file"))
    plain = [name for name in (*data.public, *([data.id] if data.id else [])) if name not in missing]
    for name, blanks in engine.blanks(plain).items():
        if blanks:
            problem = f"{_rows(blanks)} null or an empty text"
            faults.append(Fault(f"column {name}", problem, "Fill in a code; public columns are never empty"))
    if data.id and data.id not in missing and (repeated := engine.duplicates(data.id)):
        faults.append(Fault(f"column {data.id}", f"{_rows(repeated)} an id that came before", "Ids must be unique"))
    units = {name: exact(attribute.unit) for name, attribute in attributes.items() if name not in missing}
    for name, counts in engine.count_faults(units).items():
        faults += _attribute_faults(counts, attributes[name])
    lookups = {}
    for grouper in (groupers or {}).values():
        if grouper.column not in missing:
            lookups[grouper.name] = (grouper.column, _lookup(grouper, engine.distinct(grouper.column), folder, faults))
    if faults:
        raise FaultsError(getattr(engine, "name", "the table"), faults)
    return ConfidentialTable(engine, data, attributes, groupers or {}, lookups)


@sealed
def find_cells(table: ConfidentialTable, queries: Sequence[Query]) -> Cells:
    """The finest cells of the workload, in one pass over the rows."""
    keys = list(dict.fromkeys(key for query in queries if not query.is_identity for key in query.by))
    if not keys:
        return Cells(1, np.zeros(table.engine.rows(), dtype=np.int32), {}, {})
    columns = {key: table.lookups[key][0] if key in table.lookups else key for key in keys}
    labels: dict[str, list[str]] = {}
    translate: dict[str, CodeArray] = {}
    for key in keys:
        values = table.engine.distinct(columns[key])
        groups = [table.lookups[key][1][value] for value in values] if key in table.lookups else values
        labels[key], codes = _dense(groups)
        translate[key] = codes
    sizes = [len(labels[key]) for key in keys]
    combined = (
        _combine([translate[key][batch.codes[columns[key]]] for key in keys], sizes)
        for batch in table.engine.scan(coded=list(dict.fromkeys(columns.values())))
    )
    present, of_row = _compact(combined, table.engine.rows())
    return Cells(len(present), of_row, dict(zip(keys, _split(present, sizes), strict=True)), labels)


def _rows(count: int) -> str:
    return f"{count:,} row has" if count == 1 else f"{count:,} rows have"


def _attribute_faults(counts: ColumnCounts, attribute: Attribute) -> Iterator[Fault]:
    place = f"column {attribute.name}"
    if counts.nulls:
        yield Fault(place, f"{_rows(counts.nulls)} null", "Fill in a number, or leave the establishments out")
    if counts.not_numbers:
        yield Fault(place, f"{_rows(counts.not_numbers)} something that is no number", "Correct the column")
    if counts.not_finite:
        yield Fault(place, f"{_rows(counts.not_finite)} NaN or an infinity", "Correct the column")
    if counts.negatives and not attribute.signed:
        yield Fault(
            place, f"{_rows(counts.negatives)} a negative value", "Set signed = true, or split into gain and loss"
        )
    if counts.zeros and not np.isfinite(attribute.protection.psi.at_zero):
        yield Fault(place, f"{_rows(counts.zeros)} 0, where log has no value", "Give psi a shift, like shift = 1")
    if counts.not_whole:
        yield Fault(
            place,
            f"{_rows(counts.not_whole)} no whole multiple of the unit {attribute.unit}",
            "Round, or set a smaller unit",
        )
    if counts.total > MOST_UNITS:
        yield Fault(place, "its sum is above 2^53 units, the range of exact sums", "Set a larger unit")


def _lookup(grouper: Grouper, values: list[str], folder: Path, faults: list[Fault]) -> dict[str, str]:
    """The group of each code: its first characters, or from the map file's first two columns."""
    if grouper.prefix is not None:
        return {value: value[: grouper.prefix] for value in values}
    path = folder / str(grouper.map)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error):
        faults.append(Fault(f"grouping {grouper.name}", f"its map file {grouper.map} cannot be read", "Check the path"))
        return {}
    if any(len(row) < 2 for row in rows):
        faults.append(
            Fault(f"grouping {grouper.name}", "a line of its map file has no group", "Give code,group a line")
        )
        return {}
    known = {row[0]: row[1] for row in rows}
    unmapped = sum(value not in known for value in values)
    if unmapped:  # not quoted: what is no code may be a value in the wrong column
        problem = f"{unmapped:,} of the {len(values):,} codes in {grouper.column} are not in {grouper.map}"
        faults.append(Fault(f"grouping {grouper.name}", problem, "Give every code a line in the map file"))
    return known


def _dense(groups: Sequence[str]) -> tuple[list[str], CodeArray]:
    labels = sorted(set(groups))
    position = {label: i for i, label in enumerate(labels)}
    return labels, np.array([position[group] for group in groups], dtype=np.int32)


def _combine(codes: Sequence[CodeArray], sizes: Sequence[int]) -> IntArray:
    """One mixed-radix number for the codes of several keys."""
    if math.prod(sizes) >= 2**63:
        raise FaultsError(
            "queries", [Fault("by", "the groupings have too many combinations", "Use fewer or coarser keys")]
        )
    combined = codes[0].astype(np.int64)
    for code, size in zip(codes[1:], sizes[1:], strict=True):
        combined *= size
        combined += code
    return combined


def _split(combined: IntArray, sizes: Sequence[int]) -> list[CodeArray]:
    codes = []
    for size in reversed(sizes):
        combined, code = np.divmod(combined, size)
        codes.append(code.astype(np.int32))
    return codes[::-1]


def _compact(batches: Iterable[IntArray], rows: int) -> tuple[IntArray, CodeArray]:
    """The numbers that occur, in order, and the position of each row's number among them: 4 bytes a row."""
    of_row = np.empty(rows, dtype=np.int32)
    found: list[tuple[slice, IntArray]] = []
    start = 0
    for numbers in batches:
        places = slice(start, start + len(numbers))
        if places.stop > rows:
            raise TableChangedError
        encoded = pa.array(numbers).dictionary_encode()
        of_row[places] = encoded.indices.to_numpy()  # among those of the batch, until all are known
        found.append((places, encoded.dictionary.to_numpy()))
        start = places.stop
    if start != rows:
        raise TableChangedError
    everything = np.concatenate([np.empty(0, dtype=np.int64), *(numbers for _, numbers in found)])
    present = np.sort(pa.array(everything).unique().to_numpy())
    for places, numbers in found:
        of_row[places] = np.searchsorted(present, numbers).astype(np.int32)[of_row[places]]
    return present, of_row
