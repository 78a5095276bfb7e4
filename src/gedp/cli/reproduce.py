"""`gedp reproduce`: the paper's tables and figures, ours beside the printed ones."""

from pathlib import Path

import click


@click.group()
def command() -> None:
    """The paper's tables and figures, ours beside the printed ones.

    Each ends with exit code 1 if a number disagrees.

    \b
    Examples:
      gedp reproduce intervals
      gedp reproduce semantics
      gedp reproduce frameworks --html frameworks.html
    """


@command.command()
def intervals() -> None:
    """The table of uncertainty intervals for sqrt (gamma 0.5) and log (gamma 0.1)."""
    from rich.console import Console
    from rich.table import Table

    from gedp.reproduce.intervals import intervals

    rows = intervals()
    table = Table(title="Uncertainty intervals: the paper's and ours", title_justify="left")
    for heading in ("psi, value", "paper", "ours", "agrees"):
        table.add_column(heading, justify="right" if heading in ("paper", "ours") else "left")
    for low, high in rows:
        printed, ours = (f"[{a:,.1f} – {b:,.1f}]" for a, b in ((low.printed, high.printed), (low.ours, high.ours)))
        table.add_row(low.what, printed, ours, _yes(low.agrees and high.agrees))
    Console(highlight=False, markup=False).print(table)
    click.echo("The paper prints the last upper end as 39.786.2, a slip for 39,786.2.")
    _verdict([comparison.agrees for row in rows for comparison in row], "interval ends")


@command.command()
def semantics() -> None:
    """What the intervals mean to a person who earns 20,000 (sqrt, gamma 100)."""
    from rich.console import Console
    from rich.table import Table

    from gedp.reproduce.intervals import people

    rows = people()
    table = Table(title="A person who earns 20,000 a quarter: the paper's numbers and ours", title_justify="left")
    for heading in ("who", "paper", "ours", "agrees"):
        table.add_column(heading, justify="right" if heading in ("paper", "ours") else "left")
    for row in rows:
        table.add_row(row.what, f"{row.printed:,.1f}", f"{row.ours:,.1f}", _yes(row.agrees))
    Console(highlight=False).print(table)
    _verdict([row.agrees for row in rows], "numbers")


@command.command()
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write the figure as a page.")
def frameworks(html: Path | None) -> None:
    """The variance that epsilon-DP and rho-zCDP need, relative to Gaussian DP, for 1, 3 and 5 queries."""
    from gedp.reproduce.frameworks import QUERIES, findings, framework_ratios, frameworks_page

    ratios = [framework_ratios(queries) for queries in QUERIES]
    for sentence in findings(ratios):
        click.echo(sentence)
    if html:
        from gedp.files import write_text

        write_text(html, frameworks_page(ratios))
        click.echo(f"Wrote {html}.")
    if any(r.zcdp_wins for r in ratios):
        raise SystemExit(1)


def _yes(agrees: bool) -> str:
    return "yes" if agrees else "NO"


def _verdict(agree: list[bool], what: str) -> None:
    click.echo(f"{sum(agree)} of {len(agree)} {what} agree to the printed digit.")
    if not all(agree):
        raise SystemExit(1)
