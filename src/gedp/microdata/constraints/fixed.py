"""Public totals to hold fixed, from files or tables: key columns, then attributes, or `attribute` and `value`."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from gedp.arrays import CodeArray, FloatArray, find_in
from gedp.errors import Fault, FaultsError
from gedp.files import regular
from gedp.microdata.cells import PublicRows
from gedp.microdata.constraints.equalities import Fixed
from gedp.partitions import Partition

Given: TypeAlias = pa.Table | Path | str
ATTRIBUTE, VALUE = "attribute", "value"
MOST_UNITS = 2.0**53  # of a sum: floats are exact up to there
MOST_NAMED = 5


@dataclass(frozen=True, repr=False)
class _Lines:
    """The lines of one table about one attribute."""

    keys: pa.Table
    values: pa.ChunkedArray


def given_totals(fixed: Given | Sequence[Given] | None) -> list[Given]:
    """The totals that were given, as a list: one may be given by itself."""
    return [fixed] if isinstance(fixed, str | Path | pa.Table) else list(fixed or ())


def read_totals(given: Sequence[Given]) -> tuple[dict[str, pa.Table], list[Fault]]:
    """The tables with all columns as text, by what messages call them, and everything that is wrong with their files.

    Text, since codes like 003 are not numbers, and since it can be written down and read again.
    """
    tables: dict[str, pa.Table] = {}
    faults: list[Fault] = []
    for place, each in enumerate(given):
        source = f"fixed table {place + 1}" if isinstance(each, pa.Table) else Path(each).name
        source = source if source not in tables else f"{source} ({place + 1})"
        try:
            tables[source] = _as_text(each if isinstance(each, pa.Table) else _read(Path(each)), source)
        except FaultsError as error:
            faults += error.faults
    return tables, faults


def read_fixed(
    given: Mapping[str, pa.Table], public_rows: PublicRows, names: Sequence[str]
) -> tuple[dict[str, list[Fixed]], list[Fault]]:
    """The fixed totals of every attribute of `names`, and everything that is wrong with them."""
    found: dict[str, list[Fixed]] = {name: [] for name in names}
    faults: list[Fault] = []
    any_stated = False
    for source, table in given.items():
        try:
            for name, lines in _lines_by_attribute(table, public_rows, source).items():
                is_stated = lines.values.null_count < len(lines.values)
                any_stated = any_stated or is_stated
                if is_stated and name in found:
                    found[name].append(_fixed(lines, name, public_rows, source))
        except FaultsError as error:
            faults += error.faults
    if given and not faults and not any_stated:
        faults.append(Fault("fixed", "there is no total for any of the attributes", "Give some, or leave it out"))
    return found, faults


def _read(path: Path) -> pa.Table:
    """Reads the table in a .csv or .parquet file."""
    try:
        if path.suffix.lower() == ".parquet":
            return pq.read_table(regular(path))
        if path.suffix.lower() != ".csv":
            raise _refused(path.name, "it is neither .csv nor .parquet", "Give one of these")
        text = regular(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _refused(path.name, "it is not text in UTF-8", "Save it as CSV in UTF-8") from None
    except (OSError, ValueError, pa.ArrowException):
        raise _refused(path.name, "it cannot be read", "Check that it exists and is whole") from None
    return _parsed(text, path.name)


def _parsed(text: str, source: str) -> pa.Table:
    """The columns of a CSV file; an empty cell is null."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        lines = [(reader.line_num, line) for line in reader if line]
    except csv.Error:
        problem = f"line {reader.line_num} cannot be read"
        raise _refused(source, problem, "Check quotation marks, and that it is a CSV file") from None
    if not lines:
        raise _refused(source, "it is empty", "Give a heading and totals")
    (_, heading), *lines = lines
    if ragged := [number for number, line in lines if len(line) != len(heading)]:
        problem = f"lines with more or fewer cells than the heading: {len(ragged)}, the first is line {ragged[0]}"
        raise _refused(source, problem, "Correct them")
    columns = [[line[place] or None for _, line in lines] for place in range(len(heading))]
    arrays = [pa.array(column, pa.string()) for column in columns]
    return pa.Table.from_arrays(arrays, names=heading)


def _as_text(table: pa.Table, source: str) -> pa.Table:
    columns = table.column_names
    if twice := sorted({name for name in columns if columns.count(name) > 1}):
        raise _refused(source, f"columns appear twice: {_listed(twice)}", "Give each once")
    try:
        return pa.table({name: table[name].cast(pa.string()) for name in columns})
    except pa.ArrowException:
        raise _refused(source, "it has columns that are neither text nor numbers", "Remove them") from None


def _listed(names: Sequence[str]) -> str:
    """The first names, such that they can be printed."""
    shown = [name if name.isprintable() else repr(name) for name in names[:MOST_NAMED]]
    return ", ".join([*shown, *(["…"] if len(names) > MOST_NAMED else [])])


def _lines_by_attribute(table: pa.Table, public_rows: PublicRows, source: str) -> dict[str, _Lines]:
    columns = table.column_names
    attributes = list(public_rows.spec.policy.attributes)
    if ATTRIBUTE in columns and VALUE in columns:
        keys = table.drop_columns([ATTRIBUTE, VALUE])
        _check(keys.column_names, public_rows, source)
        about = table[ATTRIBUTE]
        unknown = sorted({str(name) for name in about.unique().to_pylist()} - set(attributes))
        if unknown:
            there = f"There are: {', '.join(attributes)}"
            raise _refused(source, f"not attributes of the release: {_listed(unknown)}", there)
        picked = {name: pa.compute.equal(about, name) for name in attributes}
        return {name: _Lines(keys.filter(mask), table[VALUE].filter(mask)) for name, mask in picked.items()}
    given = [name for name in columns if name in attributes]
    if not given:
        hint = f"Name columns after attributes ({', '.join(attributes)}), or give {ATTRIBUTE} and {VALUE}"
        if len(columns) == 1 and any(sign in columns[0] for sign in ";\t|"):
            hint = "Separate them with commas"
        raise _refused(source, "no column has values", hint)
    keys = table.drop_columns(given)
    _check(keys.column_names, public_rows, source)
    return {name: _Lines(keys, table[name]) for name in given}


def _check(keys: Sequence[str], public_rows: PublicRows, source: str) -> None:
    try:
        public_rows.keys(keys)
    except FaultsError as error:
        faults = [Fault(source, f"column {fault.problem}", fault.suggestion) for fault in error.faults]
        raise FaultsError(source, faults) from None


def _fixed(lines: _Lines, name: str, public_rows: PublicRows, source: str) -> Fixed:
    """The totals of one table for one attribute, once every one of them is a number for a whole group of cells."""
    stated = pa.compute.is_valid(lines.values)
    unit = float(public_rows.spec.policy.attributes[name].unit)
    keys, values = lines.keys.filter(stated), _numbers(lines.values.filter(stated), name, unit, source)
    by = tuple(keys.column_names)
    groups = public_rows.cells(by)
    of_line, of_group = public_rows.numbered(keys, by, groups)
    found, are_known = find_in(of_group, of_line)
    faults = []
    if not are_known.all():
        said = _name(keys, int(np.flatnonzero(~are_known)[0]))
        hint = "Remove them; write codes as in the release, with leading zeros"
        faults.append(Fault(source, f"groups that do not exist: {(~are_known).sum()}, the first is {said}", hint))
    repeats = len(found) - len(np.unique(found))
    if repeats and are_known.all():
        faults.append(Fault(source, f"groups that are given again: {repeats}", "Give each total once"))
    position = np.full(groups.count, len(values), dtype=np.int32)
    position[found[are_known]] = np.flatnonzero(are_known)
    cells = public_rows.cells_of(name)
    of_cell, cut = _whole_cells(position[groups.group_of], cells, len(values))
    if cut.size:
        first = _name(keys, int(cut[0]))
        problem = f"groups that divide finest cells of {name}: {cut.size}, the first is {first}"
        finest = ", ".join(cells.codes) or "the total"
        faults.append(Fault(source, problem, f"Fix totals of groups that are made of whole cells by {finest}"))
    if faults:
        raise FaultsError(source, faults)
    has_rest = bool((of_cell == len(values)).any())
    fixed = Partition(of_cell, len(values) + has_rest, has_rest=has_rest)
    return Fixed(by, fixed, values, tuple(f"{name} of {_name(keys, line)}" for line in range(len(values))))


def _whole_cells(of_row: CodeArray, cells: Partition, none: int) -> tuple[CodeArray, CodeArray]:
    """The group of every cell, and the groups that have a part of one only."""
    of_cell = np.full(cells.count, none, dtype=np.int32)
    of_cell[cells.group_of] = of_row
    around = of_cell[cells.group_of]
    other = of_row != around
    cut = np.unique(np.concatenate([of_row[other], around[other]]))
    return of_cell, cut[cut < none]


def _numbers(values: pa.ChunkedArray, name: str, unit: float, source: str) -> FloatArray:
    try:
        numbers = values.cast(pa.float64()).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise _refused(source, f"some values of {name} are not numbers", "Correct them") from None
    if not np.isfinite(numbers).all():
        raise _refused(source, f"some values of {name} are not finite", "Correct them")
    if (np.abs(numbers) > MOST_UNITS * unit).any():
        raise _refused(source, f"some values of {name} are beyond 2^53 units", "Correct them, or their units")
    return np.asarray(numbers, dtype=np.float64)


def _name(keys: pa.Table, line: int) -> str:
    return ", ".join(f"{key} {keys[key][line].as_py()}" for key in keys.column_names) or "the total"


def _refused(source: str, problem: str, suggestion: str) -> FaultsError:
    return FaultsError(source, [Fault(source, problem, suggestion)])
