"""`gedp tabulate`: a custom table from the microdata of a release."""

import sys
from pathlib import Path

import click

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("folder", metavar="DIR", type=_PATH)
@click.option("--by", default="", help="Public columns and groupings, with commas; naics3 is 3 characters of naics.")
@click.option("--attribute", "attributes", multiple=True, help="One of them; may be repeated. Default: all.")
@click.option("--confidence", type=click.FloatRange(0, 1, min_open=True, max_open=True), help="Instead of the spec's.")
@click.option("--weights", type=click.Choice(["quasi", "plug-in"]), help="Instead of what the spec says.")
@click.option("--out", type=_PATH, help="A .csv or .parquet file. Default: CSV to the terminal.")
def command(
    folder: Path,
    by: str,
    attributes: tuple[str, ...],
    confidence: float | None,
    weights: str | None,
    out: Path | None,
) -> None:
    """Estimate, standard error, coefficient of variation and interval for every group of a grouping of your choice.

    The microdata are fitted to the release in DIR anew, since errors come from the covariance of the fit. This spends
    nothing.

    \b
    Examples:
      gedp tabulate out --by cnty,naics3 --attribute wage
      gedp tabulate out --by naics2 --out sectors.parquet
    """
    import pyarrow.csv
    import pyarrow.parquet

    from gedp.cli.progress import steps
    from gedp.files import replacing
    from gedp.microdata import fit_microdata
    from gedp.release import read_release

    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise click.UsageError("--out needs a name that ends in .csv or .parquet")
    with steps() as at:
        at.step("fitting")
        release = read_release(folder)
        chosen = list(dict.fromkeys(attributes)) or None
        microdata = fit_microdata(release, weights=weights, attributes=chosen)
        at.step("tabulating")
        table = microdata.tabulate([key.strip() for key in by.split(",") if key.strip()], chosen, confidence)
    if out is None:
        pyarrow.csv.write_csv(table, sys.stdout.buffer)
    else:
        with replacing(out) as temporary:
            write = pyarrow.csv.write_csv if out.suffix == ".csv" else pyarrow.parquet.write_table
            write(table, temporary)
        click.echo(f"Wrote {table.num_rows:,} lines to {out}.")
    if release.manifest["entropy"] != "system":
        click.echo("NOT PROTECTED: the noise came from a seed.", err=True)
