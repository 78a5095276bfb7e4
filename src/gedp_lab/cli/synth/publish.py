"""`gedp synth publish`: CBP, QWI and imputed CBP files from establishments."""

from pathlib import Path

import click

from gedp.cli.options import PATH


@click.command(name="publish")
@click.argument("establishments", type=PATH)
@click.option("--out", required=True, type=PATH, help="Folder to create.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the noise.")
def command(establishments: Path, out: Path, seed: int) -> None:
    """Write CBP, QWI and imputed CBP files from ESTABLISHMENTS (Parquet), in the layouts of the real files.

    Figures carry noise, and as many are withheld as in the real files, so that `gedp synth cbp` can be
    tried at full size against a known truth.

    \b
    Examples:
      gedp synth publish ri.parquet --out published/
    """
    from gedp.cli.console import make_console
    from gedp.cli.progress import steps
    from gedp.documents.terminal import print_table
    from gedp_lab.synth.publish import publish
    from gedp_lab.synth.tables import withheld_table

    with steps() as at:
        published = publish(establishments, out, seed=seed, progress=at.reach)
    console = make_console()
    print_table(console, withheld_table(published))
    console.print(
        f"{published.covered:,} of {published.establishments:,} establishments are in CBP: it leaves out "
        "those without jobs and pay, and some industries.",
        soft_wrap=True,
    )
    console.print(f"Wrote {published.cbp}, {published.efsy} and {published.qwi}.", soft_wrap=True)
