"""The confidential table: roles of columns, validation before anything else, and the finest cells.

The finest cells are the combinations of all grouping keys of a workload that occur; every group of every query is a
union of such cells, so a row needs to know nothing but its cell, which follows from its public columns.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gedp.accounting.composition import exact
from gedp.arrays import MOST_UNITS, CodeArray, IntArray, label_codes
from gedp.confidential.engines import ColumnCounts, Engine
from gedp.confidential.engines.lookup import Lookup, make_lookup, numbered
from gedp.confidential.maps import read_map
from gedp.confidential.sealing import sealed
from gedp.errors import Fault, FaultsError
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
    """The finest cells of a workload: how many rows each has, which is public, and how to find the cell of a row."""

    counts: IntArray
    lookup: Lookup
    codes: Mapping[str, CodeArray]  # for each grouping key, its code in every cell
    labels: Mapping[str, list[str]]

    @property
    def count(self) -> int:
        """The number of cells."""
        return len(self.counts)

    @property
    def rows(self) -> int:
        """The number of rows of the table."""
        return int(self.counts.sum())

    def groups(self, by: Sequence[str]) -> Groups:
        """The groups by these keys that occur, in the order of their labels."""
        first, of_cell = numbered([self.codes[key] for key in by], [len(self.labels[key]) for key in by], self.count)
        keys = {key: [self.labels[key][code] for code in self.codes[key][first]] for key in by}
        return Groups(keys, of_cell, len(first))


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
    """The finest cells of the workload, from the combinations of public columns that occur."""
    keys = list(dict.fromkeys(key for query in queries if not query.is_identity for key in query.by))
    columns = {key: table.lookups[key][0] if key in table.lookups else key for key in keys}
    used = list(dict.fromkeys(columns.values()))
    values, rows = table.engine.combinations(used)
    texts, combinations = {}, {}
    for column in used:
        texts[column], combinations[column] = label_codes(values[column])
    labels, codes = {}, {}
    for key, column in columns.items():
        groups = table.lookups[key][1] if key in table.lookups else None
        labels[key], of_text = label_codes([groups[text] for text in texts[column]] if groups else texts[column])
        codes[key] = of_text[combinations[column]]
    first, cell_of = numbered(list(codes.values()), [len(labels[key]) for key in keys], len(rows))
    counts = np.zeros(len(first), dtype=np.int64)
    np.add.at(counts, cell_of, rows)
    lookup = make_lookup(texts, combinations, cell_of, len(counts))
    return FinestCells(counts, lookup, {key: code[first] for key, code in codes.items()}, labels)


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
