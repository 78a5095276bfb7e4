"""`gedp explain`: what a policy promises, before any data is touched."""

from pathlib import Path

import click


def _sizes(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[float, ...]:
    try:
        sizes = tuple(float(part) for part in value.split(",")) if value else ()
    except ValueError:
        sizes = (-1.0,)
    if any(not 0 < size < 1e15 for size in sizes):
        raise click.BadParameter("give positive numbers separated by commas, like 3,36,360")
    return sizes


def _record(ctx: click.Context, param: click.Parameter, value: str | None) -> dict[str, float] | None:
    if value is None:
        return None
    pairs = [part.rpartition("=") for part in value.split(",")]
    try:
        record = {name.strip(): float(number) for name, _, number in pairs}
    except ValueError:
        record = {}
    if len(record) != len(pairs):
        raise click.BadParameter("give one number for each attribute, like emp=36,wage=500000")
    return record


@click.command()
@click.argument("spec", metavar="SPEC")
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), help="Also write an interactive page to this file."
)
@click.option("--sizes", callback=_sizes, metavar="X,Y,…", help="Show the intervals around these values.")
@click.option(
    "--with",
    "others",
    multiple=True,
    metavar="SPEC",
    help="Spec of another publisher: also show what all releases together promise; may be repeated.",
)
@click.option(
    "--record", callback=_record, metavar="NAME=X,…", help="An establishment's values, to compare with others."
)
@click.option("--against", callback=_record, metavar="NAME=Y,…", help="Other values: how well do they hide the record?")
def command(
    spec: str,
    html: Path | None,
    sizes: tuple[float, ...],
    others: tuple[str, ...],
    record: dict[str, float] | None,
    against: dict[str, float] | None,
) -> None:
    """Show what the policy in SPEC promises and what it costs, before any data is touched.

    SPEC is a file, the name of an example (see `gedp examples`), or the folder of a release.

    \b
    Examples:
      gedp explain paper-equal
      gedp explain my.toml --sizes 3,36,360,36000
      gedp explain my.toml --html policy.html      a page for a policy meeting
      gedp explain my.toml --record emp=36,wage=500000 --against emp=40,wage=520000
      gedp explain out                             what a release promises
      gedp explain bls.toml --with state.toml      what two publishers promise together
      gedp explain bls.toml --with state.toml --with tax.toml      and three

    Exit codes: 0 done, 1 over budget (the price list is shown), 2 faults in the file.
    """
    from gedp.cli.console import make_console
    from gedp.explain import terminal
    from gedp.explain.facts import all_publishers, between_records, protection_groups, warnings
    from gedp.files import real
    from gedp.policy import price, require_within_budget
    from gedp.policy.examples import find_spec
    from gedp.release import read_release

    console = make_console()
    if (record is None) != (against is None):
        raise click.UsageError("--record and --against go together")
    read = read_release(spec).manifest.spec if Path(spec).is_dir() else find_spec(spec)
    prices = price(read)
    if not prices.within_budget:
        terminal.print_prices(console, read)
        require_within_budget(prices)
    groups = protection_groups(read.policy, sizes)
    records = None if record is None or against is None else (record, against)
    apart = None if records is None else between_records(read, prices.total, *records)
    together = all_publishers([read, *map(find_spec, others)]) if others else None
    if html and Path(spec).exists() and real(html) == real(Path(spec)):
        raise click.BadParameter("that is the spec itself; name another file", param_hint="--html")

    terminal.print_promise(console, prices.total)
    terminal.print_warnings(console, warnings(read, prices.total))
    for group in groups:
        terminal.print_intervals(console, group)
    terminal.print_power(console, prices.total)
    for group in groups:
        terminal.print_people(console, group, prices.total)
    if records and apart:
        terminal.print_records(console, *records, apart)
    terminal.print_sampling(console, groups)
    terminal.print_existence(console, groups, prices.total)
    terminal.print_prices(console, read)
    terminal.print_errors(console, read)
    terminal.print_other_accounting(console, prices)
    if together:
        terminal.print_together(console, together, others)
    if html:
        from gedp.explain.page import explain_page
        from gedp.files import write_text

        write_text(html, explain_page(read, Path(spec).stem, sizes, records))
        console.print(f"Wrote {html}. Open it in a browser; it needs no network.")
