"""`gedp synth`: one small module a subcommand, imported only when it is called."""

import click

from gedp.cli import LazyGroup

COMMANDS = {
    "qcew": "From the published Quarterly Census of Employment and Wages.",
    "sizes": "Compare establishment sizes with published size classes.",
}


@click.group(cls=LazyGroup, package="gedp.cli.synth", summaries=COMMANDS)
def command() -> None:
    """Synthetic establishments from public files.

    \b
    gedp synth qcew --qcew 2016_qtrly_singlefile.zip --quarter 1 --state NJ --out nj.parquet
    gedp synth sizes ri.parquet --zbp zbp.parquet --state RI
    """
