"""A table as people see it: rows by columns, sorted, as many lines as are asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from gedp.arrays import CodeArray, FloatArray, IntArray, label_codes
from gedp.desk.question import Question, ShownLines
from gedp.desk.source import FIGURE, DeskSource, MadeTable
from gedp.errors import Fault, FaultsError
from gedp.estimates import figure_columns
from gedp.margins import relative, with_margin
from gedp.microdata.combining import combinations
from gedp.microdata.comparing import PERCENT
from gedp.publication.changes import KINDS
from gedp.publication.quality import UNKNOWN

MOST_COLUMNS = 60


@dataclass(frozen=True, repr=False)
class TableAxis:
    """The rows or the columns of a table: every combination of the codes of some keys that occurs."""

    keys: tuple[str, ...]
    codes: list[tuple[str, ...]]
    of_group: CodeArray


@dataclass(frozen=True, repr=False)
class ShownTable:
    """Rows by columns. Every column of keys has one of figures for each attribute or ratio, and for its changes."""

    question: Question
    table: MadeTable
    source: DeskSource

    @cached_property
    def rows(self) -> TableAxis:
        """What the lines are."""
        return self._axis(self.question.rows)

    @cached_property
    def columns(self) -> TableAxis:
        """What the columns are, besides figures."""
        return self._axis([key for key in self.question.columns if key not in self.question.rows])

    def _axis(self, keys: Sequence[str]) -> TableAxis:
        """The combinations in the groups of the table, in the order of their codes."""
        found = [self._coded(key) for key in keys]
        of_group, places = combinations([codes for _, codes in found], self.table.groups)
        texts = [[labels[place] for place in of_key] for (labels, _), of_key in zip(found, places, strict=True)]
        return TableAxis(tuple(keys), list(zip(*texts, strict=True)) if keys else [()], of_group)

    def _coded(self, key: str) -> tuple[Sequence[str], CodeArray]:
        """The texts of a key in their order, and the place of every group's: classes have an order of their own."""
        texts, labels = self.table.lines[key].slice(0, self.table.groups).to_pylist(), self.source.classes.get(key)
        if labels is None:
            return label_codes(texts)
        places = {label: place for place, label in enumerate(labels)}
        return labels, np.array([places[text] for text in texts], dtype=np.int32)

    @cached_property
    def heads(self) -> list[tuple[tuple[str, ...], str, str]]:
        """Of every column of figures its codes, its attribute or ratio, and what is shown of it."""
        heads = list(product(self.columns.codes, self.table.figures, self.table.kinds))
        if len(heads) > MOST_COLUMNS:
            problem = f"the table would have {len(heads):,} columns of figures, and at most {MOST_COLUMNS} are shown"
            raise FaultsError("request", [Fault("columns", problem, "Choose coarser columns, or make them rows")])
        return heads

    def part(self, part: ShownLines) -> dict[str, Any]:
        """The lines that are asked for, as JSON has them."""
        order = self._ordered(part)
        lines = order[part.offset : part.offset + part.limit]
        return {
            "rows": list(self.rows.keys),
            "columns": list(self.columns.keys),
            "heads": [
                {
                    "codes": list(codes),
                    "names": self._names(self.columns, codes),
                    "figure": figure,
                    "formula": self.table.formulas.get(figure),
                    "kind": kind,
                    "title": self._title(figure, kind),
                }
                for codes, figure, kind in self.heads
            ],
            "lines": [self._line(int(line)) for line in lines],
            "total_lines": len(order),
            "offset": part.offset,
        }

    def _ordered(self, part: ShownLines) -> IntArray:
        places = np.arange(len(self.rows.codes) if self.table.groups else 0)
        if part.sort is None:
            return places[::-1] if part.descending else places
        if part.sort >= len(self.heads):
            problem = f"there are {len(self.heads)} columns of figures, and {part.sort} is none of them"
            raise FaultsError("request", [Fault("sort", problem, "They are numbered from 0")])
        lines = self._places[:, part.sort]
        *_, kind = self.heads[part.sort]
        values = np.where(lines < 0, np.nan, self._numbers[kind]["estimate"][lines])
        return np.argsort(-values if part.descending else values, kind="stable")  # what is not a number comes last

    @cached_property
    def _places(self) -> IntArray:
        """The line of the table for every row and column of figures; −1 where there is none."""
        figures, kinds, groups = len(self.table.figures), len(self.table.kinds), self.table.groups
        places = np.full((len(self.rows.codes), len(self.heads)), -1, dtype=np.int64)
        for figure, kind in product(range(figures), range(kinds)):
            at = self.rows.of_group, (self.columns.of_group * figures + figure) * kinds + kind
            places[at] = np.arange(groups) + figure * groups
        return places

    @cached_property
    def _numbers(self) -> dict[str, dict[str, FloatArray]]:
        """The columns of numbers of all that is shown; NaN where there is none. A change has no relative error."""
        plain = figure_columns()
        columns = {kind: dict(zip(plain, figure_columns(kind), strict=True)) for kind in self.table.changes}
        columns[FIGURE] = {name: name for name in (*plain, "cv")}
        return {kind: {name: self._floats(column) for name, column in of.items()} for kind, of in columns.items()}

    def _floats(self, column: str) -> FloatArray:
        return np.asarray(self.table.lines[column].to_numpy(), dtype=np.float64)

    def _line(self, line: int) -> dict[str, Any]:
        counts = self.table.establishments
        count = None if counts is None else int(counts[self.rows.of_group == line].sum())
        heads = zip(self._places[line], self.heads, strict=True)
        cells = [None if place < 0 else self._cell(int(place), figure, kind) for place, (_, figure, kind) in heads]
        codes = self.rows.codes[line]
        return {
            "codes": list(codes),
            "names": self._names(self.rows, codes),
            "establishments": count,
            "cells": cells,
        }

    def _names(self, axis: TableAxis, codes: Sequence[str]) -> list[str]:
        """What people call the codes of a row or column, where names may depend on other keys, as on the state."""
        alone = {key: passing[0] for key, passing in self.question.where if len(passing) == 1}
        known = {**alone, **dict(zip(axis.keys, codes, strict=True))}
        return [self.source.name_of(key, known[key], known) for key in axis.keys]

    def _title(self, figure: str, kind: str) -> str:
        heading = self.source.heading(figure, self.table.formulas.get(figure))
        return heading if kind == FIGURE else f"{heading}: {KINDS[kind][0]}"

    def _cell(self, place: int, figure: str, kind: str) -> dict[str, Any]:
        """A figure or its change with its error, as numbers and as people read them."""
        found = {"cv": None, **{name: _finite(values[place]) for name, values in self._numbers[kind].items()}}
        marks = self.table.changes.get(kind)
        flag = (marks.flags if marks else self.table.quality)[place]
        text, around = self._texts(figure, kind, found["estimate"], found["ci_low"], found["ci_high"], flag)
        return {
            **found,
            "variance_kind": (marks.variance_kinds if marks else self._variance_kinds)[place] or UNKNOWN,
            "quality": flag,
            "text": text,
            "margin": around,
            "relative": relative(found["cv"]),
        }

    @cached_property
    def _variance_kinds(self) -> list[str | None]:
        kinds: list[str | None] = self.table.lines["variance_kind"].to_pylist()
        return kinds

    def _texts(
        self, figure: str, kind: str, estimate: float | None, low: float | None, high: float | None, flag: str
    ) -> tuple[str, str]:
        """A figure and its margin; of a percentage its interval, which need not be symmetric."""
        margin = None if low is None or high is None else (high - low) / 2
        if kind != PERCENT or estimate is None or low is None or high is None:
            return self.source.texts(figure, estimate, margin, flag)
        text, least, most = (with_margin(each, margin)[0] for each in (estimate, low, high))
        return f"{text}%", f"{least} to {most}%"


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
