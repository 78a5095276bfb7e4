"""`gedp init`: a first spec for a table of one's own."""

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gedp.cli.options import PATH, names_in

if TYPE_CHECKING:
    from gedp.neighbors.choosing import Candidate


@click.command()
@click.argument("table", metavar="TABLE")
@click.option("--public", metavar="A,B", help="Columns that are public for every record, such as region and industry.")
@click.option("--id", metavar="COLUMN", help="Column that names every establishment once. It is published.")
@click.option("--attributes", metavar="C,D", help="Confidential numbers. Default: all other columns of numbers.")
@click.option(
    "--protect",
    multiple=True,
    metavar="COLUMN=SIZE:WIDTH",
    help="How far from a size values of a column must count as close, as in gedp choose: jobs=10:2. Repeat it.",
)
@click.option("--yes-no", metavar="E,F", default="", help="Confidential columns that hold 0 and 1 alone.")
@click.option("--encoding", metavar="NAME", help="Of a text, if it is not UTF-8: latin-1, cp1252, utf-16.")
@click.option("--delimiter", metavar="SIGN", help="CSV delimiter. Default: detected from the header.")
@click.option("--decimal", metavar="SIGN", help="Decimal sign, if it is a comma.")
@click.option("--thousands", metavar="SIGN", help="What stands between thousands.")
@click.option("--sheet", metavar="NAME", help="Of a workbook.")
@click.option("--table", "of_database", metavar="NAME", help="Of a DuckDB or SQLite file.")
@click.option("--out", type=PATH, default=Path("spec.toml"), help="File to write. Default: spec.toml.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def command(
    table: str,
    public: str | None,
    id: str | None,  # noqa: A002 - as in the spec
    attributes: str | None,
    protect: tuple[str, ...],
    yes_no: str,
    out: Path,
    force: bool,
    of_database: str | None,
    **reading: str | None,
) -> None:
    """Draft a spec for TABLE: what is public, what is confidential, which tables to publish.

    Looks at the names and types of columns, and at the codes in those that you say are public. It never looks at a
    confidential value, because the spec is published, and settings derived from values could disclose them. On a
    terminal it asks for what is not given.

    \b
    Examples:
      gedp init register.csv --public region,nace --id unit --attributes jobs,turnover
      gedp init register.parquet --public nuts3,nace --protect jobs=10:2 --yes-no exports --out my.toml
      gedp init register.xlsx --sheet 2016 --public region
    """
    from gedp.cli.output import require_other
    from gedp.confidential.drafting import columns_of, read_shape
    from gedp.files import write_text
    from gedp.policy.drafting import draft_spec
    from gedp.policy.reading import make_reading

    if out.exists() and not force:
        raise click.UsageError(f"{out} exists. Choose another name with --out, or replace it with --force")
    source = Path(table)
    require_other(out, source)
    with _faults_by_option():
        said = make_reading({"table": of_database, **reading})
        if public is None:
            public = _asked_for(columns_of(table, said, of_texts=_is_terminal()))
            id = id or click.prompt("The id, if there is one", default="", show_default=False) or None  # noqa: A001
        shape = read_shape(
            source,
            names_in(public),
            id=id,
            attributes=None if attributes is None else names_in(attributes),
            protect=_chosen(protect),
            reading=said,
            yes_no=names_in(yes_no),
        )
    text = draft_spec(shape, _source_from(source, out))
    write_text(out, text)
    click.echo(
        f"Wrote {out}. Read it first: gamma, the budget and the tables are yours to decide. Then go on with:\n"
        f"  gedp explain {out}          what it promises\n"
        f"  gedp plan {out}             the errors to expect of every table\n"
        f"  gedp run {out} --dry-run    whether the table is sound; spends nothing"
    )


@contextmanager
def _faults_by_option() -> Iterator[None]:
    """Faults that name keys of a spec name the options instead: there is no spec yet."""
    from gedp.errors import FaultsError

    try:
        yield
    except FaultsError as error:
        faults = [
            replace(
                fault,
                place=re.sub(r"^data\.(?=\w+$)", "--", fault.place),
                suggestion=re.sub(r'(\w+) = "(.+?)"(.*?) under \[data\]', r"--\1 \2\3", fault.suggestion),
            )
            for fault in error.faults
        ]
        raise FaultsError(error.source, faults) from None


def _asked_for(columns: Mapping[str, str]) -> str:
    """Asks which columns are public; rejects where there is nobody to ask."""
    listed = "\n".join(f"  {name}: {kind}" for name, kind in columns.items())
    if not _is_terminal():
        there = (
            f"There are:\n{listed}" if columns else "What the first line calls them is not shown: it may be a record"
        )
        raise click.UsageError(f"--public names the public columns. {there}")
    click.echo(f"The columns of the table, and what they can be:\n{listed}")
    answer: str = click.prompt("Which may everybody know of every establishment, such as region and industry (a,b)")
    return answer


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def _chosen(protect: tuple[str, ...]) -> "dict[str, Candidate]":
    """The psi and gamma that come closest to what was asked of every column."""
    from gedp.neighbors.choosing import choose

    asked: dict[str, list[str]] = {}
    for text in protect:
        column, is_given, demand = text.rpartition("=")
        if not is_given:
            raise click.UsageError(f"--protect {text}: write it as COLUMN=SIZE:WIDTH, like jobs=10:2")
        asked.setdefault(column, []).append(demand)
    return {column: choose(demands)[0] for column, demands in asked.items()}


def _source_from(source: Path, out: Path) -> str:
    """The table as the spec names it: relative to its own folder where that is near, else absolute."""
    here, there = source.absolute(), out.absolute().parent
    return here.relative_to(there).as_posix() if here.is_relative_to(there) else here.as_posix()
