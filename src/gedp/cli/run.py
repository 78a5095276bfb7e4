"""`gedp run`: a release from a spec, with its microdata and report."""

from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gedp.cli.engines import engine_options
from gedp.cli.options import PATH, series_options

if TYPE_CHECKING:
    from collections.abc import Collection

    from gedp.confidential.run import RunPlan
    from gedp.policy import Spec
    from gedp.release import CumulativePromise, Individual, ReleaseFolder


def _chance(ctx: click.Context, param: click.Parameter, value: str | None) -> Decimal | None:
    from gedp.policy.section import SMALLEST

    with suppress(ArithmeticError):
        if value is None or SMALLEST <= Decimal(value) < 1:
            return None if value is None else Decimal(value)
    raise click.BadParameter(f"give a chance from {SMALLEST} to less than 1, like 0.01")


@click.command()
@click.argument("spec", metavar="SPEC")
@series_options
@click.option("--out", type=PATH, help="Folder for the release. Default: output.dir in the spec.")
@click.option("--ledger", type=PATH, help="Ledger file. Default: beside the data; none for synthetic data.")
@click.option("--force", is_flag=True, help="Replace a release that is in the folder; the new one spends budget again.")
@click.option("--decided-by", metavar="NAME", help="Who decided that this release may promise less than earlier ones.")
@click.option(
    "--reason", metavar="TEXT", help="Why they decided so; recorded in the ledger and published, like the name."
)
@click.option(
    "--zeta",
    callback=_chance,
    metavar="CHANCE",
    help="Chance that clipping cuts off any value; replaces clipping.zeta in the spec. Default: 0.01. Under individual "
    "accounting bounds may be chosen lower, never higher.",
)
@engine_options
@click.option("--answers-only", is_flag=True, help="Stop after the answers: no microdata, no report.")
@click.option("--dry-run", is_flag=True, help="Check the table and the price; spend and write nothing.")
@click.option(
    "--seed", type=click.IntRange(min=0), help="Draw repeatable noise, which protects nothing; for synthetic data only."
)
def command(
    spec: str,
    source: str | None,
    period: str | None,
    out: Path | None,
    ledger: Path | None,
    force: bool,
    decided_by: str | None,
    reason: str | None,
    zeta: Decimal | None,
    session: Any,
    answers_only: bool,
    dry_run: bool,
    seed: int | None,
) -> None:
    """Answer the queries in SPEC about its confidential table, with noise, and write the release.

    Then fit the microdata to the answers and write the report for the public, both from the release alone.

    The table is checked first, and every fault is reported at once. The price is recorded in the ledger before any
    noise is drawn; a run that ends before its first draw costs nothing, and one that ends after it may be finished with
    `gedp ledger finish`. Everything ever published from the table counts against the budget in the spec. A release with
    narrower intervals or a larger budget than an earlier one from the same data needs a decision: --decided-by and
    --reason. If fitting fails or is interrupted, the release is still complete, and the message says how to go on.

    \b
    Examples:
      gedp run my.toml --dry-run       check the table and the price
      gedp run my.toml                 make the release, its microdata and report
      gedp run my.toml --answers-only  make the release alone
      gedp run my.toml --zeta 0.05     lower clipping bounds: less noise, clipping more often
      gedp run my.toml --source q2.parquet --period 2016Q2 --out out/2016Q2  the next of a series (see docs/series.md)
      gedp run my.toml --engine spark  let Spark read a large table (see docs/scale.md)
      gedp ledger show data.parquet.ledger

    Exit codes: 0 released, 1 refused (budget, ledger, folder taken), 2 faults in the spec or the table.
    """
    from gedp.cli.console import make_console, warn_if_seeded
    from gedp.cli.progress import steps
    from gedp.completing import complete
    from gedp.confidential.engines.choice import held_note, on_file
    from gedp.confidential.run import plan_run, run
    from gedp.documents.terminal import print_blocks
    from gedp.explain.document import price_blocks, warning_blocks
    from gedp.ledger import DecidedBy
    from gedp.microdata.kinds import need_all_rows
    from gedp.noise.entropy import SeededEntropy
    from gedp.policy import for_period
    from gedp.policy.examples import find_spec

    console = make_console()
    read = for_period(find_spec(spec), period, source)
    read = read if zeta is None else replace(read, zeta=zeta)
    path = Path(spec)
    if (decided_by is None) != (reason is None):
        raise click.UsageError("--decided-by and --reason go together")

    def planned() -> "RunPlan":
        decision = None if decided_by is None or reason is None else DecidedBy(decided_by, reason)
        entropy = None if seed is None else SeededEntropy(seed)
        return plan_run(
            read,
            out=out,
            ledger=ledger,
            replace=force,
            keep=(path,),
            decided_by=decision,
            entropy=entropy,
            session=session,
        )

    if note := held_note(read):
        console.print(note, soft_wrap=True)
    if dry_run:
        plan = planned()
        print_blocks(console, [*price_blocks(read), *warning_blocks(read, plan.prices.total)])
        if plan.prepared.pools:
            console.print(_individual_sentence(plan, spec), soft_wrap=True)
        console.print(_dry_sentence(plan), soft_wrap=True)
        return
    with steps() as at:
        at.step("checking the table")
        plan = planned()
    print_blocks(console, warning_blocks(read, plan.prices.total))
    with steps() as at:
        release = run(plan, progress=at.reach)
    console.print(_released(release, plan), soft_wrap=True)
    warn_if_seeded(release.manifest)
    if answers_only:
        return
    if session is not None and (reasons := need_all_rows(read)):
        console.print(_on_one_machine(release, reasons), soft_wrap=True)
        return
    with steps() as at:
        published = complete(release, step=at.step, on_file=on_file(session))
    console.print(published.summary, soft_wrap=True)


def _released(release: "ReleaseFolder", plan: "RunPlan") -> str:
    from gedp.explain.wording import most_on_a_period
    from gedp.ledger.amounts import mu_down, mu_up
    from gedp.numbers import strength

    prices, manifest = plan.prices, release.manifest
    count = len(manifest.answered)
    queries = "1 query" if count == 1 else f"{count} queries"
    promise = (
        ": from this release no true value can be told from another inside its uncertainty interval better than N(0,1) "
        f"from N({strength(prices.total.mu)},1)"
    )
    said = (
        f"Released {queries}, {manifest.establishments:,} establishments, to {release.folder}"
        f"{'' if manifest.is_seeded else promise}. It spent mu = {mu_up(prices.total)}{most_on_a_period(prices)} of a "
        f"budget of {mu_down(prices.budget)}{_of(plan)}."
    )
    if manifest.individual:
        said += f"\nNo establishment pays more than its pool{_gain(manifest.individual.values())}."
    if plan.ledger_is_new:
        said += f"\nA new ledger was created for these data; nothing had been recorded before: {plan.ledger}"
    elif manifest.together is not None:
        said += (
            f"\nEverything released from these data has spent mu = {manifest.together.mu} together"
            f"{_most_in_a_year(manifest.together)}. What that promises: gedp ledger show {plan.ledger}"
        )
    return said + _assumed(manifest.spec)


def _assumed(spec: "Spec") -> str:
    """A line that says of which period all columns are taken to be, until the spec says it of any."""
    period = spec.data.period
    if period is None or any(attribute.of_period for attribute in spec.policy.attributes.values()):
        return ""
    return (
        f"\ngedp assumes that every confidential column holds values of {period} only. Declare others with of_period; "
        "of_period = 0 says that there are none"
    )


def _of(plan: "RunPlan") -> str:
    """Whose budget it is: that of a period, where the price counts for no other."""
    period = plan.prepared.spec.data.period
    if period is None:
        return ""
    return f" for each {period.kind}" if plan.prices.charges else f" for {period}"


def _gain(individual: "Collection[Individual]") -> str:
    """What individual accounting gains: for half of the tables as much or more."""
    from statistics import median

    parts = [error / each.floor[query] for each in individual for query, error in each.errors.items()]
    if not parts:
        return ""
    percent = round(100 * (1 - median(parts)))
    predicted = f"{percent}% smaller" if percent > 0 else "no larger"
    return f"; the tables' errors are predicted {predicted} than if all paid alike"


def _most_in_a_year(together: "CumulativePromise") -> str:
    from gedp.ledger.amounts import mu_up

    if together.series is None:
        return ""
    most = max(together.series.years, key=lambda year: year.loss)
    return f", and at most mu = {mu_up(most.loss)} on a year ({most.name})"


def _on_one_machine(release: "ReleaseFolder", reasons: list[str]) -> str:
    """What Spark does not do: both are made of the release, in the memory of one machine."""
    commands = f"gedp microdata {release.folder} && gedp report {release.folder}"
    return f"Microdata and report are made on one machine ({'; '.join(reasons)}): {commands}"


def _individual_sentence(plan: "RunPlan", spec: str) -> str:
    """What is settled before individual accounting begins, and where to see the errors to expect."""
    from gedp.folding import listed

    first = listed({name: f"mu = {pool.mu_as_decimal}" for name, pool in plan.prepared.pools.items()})
    return (
        f"The first answers about establishments would cost: {first}. How the rest is shared follows from them. The "
        f"errors to expect: gedp plan {spec}"
    )


def _dry_sentence(plan: "RunPlan") -> str:
    """What a release would leave of the budget, and in which ledger."""
    from gedp.ledger.amounts import mu_down

    if plan.ledger is None:
        return "The table is sound. Nothing was spent; synthetic data needs no ledger."
    spec = plan.prepared.spec
    left = f"mu = {mu_down(plan.left)} {'of the budget' if spec.data.period is None else f'for {spec.data.period}'}"
    if plan.prices.charges:
        left = f"at least mu = {mu_down(plan.left)} of every budget"
    where = (
        f"there is no ledger yet; {plan.ledger} would be created"
        if plan.ledger_is_new
        else f"recorded in {plan.ledger}"
    )
    return f"The table is sound. A release would leave {left} ({where}). Nothing was spent.{_assumed(spec)}"
