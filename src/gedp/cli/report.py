"""`gedp report`: the report of a release, for the public."""

from pathlib import Path
from typing import Any

import click

from gedp.cli.engines import engine_options
from gedp.cli.options import PATH, release_argument


@click.command()
@release_argument
@click.option("--out", type=PATH, help="File to write. Default: report.html in the release.")
@click.option("--title", help="Heading of the page, instead of the number of establishments.")
@click.option(
    "--fixed", multiple=True, type=PATH, help="Public totals that the microdata were fitted to; may be repeated."
)
@engine_options
def command(folder: Path, out: Path | None, title: str | None, fixed: tuple[Path, ...], session: Any) -> None:
    """Write a page about the release in DIR and its microdata: what is protected, how accurate, how to use it.

    The page is for the public and needs no network. It is made from the release alone and spends nothing. `gedp run`
    writes it too.

    \b
    Examples:
      gedp report out
      gedp report out --title "Employment and wages, 2016 Q1" --out page.html
    """
    from gedp.cli.console import warn_if_seeded
    from gedp.cli.output import require_other
    from gedp.cli.progress import steps
    from gedp.confidential.engines.choice import on_file
    from gedp.microdata.on_file import microdata_to_report
    from gedp.release import read_release
    from gedp.report import write_report

    if out is not None:
        require_other(out, *fixed)
    with steps() as at:
        at.step("checking the release")
        release = read_release(folder)
        at.step("fitting")
        microdata = microdata_to_report(release, fixed, on_file(session))
        at.step("writing")
        path = write_report(microdata, out, title=title)
    click.echo(f"Wrote {path}. Open it in a browser; it needs no network.")
    warn_if_seeded(release.manifest)
