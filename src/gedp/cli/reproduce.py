"""`gedp reproduce`: the paper's tables and figures, ours beside the printed ones."""

from pathlib import Path

import click

from gedp.cli.reproduce_all import everything, item_command
from gedp.lab.reproduce.registry import SUMMARIES


@click.group()
def command() -> None:
    """The paper's tables and figures, ours beside the printed ones.

    `all` runs everything onto pages. intervals, semantics, frameworks, bias and coverage alone print theirs, and end
    with exit code 1 if a number disagrees; the other items write pages as `all` does.

    \b
    Examples:
      gedp reproduce all --out reproduced
      gedp reproduce intervals
      gedp reproduce semantics
      gedp reproduce frameworks --html frameworks.html
      gedp reproduce bias
      gedp reproduce coverage
    """


@command.command()
def intervals() -> None:
    """The table of uncertainty intervals for sqrt (gamma 0.5) and log (gamma 0.1)."""
    from rich.table import Table

    from gedp.cli.console import make_console
    from gedp.lab.reproduce.intervals import intervals

    rows = intervals()
    table = Table(title="Uncertainty intervals: the paper's and ours", title_justify="left")
    for heading in ("psi, value", "paper", "ours", "agrees"):
        table.add_column(heading, justify="right" if heading in ("paper", "ours") else "left")
    for low, high in rows:
        printed, ours = (f"[{a:,.1f} – {b:,.1f}]" for a, b in ((low.printed, high.printed), (low.ours, high.ours)))
        table.add_row(low.what, printed, ours, _yes(low.agrees and high.agrees))
    make_console().print(table)
    click.echo("The paper prints the last upper end as 39.786.2, a slip for 39,786.2.")
    _verdict([comparison.agrees for row in rows for comparison in row], "interval ends")


@command.command()
def semantics() -> None:
    """What the intervals mean to a person who earns 20,000 (sqrt, gamma 100)."""
    from rich.table import Table

    from gedp.cli.console import make_console
    from gedp.lab.reproduce.intervals import people

    rows = people()
    table = Table(title="A person who earns 20,000 a quarter: the paper's numbers and ours", title_justify="left")
    for heading in ("who", "paper", "ours", "agrees"):
        table.add_column(heading, justify="right" if heading in ("paper", "ours") else "left")
    for row in rows:
        table.add_row(row.what, f"{row.printed:,.1f}", f"{row.ours:,.1f}", _yes(row.agrees))
    make_console().print(table)
    _verdict([row.agrees for row in rows], "numbers")


@command.command()
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write the figure as a page.")
def frameworks(html: Path | None) -> None:
    """The variance that epsilon-DP and rho-zCDP need, relative to Gaussian DP, for 1, 3 and 5 queries."""
    from gedp.lab.reproduce.frameworks import QUERIES, findings, framework_ratios, frameworks_page

    ratios = [framework_ratios(queries) for queries in QUERIES]
    for sentence in findings(ratios):
        click.echo(sentence)
    if html:
        from gedp.files import write_text

        write_text(html, frameworks_page(ratios))
        click.echo(f"Wrote {html}.")
    if any(r.zcdp_wins for r in ratios):
        raise SystemExit(1)


@command.command()
@click.option("--trials", type=click.IntRange(min=1), default=100_000, show_default=True, help="Fewer are noisier.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed, the same trials."
)
def bias(trials: int, seed: int) -> None:
    """What estimated variances do to fitted totals (mean squared errors), and what quasi weights do about it.

    Under a minute. Est, Act and Hybrid must be within 2% of the printed numbers, quasi within 5% of Act.
    """
    from rich.table import Table

    from gedp.cli.console import make_console
    from gedp.cli.progress import steps
    from gedp.lab.reproduce.bias import COLUMNS, ROWS, SETTINGS, run_setting

    console = make_console()
    click.echo(
        "The paper's text says 100 counties, and gamma 0.1 for log; its numbers are those of 50 counties and 0.5."
    )
    agree: list[bool] = []
    with steps() as at:
        for done, setting in enumerate(SETTINGS):
            at.reach("settings", done, len(SETTINGS))
            errors = run_setting(setting, trials, seed)
            where = "the paper's numbers and ours" if setting.printed else "as the paper's text has it, ours"
            title = f"{setting.name}, gamma/mu {setting.sigma:g}, {setting.counties} counties: {where}"
            table = Table(title=title, title_justify="left")
            table.add_column("query")
            for heading in (*COLUMNS, "quasi / Act", "agrees"):
                table.add_column(heading, justify="right")
            checks = list(errors.checks())
            for row in ROWS:
                printed = [errors.printed(column, row) for column in COLUMNS]
                if any(printed):
                    table.add_row(f"{row}, paper", *("" if p is None else f"{p:,.1f}" for p in printed))
                ours = [f"{errors.squared[column, row]:,.2f}" for column in COLUMNS]
                ratio = errors.squared["quasi", row] / errors.squared["Act", row]
                fine = all(ok for _, of_row, ok in checks if of_row == row)
                table.add_row(f"{row}, ours", *ours, f"{ratio:.3f}", _yes(fine))
            table.add_row("bias of Total", *(f"{errors.bias[column]:+,.1f}" for column in COLUMNS), "", "")
            console.print(table)
            agree += [ok for _, _, ok in checks]
    click.echo(
        f"{sum(agree)} of {len(agree)} claims hold over {trials:,} trials: printed numbers to 2%, quasi to 5% of Act."
    )
    if not all(agree):
        raise SystemExit(1)


@command.command()
@click.option("--draws", type=click.IntRange(min=100_000), default=100_000, show_default=True, help="Of each group.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
def coverage(draws: int, seed: int) -> None:
    """Do 95% intervals of the psi-mechanism hold the truth, and are its estimates unbiased?

    By simulation with the mechanism itself, for groups of 5 to 1,000,000 jobs. Exit code 1 if the intervals of a group
    hold the truth in less than 93% or more than 97% of the draws, or if its mean error is no chance.
    """
    from rich.table import Table

    from gedp.cli.console import make_console
    from gedp.lab.reproduce.coverage import coverage

    console = make_console()
    rows = list(coverage(draws, seed))
    for psi in dict.fromkeys(row.psi for row in rows):
        table = Table(title=f"95% intervals, {psi}: {draws:,} draws a line", title_justify="left")
        for heading in ("mu", "jobs", "error", "cover", "93-97%", "cut", "[0, 0]", "±1.96 se"):
            table.add_column(heading, justify="left" if heading in ("mu", "93-97%") else "right", no_wrap=True)
        for row in rows:
            if row.psi == psi:
                shares = [f"{share:.1%}" if share else "-" for share in (row.cut, row.nothing, row.plain)]
                numbers = (f"{row.jobs:,}", f"{row.mean_error:+.1f}", f"{row.covered:.2%}")
                table.add_row(row.mu, *numbers, _yes(row.covers), *shares)
        console.print(table)
    covers, unbiased = [row.covers for row in rows], [row.unbiased for row in rows]
    click.echo(
        "error: the mean error of the estimates, in standard errors of that mean. cut: intervals cut off at 0, which "
        "shortens them, some to [0, 0], but changes no coverage: no truth is below 0. ±1.96 se: how often the estimate "
        "with 1.96 times its std_error on both sides holds the truth; where that is off, use ci_low and ci_high.\n"
        f"Between 93% and 97% of the intervals hold the truth on {sum(covers)} of {len(rows)} lines; the mean error is "
        f"within chance on {sum(unbiased)}."
    )
    if not all(covers + unbiased):
        raise SystemExit(1)


def _yes(agrees: bool) -> str:
    return "yes" if agrees else "NO"


def _verdict(agree: list[bool], what: str) -> None:
    click.echo(f"{sum(agree)} of {len(agree)} {what} agree to the printed digit.")
    if not all(agree):
        raise SystemExit(1)


command.add_command(everything)
for _name in SUMMARIES:
    if _name not in command.commands:
        command.add_command(item_command(_name))
