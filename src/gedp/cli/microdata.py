"""`gedp microdata`: one protected table from all the answers of a release."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from gedp.cli.constraints import constraint_options, sentences
from gedp.cli.engines import engine_options
from gedp.cli.options import PATH, release_argument


@click.command()
@release_argument
@click.option(
    "--weights", type=click.Choice(["quasi", "plug-in"]), help="Weights of the answers. Default: as in the spec."
)
@click.option("--out", type=PATH, help="File to write. Default: microdata.parquet in the release.")
@click.option(
    "--share-by", metavar="COLUMN", help="Public column to divide cells by, where establishments have no answers."
)
@constraint_options
@engine_options
def command(
    folder: Path,
    weights: str | None,
    out: Path | None,
    share_by: str | None,
    constraints: Mapping[str, Any],
    session: Any,
) -> None:
    """Fit one protected value for every establishment and attribute to all the answers of the release in DIR.

    Reads only the release and spends nothing. A .json file beside the table records how it was fitted. A report in the
    release is rewritten. Where the answers determine neither establishments nor finest cells, there are no microdata;
    `gedp tabulate` makes tables of what was measured.

    \b
    Examples:
      gedp microdata out
      gedp microdata out --weights plug-in --out paper.parquet
      gedp microdata out --nonnegative --whole --out plausible.parquet
      gedp microdata out --engine spark
    """
    from gedp.cli.console import make_console, warn_if_seeded
    from gedp.cli.output import require_other
    from gedp.cli.progress import steps
    from gedp.completing import replace_microdata
    from gedp.confidential.engines.choice import on_file
    from gedp.documents import PrintedTable
    from gedp.documents.terminal import print_table
    from gedp.microdata.fit import fit_microdata
    from gedp.microdata.weights import TOLERANCE
    from gedp.release import read_release

    if out is not None:
        require_other(out, *constraints["fixed"])
    with steps() as at:
        at.step("checking the release")
        release = read_release(folder)
        at.step("fitting")
        microdata = fit_microdata(
            release,
            weights=weights,
            share_by=share_by,
            on_file=on_file(session),
            **constraints,
        )
        microdata.require_rows()
        at.step("writing")
        if out is None or microdata.is_place_on_file(out):
            path, report = replace_microdata(microdata)
        else:
            path, report = microdata.write(out), None
    rows = [
        (name, f"{fit.totals.sum():,.0f}", f"{len(fit.totals):,}", str(fit.rounds), f"{fit.change:.0e}")
        for name, fit in microdata.fits.items()
    ]
    headings = ("attribute", "total", "finest cells", "rounds", "change left")
    print_table(make_console(), PrintedTable(f"Fitted with {microdata.weights} weights", headings, rows))
    for name, fit in microdata.fits.items():
        if fit.detail != "identity":
            click.echo(f"{name}: {microdata.meaning(name)}.")
        if fit.change > TOLERANCE:
            click.echo(
                f"{name}: the weights did not settle; the last round still moved values by {fit.change:.0e} deviations."
            )
        for sentence in sentences(fit.constrained):
            click.echo(f"{name}: {sentence}")
    for name in microdata.measured:
        click.echo(f"{name}: {microdata.meaning(name)}.")
    listed = "establishments" if microdata.public_rows.lists_establishments else "cells"
    click.echo(
        f"Wrote {microdata.public_rows.listed:,} {listed} to {path}, and the record of the fit to {path.stem}.json."
    )
    if report:
        click.echo(f"Rewrote {report} for these microdata.")
    warn_if_seeded(release.manifest)
