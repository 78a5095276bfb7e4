"""`gedp synth sizes`: establishment sizes beside published size classes."""

from pathlib import Path

import click

from gedp.cli.options import PATH


@click.command("sizes")
@click.argument("establishments", type=PATH)
@click.option("--zbp", type=PATH, required=True, help="ZIP Code Business Patterns by NAICS and size class.")
@click.option(
    "--state",
    "states",
    multiple=True,
    help="State, by postal or FIPS code; may be repeated. Default: all in both files.",
)
def command(establishments: Path, zbp: Path, states: tuple[str, ...]) -> None:
    """Compare the sizes in a file of ESTABLISHMENTS with published size classes.

    Shares are among establishments with a job in month 3, as in County and ZIP Code Business Patterns, which
    leave out those with none.

    \b
    Examples:
      gedp synth sizes ri.parquet --zbp zbp.parquet --state RI
    """
    from gedp.cli.console import make_console
    from gedp.documents.terminal import print_table
    from gedp_lab.synth.compare import compare_sizes
    from gedp_lab.synth.states import state_fips
    from gedp_lab.synth.tables import comparison_table

    print_table(make_console(), comparison_table(compare_sizes(establishments, zbp, state_fips(states))))
