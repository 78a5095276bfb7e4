"""Results as people use them in Python: a table that any library can take over, and that shows itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pyarrow as pa

from gedp.markup import html_table

SHOWN_ROWS = 10


@dataclass(frozen=True, repr=False)
class Table:
    """Rows of results. Iterating gives each as a dictionary of Python's own texts and numbers."""

    arrow: pa.Table

    def __len__(self) -> int:
        return self.arrow.num_rows

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self.arrow.to_batches():
            yield from batch.to_pylist()

    def __getitem__(self, column: str) -> list[Any]:
        """The values of a column."""
        if column not in self.columns:
            raise KeyError(f"there is no column {column!r}; the columns are {', '.join(self.columns)}")
        return self.arrow[column].to_pylist()

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.arrow.column_names

    def to_arrow(self) -> pa.Table:
        """The table as pyarrow has it."""
        return self.arrow

    def to_pandas(self) -> Any:
        """The table as a DataFrame of pandas, which must be installed."""
        return self.arrow.to_pandas()

    def to_polars(self) -> Any:
        """The table as a DataFrame of polars, which must be installed."""
        return import_module("polars").DataFrame(self.arrow)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.arrow.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        lines = [self.columns, *self._shown()]
        widths = [max(len(line[place]) for line in lines) for place in range(len(self.columns))]
        text = [" ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join([*text, *self._more()])

    def _repr_html_(self) -> str:
        return html_table(" ".join(self._more()), self.columns, self._shown())

    def _shown(self) -> list[list[str]]:
        return [[_text(value) for value in row.values()] for row in self.arrow.slice(0, SHOWN_ROWS).to_pylist()]

    def _more(self) -> list[str]:
        rows = "1 row" if len(self) == 1 else f"{len(self):,} rows"
        return [rows if len(self) <= SHOWN_ROWS else f"{rows}, of which {SHOWN_ROWS} are shown"]


def _text(value: object) -> str:
    """A number to six digits, without an exponent where people count."""
    if not isinstance(value, float):
        return "" if value is None else str(value)
    return f"{value:,.0f}" if 1e5 <= abs(value) < 1e15 else f"{value:,.6g}"
