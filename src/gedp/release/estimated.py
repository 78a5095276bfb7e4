"""Tables of estimates with errors, as notebooks show them: named, rounded to their errors, and drawn with one call."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute

from gedp.errors import DomainError
from gedp.margins import relative, with_margin
from gedp.markup import html_table
from gedp.release.labels import Labels
from gedp.tables import SHOWN_ROWS, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BETWEEN_KEYS = " · "
MOST_BARS = 25
FORMULA = "formula"  # the column that tables have where something is computed
COLOR, DARK, SOFT = "#0b62a4", "#1b2430", "#5a6675"


@dataclass(frozen=True, repr=False)
class EstimatesTable(Table):
    """Estimates by group. The columns stay as they are; on a page and in a figure, things have their names."""

    keys: tuple[str, ...] = ()
    labels: Labels | None = None  # None for what was fitted to a rehearsal
    drawn: ClassVar[tuple[str, str, str]] = ("estimate", "ci_low", "ci_high")

    def plot(self, attribute: str | None = None, *, most: int = MOST_BARS) -> "Figure":
        """Draws the largest groups of one attribute as bars with their confidence intervals.

        Without an `attribute` it is the first of the table. A notebook shows the figure; `savefig` writes it to a file.
        """
        from matplotlib.figure import Figure

        chosen, largest = self._largest(attribute, most)
        sizes, low, high = (np.asarray(largest[name].to_numpy(), dtype=np.float64) for name in self.drawn)
        figure = Figure(figsize=(8, 1.2 + 0.28 * largest.num_rows), layout="constrained")
        axes, places = figure.subplots(), range(largest.num_rows)
        reach = np.nan_to_num((high - low) / 2)
        axes.barh(places, sizes, xerr=reach, color=COLOR, alpha=0.55, ecolor=DARK)
        axes.set_yticks(places, self._groups(largest))
        axes.invert_yaxis()
        axes.axvline(0, color=SOFT, linewidth=0.8)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
        axes.set_xlabel(f"{self._drawn_heading(chosen)}, with confidence intervals")
        axes.spines[["top", "right"]].set_visible(False)
        return figure

    def _largest(self, attribute: str | None, most: int) -> tuple[str, pa.Table]:
        there = self.arrow["attribute"].unique().to_pylist()
        chosen = str(there[0]) if attribute is None and there else attribute
        if chosen is None or chosen not in there:
            raise DomainError(f"there is no line of {chosen}; there are: {', '.join(there)}")
        lines = self.arrow.filter(pa.compute.equal(self.arrow["attribute"], chosen))
        sizes = np.nan_to_num(np.abs(np.asarray(lines[self.drawn[0]].to_numpy(), dtype=np.float64)))
        return chosen, lines.take(pa.array(np.argsort(-sizes, kind="stable")[: max(most, 1)]))

    def _groups(self, rows: pa.Table) -> list[str]:
        """What people call the groups of some rows."""
        return [BETWEEN_KEYS.join(each) for each in self._names(rows)] or ["all together"] * rows.num_rows

    def _names(self, rows: pa.Table) -> list[tuple[str, ...]]:
        columns = [self.labels.names(key, rows) if self.labels else rows[key].to_pylist() for key in self.keys]
        return list(zip(*columns, strict=True))

    def _heading(self, attribute: str) -> str:
        heading = self.labels.with_unit(attribute) if self.labels else attribute
        return with_formula(heading, self._formulas.get(attribute))

    @cached_property
    def _formulas(self) -> dict[str, str]:
        return formulas_of(self.arrow)

    def _drawn_heading(self, attribute: str) -> str:
        return self._heading(attribute)

    @property
    def _figures(self) -> list[str]:
        """The headings of the cells of a row."""
        return ["estimate ± margin", "relative standard error"]

    def _repr_html_(self) -> str:
        shown = self.arrow.slice(0, SHOWN_ROWS)
        names = self._names(shown) or [()] * shown.num_rows
        titles = [self.labels.title(key) if self.labels else key for key in self.keys]
        headings = [*titles, "attribute", *self._figures]
        rows = [[*each, *self._cells(row)] for each, row in zip(names, shown.to_pylist(), strict=True)]
        return html_table(" ".join(self._more()), headings, rows, texts=headings[: len(titles) + 1])

    def _cells(self, row: dict[str, Any]) -> list[str]:
        return [self._heading(row["attribute"]), self._figure(row, *self.drawn), relative(row["cv"])]

    def _figure(self, row: dict[str, Any], name: str, low: str, high: str) -> str:
        """A figure with its margin, to the digits that this allows."""
        margin = None if row[low] is None else (row[high] - row[low]) / 2
        return " ± ".join(with_margin(math.nan if row[name] is None else row[name], margin))


def formulas_of(table: pa.Table) -> dict[str, str]:
    """The formulas of the lines that are computed, by what the lines are called."""
    if FORMULA not in table.column_names:
        return {}
    lines = table.select(["attribute", FORMULA]).group_by(["attribute", FORMULA]).aggregate([]).to_pylist()
    return {line["attribute"]: line[FORMULA] for line in lines if line[FORMULA]}


def with_formula(heading: str, formula: str | None) -> str:
    """What people call a line; how it is computed, where it is."""
    return heading if formula is None else f"{heading} = {formula}"
