"""`gedp synth`: one small module per subcommand, imported only when it is called."""

import click

from gedp.cli import LazyGroup

COMMANDS = {
    "cbp": "Make establishments from County Business Patterns (CBP), QWI and the imputed CBP.",
    "publish": "Write establishments as CBP, QWI and imputed CBP files, to try `gedp synth cbp` on.",
    "qcew": "Make establishments from the published QCEW.",
    "series": "Make establishments over several quarters, from the published QCEW.",
    "sizes": "Compare establishment sizes with published size classes.",
}


@click.group(cls=LazyGroup, package="gedp_lab.cli.synth", summaries=COMMANDS)
def command() -> None:
    """Make synthetic establishments from public files.

    \b
    Examples:
      gedp synth qcew --qcew 2016_qtrly_singlefile.zip --quarter 1 --state NJ --out nj.parquet
      gedp synth series --qcew 2016_qtrly_singlefile.zip --state NJ --out nj/
      gedp synth sizes ri.parquet --zbp zbp.parquet --state RI
    """
