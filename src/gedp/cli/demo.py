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
    """Make a demonstration state of about 20,000 synthetic establishments, show its shape, and explain a policy for it.

    \b
    Examples:
      gedp demo
      gedp demo --out /tmp/demo --seed 7
    """
    establishments = make_state(out, seed)
    show_shape(establishments)
    policy = write_policy(out)
    explain(policy)
    click.echo(f"The establishments are in {establishments}, the policy is in {policy}.")
    click.echo(f"Open {policy.with_suffix('.html')} in a browser.")


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


def write_policy(folder: Path) -> Path:
    """Writes the spec for the demonstration state: the paper's policy, the data declared synthetic."""
    from gedp.files import write_text
    from gedp.specs import example_text

    path = folder / "policy.toml"
    source = 'source = "establishments.parquet"\n'
    write_text(path, example_text("paper-equal").replace(source, source + "synthetic = true\n"))
    return path


def explain(policy: Path) -> None:
    """Prints what the policy promises an establishment, and writes the page that says the rest."""
    from rich.console import Console

    from gedp.explain import terminal
    from gedp.explain.facts import protection_groups
    from gedp.explain.page import explain_page
    from gedp.files import write_text
    from gedp.policy import price, read_spec

    console = Console(highlight=False, markup=False)
    spec = read_spec(policy)
    prices = price(spec)
    terminal.print_promise(console, prices.total)
    for group in protection_groups(spec.policy):
        terminal.print_intervals(console, group)
    terminal.print_prices(console, prices)
    write_text(policy.with_suffix(".html"), explain_page(spec, "demo"))
