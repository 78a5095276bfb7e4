"""The confidential table: roles of columns, validation before anything else, and the finest cells.

The finest cells are the combinations of all grouping keys of a workload that occur; every group of every query is a
union of such cells, so a row needs to know nothing but its cell, which follows from its public columns.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute

from gedp.accounting.composition import exact
from gedp.arrays import MOST_UNITS, CodeArray, IntArray, label_codes
from gedp.confidential.engines import ColumnCounts, Engine
from gedp.confidential.maps import read_map
from gedp.confidential.sealing import sealed
from gedp.errors import Fault, FaultsError
from gedp.individual.units import UnitCells, unit_cells
from gedp.passes.lookup import Lookup, make_lookup, numbered
from gedp.passes.sums import sums_of_whole
from gedp.policy import Attribute, Data, Grouper, Query, Spec
from gedp.policy.model import JOINT
from gedp.policy.places import Path as Place
from gedp.policy.places import line_of
from gedp.policy.section import nearest

_NULLS = "Fill in numbers, or say what a null counts as: missing = { ATTRIBUTE = 0 } under [data]"
_NUMBERS = "Write numbers like 1234.5: with a decimal point, without separators of thousands"


@dataclass(frozen=True, repr=False)
class ConfidentialTable:
    """A table with its roles. Use `open_table` to get a validated one."""

    engine: Engine
    data: Data
    attributes: Mapping[str, Attribute]
    groupers: Mapping[str, Grouper]
    lookups: Mapping[str, tuple[str, dict[str, str]]]  # grouping -> (public column, code -> group)
    maps: Mapping[str, dict[str, str]]  # grouping -> its map file, as it is
    codes: "PublicCodes"

    def __repr__(self) -> str:
        return f"ConfidentialTable({self.engine!r})"


@dataclass(frozen=True, repr=False)
class Combinations:
    """The combinations of codes that occur: texts by column, in order; the position of each combination's; its rows."""

    texts: Mapping[str, list[str]]
    codes: Mapping[str, CodeArray]
    rows: IntArray

    @classmethod
    def of(
        cls, engine: Engine, columns: Sequence[str], listed: Mapping[str, list[str]] | None = None
    ) -> "Combinations":
        """Those of some columns, in one pass over the rows. A null stands as an empty text; both are faults.

        And of columns with `listed` texts: what is not listed has the position after the last.
        """
        listed = listed or {}
        found, rows = engine.combinations([*columns, *listed], listed)
        coded = {column: label_codes([text or "" for text in found[column]]) for column in columns}
        coded |= {column: (texts, _codes_among(texts, found[column])) for column, texts in listed.items()}
        texts = {column: labels for column, (labels, _) in coded.items()}
        return cls(texts, {column: codes for column, (_, codes) in coded.items()}, rows)

    def among(self, columns: Sequence[str]) -> "Combinations":
        """Those of fewer columns."""
        sizes = [len(self.texts[column]) for column in columns]
        first, number = numbered([self.codes[column] for column in columns], sizes, len(self.rows))
        texts = {column: self.texts[column] for column in columns}
        codes = {column: self.codes[column][first] for column in columns}
        return Combinations(texts, codes, sums_of_whole(number, self.rows, len(first)))

    def named(self, columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """Each of them, as texts in the order of these columns."""
        texts = ([self.texts[column][code] for code in self.codes[column]] for column in columns)
        return zip(*texts, strict=True)


@dataclass(frozen=True, repr=False)
class PublicCodes:
    """The codes of public columns that occur. Those of a workload are found together, in one pass over the rows."""

    engine: Engine
    workload: Sequence[str] = ()

    @cached_property
    def _together(self) -> Combinations:
        return Combinations.of(self.engine, self.workload)

    def combinations(self, columns: Sequence[str]) -> Combinations:
        """The combinations of codes of these columns."""
        is_known = set(columns) <= set(self.workload)
        return self._together.among(columns) if is_known else Combinations.of(self.engine, columns)

    def distinct(self, column: str) -> list[str]:
        """The codes of one column, in order."""
        found = self._together.texts[column] if column in self.workload else self.engine.distinct(column)
        return [text for text in found if text]


@dataclass(frozen=True)
class Groups:
    """The groups of one query: their keys as texts, and the group of every finest cell."""

    keys: Mapping[str, list[str]]
    of_cell: CodeArray
    count: int

    def total(self, by_cell: IntArray) -> IntArray:
        """The sums of every group, from those of the finest cells."""
        return sums_of_whole(self.of_cell, by_cell, self.count)


@dataclass(frozen=True, repr=False)
class FinestCells:
    """The finest cells of a workload: how many rows each has, which is public, and how to find the cell of a row.

    Where units of several records are protected, the records of each have cells of their own.
    """

    counts: IntArray
    lookup: Lookup
    codes: Mapping[str, CodeArray]  # for each grouping key, its code in every cell
    labels: Mapping[str, list[str]]
    units: UnitCells | None = None  # None where every record is protected by itself

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
    hierarchies: Mapping[str, Sequence[str]] | None = None,
    lines: Mapping[Place, int] | None = None,
    workload: Sequence[str] = (),
) -> ConfidentialTable:
    """A validated table; every fault in one error. Map files are looked up from `folder`, columns in `lines`.

    `workload` are the keys of queries to come, whose codes are found in one pass.
    """
    faults: list[Fault] = []
    columns = engine.columns()
    amounts = {attribute.column: attribute for attribute in attributes.values()}  # of parts the last stands for both
    keys, needed = [*data.public, *_id(data)], [*data.public, *amounts, *_id(data)]
    missing = [name for name in needed if name not in columns]
    for name in missing:
        path = ("attributes", name) if name in amounts else ("data", "id" if name == data.id else "public")
        line = line_of(dict(lines or {}), path)
        place = f"line {line}, {'.'.join(path)}, column {name}" if line else f"column {name}"
        faults.append(Fault(place, "there is no such column", hint_at(engine, name)))
    if not engine.has_own_names:
        hint = "Give every column a name of its own, not counting case"
        faults.append(Fault("the table", "several columns have the same name", hint))
    plain = [name for name in keys if name in columns and engine.can_be_public(name)]
    numbers = [name for name in amounts if name in columns and engine.can_be_amount(name)]
    for name in columns:
        if name in keys and name not in plain:
            problem = "its type does not suit a public column or an id"
            faults.append(Fault(f"column {name}", problem, "Give texts, numbers, or dates and times without a zone"))
        if name in amounts and name not in numbers:
            faults.append(Fault(f"column {name}", "its type does not hold numbers", "Give numbers"))
    counted = engine.count_faults({name: exact(amounts[name].unit) for name in numbers}, plain)
    if not counted.rows:
        faults.append(Fault("the table", "it has no rows", "Check the file"))
    for name, blanks in counted.blanks.items():
        if blanks:
            problem = f"{_rows(blanks)} null or an empty text"
            faults.append(Fault(f"column {name}", problem, "Fill in a code; public columns are never empty"))
    if data.id in plain and (repeated := engine.duplicates(data.id, counted.rows)):
        faults.append(Fault(f"column {data.id}", f"{_rows(repeated)} an id that appeared before", "Ids must be unique"))
    for name, counts in counted.faults.items():
        faults += _attribute_faults(counts, amounts[name], data)
    codes = PublicCodes(engine, _columns_of(workload, groupers or {}, plain))
    lookups, maps = dict[str, tuple[str, dict[str, str]]](), dict[str, dict[str, str]]()
    for grouper in (groupers or {}).values():  # each after the one that it is derived from
        if grouper.columns:
            if set(grouper.columns) <= set(plain):
                lookups[grouper.name] = grouper.name, _joined(grouper, codes, faults)
            continue
        column, before = lookups.get(grouper.column, (grouper.column, None))
        if column not in plain and before is None:
            continue
        found = codes.distinct(column)
        values = found if before is None else sorted({before[code] for code in found if code in before})
        known = _lookup(grouper, values, folder, faults)
        if grouper.map is not None:
            maps[grouper.name] = known
        follow = known if before is None else {code: known[g] for code, g in before.items() if g in known}
        lookups[grouper.name] = column, follow
    if not faults:
        faults += _not_nested(codes, hierarchies or {}, lookups)
    if faults:
        raise FaultsError(engine.name, faults)
    return ConfidentialTable(engine, data, dict(attributes), dict(groupers or {}), lookups, maps, codes)


def open_table_of(spec: Spec, engine: Engine, folder: Path | None = None) -> ConfidentialTable:
    """The table of a spec, validated."""
    folder = spec.folder if folder is None else folder
    keys = grouping_keys(spec.tables)
    attributes, groupers = spec.policy.attributes, spec.groupers
    return open_table(engine, spec.data, attributes, groupers, folder, spec.hierarchies, spec.lines, keys)


def grouping_keys(tables: Sequence[Query]) -> list[str]:
    """All grouping keys of these queries, each once."""
    return list(dict.fromkeys(key for query in tables for key in query.public))


def _columns_of(keys: Sequence[str], groupers: Mapping[str, Grouper], plain: Sequence[str]) -> list[str]:
    """The public columns that decide about these keys; of joined ones also each alone."""
    columns: dict[str, None] = {}
    for key in keys:
        while key in groupers and not groupers[key].columns:
            key = groupers[key].column
        alone = groupers[key].columns if key in groupers else (key,)
        if set(alone) <= set(plain):
            columns |= dict.fromkeys((*alone, key))
    return list(columns)


def _not_nested(
    codes: PublicCodes, hierarchies: Mapping[str, Sequence[str]], lookups: Mapping[str, tuple[str, dict[str, str]]]
) -> Iterator[Fault]:
    """Groups that lie in several of the level above. Only public columns are read, and the numbers are of groups."""
    for name, levels in hierarchies.items():
        for coarse, fine in pairwise(levels):
            columns = {level: lookups[level][0] if level in lookups else level for level in (coarse, fine)}
            found, above = codes.combinations(list(dict.fromkeys(columns.values()))), dict[str, set[str]]()
            for code, parent in found.named([columns[fine], columns[coarse]]):
                group = lookups[fine][1][code] if fine in lookups else code
                above.setdefault(group, set()).add(lookups[coarse][1][parent] if coarse in lookups else parent)
            if split := sum(len(parents) > 1 for parents in above.values()):
                problem = f"{split:,} of the {len(above):,} groups of {fine} lie in several of {coarse}"
                yield Fault(f"hierarchy {name}", problem, "List levels from coarse to fine, or correct the codes")


@sealed
def find_cells(table: ConfidentialTable, tables: Sequence[Query], unit: str | None = None) -> FinestCells:
    """The finest cells of the tables that are asked for, from the combinations of public columns that occur.

    `unit` is the column of protected units. Only those with several records have cells of their own.
    """
    keys = grouping_keys(tables)
    columns = {key: table.lookups[key][0] if key in table.lookups else key for key in keys}
    used = list(dict.fromkeys(columns.values()))
    several = [] if unit is None else table.engine.repeated(unit)
    if unit is None or not several:
        found, of_unit, listed = table.codes.combinations(used), None, None
    elif unit in used:
        found, listed = table.codes.combinations(used), None
        of_unit = _codes_among(several, found.texts[unit])[found.codes[unit]]
    else:  # no query groups by units, so that those of one record need no code of their own
        found, listed = Combinations.of(table.engine, used, {unit: several}), unit
        of_unit = found.codes[unit]
    labels, codes = {}, {}
    for key, column in columns.items():
        groups, texts = table.lookups[key][1] if key in table.lookups else None, found.texts[column]
        labels[key], of_text = label_codes([groups[text] for text in texts] if groups else texts)
        codes[key] = of_text[found.codes[column]]
    by_unit = [] if of_unit is None else [of_unit]
    sizes = [len(labels[key]) for key in keys]
    first, cell_of = numbered(
        [*codes.values(), *by_unit], [*sizes, *(len(several) + 1 for _ in by_unit)], len(found.rows)
    )
    counts = sums_of_whole(cell_of, found.rows, len(first))
    lookup = make_lookup(found.texts, found.codes, cell_of, len(counts), listed)
    codes = {key: code[first] for key, code in codes.items()}
    units = None
    if of_unit is not None:
        base, own = numbered(list(codes.values()), sizes, len(first))[1], of_unit[first]
        units = unit_cells(base, np.where(own < len(several), own, -1), counts)
    return FinestCells(counts, lookup, codes, labels, units)


def _codes_among(several: Sequence[str], values: Sequence[str]) -> CodeArray:
    """The position of every text in a sorted list; that after the last where it is not in it."""
    listed = pa.array(several, pa.string())
    found = pa.compute.index_in(pa.array(values, pa.string()), value_set=listed).fill_null(len(several))
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int32)


def _id(data: Data) -> list[str]:
    return [data.id] if data.id else []


def hint_at(engine: Engine, name: str) -> str:
    """What columns there are, by name where no name can be a record or where it is the one that is looked for."""
    if engine.has_schema:
        meant = nearest(name, engine.columns())
        return f"{f'Did you mean {meant!r}? ' if meant else ''}The table has: {', '.join(engine.columns())}"
    if alike := [column for column in engine.columns() if column.casefold() == name.casefold()]:
        return f"Did you mean {alike[0]!r}?"
    read = f"{len(engine.columns()):,}"
    return f"Check the names: {read} were found, not shown here because the first line of a text file may be a record"


def _rows(count: int) -> str:
    return f"{count:,} row has" if count == 1 else f"{count:,} rows have"


def _attribute_faults(counts: ColumnCounts, attribute: Attribute, data: Data) -> Iterator[Fault]:
    place = f"column {attribute.column}"
    if counts.nulls:
        yield Fault(place, f"{_rows(counts.nulls)} null", _NULLS)
    if counts.with_commas:
        yield Fault(
            place,
            f"{_rows(counts.with_commas)} a number with a comma",
            'If it is the decimal sign, set decimal = "," under [data]; if it separates thousands, thousands = ","',
        )
    if counts.not_numbers > counts.with_commas:
        yield Fault(
            place,
            f"{_rows(counts.not_numbers - counts.with_commas)} something that is not a number",
            _NUMBERS if data.reading.decimal == "." else "Write numbers like 1234,5, as data.decimal says",
        )
    if counts.not_finite:
        yield Fault(place, f"{_rows(counts.not_finite)} NaN or an infinity", "Correct the column")
    if counts.negatives and not (attribute.signed or attribute.part):
        yield Fault(
            place,
            f"{_rows(counts.negatives)} a negative value",
            "Correct the column or, if values may be negative, set signed = true, or split = true for gain and loss",
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


def _joined(grouper: Grouper, codes: PublicCodes, faults: list[Fault]) -> dict[str, str]:
    """The combinations of joined columns; two of them must not read the same."""
    combinations = [each for each in codes.combinations(grouper.columns).named(grouper.columns) if all(each)]
    found = sorted({JOINT.join(each) for each in combinations})
    if len(found) < len(combinations):
        problem = f"{len(combinations):,} combinations of codes have {len(found):,} names between them"
        hint = (
            f"Codes that end or begin with {JOINT!r} can be confused: rename them, or list both columns in the queries"
        )
        faults.append(Fault(f"grouping {grouper.name}", problem, hint))
    return {text: text for text in found}


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
