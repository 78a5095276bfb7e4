"""The confidential table: roles of columns, validation before anything else, and the finest cells.

Public columns become dense codes once. The finest cells are the combinations of all grouping keys of a workload that
occur; every group of every query is a union of such cells, so a row needs to know nothing but its cell.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np
import pyarrow as pa

from gedp.accounting.composition import exact
from gedp.arrays import MOST_UNITS, CodeArray, IntArray, label_codes
from gedp.confidential.engines import ColumnCounts, Engine
from gedp.confidential.maps import read_map
from gedp.confidential.sealing import sealed
from gedp.errors import Fault, FaultsError, TableChangedError
from gedp.policy import Attribute, Data, Grouper, Query


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
class FinestCells:
    """The finest cells of a workload, and the cell of every row."""

    count: int
    of_row: CodeArray
    codes: Mapping[str, CodeArray]  # for each grouping key, its code in every cell
    labels: Mapping[str, list[str]]

    def groups(self, by: Sequence[str]) -> Groups:
        """The groups by these keys that occur, in the order of their labels."""
        if not by:
            return Groups({}, np.zeros(self.count, dtype=np.int32), 1)
        combined, most = np.zeros(self.count, dtype=np.int64), 1
        for key in by:
            size = len(self.labels[key])
            if most * size >= 2**63:  # number anew those that occur
                present, combined = np.unique(combined, return_inverse=True)
                most = len(present)
            combined, most = combined * size + self.codes[key], most * size
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
    keys, needed = [*data.public, *_id(data)], [*data.public, *attributes, *_id(data)]
    missing = [name for name in needed if name not in columns]
    faults += [Fault(f"column {name}", "there is no such column", _hint(engine)) for name in missing]
    if not engine.has_own_names:
        hint = "Give every column a name of its own, not counting case"
        faults.append(Fault("the table", "several columns have the same name", hint))
    plain = [name for name in keys if name in columns and engine.can_be_public(name)]
    numbers = [name for name in attributes if name in columns and engine.can_be_amount(name)]
    for name in columns:
        if name in keys and name not in plain:
            problem = "its type does not suit a public column or an id"
            faults.append(Fault(f"column {name}", problem, "Give texts, numbers, or dates and times without a zone"))
        if name in attributes and name not in numbers:
            faults.append(Fault(f"column {name}", "its type does not hold numbers", "Give numbers"))
    if not engine.rows():
        faults.append(Fault("the table", "it has no rows", "Check the file"))
    for name, blanks in engine.blanks(plain).items():
        if blanks:
            problem = f"{_rows(blanks)} null or an empty text"
            faults.append(Fault(f"column {name}", problem, "Fill in a code; public columns are never empty"))
    if data.id in plain and (repeated := engine.duplicates(data.id)):
        faults.append(Fault(f"column {data.id}", f"{_rows(repeated)} an id that appeared before", "Ids must be unique"))
    for name, counts in engine.count_faults({name: exact(attributes[name].unit) for name in numbers}).items():
        faults += _attribute_faults(counts, attributes[name])
    lookups = {}
    for grouper in (groupers or {}).values():
        if grouper.column in plain:
            lookups[grouper.name] = (grouper.column, _lookup(grouper, engine.distinct(grouper.column), folder, faults))
    if faults:
        raise FaultsError(engine.name, faults)
    return ConfidentialTable(engine, data, dict(attributes), dict(groupers or {}), lookups)


@sealed
def find_cells(table: ConfidentialTable, queries: Sequence[Query]) -> FinestCells:
    """The finest cells of the workload, in one pass over the rows."""
    keys = list(dict.fromkeys(key for query in queries if not query.is_identity for key in query.by))
    if not keys:
        return FinestCells(1, np.zeros(table.engine.rows(), dtype=np.int32), {}, {})
    columns = {key: table.lookups[key][0] if key in table.lookups else key for key in keys}
    labels: dict[str, list[str]] = {}
    translate: dict[str, CodeArray] = {}
    for key in keys:
        values = table.engine.distinct(columns[key])
        groups = [table.lookups[key][1][value] for value in values] if key in table.lookups else values
        labels[key], codes = label_codes(groups)
        translate[key] = codes
    sizes = {key: len(labels[key]) for key in keys}
    found = []
    for run in _runs(sizes):
        combined = (
            _combine([translate[key][batch.codes[columns[key]]] for key in run], [sizes[key] for key in run])
            for batch in table.engine.scan(coded=list(dict.fromkeys(columns[key] for key in run)))
        )
        present, of_row = _compact(combined, table.engine.rows())
        codes_of = dict(zip(run, _split(present, [sizes[key] for key in run]), strict=True))
        found.append(FinestCells(len(present), of_row, codes_of, labels))
    return reduce(_crossed, found)


def _id(data: Data) -> list[str]:
    return [data.id] if data.id else []


def _hint(engine: Engine) -> str:
    """What columns there are, by name where no name can be a record."""
    if engine.has_schema:
        return f"The table has: {', '.join(engine.columns())}"
    read = f"{len(engine.columns()):,}"
    return f"Check the names: {read} were found, not shown here because the first line of a text file may be a record"


def _rows(count: int) -> str:
    return f"{count:,} row has" if count == 1 else f"{count:,} rows have"


def _attribute_faults(counts: ColumnCounts, attribute: Attribute) -> Iterator[Fault]:
    place = f"column {attribute.name}"
    if counts.nulls:
        yield Fault(place, f"{_rows(counts.nulls)} null", "Fill in a number, or leave the establishments out")
    if counts.not_numbers:
        yield Fault(
            place,
            f"{_rows(counts.not_numbers)} something that is not a number",
            "Write numbers like 1234.5: with a decimal point, without separators of thousands",
        )
    if counts.not_finite:
        yield Fault(place, f"{_rows(counts.not_finite)} NaN or an infinity", "Correct the column")
    if counts.negatives and not attribute.signed:
        yield Fault(
            place,
            f"{_rows(counts.negatives)} a negative value",
            "Correct the column or, if values may be negative, set signed = true or split it into gain and loss",
        )
    if counts.zeros and not np.isfinite(attribute.protection.psi.at_zero):
        yield Fault(place, f"{_rows(counts.zeros)} 0, where log has no value", "Give psi a shift, like shift = 1")
    if counts.not_whole:
        yield Fault(
            place,
            f"{_rows(counts.not_whole)} a value that is not a whole multiple of the unit {attribute.unit}",
            "Round, or set a smaller unit",
        )
    if counts.total > MOST_UNITS:
        yield Fault(place, "its sum is above 2^53 units, the range of exact sums", "Set a larger unit")


def _lookup(grouper: Grouper, values: list[str], folder: Path, faults: list[Fault]) -> dict[str, str]:
    """The group of each code: its first characters, or from the map file."""
    if grouper.prefix is not None:
        return {value: value[: grouper.prefix] for value in values}
    before = len(faults)
    known = read_map(grouper, folder / str(grouper.map), faults)
    unmapped = sum(value not in known for value in values)
    if unmapped and len(faults) == before:  # not quoted: what is not a code may be a value in the wrong column
        problem = f"{unmapped:,} of the {len(values):,} codes in {grouper.column} are not in {grouper.map}"
        faults.append(Fault(f"grouping {grouper.name}", problem, "Give every code a line in the map file"))
    return known


def _runs(sizes: Mapping[str, int]) -> list[list[str]]:
    """Keys in runs, each with few enough combinations for a number of 64 bits; nearly always one."""
    runs: list[list[str]] = []
    product = 2**63  # the first key begins a run
    for key, size in sizes.items():
        product *= size
        if product >= 2**63:
            runs.append([])
            product = size
        runs[-1].append(key)
    return runs


def _crossed(first: FinestCells, second: FinestCells) -> FinestCells:
    """The cells by the keys of both: those that occur."""
    combined = first.of_row.astype(np.int64) * second.count + second.of_row
    present, of_row = np.unique(combined, return_inverse=True)
    in_first, in_second = np.divmod(present, second.count)
    codes = {key: code[in_first] for key, code in first.codes.items()}
    codes |= {key: code[in_second] for key, code in second.codes.items()}
    return FinestCells(len(present), of_row.astype(np.int32), codes, first.labels)


def _combine(codes: Sequence[CodeArray], sizes: Sequence[int]) -> IntArray:
    """One mixed-radix number for the codes of several keys that have fewer than 2^63 combinations."""
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
    """The numbers that occur, in order, and the position of each row's number among them: 4 bytes per row."""
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
