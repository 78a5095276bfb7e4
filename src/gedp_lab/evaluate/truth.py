"""The truth, read as for a release and laid beside the rows of its microdata.

The table is validated as for a release, and it must be of the same establishments: the same ids with the same public
columns, or where there are no ids as many establishments with every combination of public columns. Messages have
counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute

from gedp.accounting.composition import exact
from gedp.arrays import CodeArray, FloatArray, find_in
from gedp.confidential.engines import ArrowStream, Engine, in_order
from gedp.confidential.engines.choice import engine_like
from gedp.confidential.sealing import sealed
from gedp.confidential.table import ConfidentialTable, open_table
from gedp.errors import Fault, FaultsError
from gedp.individual.classes import class_of, class_table
from gedp.microdata.cells import PublicRows
from gedp.microdata.combining import combinations
from gedp.partitions import Partition
from gedp.passes import Reads
from gedp.policy import COUNT, Spec
from gedp.policy.model import steps_to

SUGGESTION = "Name the table that the release was made from"


@dataclass(frozen=True, repr=False)
class Truth:
    """The true values of the rows of the microdata, in whole units."""

    public_rows: PublicRows
    units: Mapping[str, FloatArray]
    unit: Mapping[str, Fraction]

    def values(self, attribute: str) -> FloatArray:
        """The true value of every row."""
        return self.units[attribute] * float(self.unit[attribute])

    def of_lines(self, figure: str, by: Sequence[str], lines: pa.Table) -> FloatArray:
        """The true figure of every line of a table by these keys, which may be public or classes."""
        spec = self.public_rows.spec
        named = {key: spec.classes[key] for key in by if key in spec.classes}
        classes = class_table(named, spec.policy.attributes)
        public = [key for key in by if key not in spec.classes]
        cells = self.public_rows.cells(public)
        amounts = [np.rint(self.units[each.attribute]).astype(np.int64) for each in classes.classes]
        own = [class_of(edges, units) for edges, units in zip(classes.edges, amounts, strict=True)]
        shown = [_places(lines[key], labels) for key, labels in zip(named, classes.labels, strict=True)]
        of_line, of_cell = self.public_rows.numbered(lines, public, cells)
        cell_of_line = find_in(of_cell, of_line)[0].astype(np.int32)
        entry_of_row = classes.places(cells.group_of, own).astype(np.int32)
        entries = Partition(entry_of_row, cells.count * classes.combinations)
        found: FloatArray = self._added_up(figure, entries)[classes.places(cell_of_line, shown)]
        return found

    def _added_up(self, figure: str, groups: Partition) -> FloatArray:
        """The true figure of every group: exact in units."""
        if figure == COUNT:
            return groups.sizes.astype(np.float64)
        parts = []
        for name, coefficient in parts_of(self.public_rows.spec, figure).items():
            unit = self.unit[name]
            parts.append(coefficient * groups.sums(self.units[name]) * unit.numerator / unit.denominator)
        total: FloatArray = np.add.reduce(parts)
        return total


def parts_of(spec: Spec, figure: str) -> dict[str, float]:
    """The attributes that a figure adds up, with their coefficients; none of a number of establishments."""
    if figure == COUNT:
        return {}
    if figure in spec.combinations:
        return {name: float(each) for name, each in spec.combinations[figure].coefficients.items()}
    return {name: float(sign) for name, sign in spec.policy.split_columns.get(figure, {figure: 1}).items()}


def _places(column: pa.ChunkedArray, labels: Sequence[str]) -> CodeArray:
    found: CodeArray = pa.compute.index_in(column.combine_chunks(), value_set=pa.array(labels, pa.string())).to_numpy()
    return found


@sealed
def read_truth(public_rows: PublicRows, source: str | Path | ArrowStream, attributes: Sequence[str]) -> Truth:
    """The true values of some attributes, from a file (or a table in memory) like the one that was released."""
    spec = public_rows.spec
    engine = engine_like(spec, source)
    asked = {name: spec.policy.attributes[name] for name in attributes}
    keys = (
        []
        if public_rows.lists_establishments
        else [key for key in public_rows.table.column_names if key in spec.groupers]
    )
    table = open_table(engine, replace(spec.data, source=engine.name), asked)
    lookups = {key: _groups_of(public_rows, engine, key) for key in keys}
    return truth_of(public_rows, replace(table, lookups=lookups), attributes)


def _groups_of(public_rows: PublicRows, engine: Engine, key: str) -> tuple[str, dict[str, str]]:
    """The public column that a grouping follows from, and the group of every code, as the release has them."""
    steps = steps_to(key, public_rows.spec.groupers)
    groups = {code: code for code in engine.distinct(steps[0].source)}
    for step in (step for step in steps if not step.columns):
        if step.prefix is None:
            known = public_rows.source.map(step.name)
            groups = {code: known[group] for code, group in groups.items() if group in known}
        else:
            groups = {code: group[: step.prefix] for code, group in groups.items()}
    return steps[0].source, groups


@sealed
def truth_of(public_rows: PublicRows, table: ConfidentialTable, attributes: Sequence[str]) -> Truth:
    """The true values of some attributes, from a table that is open."""
    spec, engine = public_rows.spec, table.engine
    unit = {name: exact(table.attributes[name].unit) for name in attributes}
    columns = spec.data.public if public_rows.lists_establishments else _columns_of_keys(public_rows, table)
    identifier = [spec.data.id] if spec.data.id and public_rows.lists_establishments else []
    batches = list(in_order(engine).batches(Reads(unit, identifier, coded=columns)))
    codes = {name: np.concatenate([batch.codes[name] for batch in batches]) for name in columns}
    if identifier:
        ids = pa.chunked_array([batch.plain.column(0) for batch in batches]).combine_chunks()
        places = _places_by_id(public_rows, table, ids, codes)
    elif public_rows.lists_establishments:
        places = _places_by_public(public_rows, table, codes)
    else:
        places = _places_in_cells(public_rows, table, codes)
    rows = Partition(places, public_rows.count)
    amounts = {name: np.concatenate([batch.amounts[name] for batch in batches]) for name in attributes}
    units = {name: rows.sums(each.astype(np.float64)) for name, each in amounts.items()}
    return Truth(public_rows, units, unit)


def _places_by_id(
    public_rows: PublicRows, table: ConfidentialTable, ids: pa.Array, codes: Mapping[str, CodeArray]
) -> CodeArray:
    """The row of every establishment, by its id; its public columns must be those of the row."""
    known = public_rows.table[str(public_rows.spec.data.id)].combine_chunks()
    if ids.type != known.type:  # numbers in one file may be text in the other
        ids, known = ids.cast(pa.string()), known.cast(pa.string())
    found = pa.compute.index_in(ids, value_set=known)
    if found.null_count or len(ids) != public_rows.count:
        matched = len(ids) - found.null_count
        raise _others(public_rows, table, lacking=public_rows.count - matched, surplus=found.null_count)
    places: CodeArray = found.to_numpy().astype(np.int32)
    faults = []
    for column, code in codes.items():
        of_row = public_rows.key(column)[0]
        differ = int((_translated(public_rows, table, column)[code] != of_row[places]).sum())
        if differ:
            problem = f"{differ:,} establishments have other codes there than in the release"
            faults.append(Fault(f"column {column}", problem, SUGGESTION))
    if faults:
        raise FaultsError(_name(table), faults)
    return places


def _places_by_public(public_rows: PublicRows, table: ConfidentialTable, codes: Mapping[str, CodeArray]) -> CodeArray:
    """Rows with the same public columns, one for each establishment; which of them it gets changes no group."""
    in_frame = [public_rows.key(column)[0] for column in codes]
    in_truth = [_translated(public_rows, table, column)[code] for column, code in codes.items()]
    cell_of_row, cell = _common_cells(in_frame, in_truth, public_rows.count, table.engine.rows())
    size = int(max(cell_of_row.max(initial=0), cell.max(initial=0))) + 1
    more = np.bincount(cell_of_row, minlength=size) - np.bincount(cell, minlength=size)
    if more.any():
        raise _others(public_rows, table, lacking=int(more[more > 0].sum()), surplus=-int(more[more < 0].sum()))
    places = np.empty(len(cell), dtype=np.int32)
    places[np.argsort(cell, kind="stable")] = np.argsort(cell_of_row, kind="stable")
    return places


def _places_in_cells(public_rows: PublicRows, table: ConfidentialTable, codes: Mapping[str, CodeArray]) -> CodeArray:
    """The row of every establishment where rows are cells: every establishment has one, and every group some."""
    keys = public_rows.table.column_names if codes else []
    rows = table.engine.rows()
    column_of = {key: table.lookups[key][0] if key in table.lookups else key for key in keys}
    in_frame = [public_rows.key(key)[0] for key in keys]
    in_truth = [_translated(public_rows, table, key)[codes[column_of[key]]] for key in keys]
    cell_of_row, cell = _common_cells(in_frame, in_truth, public_rows.count, rows)
    row_of_cell = np.full(int(max(cell_of_row.max(initial=0), cell.max(initial=0))) + 1, -1, dtype=np.int32)
    row_of_cell[cell_of_row] = np.arange(public_rows.count, dtype=np.int32)
    places = row_of_cell[cell]
    released = public_rows.source.manifest.establishments
    surplus = int((places < 0).sum())
    if surplus or rows != released:
        raise _others(public_rows, table, lacking=max(released - rows + surplus, 0), surplus=surplus)
    for query in public_rows.spec.group_sums:
        groups = public_rows.cells(query.by)
        empty = int((np.bincount(groups.group_of[places], minlength=groups.count) == 0).sum())
        if empty:
            problem = f"{empty:,} of the {groups.count:,} groups of query {query.name!r} have no establishments"
            raise FaultsError(_name(table), [Fault("establishments", problem, SUGGESTION)])
    return places


def _columns_of_keys(public_rows: PublicRows, table: ConfidentialTable) -> list[str]:
    """The public columns behind the keys of rows that are cells."""
    keys = [key for query in public_rows.spec.group_sums for key in query.by]
    return list(dict.fromkeys(table.lookups[key][0] if key in table.lookups else key for key in keys))


def _translated(public_rows: PublicRows, table: ConfidentialTable, key: str) -> CodeArray:
    """For each code of the truth's column, the code of the key in the release; one beyond the last if it has none."""
    column, groups = table.lookups.get(key, (key, {}))
    texts = table.engine.distinct(column)
    labels = public_rows.key(key)[1]
    position = {label: place for place, label in enumerate(labels)}
    return np.array([position.get(groups.get(text, text), len(labels)) for text in texts], dtype=np.int32)


def _common_cells(
    first: Sequence[CodeArray], second: Sequence[CodeArray], rows: int, others: int
) -> tuple[CodeArray, CodeArray]:
    """Numbers for the combinations of codes in two tables, the same in both."""
    columns = [np.concatenate(both) for both in zip(first, second, strict=True)]
    combined, _ = combinations(columns, rows + others)
    return combined[:rows], combined[rows:]


def _others(public_rows: PublicRows, table: ConfidentialTable, lacking: int, surplus: int) -> FaultsError:
    released = public_rows.source.manifest.establishments
    problem = (
        f"the release has {released:,} and the truth {table.engine.rows():,}: {lacking:,} of the release are not in "
        f"the truth, and {surplus:,} of the truth are not in the release"
    )
    return FaultsError(_name(table), [Fault("establishments", problem, SUGGESTION)])


def _name(table: ConfidentialTable) -> str:
    return table.engine.name
