"""`gedp tabulate`: a custom table from the microdata of a release, or of several, with what changed between them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from gedp.cli.constraints import constraint_options
from gedp.cli.engines import engine_options
from gedp.cli.options import PATH, attribute_option, by_option, confidence_option, table_option
from gedp.cli.output import STDOUT, require_other, write_table

#: Of the QCEW layout, on a terminal.
SHOWN_COLUMNS = [
    *("area_fips", "own_code", "industry_code", "qtrly_estabs"),
    *("month3_emplvl", "se_month3_emplvl", "total_qtrly_wages", "avg_wkly_wage"),
]
#: Of a table of changes, on a terminal, after its keys.
SHOWN_CHANGES = [
    *("attribute", "period", "old", "estimate", "change", "change_ci_low", "change_ci_high"),
    *("significant", "percent", "percent_ci_low", "percent_ci_high", "note"),
]


@click.command()
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=PATH)
@click.option(
    "--against", type=PATH, metavar="OLD", help="Earlier release to compare with: adds what changed since then."
)
@by_option()
@attribute_option
@click.option(
    "--ratio", "ratios", multiple=True, help="Ratio by name, such as weekly-wage, or NAME=FORMULA; may be repeated."
)
@click.option(
    "--where",
    multiple=True,
    metavar="KEY=CODE",
    help="Take only establishments with this code of a public column or grouping; several codes of a key may be given.",
)
@click.option(
    "--agglvl",
    type=int,
    help="Use the QCEW layout, at this level: 50 to 58 (states), 70 to 78 (counties), 21 to 28 or 61 to 64 (by size).",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    help="What the release calls an attribute or column, as in m1emp=COLUMN; may be repeated.",
)
@confidence_option
@click.option(
    "--weights",
    type=click.Choice(["quasi", "plug-in"]),
    help="Weights of the answers. Default: those of the microdata on file.",
)
@click.option("--share-by", metavar="COLUMN", help="Public column to divide cells by, as for `gedp microdata`.")
@table_option
@constraint_options
@engine_options
def command(
    folders: tuple[Path, ...],
    against: Path | None,
    by: list[str],
    attributes: tuple[str, ...],
    ratios: tuple[str, ...],
    where: tuple[str, ...],
    agglvl: int | None,
    names: tuple[str, ...],
    confidence: float | None,
    weights: str | None,
    share_by: str | None,
    out: Path | None,
    constraints: Mapping[str, Any],
    session: Any,
) -> None:
    """Make a custom table: estimate, standard error, coefficient of variation and interval for every group.

    The table is made from the microdata on file in the release in DIR, with errors from the covariance of their fit;
    options other than theirs make a new fit. This spends nothing. Where the answers determine no microdata, tables can
    be made of the measured groups, and of what they add up to.

    With --against, every line also has the figure of an earlier release, the change since then and the percent change,
    each with error and interval, and whether the change is significant at the confidence of the intervals. Several
    releases, the earliest first, make one table with a line for every group and period.

    Ratios are weekly-wage, wage-per-job, change (from month 1 to month 3) and percent-change, over the attributes
    m1emp, m2emp, m3emp and wage, or a formula of your own: one sum of attributes over another.

    Errors account for fixed totals, but not for --nonnegative and --whole; variance_kind then says unconstrained.

    \b
    Examples:
      gedp tabulate out --by cnty,naics3 --attribute wage
      gedp tabulate out --by naics2 --out sectors.parquet
      gedp tabulate out --by cnty --ratio weekly-wage --ratio 'pay = wage / m3emp'
      gedp tabulate out --by naics3 --where cnty=001 --where cnty=003
      gedp tabulate out --agglvl 75 --out counties.csv
      gedp tabulate 2016q2 --against 2016q1 --by cnty
      gedp tabulate 2016q1 2016q2 2016q3 --by cnty --out series.csv
    """
    from gedp.cli.console import warn_of_seeds
    from gedp.cli.progress import steps
    from gedp.cli.tabulating import Tabulation
    from gedp.confidential.engines.choice import on_file
    from gedp.microdata.ratios import parse_ratios
    from gedp.microdata.request import TableRequest
    from gedp.microdata.tabulate import known_keys, parse_where
    from gedp.release import read_release
    from gedp.release.derived import DERIVED

    is_compared = against is not None or len(folders) > 1
    if agglvl is not None and (by or attributes or ratios or where or is_compared):
        others = "--by, --attribute, --ratio, --where, --against and further releases"
        raise click.UsageError(f"--agglvl is a table of its own: leave out {others}")
    if len(folders) > 1 and (against is not None or constraints["fixed"]):
        raise click.UsageError("several releases are compared in their order, without --against and --fixed")
    if names and not ratios and agglvl is None:
        raise click.UsageError("--name is for the attributes of --ratio and --agglvl: add one of them, or leave it out")
    renamed = _renamed(names)
    asked = parse_ratios(ratios, renamed)
    with steps() as at:
        at.step("checking the release")
        releases = [read_release(folder) for folder in (*folders, *([against] if against else []))]
        for release in releases:
            if out not in (None, STDOUT):
                release.require_not_part(out, made=DERIVED)
                require_other(out, *constraints["fixed"])
        passing = parse_where(where, known_keys(releases[0]))
        options = {"weights": weights, "share_by": share_by, **constraints}
        request = TableRequest.of(by, attributes or None, confidence, asked, passing)
        wanted = Tabulation(request, agglvl, renamed, options, on_file(session), at.step)
        if len(folders) > 1:
            table = wanted.of_series(releases)
        else:
            table = wanted.of_two(*releases) if is_compared else wanted.of_one(*releases)
    changes = [*by, *(name for name in SHOWN_CHANGES if name in table.column_names)]
    shown = changes if is_compared else SHOWN_COLUMNS if agglvl else table.column_names
    write_table(table, out, shown, wanted.remarks)
    for remark in wanted.remarks:
        click.echo(remark, err=True)
    warn_of_seeds([release.manifest for release in releases], err=True)


def _renamed(names: Sequence[str]) -> dict[str, str]:
    """Names written as `m1emp=january`, as a mapping."""
    renamed = {}
    for name in names:
        ours, _, theirs = (part.strip() for part in name.partition("="))
        if not ours or not theirs:
            raise click.UsageError("--name needs two names, as in m1emp=january")
        renamed[ours] = theirs
    return renamed
