"""`gedp run`: the release."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gedp.policy import PriceList
    from gedp.release import Release

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("spec", metavar="SPEC")
@click.option("--out", type=_PATH, help="Folder of the release, instead of the spec's output.dir.")
@click.option("--ledger", type=_PATH, help="Ledger file. Default: beside the data; none for synthetic data.")
@click.option("--force", is_flag=True, help="Replace a release in that folder. The budget is spent anew.")
@click.option("--answers-only", is_flag=True, help="Stop after the answers: no microdata, no report.")
@click.option("--dry-run", is_flag=True, help="Check the table and the price; spend and write nothing.")
@click.option("--seed", type=click.IntRange(min=0), help="Repeatable noise that protects nothing; synthetic data only.")
def command(
    spec: str,
    out: Path | None,
    ledger: Path | None,
    force: bool,
    answers_only: bool,
    dry_run: bool,
    seed: int | None,
) -> None:
    """Answer the queries in SPEC about its confidential table, with noise, and write the release.

    Then fit the microdata to the answers and write the report for the public, both from the release alone.

    The table is checked first and every fault reported at once. The price is recorded in the ledger before any noise
    is drawn; everything ever published from the table counts against the budget in the spec. If fitting fails or is
    interrupted, the release is complete all the same, and the message says how to go on.

    \b
    Examples:
      gedp run my.toml --dry-run       check the table and the price
      gedp run my.toml                 the release, its microdata and report
      gedp run my.toml --answers-only  the release alone
      gedp ledger show data.parquet.ledger

    Exit codes: 0 released, 1 refused (budget, ledger, folder taken), 2 faults in the spec or the table.
    """
    from rich.console import Console

    from gedp.cli.progress import steps
    from gedp.explain import terminal
    from gedp.noise.entropy import SeededEntropy
    from gedp.publish import publish
    from gedp.release import require_free
    from gedp.run import plan_run, run
    from gedp.specs import find_spec

    console = Console(highlight=False, markup=False)
    read = find_spec(spec)
    folder = Path(spec).parent
    if dry_run:
        plan = plan_run(read, folder, out, ledger)
        terminal.print_prices(console, plan.prices)
        require_free(plan.out, replace=force)
        console.print(_dry_sentence(plan.ledger, plan.prices), soft_wrap=True)
        return
    with steps() as at:
        at.step("checking the table")
        plan = plan_run(read, folder, out, ledger)
        entropy = None if seed is None else SeededEntropy(seed)
        release = run(plan, replace=force, entropy=entropy, progress=at.reach)
    console.print(_released(release, plan.prices), soft_wrap=True)
    if release.manifest["entropy"] != "system":
        console.print("NOT PROTECTED: the noise came from a seed.")
    if answers_only:
        return
    with steps() as at:
        published = publish(release, step=at.step)
    console.print(published.summary, soft_wrap=True)


def _released(release: "Release", prices: "PriceList") -> str:
    total = prices.total.mu
    return (
        f"Released {len(release.manifest['queries'])} queries, {release.manifest['establishments']:,} establishments, "
        f"to {release.folder}: no true value can be told from another inside its uncertainty interval better than "
        f"N(0,1) from N({total:.4g},1), which spent mu = {total:.6g} of a budget of {prices.budget.mu:.6g}."
    )


def _dry_sentence(ledger: Path | None, prices: "PriceList") -> str:
    """What remains; refuses what the release itself would refuse."""
    from gedp.accounting.ledger import Ledger
    from gedp.accounting.ledger.amounts import mu_down
    from gedp.errors import BudgetExceededError

    if ledger is None:
        return "The table is sound. Nothing was spent; synthetic data needs no ledger."
    if not ledger.exists():
        return f"The table is sound and nothing was published from it yet (there is no {ledger}). Nothing was spent."
    left = Ledger.open(ledger, create=False).remaining(prices.budget)
    remains = f"Of the budget mu = {mu_down(left)} is left in {ledger}"
    if prices.total > left:
        raise BudgetExceededError(f"over budget: the table is sound, but not enough is left. {remains}")
    return f"The table is sound. {remains}: enough. Nothing was spent."
