"""`gedp evaluate`: how far a release is from the truth."""

from pathlib import Path

import click

from gedp.cli.options import PATH, names_in, release_argument


@click.command()
@release_argument
@click.option("--truth", required=True, help="The table that the release was made from (Parquet, CSV, or a glob).")
@click.option(
    "--by",
    multiple=True,
    help="Public keys and classes, separated by commas; may be repeated. Default: the QCEW levels.",
)
@click.option(
    "--attribute",
    "attributes",
    multiple=True,
    help="Attribute, combination or establishments (by classes); may be repeated. Default: all.",
)
@click.option("--out", type=PATH, help="Folder for the results. Default: DIR-evaluation.")
@click.option(
    "--weights",
    type=click.Choice(["quasi", "plug-in"]),
    help="Fit with these weights instead of using the microdata on file.",
)
@click.option(
    "--fixed", multiple=True, type=PATH, help="Public totals that the microdata were fitted to; may be repeated."
)
@click.option("--published", type=PATH, help="Published QCEW file, to show what suppression leaves of the same cells.")
@click.option(
    "--with-earlier",
    "earlier",
    metavar="OLD",
    multiple=True,
    type=PATH,
    help="Earlier release, as for `gedp sharpen`, to show what it would add; may be repeated, the newest first.",
)
@click.option("--within", multiple=True, help="With --with-earlier: keys whose groups share a growth, such as naics3.")
@click.option("--force", is_flag=True, help="Replace results that are already in the folder.")
def command(
    folder: Path,
    truth: str,
    by: tuple[str, ...],
    attributes: tuple[str, ...],
    out: Path | None,
    weights: str | None,
    fixed: tuple[Path, ...],
    published: Path | None,
    earlier: tuple[Path, ...],
    within: tuple[str, ...],
    force: bool,
) -> None:
    """Compare the release in DIR with the confidential table that it was made from. Internal: this sees the truth.

    Compares the answers and the microdata in DIR, which are fitted if DIR has none. Errors by level are printed, and
    written as Parquet, CSV and a page with figures to a private folder. Every file is stamped CONFIDENTIAL unless the
    release declares the data synthetic.

    \b
    Examples:
      gedp evaluate out --truth establishments.parquet
      gedp evaluate out --truth establishments.parquet --by cnty,naics4 --by naics2 --attribute wage
      gedp evaluate out --truth ri.parquet --published qcew_2016q1.parquet
      gedp evaluate 2016q2 --truth 2016Q2.parquet --with-earlier 2016q1 --by cnty,naics3 --within naics3

    Exit codes: 0 done, 1 refused (folder taken, release altered), 2 faults in the true table or the options.
    """
    from gedp.cli.console import make_console, warn_if_seeded
    from gedp.cli.progress import steps
    from gedp.documents.terminal import to_terminal
    from gedp.release import read_release
    from gedp_lab.evaluate.document import evaluation_document
    from gedp_lab.evaluate.evaluation import COMMAND, PAGE, evaluate
    from gedp_lab.evaluate.folder import results_folder
    from gedp_lab.evaluate.levels import parse_groupings
    from gedp_lab.evaluate.published import PublishedQcew
    from gedp_lab.evaluate.results import stamp_of

    if within and not earlier:
        raise click.UsageError("--within goes with --with-earlier: add an earlier release, or leave it out")
    named = folder if folder.name not in ("", "..") else folder.resolve()
    target = out or named.with_name(f"{named.name}-evaluation")
    with steps() as at:
        at.step("checking the release")
        release = read_release(folder)
        stamp = stamp_of(release)
        with results_folder(target, stamp, COMMAND, force=force) as results:
            evaluation = evaluate(
                release,
                truth,
                by=parse_groupings(by) if by else None,
                attributes=list(attributes) or None,
                weights=weights,
                fixed=fixed,
                baselines=[PublishedQcew(published)] if published else [],
                earlier=[read_release(old) for old in earlier],
                within=names_in(*within),
                progress=at.reach,
            )
            at.step("writing")
            evaluation.write_into(results)
    console = make_console()
    console.print(stamp.sentence, soft_wrap=True)
    to_terminal(console, evaluation_document(evaluation))
    console.print(f"Open {target / f'{stamp.prefix}{PAGE}'} in a browser. {stamp.sentence}", soft_wrap=True)
    warn_if_seeded(release.manifest)
