"""`gedp reproduce all`, and every item of it as a command of its own."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gedp.lab.reproduce.context import REPLICATES, SEED, STATES
from gedp.lab.reproduce.registry import SUMMARIES

if TYPE_CHECKING:
    from gedp.lab.reproduce.everything import Outcome

_FOLDER = click.Path(path_type=Path, file_okay=False)
_OPTIONS = (
    click.option("--out", type=_FOLDER, default=Path("reproduced"), show_default=True, help="Folder for the results."),
    click.option(
        "--data",
        type=_FOLDER,
        help="Folder with qcew_2016q1.parquet. Without it, comparisons are of a synthetic state.",
    ),
    click.option(
        "--replicates", type=click.IntRange(min=1), default=REPLICATES, show_default=True, help="Of each comparison."
    ),
    click.option("--state", "states", multiple=True, help=f"May be repeated. Default: {', '.join(STATES)}."),
    click.option(
        "--seed", type=click.IntRange(min=0), default=SEED, show_default=True, help="The same seed, the same."
    ),
)


def _with_options(function: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@click.command("all")
@click.option("--only", multiple=True, type=click.Choice(list(SUMMARIES)), help="An item; may be repeated.")
@_with_options
def everything(only: tuple[str, ...], **options: Any) -> None:
    """Every table and figure of the paper that public data allows, on pages, with claims checked.

    Writes index.html, a page an item, results.json and Parquet files. An interrupted run goes on where it stopped.
    Without the published QCEW it does what it can on the demonstration state, and says what it skipped.

    \b
    Examples:
      gedp reproduce all --out reproduced
      gedp reproduce all --only intervals --only budgets
      gedp reproduce comparison --state RI --replicates 10

    Exit codes: 0 everything ran, whether or not the paper's numbers agree; 1 an item failed or was refused.
    """
    run(only, **options)


def item_command(name: str) -> click.Command:
    """One item as a command."""

    @click.command(name, help=f"{SUMMARIES[name]} Writes pages as `all` does.", short_help=SUMMARIES[name])
    @_with_options
    def one(**options: Any) -> None:
        run((name,), **options)

    return one


def run(only: Sequence[str], out: Path, data: Path | None, replicates: int, states: tuple[str, ...], seed: int) -> None:
    """Runs items, prints what they come to, and says what to open."""
    from gedp.cli.console import make_console
    from gedp.cli.progress import steps
    from gedp.lab.reproduce.context import Context
    from gedp.lab.reproduce.everything import INDEX, find_data, reproduce
    from gedp.lab.reproduce.registry import item
    from gedp.lab.reproduce.results import FAILED
    from gedp.lab.synth.states import POSTAL_OF_FIPS, state_fips

    state_fips(states)  # every unknown name at once
    names = tuple(POSTAL_OF_FIPS[state_fips([name])[0]] for name in states) or STATES
    folder = find_data(data)
    console = make_console()
    if folder is None:
        console.print("No published QCEW was found; comparisons are of the demonstration state.", soft_wrap=True)
    with steps() as at:
        context = Context(out, folder, replicates, seed, tuple(dict.fromkeys(names)), at.reach)
        outcomes = reproduce(context, [item(name) for name in SUMMARIES], only)
    _print(console, outcomes)
    console.print(f"Open {out / INDEX} in a browser.", soft_wrap=True)
    if any(outcome.result.verdict == FAILED for outcome in outcomes):
        raise SystemExit(1)


def _print(console: Any, outcomes: "Sequence[Outcome]") -> None:
    from rich.table import Table

    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in ("item", "outcome", "seconds", "ours"):
        table.add_column(heading, justify="right" if heading == "seconds" else "left", no_wrap=heading != "ours")
    for outcome in outcomes:
        result = outcome.result
        note = result.ours if result.verdict not in ("skipped", "failed") else result.why
        table.add_row(outcome.item.name, result.verdict, f"{outcome.seconds:,.1f}", note)
    console.print(table)
    claims = [(each.item.name, claim) for each in outcomes for claim in each.result.claims]
    if claims:
        console.print("\nClaims, checked:")
    for name, claim in claims:
        console.print(f"{claim.outcome:9}  {name}: {claim.text} ({claim.source})", soft_wrap=True)
