"""`gedp synth qcew`: establishments from the published QCEW."""

from pathlib import Path

import click

from gedp.cli.options import PATH
from gedp_lab.cli.synth.inputs import published_qcew
from gedp_lab.cli.synth.output import EstablishmentsFile, makes_establishments


@click.command("qcew")
@published_qcew
@click.option("--year", type=click.IntRange(1990, 2100), help="Year, if the files hold several or do not show it.")
@click.option("--quarter", type=click.IntRange(1, 4), help="Quarter, in the same cases.")
@click.option("--area-titles", type=PATH, help="The BLS's names of areas: also writes labels for a spec.")
@click.option("--industry-titles", type=PATH, help="The BLS's names of industries: the same for these.")
@makes_establishments("skewed", "paper")
def command(
    inputs: tuple[Path, ...],
    own: tuple[str, ...],
    year: int | None,
    quarter: int | None,
    area_titles: Path | None,
    industry_titles: Path | None,
    states: tuple[str, ...],
    output: EstablishmentsFile,
) -> None:
    """Make synthetic establishments that add up to the published QCEW.

    Reads the files of the Bureau of Labor Statistics as they are: the quarterly single file, by-area CSVs, a
    zip or folder of either, or Parquet with the same columns. Suppressed cells are filled from the levels
    above; every disclosed county figure is reproduced to the last unit.

    With title files of the BLS, names of counties, industries and months are written for a spec into a folder
    beside the establishments: add its labels.toml to the end of the spec.

    \b
    Examples:
      gedp synth qcew --qcew 2016_qtrly_singlefile.zip --quarter 1 --state NJ --out nj.parquet
      gedp synth qcew --qcew areas/ --year 2016 --quarter 1 --out nation.parquet --plot sizes.png
      gedp synth qcew --qcew areas/ --area-titles area_titles.csv --industry-titles industry_titles.csv \\
        --year 2016 --quarter 1 --out nation.parquet
    """
    from gedp.cli.console import make_console
    from gedp.cli.progress import steps
    from gedp.documents.terminal import print_blocks
    from gedp_lab.synth.qcew.fill import fill
    from gedp_lab.synth.qcew.read import read_qcew
    from gedp_lab.synth.qcew.sources import find_sources
    from gedp_lab.synth.qcew.titles import read_lists, write_labels
    from gedp_lab.synth.qcew.tree import build_tree
    from gedp_lab.synth.states import state_fips
    from gedp_lab.synth.tables import filling_blocks

    wanted = state_fips(states)
    lists = read_lists(area_titles, industry_titles, wanted)
    with steps() as at:
        at.step("reading", sum(source.size for source in find_sources(inputs)))
        published = read_qcew(inputs, states=wanted, own=own, year=year, quarter=quarter, progress=at.advance)
        at.step("filling suppressed cells")
        filling = fill(build_tree(published.rows))
        summary = output.write(filling.cells, published.year, published.quarter, at)
    console = make_console()
    title = f"Synthetic establishments, {published.year} quarter {published.quarter}"
    print_blocks(console, list(filling_blocks(filling, summary, title)))
    output.print_written(console)
    if lists:
        folder = output.out.with_name(f"{output.out.stem}-labels")
        lines = write_labels(folder, lists, published.year, published.quarter)
        console.print(f"Wrote names for a spec: add {lines} to its end.", soft_wrap=True)
