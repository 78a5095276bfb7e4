"""What people call the things of a release: one place that every page, table and plot asks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from gedp.known_codes import TREE_OF_COLUMN, TREE_OF_LEVEL
from gedp.policy import COUNT, Query, Spec
from gedp.policy.codelists import CodeList, CodeName
from gedp.policy.labels import Label
from gedp.policy.values import SCALES


@dataclass(frozen=True, repr=False)
class Labels:
    """Titles, units, scales and names of codes. What has no label is called by its own name."""

    spec: Spec
    code_lists: Mapping[str, CodeList] = field(default_factory=dict)
    of_ratios: Mapping[str, Label] = field(default_factory=dict)

    def title(self, name: str) -> str:
        """What people call an attribute, a public column or a grouping.

        Of the first characters of a column that has a title it is made up: "Industry (3 characters)". So it is of
        classes of an attribute that has one.
        """
        if (given := self._label(name).title) is not None:
            return given
        if name in self.spec.classes:
            of_attribute = self._label(self.spec.classes[name].attribute).title
            return name if of_attribute is None else f"{of_attribute} (classes)"
        if name == COUNT and self.spec.by_classes:
            return "Establishments"
        column, level = self._derived(name)
        of_column = self._label(column).title if column else None
        return name if of_column is None else f"{of_column} ({level})"

    def titles(self, by: Sequence[str]) -> str:
        """What people call a grouping by several columns.

        >>> from gedp.policy.examples import find_spec
        >>> Labels(find_spec("individual")).titles(["state", "cnty", "naics5"])
        'state, cnty and naics5'
        """
        *others, last = [self.title(name) for name in by] or ["all together"]
        return f"{', '.join(others)} and {last}" if others else last

    def unit(self, attribute: str) -> str | None:
        """In what an attribute is counted, where it was said."""
        return self._label(attribute).unit

    def scale(self, attribute: str) -> int:
        """In how many units pages show the figures of an attribute; files have single ones."""
        return self._label(attribute).scale

    def counted_in(self, attribute: str) -> str:
        """Scale and unit in words, such as "thousand US dollars"; empty where both are plain."""
        return " ".join(filter(None, (SCALES[self.scale(attribute)], self.unit(attribute))))

    def heading(self, attribute: str) -> str:
        """Title, scale and unit of an attribute, as above a column of its figures on a page."""
        counted = self.counted_in(attribute)
        return f"{self.title(attribute)} ({counted})" if counted else self.title(attribute)

    def with_unit(self, attribute: str) -> str:
        """Title and unit of an attribute, as above a column of its figures in a file."""
        unit = self.unit(attribute)
        return f"{self.title(attribute)} ({unit})" if unit else self.title(attribute)

    def of_query(self, query: Query) -> str:
        """What people call the table of a query: its title, or what it is by; its name where nothing has a label."""
        if query.title is not None or not self.spec.labels:
            return query.title or query.name
        if query.is_identity:
            return "Establishments"
        return self.of_keys(query.by)

    def of_keys(self, by: Sequence[str]) -> str:
        """What people call a table by these keys."""
        return f"By {self.titles(by)}" if by else "All together"

    def name_of(self, column: str, code: str, keys: Mapping[str, str] | None = None) -> str:
        """What people call a code of a column; the code itself where nothing is known.

        Where names depend on other columns too, as those of counties on the state, `keys` has the codes of these.
        """
        found = self.entry(column, code, keys)
        return code if found is None else found.title

    def entry(self, column: str, code: str, keys: Mapping[str, str] | None = None) -> CodeName | None:
        """The name of a code, and where it lies on a map."""
        codes = self.code_list(column)
        if codes is None:
            return None
        within = tuple((keys or {}).get(name, self._only(codes, place)) for place, name in enumerate(codes.within))
        return codes.names.get((*within, code))

    def names(self, column: str, table: pa.Table) -> list[str]:
        """What people call the codes of a column of a table, row by row."""
        codes = self.code_list(column)
        texts = table[column].to_pylist()
        if codes is None:
            return texts
        others = [name for name in codes.within if name in table.column_names]
        rows = list(zip(texts, *(table[name].to_pylist() for name in others), strict=True))
        known = {row: self.name_of(column, row[0], dict(zip(others, row[1:], strict=True))) for row in set(rows)}
        return [known[row] for row in rows]

    def code_list(self, column: str) -> CodeList | None:
        """The code list of a column. Groupings by first characters have that of what they are derived from."""
        if column in self.code_lists:
            return self.code_lists[column]
        whole, _ = self._derived(column)
        return self.code_list(whole) if whole else None

    def _label(self, name: str) -> Label:
        return self.spec.labels.get(name) or self.of_ratios.get(name, Label())

    def _derived(self, name: str) -> tuple[str | None, str]:
        """The column whose code list names these codes too, and which level of it they are."""
        public, grouper = self.spec.data.public, self.spec.groupers.get(name)
        if name in public or (grouper is not None and grouper.prefix is None):
            return None, ""
        column = name.rstrip("0123456789") if grouper is None else grouper.column
        if grouper is not None or (column in public and column != name):
            signs = TREE_OF_COLUMN[column].signs if column in TREE_OF_COLUMN else "characters"
            return column, f"{name.removeprefix(column) if grouper is None else grouper.prefix} {signs}"
        tree = TREE_OF_LEVEL.get(name)
        return (tree.column, name) if tree and tree.column in public else (None, "")

    @staticmethod
    def _only(codes: CodeList, place: int) -> str:
        """The one code that all keys have in a place; nothing where there are several, so that no name is guessed."""
        found = {key[place] for key in codes.names}
        return found.pop() if len(found) == 1 else ""
