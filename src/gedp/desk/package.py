"""The finished tables of a package: to be chosen and filtered, with figures, flags and rounding as published.

Nothing is added up. A question is answered by the table that has its keys; a key may also be filtered by one code
instead of being shown. So withheld figures stay withheld, and errors are those that were published.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from gedp.arrays import IntArray
from gedp.csvfiles import read_rows
from gedp.desk.question import Question
from gedp.desk.source import NONE, Facts, FinishedTable, MadeTable
from gedp.errors import Fault, FaultsError, Refused
from gedp.margins import with_margin
from gedp.numbers import MINUS
from gedp.publication.about import FORMAT
from gedp.publication.changes import FLAGS
from gedp.publication.chosen import COLUMNS, NAME
from gedp.publication.package import DESCRIPTION, format_of, package_files
from gedp.publication.plain import plain
from gedp.release.notices import SEEDED, SYNTHETIC

WITHHELD = "withheld"
READ = ("parquet", "csv")  # the formats that tables are read from, the first one that there is
_NUMBERS = ("estimate", "std_error", "cv", "ci_low", "ci_high")


def read_package(folder: Path, title: str | None = None) -> "PackageTables":
    """The tables of a package that is as it was written; any other is rejected."""
    files = package_files(folder)
    if files is None and (number := format_of(folder)) not in (None, FORMAT):
        raise Refused(
            f"{folder} is a package of format {number}, and this gedp reads format {FORMAT}. Publish it again"
        )
    if files is None:
        raise Refused(f"{folder} is a package that was changed, or is not whole: a checksum differs. Get a fresh copy")
    said = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    tables = []
    for each in said["tables"]:
        kind = next((kind for kind in READ if each["files"].get(kind) in files), None)
        if kind is None:
            raise Refused(f"{folder} has no tables as CSV or Parquet. Publish it with one of these formats")
        shown = FinishedTable(
            each["name"], each["title"], tuple(each["by"]), tuple(each["attributes"]), each["files"][kind]
        )
        tables.append((shown, _read(folder / shown.file, kind)))
    return PackageTables(said, tuple(tables), title)


@dataclass(frozen=True, repr=False)
class PackageTables:
    """What a desk offers of a package."""

    said: Mapping[str, Any]  # publication.json
    tables: tuple[tuple[FinishedTable, pa.Table], ...]
    given_title: str | None = None

    @property
    def finished(self) -> tuple[FinishedTable, ...]:
        """All tables."""
        return tuple(shown for shown, _ in self.tables)

    @cached_property
    def facts(self) -> Facts:
        """What the package says about itself."""
        said, release = self.said, self.said["release"]
        warnings = [text for text in said["notes"] if text in (SEEDED, SYNTHETIC)]
        day = datetime.fromisoformat(release["created"])
        return Facts(
            self.given_title or said["title"],
            f"A package of the release of {day.day} {day:%B %Y}, made with gedp {said['gedp']}.",
            said["confidence"],
            release["establishments"],
            release["is_seeded"],
            tuple(warnings),
            tuple(text for text in said["notes"] if text not in warnings),
            said["quality"],
            said["citation"],
            is_finished=True,
        )

    @cached_property
    def dimensions(self) -> dict[str, tuple[str, ...]]:
        """Every key by itself: a package does not say which nest."""
        return {key: (key,) for key in self.said["keys"]}

    @property
    def attributes(self) -> list[str]:
        """The attributes of any table."""
        return [name for name in self.said["attributes"] if name not in self.ratios]

    @property
    def ratios(self) -> Mapping[str, str]:
        """The ratios of any table."""
        return dict(self.said["ratios"])

    @property
    def classes(self) -> Mapping[str, Sequence[str]]:
        """The classes of confidential attributes, in their order."""
        return dict(self.said.get("classes", {}))

    def title(self, name: str) -> str:
        """What people call a key."""
        return str(self.said["keys"][name])

    def heading(self, figure: str, formula: str | None = None) -> str:
        """What people call a figure, with its unit; the titles of a package have formulas already."""
        label = self.said["attributes"][figure]
        return f"{label['title']} ({label['unit']})" if label["unit"] else str(label["title"])

    def name_of(self, key: str, code: str, keys: Mapping[str, str]) -> str:
        """What tables call a code; where they differ, as over states, those with the same code of another key."""
        within = [(code, other, keys[other]) for other in keys if other != key]
        found = (self._names.get(key, {}).get(place, set()) for place in [(code,), *within])
        return next((min(names) for names in found if len(names) == 1), code)

    @cached_property
    def _names(self) -> dict[str, dict[tuple[str, ...], set[str]]]:
        """Of every key the names of its codes, alone and beside every code of another key."""
        found: dict[str, dict[tuple[str, ...], set[str]]] = {}
        for shown, lines in self.tables:
            for key in shown.by:
                if (column := _name_column(key, shown, lines)) is None:
                    continue
                of_key = found.setdefault(key, {})
                columns = [lines[name].to_pylist() for name in (key, column, *shown.by)]
                for code, name, *others in set(zip(*columns, strict=True)):
                    beside = [(code, other, at) for other, at in zip(shown.by, others, strict=True) if other != key]
                    for place in [(code,), *beside]:
                        of_key.setdefault(place, set()).add(name)
        return found

    def codes_of(self, key: str) -> Sequence[str]:
        """The codes of a key in any table, in their order."""
        return self.classes.get(key) or self._codes[key]

    @cached_property
    def _codes(self) -> dict[str, list[str]]:
        found: dict[str, set[str]] = {key: set() for key in self.dimensions}
        for shown, lines in self.tables:
            for key in shown.by:
                found[key] |= set(lines[key].to_pylist())
        return {key: sorted(codes) for key, codes in found.items()}

    def knows(self, key: str) -> bool:
        """Whether a table is by it."""
        return key in self.said["keys"]

    def offers(self, question: Question) -> bool:
        """Whether there is such a table."""
        found = self._find(question)
        return found is not None and _has_figures(found[0], question)

    def table(self, question: Question) -> MadeTable:
        """The lines of the finished table with the keys of a question that pass its filter."""
        if question.confidence not in (None, self.facts.confidence):
            problem = f"the intervals of a package are of {100 * self.facts.confidence:g}%"
            raise FaultsError("request", [Fault("confidence", problem, "Leave it out")])
        if (found := self._find(question)) is None:
            raise self._no_such_table(question)
        shown, lines = found
        figures = [*question.attributes, *question.ratios] or list(shown.figures)
        if unknown := [name for name in figures if name not in shown.figures]:
            problem = f"the table {shown.title!r} has no {', '.join(unknown)[:80]}"
            raise FaultsError("request", [Fault("attribute", problem, f"It has: {', '.join(shown.figures)}")])
        for key, codes in question.filter.items():
            self._require_codes(key, codes)
            lines = lines.filter(_among(lines[key], codes))
        groups = lines.num_rows // len(shown.figures)
        places = [shown.figures.index(name) for name in figures]
        lines = pa.concat_tables([lines.slice(place * groups, groups) for place in places])
        sizes = lines["establishments"].slice(0, groups)
        counts: IntArray | None = None if sizes.null_count else sizes.to_numpy().astype(np.int64)
        return MadeTable(lines, counts, ["" if flag is None else flag for flag in lines["quality"].to_pylist()])

    def texts(self, figure: str, estimate: float | None, margin: float | None, flag: str) -> tuple[str, str]:
        """A figure as it was published: with its own digits, or where it was not rounded, with those that count."""
        if estimate is None:
            return WITHHELD if self._is_withheld(flag) else NONE, "unknown"
        text, around = with_margin(estimate, margin)
        is_same = float(text.replace(",", "").replace(MINUS, "-")) == estimate
        return text if is_same or self.said["rounding"] == "none" else _written(estimate), around

    def _is_withheld(self, flag: str) -> bool:
        """Whether a figure is missing because it is too uncertain. Changes say so; of others no more are missing."""
        return flag == WITHHELD if flag in FLAGS else self.said["withheld_above"] is not None

    def command(self, question: Question) -> None:
        """None: no command makes it, it is a file."""

    def _find(self, question: Question) -> tuple[FinishedTable, pa.Table] | None:
        """The table by the keys of a question, shown or filtered by one code; of several, one with its figures."""
        others = {key for key, codes in question.filter.items() if key not in question.by and len(codes) == 1}
        if not set(question.filter) <= {*question.by, *others}:
            return None
        by_keys = [each for each in self.tables if set(each[0].by) == {*question.by, *others}]
        fitting = (each for each in by_keys if _has_figures(each[0], question))
        return next(fitting, by_keys[0] if by_keys else None)

    def _require_codes(self, key: str, codes: Sequence[str]) -> None:
        if unknown := sorted(set(codes) - set(self.codes_of(key))):
            problem = f"{key} has no {', '.join(unknown)[:80]}"
            raise FaultsError("request", [Fault("where", problem, "/api/codes lists what there is")])

    def _no_such_table(self, question: Question) -> FaultsError:
        keys = " x ".join([*question.by, *(key for key in question.filter if key not in question.by)]) or "nothing"
        listed = ", ".join(" x ".join(each.by) or "nothing" for each in self.finished)
        problem = f"the package has no table by {keys[:200]}, and nothing is added up"
        return FaultsError("request", [Fault("rows", problem, f"There are tables by: {listed}")])


def _has_figures(table: FinishedTable, question: Question) -> bool:
    return {*question.attributes, *question.ratios} <= set(table.figures)


def _read(path: Path, kind: str) -> pa.Table:
    """A table as it was published."""
    if kind == "parquet":
        return pq.read_table(path).replace_schema_metadata(None)
    with path.open(encoding="utf-8", newline="") as file:
        names, *lines = read_rows(file)
    columns = {}
    for name, texts in zip(names, zip(*lines, strict=True), strict=True):
        if name in _NUMBERS:
            columns[name] = pa.array([float(text) if text else None for text in texts], pa.float64())
        elif name == "establishments":
            columns[name] = pa.array([int(text) if text else None for text in texts], pa.int64())
        else:
            columns[name] = pa.array(texts, pa.string())
    return pa.table(columns)


def _name_column(key: str, shown: FinishedTable, lines: pa.Table) -> str | None:
    """The column with the names of a key's codes, if there is one: it follows its key, and is no key itself."""
    own = {*shown.by, *COLUMNS}
    return next((n for n in lines.column_names if n not in own and n.rstrip("_") == key + NAME.rstrip("_")), None)


def _among(column: pa.ChunkedArray, codes: Sequence[str]) -> pa.ChunkedArray:
    return pa.compute.is_in(column, value_set=pa.array(list(codes), pa.string()))


def _written(number: float) -> str:
    whole, point, digits = plain(abs(number)).partition(".")
    return f"{MINUS if number < 0 else ''}{int(whole):,}{point}{digits}"
