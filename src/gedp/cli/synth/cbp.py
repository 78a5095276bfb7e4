"""`gedp synth cbp`: establishments from CBP, QWI and the imputed CBP."""

from pathlib import Path

import click

from gedp.cli.synth.output import PATH, EstablishmentsFile, makes_establishments


@click.command("cbp")
@click.option("--cbp", required=True, type=PATH, help="CBP county file, such as cbp16co.txt.")
@click.option("--qwi", required=True, type=PATH, help="Folder of QWI extracts (.csv, .csv.gz).")
@click.option("--efsy", required=True, type=PATH, help="Imputed CBP, such as efsy_cbp_2016.csv.")
@click.option("--year", type=int, help="Year of the CBP file, if its name does not show it.")
@click.option(
    "--noise",
    type=click.Choice(["prediction", "mean"]),
    default="prediction",
    show_default=True,
    help="Error added to a modelled figure: that of one prediction, or of the fitted mean.",
)
@makes_establishments
def command(
    cbp: Path, qwi: Path, efsy: Path, year: int | None, noise: str, states: tuple[str, ...], output: EstablishmentsFile
) -> None:
    """Make establishments from County Business Patterns (CBP), QWI and the imputed CBP.

    \b
    Needs three public sources of the same year:
      the CBP county file (Census Bureau), QWI extracts of quarter 1 (counties; all industries and
      NAICS-4), and the CBP imputed by Eckert, Fort, Schott and Yang.

    \b
    Examples:
      gedp synth cbp --cbp cbp16co.txt --qwi qwi/ --efsy efsy_cbp_2016.csv --state RI --out ri.parquet
    """
    from gedp.cli.console import make_console
    from gedp.cli.progress import steps
    from gedp.lab.synth.cbp import EmploymentOptions, cells_from_sources, read_sources
    from gedp.lab.synth.tables import fits_table, left_out_notes, sources_table, totals_table

    options = EmploymentOptions(noise="prediction" if noise == "prediction" else "mean")
    with steps() as at:
        sources = read_sources(cbp, qwi, efsy, states=states, year=year, progress=at.step)
        result = cells_from_sources(sources, seed=output.seed, options=options, progress=at.step)
        summary = output.write(result.cells, sources.year, sources.quarter, at)
    console = make_console()
    for table in (totals_table("Synthetic establishments", summary), sources_table(result), fits_table(result)):
        console.print(table)
    for note in left_out_notes(result):
        console.print(note)
    output.print_written(console)
