"""`gedp suppress`: cell suppression of the same tables, and what an attacker makes of it."""

from pathlib import Path

import click

from gedp.cli.options import PATH


@click.command()
@click.argument("spec", metavar="SPEC")
@click.option("--truth", help="True table: a Parquet or CSV file, or a glob. Default: the source in the spec.")
@click.option(
    "--rule", default="p:10", show_default=True, help="Sensitivity rule: p:10, pq:10/80, nk:2,85 or 3-and-80."
)
@click.option("--attribute", "attributes", multiple=True, help="Attribute to suppress; may be repeated. Default: all.")
@click.option(
    "--by", multiple=True, help="Table, as keys separated by commas; may be repeated. Default: the QCEW levels."
)
@click.option(
    "--tau-argus",
    "method",
    type=click.Choice(["modular", "optimal"]),
    default="modular",
    show_default=True,
    help="Method of tau-Argus, where the program is installed.",
)
@click.option("--minutes", type=click.IntRange(min=1), default=10, show_default=True, help="Time for each program.")
@click.option("--one-publisher", is_flag=True, help="Do not look for second tables that open cells.")
@click.option("--out", type=PATH, help="Folder for the results. Default: SPEC-suppression.")
@click.option("--force", is_flag=True, help="Replace results that are already in the folder.")
def command(
    spec: str,
    truth: str | None,
    rule: str,
    attributes: tuple[str, ...],
    by: tuple[str, ...],
    method: str,
    minutes: int,
    one_publisher: bool,
    out: Path | None,
    force: bool,
) -> None:
    """Suppress cells of the tables of SPEC as agencies do today, and attack what is left. Internal: it sees the truth.

    A baseline to compare with; nothing is published. Cells are sensitive by a rule; others are withheld to protect
    them by a method of our own and, where they are installed, by tau-Argus (its command tauargus on the PATH) and
    G-Confid (GEDP_GCONFID names the Python of its environment). An audit then finds the interval that an attacker
    derives for every withheld cell, which sensitive cells are unsafe, and which second table, safe by itself, would
    open them. Results go to a private folder, stamped CONFIDENTIAL unless the spec declares the data synthetic.

    \b
    Examples:
      gedp suppress my.toml --attribute m3emp
      gedp suppress my.toml --rule nk:2,85 --by cnty --by cnty,naics3 --by naics3 --by ""

    Exit codes: 0 done, 1 refused (folder taken), 2 faults in the spec, the table or the options.
    """
    from gedp.cli.console import make_console
    from gedp.cli.progress import steps
    from gedp.documents.terminal import print_blocks
    from gedp.policy.examples import find_spec
    from gedp_lab.compare.plan import truth_of
    from gedp_lab.evaluate.levels import parse_groupings
    from gedp_lab.suppress.document import study_blocks
    from gedp_lab.suppress.run import run_suppression
    from gedp_lab.suppress.study import StudyOptions

    read, path = find_spec(spec), Path(spec)
    target = out or path.with_name(f"{path.stem}-suppression")
    with steps() as at:
        at.step("checking the table")
        studies, stamp = run_suppression(
            read,
            truth_of(read, truth),
            out=target,
            options=StudyOptions(rule, method, minutes, not one_publisher),
            attributes=attributes or None,
            by=parse_groupings(by) if by else None,
            maps=read.folder,
            force=force,
            progress=at.reach,
        )
    console = make_console()
    console.print(stamp.sentence, soft_wrap=True)
    print_blocks(console, [block for study in studies for block in study_blocks(study)])
    console.print(f"All cells are in {target}. {stamp.sentence}", soft_wrap=True)
