"""`gedp sharpen`: a table of a release that leans on earlier releases, by a model."""

from pathlib import Path

import click

from gedp.cli.options import (
    PATH,
    attribute_option,
    by_option,
    confidence_option,
    names_in,
    release_argument,
    table_option,
)
from gedp.cli.output import STDOUT, require_other, write_table


@click.command()
@release_argument
@click.option(
    "--with-earlier",
    "earlier",
    metavar="OLD",
    multiple=True,
    required=True,
    type=PATH,
    help="Release of an earlier quarter; may be repeated, the newest first.",
)
@by_option(required=True)
@click.option(
    "--within",
    multiple=True,
    callback=lambda ctx, param, value: names_in(*value),
    help="Keys whose groups share a growth and keep their totals, such as naics3. Default: all groups together.",
)
@attribute_option
@confidence_option
@table_option
def command(
    folder: Path,
    earlier: tuple[Path, ...],
    by: list[str],
    within: list[str],
    attributes: tuple[str, ...],
    confidence: float | None,
    out: Path | None,
) -> None:
    """Make a table of the release in DIR that leans on earlier releases: model-based, for analysis.

    Totals of a group follow their own past, up to a growth that groups share and a change of their own. How large
    such changes are is estimated from the answers, and each estimate is put together from the group's past and its
    answer. This spends nothing, but it is no part of the release: estimates are biased where a group changes unlike the
    others. Every line says whether it is model-based or direct, and has the direct estimate too.

    \b
    Examples:
      gedp sharpen 2016q2 --with-earlier 2016q1 --by cnty,naics3
      gedp sharpen 2016q3 --with-earlier 2016q2 --with-earlier 2016q1 --by cnty,naics3 --within naics3 --out model.csv
    """
    from gedp.cli.console import warn_if_seeded
    from gedp.cli.progress import steps
    from gedp.microdata.on_file import find_microdata
    from gedp.release import read_release
    from gedp.sharpening import require_outside_releases, sharpen
    from gedp.sharpening.words import describe_steps

    with steps() as at:
        at.step("checking the releases")
        releases = [read_release(place) for place in (folder, *earlier)]
        if out not in (None, STDOUT):
            require_outside_releases(out)
            require_other(out)
        at.step("fitting")
        newest, *others = (find_microdata(release, attributes=list(attributes) or None) for release in releases)
        at.step("tabulating")
        found = sharpen(newest, others, by, list(attributes) or None, within=within, confidence=confidence)
    notes = [*describe_steps(found), found.note]
    write_table(found.table.arrow, out, found.table.columns, notes)
    for line in notes:
        click.echo(line, err=True)
    warn_if_seeded(releases[0].manifest, err=True)
