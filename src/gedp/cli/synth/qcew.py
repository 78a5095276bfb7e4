"""`gedp synth qcew`: establishments from the published QCEW."""

from pathlib import Path

import click

from gedp.cli.synth.output import PATH, EstablishmentsFile, makes_establishments


@click.command("qcew")
@click.option(
    "--qcew",
    "inputs",
    type=PATH,
    multiple=True,
    required=True,
    help="Published QCEW: file, zip or folder; may be repeated.",
)
@click.option(
    "--own",
    type=click.Choice(["1", "2", "3", "5"]),
    multiple=True,
    default=["5"],
    show_default=True,
    help="Ownership: 1 federal, 2 state, 3 local, 5 private; may be repeated.",
)
@click.option("--year", type=click.IntRange(1990, 2100), help="Year, if the files hold several or do not show it.")
@click.option("--quarter", type=click.IntRange(1, 4), help="Quarter, in the same cases.")
@makes_establishments("skewed", "paper")
def command(
    inputs: tuple[Path, ...],
    own: tuple[str, ...],
    year: int | None,
    quarter: int | None,
    states: tuple[str, ...],
    output: EstablishmentsFile,
) -> None:
    """Make synthetic establishments that add up to the published QCEW.

    Reads the files of the Bureau of Labor Statistics as they are: the quarterly single file, by-area CSVs, a
    zip or folder of either, or Parquet with the same columns. Suppressed cells are filled from the levels
    above; every disclosed county figure is reproduced to the last unit.

    \b
    Examples:
      gedp synth qcew --qcew 2016_qtrly_singlefile.zip --quarter 1 --state NJ --out nj.parquet
      gedp synth qcew --qcew areas/ --year 2016 --quarter 1 --out nation.parquet --plot sizes.png
    """
    from gedp.cli.console import make_console
    from gedp.cli.progress import steps
    from gedp.lab.synth.qcew.fill import fill
    from gedp.lab.synth.qcew.read import read_qcew
    from gedp.lab.synth.qcew.sources import find_sources
    from gedp.lab.synth.qcew.tree import build_tree
    from gedp.lab.synth.states import state_fips
    from gedp.lab.synth.tables import filling_notes, filling_table, sizes_table

    wanted = state_fips(states)
    with steps() as at:
        at.step("reading", sum(source.size for source in find_sources(inputs)))
        published = read_qcew(inputs, states=wanted, own=own, year=year, quarter=quarter, progress=at.advance)
        at.step("filling suppressed cells")
        filling = fill(build_tree(published.rows))
        summary = output.write(filling.cells, published.year, published.quarter, at)
    console = make_console()
    console.print(filling_table(filling, f"Synthetic establishments, {published.year} quarter {published.quarter}"))
    console.print(sizes_table(summary))
    for note in filling_notes(filling):
        console.print(note)
    output.print_written(console)
