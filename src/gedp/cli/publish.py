"""`gedp publish`: the package of a release for the public."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from gedp.cli.constraints import constraint_options
from gedp.cli.engines import engine_options
from gedp.cli.options import PATH, confidence_option, names_in, release_argument


@click.command()
@release_argument
@click.option("--to", type=PATH, required=True, help="Folder to create for the package.")
@click.option(
    "--table", "tables", multiple=True, help="Add a table by these columns, such as cnty,naics3; may be repeated."
)
@click.option("--only", multiple=True, help="Publish only this table of the release; may be repeated. Default: all.")
@click.option(
    "--ratio",
    "ratios",
    multiple=True,
    help="Add a ratio to the tables, by name, such as weekly-wage, or NAME=FORMULA; may be repeated.",
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    help="Format of the tables: csv, parquet, xlsx or sdmx; may be repeated. Default: all.",
)
@click.option(
    "--rounding",
    type=click.Choice(["error", "whole", "none"]),
    default="error",
    show_default=True,
    help="To what the error supports; to whole units that add up exactly over all tables; or not at all.",
)
@click.option(
    "--quality", default="A=5%,B=10%,C=25%,D", show_default=True, help="Quality classes by coefficient of variation."
)
@click.option("--withhold-above", metavar="CV", help="Leave figures empty above this coefficient of variation, as 50%.")
@confidence_option
@click.option(
    "--rows",
    type=click.Choice(["keep", "none", "random"]),
    help="Also publish a row for each establishment, and keep its id, leave it out, or replace it by a random one.",
)
@click.option(
    "--against", type=PATH, metavar="OLD", help="Earlier release: also publish tables of what changed since then."
)
@click.option("--key", type=PATH, help="Private Ed25519 key to sign the package with; see `gedp sign`.")
@click.option("--passphrase-file", type=PATH, help="File whose first line is the passphrase of the key.")
@click.option("--force", is_flag=True, help="Replace an earlier package in that folder, if nobody has changed it.")
@constraint_options
@engine_options
def command(
    folder: Path,
    to: Path,
    tables: tuple[str, ...],
    only: tuple[str, ...],
    ratios: tuple[str, ...],
    formats: tuple[str, ...],
    rounding: str,
    quality: str,
    withhold_above: str | None,
    confidence: float | None,
    rows: str | None,
    against: Path | None,
    key: Path | None,
    passphrase_file: Path | None,
    force: bool,
    constraints: Mapping[str, Any],
    session: Any,
) -> None:
    """Make the package for the public from the release in DIR: titled tables, errors, flags, notes and checksums.

    All figures are fitted to all answers together, so tables agree. The package needs nothing but the release and
    spends nothing. Rows of establishments are left out unless you ask for them. Packages of the same release with the
    same options are the same to the last byte.

    \b
    Examples:
      gedp publish out --to package
      gedp publish out --to package --table cnty,naics3 --rounding whole
      gedp publish out --to package --ratio weekly-wage --ratio 'pay = wage / m3emp'
      gedp publish out --to package --withhold-above 50% --key publisher.key
      gedp publish 2016q2 --to package --against 2016q1
    """
    from gedp.cli.console import warn_of_seeds
    from gedp.cli.progress import steps
    from gedp.confidential.engines.choice import on_file
    from gedp.microdata.on_file import find_microdata
    from gedp.numbers import counted
    from gedp.publication import IN_PACKAGES, PackageOptions, Presentation, parse_quality, write_package
    from gedp.release import read_release
    from gedp.release.signing import read_passphrase

    limit = None if withhold_above is None else _share(withhold_above)
    options = PackageOptions(
        tuple(tuple(names_in(text)) for text in tables),
        only or None,
        formats or tuple(IN_PACKAGES),
        Presentation(rounding, parse_quality(quality, limit), confidence),
        ratios,
        rows,
    )
    if passphrase_file is not None and key is None:
        raise click.UsageError("--passphrase-file is of the key that signs: add --key, or leave it out")
    if rounding == "whole" and constraints["whole"] is False:
        raise click.UsageError("--rounding whole and --no-whole contradict each other: leave one out")
    passphrase = None if passphrase_file is None else read_passphrase(passphrase_file)
    asked = {**constraints, "whole": True} if rounding == "whole" else dict(constraints)
    with steps() as at:
        at.step("checking the release")
        release = read_release(folder)
        earlier = None if against is None else read_release(against)
        at.step("fitting")
        microdata = find_microdata(release, on_file=on_file(session), **asked)
        own = {**asked, "fixed": ()}  # public totals are of one period
        before = None if earlier is None else find_microdata(earlier, on_file=on_file(session), **own)
        package = write_package(
            microdata, to, options, key=key, passphrase=passphrase, replace=force, step=at.step, against=before
        )
    figures = sum(table.arrow.num_rows for table in package.tables)
    counts = counted(figures, "figure"), counted(len(package.tables), "table"), counted(len(package.files), "file")
    click.echo(f"Published {counts[0]} in {counts[1]}, in {counts[2]}: {to}")
    warn_of_seeds([each.manifest for each in (release, earlier) if each is not None])


def _share(text: str) -> float:
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise click.UsageError("--withhold-above needs a share, such as 50% or 0.5") from None
