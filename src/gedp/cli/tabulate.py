"""`gedp tabulate`: a custom table from the microdata of a release."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from gedp.cli.constraints import constraint_options

if TYPE_CHECKING:
    import pyarrow as pa

_PATH = click.Path(path_type=Path)
STDOUT = Path("-")
SHOWN_LINES, GAP = 20, 3  # lines; characters between columns and around them
#: Of the QCEW layout, on a terminal.
SHOWN_COLUMNS = [
    *("area_fips", "own_code", "industry_code", "qtrly_estabs"),
    *("month3_emplvl", "se_month3_emplvl", "total_qtrly_wages", "avg_wkly_wage"),
]


@click.command()
@click.argument("folder", metavar="DIR", type=_PATH)
@click.option(
    "--by",
    multiple=True,
    help="Public columns and groupings, separated by commas; naics3 is naics to 3 digits; may be repeated.",
)
@click.option("--attribute", "attributes", multiple=True, help="Attribute to tabulate; may be repeated. Default: all.")
@click.option(
    "--ratio", "ratios", multiple=True, help="Ratio by name, such as weekly-wage, or NAME=FORMULA; may be repeated."
)
@click.option(
    "--agglvl", type=int, help="Use the QCEW layout instead, at this level: 50 to 58 (states) or 70 to 78 (counties)."
)
@click.option(
    "--name",
    "names",
    multiple=True,
    help="What the release calls an attribute or column, as in m1emp=COLUMN; may be repeated.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Confidence of the intervals. Default: as in the spec.",
)
@click.option(
    "--weights",
    type=click.Choice(["quasi", "plug-in"]),
    help="Weights of the answers. Default: those of the microdata on file.",
)
@click.option("--share-by", metavar="COLUMN", help="Public column to divide cells by, as for `gedp microdata`.")
@click.option(
    "--out",
    type=_PATH,
    help="File to write, .csv or .parquet, or - for CSV on standard output. Default: the first lines on a terminal.",
)
@constraint_options
def command(
    folder: Path,
    by: tuple[str, ...],
    attributes: tuple[str, ...],
    ratios: tuple[str, ...],
    agglvl: int | None,
    names: tuple[str, ...],
    confidence: float | None,
    weights: str | None,
    share_by: str | None,
    out: Path | None,
    constraints: Mapping[str, Any],
) -> None:
    """Make a custom table: estimate, standard error, coefficient of variation and interval for every group.

    The table is made from the microdata on file in the release in DIR, with errors from the covariance of their fit;
    options other than theirs make a new fit. This spends nothing. Where the answers determine no microdata, tables can
    be made of the measured groups, and of what they add up to.

    Ratios are weekly-wage, wage-per-job, change (from month 1 to month 3) and percent-change, over the attributes
    m1emp, m2emp, m3emp and wage, or a formula of your own: one sum of attributes over another.

    Errors account for fixed totals, but not for --nonnegative and --whole; variance_kind then says unconstrained.

    \b
    Examples:
      gedp tabulate out --by cnty,naics3 --attribute wage
      gedp tabulate out --by naics2 --out sectors.parquet
      gedp tabulate out --by cnty --ratio weekly-wage --ratio 'pay = wage / m3emp'
      gedp tabulate out --agglvl 75 --out counties.csv
    """
    from gedp.cli.console import warn_if_seeded
    from gedp.cli.progress import steps
    from gedp.microdata.cells import read_public_rows
    from gedp.microdata.on_file import find_microdata, is_on_file
    from gedp.microdata.qcew import find_layout
    from gedp.microdata.ratios import parse_ratios
    from gedp.microdata.tabulate import require_keys
    from gedp.release import read_release
    from gedp.release.derived import DERIVED

    if out not in (None, STDOUT) and out.suffix not in (".csv", ".parquet"):
        raise click.UsageError("--out needs a name that ends in .csv or .parquet, or -")
    keys = list(dict.fromkeys(key.strip() for text in by for key in text.split(",") if key.strip()))
    if agglvl is not None and (keys or attributes or ratios):
        raise click.UsageError("--agglvl is a table of its own: leave out --by, --attribute and --ratio")
    renamed = _renamed(names)
    asked = parse_ratios(ratios, renamed)
    with steps() as at:
        at.step("checking the release")
        release = read_release(folder)
        if out not in (None, STDOUT):
            release.require_not_part(out, made=DERIVED)
        public_rows = read_public_rows(release)
        if agglvl is None:
            require_keys(public_rows, keys)
            needed = [*attributes, *(name for ratio in asked for name in ratio.attributes)]
        else:
            needed = list(find_layout(public_rows, agglvl, renamed).attributes)
        at.step("fitting")
        microdata = find_microdata(
            release,
            weights=weights,
            attributes=list(dict.fromkeys(needed)) or None,
            share_by=share_by,
            **constraints,
        )
        at.step("tabulating")
        if agglvl is None:
            table = microdata.tabulate(keys, attributes or None, confidence, asked).arrow
        else:
            table = microdata.tabulate_qcew(agglvl, confidence, renamed).arrow
    _write(table, out, SHOWN_COLUMNS if agglvl else table.column_names)
    if empty := [name for name in table.column_names if table[name].null_count == table.num_rows]:
        click.echo(f"Empty, because the release says nothing about them: {', '.join(empty)}.", err=True)
    if left := [name for name in microdata.attributes if not microdata.allows(keys, name)]:
        click.echo(f"Left out, because no answers determine them by these keys: {', '.join(left)}.", err=True)
    if any(value is True for value in constraints.values()) and microdata.measured:
        click.echo(f"Constraints do not change measured groups: {', '.join(microdata.measured)}.", err=True)
    if is_on_file(release) and not microdata.is_on_file:
        click.echo("This table is not made from the microdata on file, which were fitted with other options.", err=True)
    if agglvl and microdata.constraints.named:
        click.echo("Errors are those of the fit without --nonnegative and --whole.", err=True)
    warn_if_seeded(release.manifest, err=True)


def _renamed(names: Sequence[str]) -> dict[str, str]:
    """Names written as `m1emp=january`, as a mapping."""
    renamed = {}
    for name in names:
        ours, _, theirs = (part.strip() for part in name.partition("="))
        if not ours or not theirs:
            raise click.UsageError("--name needs two names, as in m1emp=january")
        renamed[ours] = theirs
    return renamed


def _write(table: "pa.Table", out: Path | None, shown: Sequence[str]) -> None:
    """Writes the table to a file or to standard output; a terminal shows only its first lines."""
    import pyarrow.parquet

    from gedp.csvfiles import write_csv
    from gedp.files import replacing

    if out is None and sys.stdout.isatty():
        _show(table, shown)
    elif out in (None, STDOUT):
        write_csv(table, sys.stdout.buffer)
        sys.stdout.buffer.flush()  # a reader that has gone away is noticed here
    else:
        with replacing(out) as temporary:
            write = write_csv if out.suffix == ".csv" else pyarrow.parquet.write_table
            write(table, temporary)
        click.echo(f"Wrote {table.num_rows:,} lines to {out}.")


def _show(table: "pa.Table", shown: Sequence[str]) -> None:
    from rich import box
    from rich.table import Table

    from gedp.cli.console import make_console

    console = make_console()
    columns = [name for name in shown if table[name].null_count < table.num_rows]
    texts = [list(map(_readable, table[name].slice(0, SHOWN_LINES).to_pylist())) for name in columns]
    widths = [max(map(len, cells), default=0) for cells in texts]
    while (spare := console.width - sum(widths[: len(columns)]) - GAP * len(columns)) < 0 and len(columns) > 1:
        columns.pop()  # a number is shown whole or not at all
    view = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, width in zip(columns, widths, strict=False):
        for_heading = min(max(len(name) - width, 0), max(spare, 0))
        spare -= for_heading
        justify: Literal["left", "right"] = "left" if table.schema.field(name).type == "string" else "right"
        view.add_column(name, justify=justify, overflow="fold", width=width + for_heading)
    for line in zip(*texts[: len(columns)], strict=True):
        view.add_row(*line)
    console.print(view)
    lines = f"{min(SHOWN_LINES, table.num_rows)} of {table.num_rows:,} lines, "
    click.echo(
        f"{lines}{len(columns)} of {table.num_columns} columns. For all of them: --out FILE.csv, FILE.parquet or -."
    )


def _readable(value: str | int | float | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1_000 else f"{value:,.4g}"
