"""The rows of a release, their keys and finest cells, and which cells are in which groups of which query.

The rows are the establishments of the identity query. A release without one lists no establishments; then its rows are
the groups of a query from which the groups of all others follow. Where there is no such query, nothing says which rows
there are: see `agreement` for what can be published then.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute

from gedp.arrays import BoolArray, CodeArray, FloatArray, IntArray, find_in, label_codes
from gedp.errors import Fault, FaultsError
from gedp.known_codes import TREE_OF_LEVEL, TREES
from gedp.microdata.combining import combinations, joined
from gedp.microdata.keys import TOTAL_KEY, encoded, first_characters, possible_cells, unknown_codes
from gedp.microdata.kinds import Kinds
from gedp.partitions import Partition
from gedp.policy import Grouper, Query, Spec
from gedp.policy.chosen import chosen_attributes
from gedp.policy.section import nearest
from gedp.release import ProtectedAnswers

MOST_PREFIXES = 24  # keys of first characters that are remembered

#: A filter: of every key, the codes that pass. No keys let everything pass.
Where: TypeAlias = Mapping[str, Sequence[str]]
NO_FILTER: Where = {}


@dataclass(frozen=True, repr=False)
class Cells(Partition):
    """The combinations of some grouping keys that occur, and the one of every row."""

    codes: Mapping[str, CodeArray]  # of every cell, for every key


@dataclass(repr=False)
class PublicRows:
    """The rows of the microdata with their public columns, and their grouping keys as codes."""

    source: ProtectedAnswers
    spec: Spec
    lists_establishments: bool
    has_rows: bool  # whether the release says what its rows are
    _table: list[pa.Table] = field(default_factory=list)
    _keys: dict[str, tuple[CodeArray, list[str]]] = field(default_factory=dict)
    _cells: dict[tuple[Sequence[str], ...], Cells] = field(default_factory=dict)
    _answers: dict[str, pa.Table] = field(default_factory=dict)  # of every query, for all attributes
    kinds: Kinds | None = None  # where establishments stay on file, and a row stands for all of a kind

    @property
    def table(self) -> pa.Table:
        """Id and public columns of the establishments; grouping keys where the rows are cells.

        Where nothing says which rows there are: all that the tables allow, joined when somebody asks.
        """
        if not self._table:
            self._table.append(possible_cells(self.source, self.spec))
        return self._table[0]

    @property
    def count(self) -> int:
        """The number of rows at hand: establishments, cells where none are listed, or kinds of establishments."""
        return int(self.table.num_rows)

    @property
    def listed(self) -> int:
        """The number of establishments, or of cells where none are listed."""
        return self.count if self.kinds is None else int(self.kinds.counts.sum())

    def establishments_in(self, groups: Partition) -> IntArray | None:
        """How many establishments are in every group; None where none are listed."""
        if not self.lists_establishments:
            return None
        weights = None if self.kinds is None else self.kinds.counts
        return np.rint(np.bincount(groups.group_of, weights, minlength=groups.count)).astype(np.int64)

    def answered_by(self, source: ProtectedAnswers, spec: Spec) -> "PublicRows":
        """The same rows with other answers, to a spec about the same table."""
        return replace(self, source=source, spec=spec, _answers={})

    def key(self, name: str) -> tuple[CodeArray, list[str]]:
        """A public column or grouping as codes of the rows, with the text of each code, sorted."""
        found = self._keys.get(name)
        if found is None:
            found = self._keys[name] = self._coded(name)
            self._forget_prefixes()
        return found

    def _coded(self, name: str) -> tuple[CodeArray, list[str]]:
        grouper = self.spec.groupers.get(name, self._prefix(name))
        columns = self.columns_of(name)
        if columns is None:
            raise FaultsError(self.source.name, [self.unknown(name)])
        column = columns[0]
        if column == name:
            return encoded(self.table[name])
        if grouper is not None and grouper.columns:
            return joined(self.keys(grouper.columns), self.count)
        if grouper is not None:
            held = self._holding(grouper.column, grouper.prefix)
            return self.derived(held or grouper.column, lambda texts: self._lookup(grouper, texts))
        return self.derived(column, lambda texts: self._at_level(name, column, texts))

    def _forget_prefixes(self) -> None:
        """Leaves only the last keys that are prefixes and nothing else: whoever asks for all would fill the memory."""
        declared = {*self.table.column_names, *self.spec.groupers}
        made = [name for name in list(self._keys) if name not in declared and self._prefix(name) is not None]
        for name in made[:-MOST_PREFIXES]:
            self._keys.pop(name, None)

    def knows(self, name: str) -> bool:
        """Whether there is such a public column or grouping."""
        return self.columns_of(name) is not None

    def columns_of(self, name: str) -> tuple[str, ...] | None:
        """The columns of the rows from which a key follows: itself, one that is at least as fine, those it joins."""
        if name in self.table.column_names and name != self.spec.data.id and not self._is_no_key(name):
            return (name,)
        grouper = self.spec.groupers.get(name, self._prefix(name))
        if grouper is not None and grouper.columns:
            return grouper.columns if all(map(self.knows, grouper.columns)) else None
        if grouper is None:
            tree = TREE_OF_LEVEL.get(name)
            held = self._holding(tree.column, tree.decisive) if tree else None
        elif (held := self._holding(grouper.column, grouper.prefix)) is None and grouper.column in self.spec.groupers:
            return self.columns_of(grouper.column)
        return None if held is None else (held,)

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
        if name in self.spec.classes:
            hint = "`gedp tabulate` makes tables by classes, and `gedp evaluate` without groupings has their errors"
            return Fault("by", f"{name!r} are classes, and groupings here are public", hint)
        columns = [name for name in self.table.column_names if self.knows(name)]
        if not self.lists_establishments and columns_alone(self.source).knows(name):
            hint = f"Tables can be made by {self._known(columns)}; a query by establishment would allow any"
            return Fault("by", f"no answers tell establishments apart by {name!r}", hint)
        meant = nearest(name, [*columns, *filter(self.knows, self.spec.groupers)])
        hint = f"{f'Did you mean {meant!r}? ' if meant else ''}{self._what_there_is(columns)}"
        return Fault("by", f"{name!r} is not a public column or grouping", hint)

    def _what_there_is(self, columns: Sequence[str]) -> str:
        there_are = "There are" if self.kinds is None else "While the rows stay on file, there are"
        return f"{there_are}: {self._known(columns)}"

    def _known(self, columns: Sequence[str]) -> str:
        trees = [tree for tree in TREES if tree.column in columns]
        levels = [level for tree in trees for level in tree.levels]
        prefixes = [f"the first characters of a column, as in {tree.column}3" for tree in trees]
        known = [*columns, *filter(self.knows, self.spec.groupers), *levels, *prefixes]
        return ", ".join(dict.fromkeys(known)) or "nothing but the total"

    def attributes(self, chosen: Sequence[str] | None = None) -> list[str]:
        """The attributes of the release in its order, or the chosen ones."""
        return chosen_attributes(self.spec, chosen, self.source.name)

    def cells(self, keys: Sequence[str], where: Where = NO_FILTER) -> Cells:
        """The finest cells of these keys, in the order of their texts; all rows besides those of `where` are one."""
        names = tuple(sorted(keys))
        known = (*names, *((name, *sorted(set(where[name]))) for name in sorted(where)))
        cells = self._cells.get(known)
        if cells is None:
            cells = self._selected(names, where) if where else self._all_cells(names)
        self._cells.pop(known, None)
        self._cells[known] = cells  # what was asked for last is last
        return cells

    def forget_cells(self, kept: int) -> None:
        """Leaves only the cells that were asked for last: whoever serves many groupings would keep them all."""
        for known in list(self._cells)[:-kept]:
            self._cells.pop(known, None)

    def _all_cells(self, names: Sequence[str]) -> Cells:
        of_row, codes = combinations([codes for codes, _ in self.keys(names)], self.count)
        count = len(codes[0]) if names else 1
        return Cells(of_row, count, dict(zip(names, codes, strict=True)))

    def _selected(self, names: Sequence[str], where: Where) -> Cells:
        """The cells of the rows that a filter lets pass, and the rest."""
        is_rest = ~self.rows_where(where)
        passing = [np.where(is_rest, np.int32(0), codes) for codes, _ in self.keys(names)]
        of_row, codes = combinations([is_rest.astype(np.int32), *passing], self.count)
        keyed = dict(zip(names, codes[1:], strict=True))
        return Cells(of_row, len(codes[0]), keyed, has_rest=bool(is_rest.any()))

    def rows_where(self, where: Where) -> BoolArray:
        """Which rows have one of the given codes of every key; all unknown codes in one error."""
        found, faults = np.ones(self.count, dtype=bool), list[Fault]()
        for name, (codes, texts) in zip(where, self.keys(list(where)), strict=True):
            faults += unknown_codes(name, where[name], texts)
            found &= np.isin(texts, list(where[name]))[codes]
        if faults:
            raise FaultsError(self.source.name, faults)
        return found

    def units(self) -> tuple[CodeArray | None, FloatArray | None]:
        """The protected unit of every row if it has several records, else -1, and how many; None without units."""
        unit = self.spec.policy.unit
        if unit is None:
            return None, None
        codes, _ = self.key(unit)
        members = np.bincount(codes)[codes]
        if not (members > 1).any():
            return None, None
        return np.where(members > 1, codes, -1).astype(np.int32), members.astype(np.float64)

    def gives_rows(self, attribute: str) -> bool:
        """Whether the answers for an attribute determine its values: of the rows, or of cells that are to be divided.

        Only listed establishments get parts of cells. Where rows are cells themselves, parts would be made up.
        """
        if self.spec.identity_of(attribute) or not self.has_rows:
            return self.has_rows
        cells = self.cells_of(attribute)
        are_determined = any(self.cells(query.by).count == cells.count for query in self.spec.sums_of(attribute))
        return are_determined and (self.lists_establishments or cells.count == self.count)

    def cells_of(self, attribute: str) -> Cells:
        """The finest cells of the queries that ask for an attribute."""
        return self.cells(list(dict.fromkeys(key for query in self.spec.sums_of(attribute) for key in query.by)))

    def answered(self, query: Query, asked: str) -> pa.Table:
        """The answers of a query of any kind about one thing, from a file that is read once."""
        table = self._answers.get(query.name)
        if table is None:
            table = self._answers[query.name] = self.source.answers(query.name)
        return table.filter(pa.compute.equal(table["attribute"], asked))

    def placed(self, table: pa.Table, query: str, by: Sequence[str], cells: Cells) -> Partition:
        """The cells divided into the groups of a query, which are the rows of a table with their keys."""
        of_group, of_cell = self.numbered(table, by, cells)
        places, are_there = find_in(of_group, of_cell)
        if not are_there.all():
            lost = Fault(f"query {query!r}", "some establishments are in none of its groups", "Get a fresh copy")
            raise FaultsError(self.source.name, [lost])
        return Partition(places.astype(np.int32), table.num_rows)

    def numbered(self, table: pa.Table, by: Sequence[str], cells: Cells) -> tuple[IntArray, IntArray]:
        """The lines of a table and the cells as numbers, which are equal where all keys are."""
        of_line, of_cell = np.zeros(table.num_rows, dtype=np.int64), np.zeros(cells.count, dtype=np.int64)
        for key in by:
            labels = self.key(key)[1]
            places = pa.compute.index_in(table[key].combine_chunks(), value_set=pa.array(labels, pa.string()))
            of_line = of_line * (len(labels) + 1) + places.fill_null(len(labels)).to_numpy()
            of_cell = of_cell * (len(labels) + 1) + cells.codes[key]
        return of_line, of_cell

    def derived(self, column: str, derive: Callable[[list[str]], list[str]]) -> tuple[CodeArray, list[str]]:
        """A key made from the texts of another, each different text once."""
        codes, texts = self.key(column)
        labels, of_text = label_codes(derive(texts))
        return of_text[codes], labels

    def texts(self, key: str, groups: Cells) -> pa.Array:
        """The text of a key for every group that was asked for."""
        return pa.array(self.key(key)[1], pa.string()).take(pa.array(groups.codes[key][groups.asked_for]))

    def _at_level(self, level: str, column: str, texts: Sequence[str]) -> list[str]:
        """The codes at a level of a known classification."""
        tree = TREE_OF_LEVEL[level]
        found = [tree.ancestor(text, tree.levels[level]) for text in texts]
        unknown = found.count(None)
        if unknown:
            fault = Fault("by", f"{unknown} of {len(texts)} codes in column {column} have no {level}", "Use a map file")
            raise FaultsError(self.source.name, [fault])
        return [code for code in found if code is not None]

    def _prefix(self, name: str) -> Grouper | None:
        """`naics3` where there is a public column `naics` and no grouping of that name: its first three characters."""
        column, characters = first_characters(name)
        there_is = column in self.table.column_names or column in self.spec.data.public
        if characters and there_is and column != self.spec.data.id:
            return Grouper(name, column, prefix=characters)
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
    if spec.identities:
        plain = [*([spec.data.id] if spec.data.id else []), *spec.data.public]
        return PublicRows(source, spec, True, True, [source.identity(plain, coded=spec.data.public)])
    rows = _finest_groups(source, spec)
    return PublicRows(source, spec, False, rows is not None, [] if rows is None else [rows])


def columns_alone(source: ProtectedAnswers) -> PublicRows:
    """The public columns of a release, without its establishments: to see which keys there are."""
    spec = source.manifest.spec
    return PublicRows(source, spec, True, False, [pa.table({name: [""] for name in spec.data.public})])


def keys_of_groups(answers: pa.Table, by: Sequence[str]) -> pa.Table:
    """The keys of the groups of a query, in the order of the answers for one attribute."""
    return answers.select(list(by)) if by else pa.table({TOTAL_KEY: [0] * answers.num_rows})


def _finest_groups(source: ProtectedAnswers, spec: Spec) -> pa.Table | None:
    """The groups of a query from which those of all others follow, with the keys of all; None without such a query."""
    keys = list(dict.fromkeys(key for query in spec.group_sums for key in query.by))
    for query in sorted(spec.group_sums, key=lambda query: -len(query.by)):
        answers = source.answers(query.name)
        groups = keys_of_groups(answers, query.by).group_by(list(query.by) or [TOTAL_KEY]).aggregate([])
        public_rows = PublicRows(source, spec, False, True, [groups])
        if all(map(public_rows.knows, keys)):
            order = public_rows.cells(query.by)
            rows = pa.array(np.argsort(order.group_of, kind="stable"))
            columns = {
                key: pa.array(public_rows.key(key)[1], pa.string()).take(pa.array(public_rows.key(key)[0]))
                for key in keys
            }
            return (pa.table(columns) if columns else groups).take(rows)
    return None


def _length(grouper: Grouper) -> int:
    return grouper.prefix or 0
