"""CSV for everybody: numbers without exponents, however large, and texts that no spreadsheet takes for formulas."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from gedp.csvfiles import guarded


def write_plain_csv(table: pa.Table, path: Path) -> None:
    """Writes a table: texts in quotes, numbers as people write them, nothing where there is nothing."""
    columns = [_written(column) for column in table.columns]
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(map(_quoted, table.column_names)) + "\n")
        file.writelines(",".join(line) + "\n" for line in zip(*columns, strict=True))


def plain(number: float) -> str:
    """A number with all its digits and no exponent.

    >>> plain(5.4385728187e10), plain(0.00012), plain(12.0)
    ('54385728187', '0.00012', '12')
    """
    text = repr(number)
    return (format(Decimal(text), "f") if "e" in text else text).removesuffix(".0")


def _written(column: pa.ChunkedArray) -> list[str]:
    values = column.to_pylist()
    if pa.types.is_string(column.type):
        known = {text: _quoted(text) for text in set(values) if text is not None}
        return [known.get(text, "") for text in values]
    return ["" if value is None else plain(value) for value in values]


def _quoted(text: str) -> str:
    return '"' + guarded(text).replace('"', '""') + '"'
