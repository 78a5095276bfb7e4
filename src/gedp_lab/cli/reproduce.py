"""`gedp reproduce`: all items of the paper as pages, and each item as a command of its own."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gedp.cli import LazyGroup
from gedp.cli.options import FILE
from gedp_lab.reproduce.context import DATA_VARIABLE, OUT, QCEW, REPLICATES, SEED, STATES
from gedp_lab.reproduce.registry import find_item, item_names, summary

if TYPE_CHECKING:
    from gedp_lab.reproduce.results import Item

ALL = "all"
_FOLDER = click.Path(path_type=Path, file_okay=False)
_SEED = click.option(
    "--seed", type=click.IntRange(min=0), default=SEED, show_default=True, help="Seed of all random draws."
)
_OPTIONS = (
    click.option("--out", type=_FOLDER, default=OUT, show_default=True, help="Folder for the results."),
    click.option(
        "--data",
        type=_FOLDER,
        envvar=DATA_VARIABLE,
        show_envvar=True,
        help=f"Folder with {QCEW}. Without it, comparisons use the demonstration state.",
    ),
    click.option(
        "--replicates",
        type=click.IntRange(min=1),
        default=REPLICATES,
        show_default=True,
        help="Number of replicates of each comparison.",
    ),
    click.option(
        "--state",
        "states",
        multiple=True,
        help=f"State, by postal or FIPS code; may be repeated. Default: {', '.join(STATES)}.",
    ),
    _SEED,
)


def _with_options(function: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


class _ItemGroup(LazyGroup):
    """Lists the items without importing them."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == ALL:
            return everything
        if cmd_name not in self.summaries:
            return None
        item = find_item(cmd_name)
        return _printing_command(item) if item.is_printed else _page_command(item)


@click.group(
    cls=_ItemGroup,
    package=__name__,
    summaries={
        ALL: "Run all items: the paper's tables, figures and claims, as far as the data allows.",
        **{name: summary(name) for name in item_names()},
    },
)
def command() -> None:
    """Reproduce the paper's tables, figures and claims, and set ours beside the printed ones.

    `all` runs every item and writes pages. A single item writes pages too or, where it needs no data (intervals,
    coverage and others), prints its result and ends with exit code 1 if that disagrees with the paper.

    \b
    Examples:
      gedp reproduce all --out reproduced
      gedp reproduce intervals
      gedp reproduce semantics
      gedp reproduce frameworks --html frameworks.html
      gedp reproduce bias
      gedp reproduce cases
      gedp reproduce coverage
    """


@click.command(ALL)
@click.option(
    "--only", multiple=True, type=click.Choice(item_names()), help="Item to run; may be repeated. Default: all."
)
@_with_options
def everything(only: tuple[str, ...], **options: Any) -> None:
    """Run all items of the paper, check its claims, and write pages.

    The last item lists what is left out, and why. docs/paper.md has a table of everything in the paper.

    Writes index.html, one page per item, results.json and Parquet files. An interrupted run resumes where it stopped.
    Without the published QCEW it uses the demonstration state where it can, and reports what it skipped.

    \b
    Examples:
      gedp reproduce all --out reproduced
      gedp reproduce all --only intervals --only budgets
      gedp reproduce all --state RI --replicates 10

    Exit codes: 0 everything ran, whether or not the paper's numbers agree; 1 an item failed or was refused.
    """
    _write_pages(only, **options)


def _page_command(item: "Item") -> click.Command:
    @click.command(item.name, help=f"{summary(item.name)}\n\nWrites pages, as `all` does.")
    @_with_options
    def write_pages(**options: Any) -> None:
        _write_pages((item.name,), **options)

    return write_pages


def _printing_command(item: "Item") -> click.Command:
    text = "Prints the result. Ends with exit code 1 if a number or claim disagrees and nothing explains it."

    @click.command(item.name, help=f"{summary(item.name)}\n\n{text}")
    @click.option("--html", type=FILE, help="Also write the result to this file, as a page.")
    def print_one(html: Path | None, **options: Any) -> None:
        _print_one(item, html, **options)

    if item.simulation:
        simulation = item.simulation
        draws = click.option(
            f"--{simulation.name}",
            "draws",
            type=click.IntRange(min=simulation.least),
            default=simulation.usual,
            show_default=True,
            help=f"Number of {simulation.name}; fewer give noisier results.",
        )
        print_one = draws(_SEED(print_one))
    return print_one


def _write_pages(
    only: Sequence[str], out: Path, data: Path | None, replicates: int, states: tuple[str, ...], seed: int
) -> None:
    """Runs items and writes their pages, prints the outcomes, and says which page to open."""
    from gedp.cli.console import make_console
    from gedp.cli.progress import steps
    from gedp.documents.terminal import print_blocks
    from gedp_lab.reproduce.context import Context
    from gedp_lab.reproduce.document import outcome_blocks
    from gedp_lab.reproduce.everything import INDEX, reproduce, require_data
    from gedp_lab.reproduce.registry import every_item
    from gedp_lab.reproduce.results import FAILED
    from gedp_lab.synth.states import POSTAL_OF_FIPS, state_fips

    state_fips(states)  # every unknown name at once
    postal = [POSTAL_OF_FIPS[fips] for name in states for fips in state_fips([name])]
    require_data(data)
    console = make_console()
    if data is None:
        console.print("No published QCEW was given, so comparisons use the demonstration state.", soft_wrap=True)
    with steps() as at:
        context = Context(out, data, replicates, seed, tuple(dict.fromkeys(postal)) or STATES, progress=at.reach)
        outcomes = reproduce(context, every_item(), only)
    print_blocks(console, list(outcome_blocks(outcomes)))
    console.print(f"Open {out / INDEX} in a browser.", soft_wrap=True)
    if any(outcome.result.verdict == FAILED for outcome in outcomes):
        raise SystemExit(1)


def _print_one(item: "Item", html: Path | None, *, seed: int = SEED, draws: int | None = None) -> None:
    """Runs one item, prints its result and, where asked, writes its page."""
    from gedp.cli.console import make_console
    from gedp.cli.output import require_other
    from gedp.cli.progress import steps
    from gedp.documents.terminal import to_terminal
    from gedp.files import write_text
    from gedp_lab.reproduce.context import Context
    from gedp_lab.reproduce.document import item_document, item_page
    from gedp_lab.reproduce.everything import run_item

    console = make_console()
    if html:
        require_other(html, option="--html")
    with steps() as at:
        context = Context(seed=seed, draws=draws, progress=at.reach)
        outcome = run_item(context, item)
    to_terminal(console, item_document(outcome))
    if html:
        write_text(html, item_page(context, outcome, stands_alone=True))
        console.print(f"Wrote {html}.", soft_wrap=True)
    if not outcome.result.is_as_expected:
        raise SystemExit(1)
