"""Tables of change since an earlier release: two lines for every figure, the difference and the percentage.

A change is withheld where a figure that it is made of is, in either release: so no withheld figure can be had from one
that is shown and its change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from gedp.arrays import BoolArray, FloatArray, IntArray
from gedp.errors import DomainError, Fault, FaultsError
from gedp.estimates import Figures, figure_columns
from gedp.microdata import Microdata
from gedp.microdata.comparable import are_comparable, require_comparable
from gedp.microdata.comparing import (
    CHANGE,
    CHANGE_KIND,
    NO_BASE,
    NOT_AFTER,
    NOT_BEFORE,
    NOTE,
    OLD,
    PERCENT,
    SIGNIFICANT,
)
from gedp.microdata.tabulate import possible_lines, require_keys
from gedp.policy.labels import Label
from gedp.policy.names import folded
from gedp.publication.chosen import ChosenTable, unlike
from gedp.publication.figures import LineKinds, Presentation, TableOfFigures, establishments, named_keys, shown_numbers
from gedp.publication.quality import UNKNOWN
from gedp.release import Labels, Manifest
from gedp.release.estimated import FORMULA

#: What the flags of changes say.
FLAGS = {
    "significant": "the change is significant: 0 is outside its interval",
    "not significant": "the change is not significant: it may be noise alone",
    "opened": "no change: the group is not in the earlier release",
    "closed": "no change: the group is not in this release",
    "no percentage": "the earlier figure is not clearly above 0",
    "withheld": "a figure that the change is made of is withheld",
}
#: The lines of every figure: what they are called and what they are.
KINDS = {
    CHANGE: ("change", "minus that of the earlier release"),
    PERCENT: ("percent change", "as a change of the earlier figure, in percent"),
}


@dataclass(frozen=True, repr=False)
class Changes:
    """What changed since an earlier release, in those of the tables of a package that both releases can have."""

    new: Microdata
    old: Microdata
    shown: Presentation
    chosen: Sequence[ChosenTable]

    def __post_init__(self) -> None:
        if taken := sorted({name for name, _ in self.shown.quality.classes} & FLAGS.keys()):
            raise DomainError(f"classes of quality cannot be called {', '.join(taken)}: changes are flagged so")
        require_comparable(self.new, self.old, (), ())
        if not self.shared:
            problem = f"{self.old.release.name} can have none of these tables"
            raise FaultsError(self.new.release.name, [Fault("against", problem, "Choose others, or leave it out")])

    @cached_property
    def shared(self) -> list[ChosenTable]:
        """The tables, with the lines that both releases can have."""
        found = []
        for table in self.chosen:
            there = self._lines_before(table)
            attributes = tuple(name for name in table.attributes if name in there)
            ratios = tuple(ratio for ratio in table.ratios if set(ratio.attributes) <= there)
            found += [replace(table, attributes=attributes, ratios=ratios)] if attributes or ratios else []
        return found

    def _lines_before(self, table: ChosenTable) -> set[str]:
        """What the earlier release can have of a table; nothing where it has no such groups, or others.

        Figures that do not mean the same in both have no changes.
        """
        try:
            require_keys(self.old.public_rows, table.by)
            require_comparable(self.new, self.old, table.by, ())
            lines = possible_lines(self.old, table.by)
        except FaultsError:
            return set()
        return {name for name in lines if are_comparable(self.new, self.old, (), [name])}

    @property
    def since(self) -> str:
        """What the earlier release is called."""
        return name_of_release(self.old.release.manifest)

    @property
    def left_out(self) -> list[str]:
        """The titles of tables without changes."""
        return [table.title for table in self.chosen if table.name not in {shared.name for shared in self.shared}]

    @property
    def meanings(self) -> Mapping[str, str]:
        """What every line of changes is."""
        lines = dict.fromkeys(line for table in self.shared for line in table.lines)
        return {_line(name, kind): f"{name} {said}" for name in lines for kind, (_, said) in KINDS.items()}

    def labelled(self, labels: Labels) -> Labels:
        """The labels of a release and those of lines of changes."""
        named = dict(labels.of_ratios)
        for name in dict.fromkeys(line for table in self.shared for line in table.lines):
            title, scale = labels.title(name), labels.scale(name)
            named[_line(name, CHANGE)] = Label(f"{title}, change", labels.unit(name), scale)
            named[_line(name, PERCENT)] = Label(f"{title}, change in percent", "percent")
        return replace(labels, of_ratios=named)

    def tables(self, labels: Labels) -> list[TableOfFigures]:
        """The figures of all tables of change."""
        files = {folded(table.file): table.file for table in self.chosen}
        names = {folded(table.name): table.name for table in self.chosen}
        return [
            self._table(
                table, labels, unlike(f"{table.name}: change", names), unlike(f"{table.file}-change", files, "-")
            )
            for table in self.shared
        ]

    def _table(self, table: ChosenTable, labels: Labels, name: str, file: str) -> TableOfFigures:
        found = self.new.change(self.old, table.by, table.attributes, self.shown.confidence, table.ratios).arrow
        groups, (names, keys) = found.num_rows // len(table.lines), named_keys(found, labels, table.by)
        counts = self._establishments(table, groups)
        sizes = pa.nulls(found.num_rows, pa.int64()) if counts is None else np.tile(counts, len(table.lines))
        kinds = LineKinds.of(table, groups, *(each.public_rows.spec for each in (self.new, self.old)))
        withheld = self._withheld(found, kinds)
        parts: dict[str, pa.Table] = {}
        for kind in KINDS:
            figures, rounding = Figures.of(found, kind), self.shown.rounding
            whole = kinds.in_units(figures.estimate, rounding if kind == CHANGE else "error")
            columns = {
                **keys,
                "attribute": [_line(name, kind) for name in found["attribute"].to_pylist()],
                **{name: found[name] for name in found.column_names if name == FORMULA},
                "establishments": sizes,
                **shown_numbers(figures, withheld, whole, rounding),
                "quality": pa.array(flags_of(found, kind, withheld), pa.string()),
                "variance_kind": variance_kinds_of(found, kind),
            }
            parts[kind] = pa.table(columns)
        lines = [parts[kind].slice(place * groups, groups) for place in range(len(table.lines)) for kind in KINDS]
        title = f"{table.title}: change since {self.since}"
        attributes = tuple(_line(name, kind) for name in table.lines for kind in KINDS)
        chosen = ChosenTable(name, title, table.by, file, attributes)
        return TableOfFigures(chosen, names, pa.concat_tables(lines))

    def _withheld(self, found: pa.Table, kinds: LineKinds) -> BoolArray:
        """Which changes are of figures that are not shown, in one release or in both."""
        new, old, old_error = Figures.of(found), *(_floats(found, name) for name in figure_columns(OLD)[:2])
        quality = self.shown.quality
        return kinds.withheld(new.estimate, new.std_error, quality) | kinds.withheld(old, old_error, quality)

    def _establishments(self, table: ChosenTable, groups: int) -> IntArray | None:
        """How many establishments every group has now."""
        return with_closed(establishments(self.new, table.by), groups)


def name_of_release(manifest: Manifest) -> str:
    """What a release is called beside another: by its period, or else by the day on which it was made."""
    made = manifest.created
    return f"the release of {made.day} {made:%B %Y}" if manifest.period is None else str(manifest.period)


def _line(name: str, kind: str) -> str:
    return f"{name}: {KINDS[kind][0]}"


def with_closed(counts: IntArray | None, groups: int) -> IntArray | None:
    """Numbers of establishments of all groups of a table of changes: 0 where one has closed, and these are the last."""
    return None if counts is None else np.pad(counts, (0, groups - len(counts)))


def flags_of(found: pa.Table, kind: str, withheld: BoolArray) -> list[str]:
    """What is to be said about every change."""
    flags = []
    for note, is_withheld, is_significant in zip(
        found[NOTE].to_pylist(), withheld, found[SIGNIFICANT].to_pylist(), strict=True
    ):
        if note in (NOT_BEFORE, NOT_AFTER):
            flags.append("opened" if note == NOT_BEFORE else "closed")
        elif is_withheld or is_significant is None:
            flags.append("withheld" if is_withheld else UNKNOWN)
        elif note == NO_BASE and kind == PERCENT:
            flags.append("no percentage")
        else:
            flags.append("significant" if is_significant else "not significant")
    return flags


def variance_kinds_of(found: pa.Table, kind: str) -> list[str]:
    """The kind of the error of every change; that of a percentage is approximate."""
    known = found[CHANGE_KIND].to_pylist()
    has = np.isfinite(_floats(found, kind))
    return [
        "unknown" if each is None or not there else "delta" if kind == PERCENT and each != "unconstrained" else each
        for each, there in zip(known, has, strict=True)
    ]


def _floats(table: pa.Table, name: str) -> FloatArray:
    return np.asarray(table[name].to_numpy(), dtype=np.float64)
