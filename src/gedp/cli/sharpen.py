"""`gedp sharpen`: a table of a release that leans on earlier releases, by a model."""

from pathlib import Path

import click

from gedp.cli.output import STDOUT, require_format, require_other, write_table

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("folder", metavar="DIR", type=_PATH)
@click.option(
    "--with-earlier",
    "earlier",
    metavar="OLD",
    multiple=True,
    required=True,
    type=_PATH,
    help="Release of an earlier quarter; may be repeated, the newest first.",
)
@click.option(
    "--by",
    multiple=True,
    required=True,
    help="Public columns and groupings, separated by commas; naics3 is naics to 3 digits; may be repeated.",
)
@click.option(
    "--within",
    multiple=True,
    help="Keys whose groups share a growth and keep their totals, such as naics3. Default: all groups together.",
)
@click.option("--attribute", "attributes", multiple=True, help="Attribute to tabulate; may be repeated. Default: all.")
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Confidence of the intervals. Default: as in the spec.",
)
@click.option(
    "--out",
    type=_PATH,
    help="File to write (.csv, .parquet, .xlsx, .arrows), or - for CSV on standard output. Default: first lines only.",
)
def command(
    folder: Path,
    earlier: tuple[Path, ...],
    by: tuple[str, ...],
    within: tuple[str, ...],
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

    require_format(out)
    with steps() as at:
        at.step("checking the releases")
        releases = [read_release(place) for place in (folder, *earlier)]
        if out not in (None, STDOUT):
            require_outside_releases(out)
            require_other(out)
        at.step("fitting")
        newest, *others = (find_microdata(release, attributes=list(attributes) or None) for release in releases)
        at.step("tabulating")
        found = sharpen(
            newest, others, _keys(by), list(attributes) or None, within=_keys(within), confidence=confidence
        )
    notes = [*describe_steps(found), found.note]
    write_table(found.table.arrow, out, found.table.columns, notes)
    for line in notes:
        click.echo(line, err=True)
    warn_if_seeded(releases[0].manifest, err=True)


def _keys(texts: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(key.strip() for text in texts for key in text.split(",") if key.strip()))
