"""`gedp synth cbp`: establishments from CBP, QWI and the imputed CBP."""

from pathlib import Path
from typing import Literal

import click

from gedp.cli.options import PATH
from gedp_lab.cli.synth.output import POSITIVE, EstablishmentsFile, makes_establishments


@click.command("cbp")
@click.option("--cbp", required=True, type=PATH, help="CBP county file, such as cbp16co.txt.")
@click.option("--qwi", required=True, type=PATH, help="Folder of QWI extracts (.csv, .csv.gz).")
@click.option("--efsy", required=True, type=PATH, help="Imputed CBP, such as efsy_cbp_2016.csv.")
@click.option("--year", type=int, help="Year of the CBP file, if its name does not show it.")
@click.option(
    "--impute",
    type=click.Choice(["donors", "regression"]),
    default="donors",
    show_default=True,
    help="Withheld figures: ratios of published cells of the same sector and size, or draws from the paper's "
    "regressions, which miss by more.",
)
@click.option(
    "--noise",
    type=click.Choice(["prediction", "mean"]),
    help="Error added to a figure from a regression: that of one prediction, or of the fitted mean; only with "
    "--impute regression.  [default: prediction]",
)
@click.option(
    "--eta", type=POSITIVE, default=1.69, show_default=True, help="Noise in month 2 of a county's NAICS-4 industry."
)
@click.option(
    "--county-adjustment",
    type=click.Choice(["share", "printed"]),
    default="share",
    show_default=True,
    help="Modelled cells share what the county's total leaves; as printed in the paper, they get it on top.",
)
@makes_establishments("classes", "skewed", "paper")
def command(
    cbp: Path,
    qwi: Path,
    efsy: Path,
    year: int | None,
    impute: Literal["donors", "regression"],
    noise: Literal["prediction", "mean"] | None,
    eta: float,
    county_adjustment: str,
    states: tuple[str, ...],
    output: EstablishmentsFile,
) -> None:
    """Make establishments from County Business Patterns (CBP), QWI and the imputed CBP.

    \b
    Needs three public sources of the same year:
      the CBP county file (Census Bureau), QWI extracts of quarter 1 (counties; all industries and
      NAICS-4), and the CBP imputed by Eckert, Fort, Schott and Yang.

    Withheld figures are learned from all states of the files, whichever are written.

    \b
    Examples:
      gedp synth cbp --cbp cbp16co.txt --qwi qwi/ --efsy efsy_cbp_2016.csv --state RI --out ri.parquet
    With the regressions, the county adjustment and the spread that the paper prints:
      gedp synth cbp --cbp cbp16co.txt --qwi qwi/ --efsy efsy_cbp_2016.csv --out paper.parquet \\
        --impute regression --county-adjustment printed --spread paper --gamma 10 200
    """
    from gedp.cli.console import make_console
    from gedp.cli.progress import steps
    from gedp.documents.terminal import print_blocks
    from gedp_lab.synth.cbp import EmploymentOptions, cells_from_sources, read_sources
    from gedp_lab.synth.tables import route_blocks, totals_table

    if noise is not None and impute == "donors":
        raise click.UsageError("--noise is for --impute regression: leave it out, or choose that")
    options = EmploymentOptions(eta, impute, noise or "prediction", as_printed=county_adjustment == "printed")
    by_class = output.spread == "classes"
    with steps() as at:
        sources = read_sources(cbp, qwi, efsy, states=states, year=year, size_classes=by_class, progress=at.step)
        result = cells_from_sources(sources, seed=output.seed, options=options, progress=at.step)
        summary = output.write(result.cells, sources.year, sources.quarter, at)
    console = make_console()
    print_blocks(console, [totals_table("Synthetic establishments", summary), *route_blocks(result)])
    output.print_written(console)
