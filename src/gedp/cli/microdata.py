"""`gedp microdata`: one protected table from all the answers of a release."""

from pathlib import Path

import click

from gedp.cli.constraints import constraint_options, sentences

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("folder", metavar="DIR", type=_PATH)
@click.option("--weights", type=click.Choice(["quasi", "plug-in"]), help="Instead of what the spec says.")
@click.option("--out", type=_PATH, help="File to write. Default: microdata.parquet in the release.")
@click.option("--share-by", metavar="COLUMN", help="Public weights, where establishments have no answers of their own.")
@constraint_options
def command(
    folder: Path,
    weights: str | None,
    out: Path | None,
    share_by: str | None,
    nonnegative: bool | None,
    whole: bool | None,
    fixed: tuple[Path, ...],
) -> None:
    """Fit one protected value for every establishment and attribute to all the answers of the release in DIR.

    This reads the release alone and spends nothing. How it was fitted is written beside the table, as .json.

    \b
    Examples:
      gedp microdata out
      gedp microdata out --weights plug-in --out paper.parquet
      gedp microdata out --nonnegative --whole --out plausible.parquet
    """
    from rich.console import Console
    from rich.table import Table

    from gedp.cli.progress import steps
    from gedp.microdata.fit import DETAIL, MICRODATA, fit_microdata
    from gedp.microdata.weights import TOLERANCE
    from gedp.release import read_release
    from gedp.report.write import REPORT

    with steps() as at:
        at.step("checking the release")
        release = read_release(folder)
        at.step("fitting")
        microdata = fit_microdata(
            release,
            weights=weights,
            share_by=share_by,
            nonnegative=nonnegative,
            whole=whole,
            fixed=fixed,
        )
        at.step("writing")
        path = microdata.write(out)
    table = Table(title=f"Fitted with {microdata.weights} weights", title_justify="left")
    for heading in ("attribute", "total", "finest cells", "rounds", "change left"):
        table.add_column(heading, justify="left" if heading == "attribute" else "right")
    for name, fit in microdata.fits.items():
        cells = [f"{fit.totals.sum():,.0f}", f"{len(fit.totals):,}", str(fit.rounds), f"{fit.change:.0e}"]
        table.add_row(name, *cells)
    Console(highlight=False, markup=False).print(table)
    for name, fit in microdata.fits.items():
        if fit.detail != "identity":
            click.echo(f"{name}: {DETAIL[fit.detail]}.")
        if fit.change > TOLERANCE:
            click.echo(f"{name}: the weights did not settle; the last round still moved values by {fit.change:.0e} sd.")
        for sentence in sentences(fit.constrained):
            click.echo(f"{name}: {sentence}")
    rows = "establishments" if microdata.frame.lists_establishments else "cells"
    click.echo(f"Wrote {microdata.frame.rows:,} {rows} to {path}, and how they were fitted to {path.stem}.json.")
    if path == release.folder / MICRODATA and (release.folder / REPORT).exists():
        click.echo(f"{REPORT} in the release is about the microdata before: gedp report {release.folder}")
    if release.manifest.is_seeded:
        click.echo("NOT PROTECTED: the noise came from a seed.")
