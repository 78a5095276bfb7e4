"""`gedp demo`: one function a step, run in order by `command`."""

from pathlib import Path

import click


@click.command("demo")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("gedp-demo"),
    show_default=True,
    help="Folder to make.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed, the same state.")
def command(out: Path, seed: int) -> None:
    """Make a demonstration state of about 20,000 synthetic establishments and show its shape."""
    establishments = make_state(out, seed)
    show_shape(establishments)
    # Further steps of the demonstration go here, each given the file of establishments.
    click.echo(f"Open next: {establishments}")


def make_state(folder: Path, seed: int) -> Path:
    """Writes the establishments of the demonstration state and returns their file."""
    from gedp.synth.demo import make_demo
    from gedp.synth.output import make_folder

    make_folder(folder)
    return make_demo(folder, seed).path


def show_shape(establishments: Path) -> None:
    """Prints how many establishments there are, how large, and how the largest dominate."""
    from rich.console import Console

    from gedp.synth.shape import describe
    from gedp.synth.tables import shape_tables

    Console().print(shape_tables(describe(establishments)))
