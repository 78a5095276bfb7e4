"""Tables as commands give them: in a file, on standard output, or as their first lines on a terminal."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import pyarrow as pa

    from gedp.policy import Spec
    from gedp.publication.formats import AsFile

STDOUT = Path("-")
SHOWN_LINES = 20


def require_other(out: Path, *inputs: str | Path, option: str = "--out") -> None:
    """Rejects a place where one of the inputs of a command is, or a table from which releases were made."""
    from gedp.confidential.engines.sources.files import files_at
    from gedp.files import is_ledger, is_same
    from gedp.ledger.finding import beside

    if not out.exists():
        return
    if any(is_same(out, path) for each in inputs for path in files_at(Path(each))):
        raise click.BadParameter(f"the output would overwrite the input {out}; name another file", param_hint=option)
    if is_ledger(beside([out])):
        raise click.BadParameter(f"{out} has a ledger, so it is a table; name another file", param_hint=option)


def files_of(spec: "Spec") -> list[Path]:
    """What a spec names: the table, lookups and code lists."""
    named = [spec.data.source, *(grouper.map for grouper in spec.groupers.values())]
    named += [label.codes for label in spec.labels.values()]
    return [spec.folder / name for name in named if name]


def require_format(out: Path | None) -> Path | None:
    """The name of a file; rejects one that is in no format of tables."""
    if out not in (None, STDOUT) and out.suffix not in (suffixes := _suffixes()):
        raise click.UsageError(f"--out needs a name that ends in {', '.join(suffixes)}, or -")
    return out


def write_table(table: "pa.Table", out: Path | None, shown: Sequence[str], notes: Sequence[str]) -> None:
    """Writes the table to a file or to standard output; a terminal shows only its first lines."""
    from gedp.csvfiles import write_csv
    from gedp.files import replacing

    if out is None and sys.stdout.isatty():
        show_table(table, shown)
    elif out in (None, STDOUT):
        write_csv(table, sys.stdout.buffer)
        sys.stdout.buffer.flush()  # a reader that has gone away is noticed here
    else:
        with replacing(out) as temporary, temporary.open("wb") as file:
            _suffixes()[out.suffix].write(table, file, notes)
        click.echo(f"Wrote {table.num_rows:,} lines to {out}.")


def _suffixes() -> "dict[str, AsFile]":
    from gedp.publication.formats import AS_FILES

    return {form.suffix: form for form in AS_FILES.values()}


def show_table(table: "pa.Table", shown: Sequence[str]) -> None:
    """Shows the first lines, and as many columns as there is room for; formulas stand below."""
    from gedp.cli.console import make_console
    from gedp.documents import PrintedTable
    from gedp.documents.terminal import print_first_columns
    from gedp.release.estimated import FORMULA, formulas_of, with_formula

    columns = [name for name in shown if name != FORMULA and table[name].null_count < table.num_rows]
    first = table.select(columns).slice(0, SHOWN_LINES)
    rows = [[_readable(value) for value in row.values()] for row in first.to_pylist()]
    texts = [name for name in columns if table.schema.field(name).type == "string"]
    printed = print_first_columns(make_console(), PrintedTable("", columns, rows, texts=texts))
    for name, formula in formulas_of(table).items():
        click.echo(with_formula(name, formula))
    lines = f"{min(SHOWN_LINES, table.num_rows)} of {table.num_rows:,} lines, "
    click.echo(f"{lines}{printed} of {table.num_columns} columns. For all of them: --out FILE.csv, FILE.parquet or -.")


def _readable(value: str | bool | int | float | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1_000 else f"{value:,.4g}"
