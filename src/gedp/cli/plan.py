"""`gedp plan`: the errors to expect, before anything is spent."""

from pathlib import Path

import click

from gedp.cli.options import FILE, PATH, numbers_by_name


def _numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in value.split(",")) if value else ()
    except ValueError:
        raise click.BadParameter("give positive numbers separated by commas, like 1,2,3") from None


def _totals(ctx: click.Context, param: click.Parameter, value: str | None) -> dict[str, float]:
    return numbers_by_name(value, "emp=400000,wage=5e9") if value else {}


@click.command()
@click.argument("spec", metavar="SPEC")
@click.option(
    "--like",
    type=PATH,
    metavar="DIR|FILE",
    help="An earlier release, or a public or synthetic table (Parquet or CSV), to take sizes from.",
)
@click.option(
    "--total", "totals", callback=_totals, metavar="NAME=X,…", help="Totals that are public already, to scale sizes to."
)
@click.option("--mu", callback=_numbers, metavar="X,Y,…", help="Also the errors if the whole release cost these.")
@click.option(
    "--gamma-times",
    callback=_numbers,
    metavar="X,Y,…",
    help="Also show errors with every gamma multiplied by these factors.",
)
@click.option("--html", type=FILE, help="Also draw the plan on a page.")
def command(
    spec: str,
    like: Path | None,
    totals: dict[str, float],
    mu: tuple[float, ...],
    gamma_times: tuple[float, ...],
    html: Path | None,
) -> None:
    """Show the errors to expect of every table in SPEC, before anything is spent.

    By size of cell, with the share of cells below 5, 10 and 30%, what each table costs the others, and what another mu
    or gamma would change. Of the confidential table only public columns are read: they say how many establishments
    every group has. Sizes come from --like, or else are assumed as `typical` in the spec says.

    \b
    Examples:
      gedp plan my.toml
      gedp plan my.toml --like last-year/out --mu 1,2,3
      gedp plan my.toml --like another-state.parquet --total emp=400000
      gedp plan my.toml --like synthetic.parquet --html plan.html
    """
    from gedp.api import plan as make
    from gedp.cli.console import make_console
    from gedp.cli.output import files_of, require_other
    from gedp.cli.progress import steps
    from gedp.documents.terminal import to_terminal
    from gedp.files import write_text
    from gedp.planning.document import plan_document, plan_page
    from gedp.policy.examples import find_spec

    console = make_console()
    read = find_spec(spec)
    if html is not None:
        require_other(html, spec, *files_of(read), *([like] if like else []), option="--html")
    with steps() as at:
        at.step("reading public columns")
        planned = make(read, like=like, mu=mu, gamma_times=gamma_times, totals=totals, progress=at.count)
    title = Path(spec).name
    to_terminal(console, plan_document(planned, title))
    if html is not None:
        write_text(html, plan_page(planned, title))
        console.print(f"Wrote {html}. Open it in a browser; it needs no network.", soft_wrap=True)
