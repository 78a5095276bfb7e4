"""The rows of a release, their keys and finest cells, and which cells are in which groups of which query.

The rows are the establishments of the identity query. A release without one lists no establishments; then its rows are
the groups of a query from which the groups of all others follow. Where there is no such query, nothing says which rows
there are: see `measured` for what can be published then.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute

from gedp.arrays import CodeArray, label_codes
from gedp.errors import Fault, FaultsError
from gedp.industries import ancestor_of
from gedp.policy import Grouper, Query, Spec
from gedp.release import ProtectedAnswers
from gedp.sql import quoted_name

MOST_JOINED_CELLS = 50_000_000
NAICS = "naics"  # a public column of this name can be grouped by these without a map file
INDUSTRY_LEVELS = {"domain": 1, "supersector": 2, "sector": 3}  # depths in the industry tree
SECTOR_DIGITS = 2  # of a NAICS code that say all of these
TOTAL_KEY = "cell"  # the only column of the one group that everything is in


@dataclass(frozen=True, repr=False)
class Cells:
    """The combinations of some grouping keys that occur, and the one of every row."""

    count: int
    of_row: CodeArray
    codes: Mapping[str, CodeArray]  # of every cell, for every key

    def inside(self, groups: "Cells") -> CodeArray | None:
        """The group of every cell, where the rows of each are in one group; None if a group cuts through a cell."""
        of_cell = np.zeros(self.count, dtype=np.int32)
        of_cell[self.of_row] = groups.of_row
        return of_cell if np.array_equal(of_cell[self.of_row], groups.of_row) else None


@dataclass(repr=False)
class PublicRows:
    """The rows of the microdata with their public columns, and their grouping keys as codes."""

    source: ProtectedAnswers
    spec: Spec
    lists_establishments: bool
    has_rows: bool  # whether the release says what its rows are
    _table: list[pa.Table] = field(default_factory=list)
    _keys: dict[str, tuple[CodeArray, list[str]]] = field(default_factory=dict)
    _cells: dict[tuple[str, ...], Cells] = field(default_factory=dict)

    @property
    def table(self) -> pa.Table:
        """Id and public columns of the establishments; grouping keys where the rows are cells.

        Where nothing says which rows there are: all that the tables allow, joined when somebody asks.
        """
        if not self._table:
            self._table.append(_possible_cells(self.source, self.spec))
        return self._table[0]

    @property
    def count(self) -> int:
        """The number of establishments, or of cells where none are listed."""
        return int(self.table.num_rows)

    def key(self, name: str) -> tuple[CodeArray, list[str]]:
        """A public column or grouping as codes of the rows, with the text of each code, sorted."""
        if name not in self._keys:
            grouper = self.spec.groupers.get(name, self._prefix(name))
            column = self._column_of(name)
            if column is None:
                raise FaultsError(self.source.name, [self.unknown(name)])
            if column == name:
                self._keys[name] = _encoded(self.table[name])
            elif grouper is not None:
                self._keys[name] = self.derived(column, lambda texts: self._lookup(grouper, texts))
            else:
                self._keys[name] = self.derived(column, lambda texts: self._industries(name, column, texts))
        return self._keys[name]

    def knows(self, name: str) -> bool:
        """Whether there is such a public column or grouping."""
        return self._column_of(name) is not None

    def _column_of(self, name: str) -> str | None:
        """The column of the rows from which a key follows: itself, or one that is at least as fine."""
        if name in self.table.column_names and name != self.spec.data.id and not self._is_no_key(name):
            return name
        grouper = self.spec.groupers.get(name, self._prefix(name))
        if grouper is not None:
            return self._holding(grouper.column, grouper.prefix)
        return self._holding(NAICS, SECTOR_DIGITS) if name in INDUSTRY_LEVELS else None

    def _is_no_key(self, name: str) -> bool:
        """Whether a column only stands for everything together. Keys of groups are text."""
        stands_for_all = name == TOTAL_KEY and not self.lists_establishments
        return stands_for_all and bool(pa.types.is_integer(self.table.schema.field(name).type))

    def _holding(self, column: str, characters: int | None) -> str | None:
        """A column of the rows that holds another, or at least its first characters."""
        if column in self.table.column_names:
            return column
        prefixes = [g for g in self.spec.groupers.values() if g.column == column and g.prefix is not None]
        longest = max((g for g in prefixes if g.name in self.table.column_names), key=_length, default=None)
        return longest.name if longest and characters is not None and _length(longest) >= characters else None

    def keys(self, names: Sequence[str]) -> list[tuple[CodeArray, list[str]]]:
        """Several keys as `key` gives one; every unknown one in one error."""
        found, faults = [], list[Fault]()
        for name in names:
            try:
                found.append(self.key(name))
            except FaultsError as error:
                faults += error.faults
        if faults:
            raise FaultsError(self.source.name, faults)
        return found

    def unknown(self, name: str) -> Fault:
        """The fault that there is no such key, which lists the keys that there are."""
        return Fault("by", f"{name!r} is not a public column or grouping", self._what_there_is())

    def _what_there_is(self) -> str:
        columns = [name for name in self.table.column_names if self.knows(name)]
        more = [*filter(self.knows, self.spec.groupers), *(INDUSTRY_LEVELS if NAICS in columns else ())]
        prefixes = [f"the first characters of a column, as in {NAICS}3"] if NAICS in columns else []
        return f"There are: {', '.join(dict.fromkeys([*columns, *more, *prefixes]))}"

    def attributes(self, chosen: Sequence[str] | None = None) -> list[str]:
        """The attributes of the release in its order, or the chosen ones; every unknown one in one error."""
        names = self.spec.asked
        unknown = [name for name in dict.fromkeys(chosen or ()) if name not in names]
        if unknown:
            faults = [
                Fault("attribute", f"{n!r} is not in this release", f"It has: {', '.join(names)}") for n in unknown
            ]
            raise FaultsError(self.source.name, faults)
        return [name for name in names if chosen is None or name in chosen]

    def cells(self, keys: Sequence[str]) -> Cells:
        """The finest cells of these keys, in the order of their texts."""
        names = tuple(sorted(keys))
        if names not in self._cells:
            of_row, codes = combinations([codes for codes, _ in self.keys(names)], self.count)
            count = len(codes[0]) if names else 1
            self._cells[names] = Cells(count, of_row, dict(zip(names, codes, strict=True)))
        return self._cells[names]

    def gives_rows(self, attribute: str) -> bool:
        """Whether the answers for an attribute determine its values: of the rows, or of cells that are to be divided.

        Only listed establishments get parts of cells. Where rows are cells themselves, parts would be made up.
        """
        asked = [query for query in self.spec.queries if attribute in query.attributes]
        if any(query.is_identity for query in asked) or not self.has_rows:
            return self.has_rows
        cells = self.cells_of(attribute)
        are_determined = any(self.cells(query.by).count == cells.count for query in asked)
        return are_determined and (self.lists_establishments or cells.count == self.count)

    def cells_of(self, attribute: str) -> Cells:
        """The finest cells of the queries that ask for an attribute."""
        asked = [query for query in self.spec.queries if attribute in query.attributes and not query.is_identity]
        return self.cells(list(dict.fromkeys(key for query in asked for key in query.by)))

    def answers(self, query: Query, attribute: str, cells: Cells) -> tuple[pa.Table, CodeArray]:
        """The answers of a query for one attribute, and the place among them of every cell."""
        table = self.source.answers(query.name)
        table = table.filter(pa.compute.equal(table["attribute"], attribute))
        of_cell = np.zeros(cells.count, dtype=np.int64)
        of_group = np.zeros(table.num_rows, dtype=np.int64)
        for key in query.by:
            labels = self.key(key)[1]
            places = pa.compute.index_in(table[key].combine_chunks(), value_set=pa.array(labels, pa.string()))
            of_group = of_group * (len(labels) + 1) + places.fill_null(len(labels)).to_numpy()
            of_cell = of_cell * (len(labels) + 1) + cells.codes[key]
        order = np.argsort(of_group)
        found = np.minimum(np.searchsorted(of_group[order], of_cell), max(table.num_rows - 1, 0))
        if not table.num_rows or not np.array_equal(of_group[order][found], of_cell):
            lost = Fault(f"query {query.name!r}", "some establishments are in none of its groups", "Get a fresh copy")
            raise FaultsError(self.source.name, [lost])
        return table, order[found].astype(np.int32)

    def derived(self, column: str, derive: Callable[[list[str]], list[str]]) -> tuple[CodeArray, list[str]]:
        """A key made from the texts of another, each different text once."""
        codes, texts = self.key(column)
        labels, of_text = label_codes(derive(texts))
        return of_text[codes], labels

    def _industries(self, level: str, column: str, texts: Sequence[str]) -> list[str]:
        """The domain, supersector or sector of NAICS codes."""
        found = [ancestor_of(text, INDUSTRY_LEVELS[level]) for text in texts]
        unknown = found.count(None)
        if unknown:
            fault = Fault("by", f"{unknown} of {len(texts)} codes in column {column} have no {level}", "Use a map file")
            raise FaultsError(self.source.name, [fault])
        return [code for code in found if code is not None]

    def _prefix(self, name: str) -> Grouper | None:
        """`naics3` where there is a public column `naics` and no grouping of that name: its first three characters."""
        column = name.rstrip("0123456789")
        digits = name[len(column) :]
        there_is = column in self.table.column_names or column in self.spec.data.public
        if digits and int(digits) and there_is and column != self.spec.data.id:
            return Grouper(name, column, prefix=int(digits))
        return None

    def _lookup(self, grouper: Grouper, texts: Sequence[str]) -> list[str]:
        if grouper.prefix is not None:
            return [text[: grouper.prefix] for text in texts]
        known = self.source.map(grouper.name)
        if lost := sum(text not in known for text in texts):
            problem = f"{lost:,} of {len(texts):,} codes in column {grouper.column} are not in its list of groups"
            fault = Fault(f"grouping {grouper.name}", problem, "Get a fresh copy of the release")
            raise FaultsError(self.source.name, [fault])
        return [known[text] for text in texts]


def read_public_rows(source: ProtectedAnswers) -> PublicRows:
    """The rows of a release with their public columns and grouping keys: its establishments, or else finest cells."""
    spec = source.manifest.spec
    if any(query.is_identity for query in spec.queries):
        plain = [*([spec.data.id] if spec.data.id else []), *spec.data.public]
        return PublicRows(source, spec, True, True, [source.identity(plain)])
    rows = _finest_groups(source, spec)
    return PublicRows(source, spec, False, rows is not None, [] if rows is None else [rows])


def keys_of_groups(answers: pa.Table, query: Query) -> pa.Table:
    """The keys of the groups of a query, in the order of the answers for one attribute."""
    return answers.select(list(query.by)) if query.by else pa.table({TOTAL_KEY: [0] * answers.num_rows})


def _finest_groups(source: ProtectedAnswers, spec: Spec) -> pa.Table | None:
    """The groups of a query from which those of all others follow, with the keys of all; None without such a query."""
    keys = list(dict.fromkeys(key for query in spec.queries for key in query.by))
    for query in sorted(spec.queries, key=lambda query: -len(query.by)):
        answers = source.answers(query.name)
        groups = keys_of_groups(answers, query).group_by(list(query.by) or [TOTAL_KEY]).aggregate([])
        public_rows = PublicRows(source, spec, False, True, [groups])
        if all(map(public_rows.knows, keys)):
            order = public_rows.cells(query.by)
            rows = pa.array(np.argsort(order.of_row, kind="stable"))
            columns = {
                key: pa.array(public_rows.key(key)[1], pa.string()).take(pa.array(public_rows.key(key)[0]))
                for key in keys
            }
            return (pa.table(columns) if columns else groups).take(rows)
    return None


def _length(grouper: Grouper) -> int:
    return grouper.prefix or 0


def _possible_cells(source: ProtectedAnswers, spec: Spec) -> pa.Table:
    """The natural join of the keys of all queries: every cell that no table rules out."""
    with duckdb.connect() as connection:
        joined, known = "(SELECT 0 AS one)", set[str]()
        for place, query in enumerate(sorted(spec.queries, key=lambda query: -len(query.by))):
            if not query.by:
                continue
            connection.register(f"keys{place}", source.answers(query.name).select(list(query.by)))
            columns = ", ".join(map(quoted_name, query.by))
            shared = ", ".join(quoted_name(key) for key in query.by if key in known)
            how = f"JOIN keys USING ({shared})" if shared else "CROSS JOIN keys"
            joined = f"(WITH keys AS (SELECT DISTINCT {columns} FROM keys{place}) SELECT * FROM {joined} {how})"
            known.update(query.by)
        ((count,),) = connection.execute(f"SELECT count(*) FROM {joined}").fetchall()
        if count > MOST_JOINED_CELLS:
            fault = Fault("queries", f"their groups allow {count:,} cells, too many to list", "Add an identity query")
            raise FaultsError(source.name, [fault])
        order = ", ".join(map(quoted_name, sorted(known)))
        rows = f"SELECT * EXCLUDE (one) FROM {joined} ORDER BY {order}" if known else f"SELECT 0 AS {TOTAL_KEY}"
        cells: pa.Table = connection.sql(rows).to_arrow_table()
        return cells


def _encoded(column: pa.ChunkedArray) -> tuple[CodeArray, list[str]]:
    encoded = column.combine_chunks().dictionary_encode()
    values = pa.table({"value": encoded.dictionary})
    with duckdb.connect() as connection:  # the same texts as where the groups were made
        connection.register("codes", values)
        texts = [row[0] for row in connection.execute("SELECT value::VARCHAR FROM codes").fetchall()]
    labels, of_text = label_codes(texts)
    return of_text[encoded.indices.to_numpy()], labels


def combinations(columns: Sequence[CodeArray], rows: int) -> tuple[CodeArray, list[CodeArray]]:
    """The combinations of codes that occur, and the one of every row; compacted column by column."""
    of_row = np.zeros(rows, dtype=np.int32)
    found: list[CodeArray] = []
    for column in columns:
        size = int(column.max(initial=0)) + 1
        combined = of_row.astype(np.int64) * size + column
        count = (int(of_row.max(initial=0)) + 1) * size
        if count <= MOST_JOINED_CELLS:
            seen = np.zeros(count, dtype=bool)
            seen[combined] = True
            present = np.flatnonzero(seen)
            position = np.cumsum(seen, dtype=np.int32) - np.int32(1)
            of_row = position[combined]
        else:
            present, places = np.unique(combined, return_inverse=True)
            of_row = places.astype(np.int32)
        before, last = np.divmod(present, size)
        found = [*(codes[before] for codes in found), last.astype(np.int32)]
    return of_row, found
