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
def command(spec: str, html: Path | None, sizes: tuple[float, ...], others: tuple[str, ...]) -> None:
    """Show what the policy in SPEC promises and what it costs, before any data is touched.

    SPEC is a file, or the name of an example (see `gedp examples`).

    \b
    Examples:
      gedp explain paper-equal
      gedp explain my.toml --sizes 3,36,360,36000
      gedp explain my.toml --html policy.html      a page for a policy meeting
      gedp explain bls.toml --with state.toml      what two publishers promise together
      gedp explain bls.toml --with state.toml --with tax.toml      and three

    Exit codes: 0 done, 1 over budget (the price list is shown), 2 faults in the file.
    """
    from gedp.cli.console import make_console
    from gedp.explain import terminal
    from gedp.explain.facts import all_publishers, protection_groups, warnings
    from gedp.files import real
    from gedp.policy import price, require_within_budget
    from gedp.policy.examples import find_spec

    console = make_console()
    read = find_spec(spec)
    prices = price(read)
    if not prices.within_budget:
        terminal.print_prices(console, prices)
        require_within_budget(prices)
    groups = protection_groups(read.policy, sizes)
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
    terminal.print_existence(console, groups, prices.total)
    terminal.print_prices(console, prices)
    terminal.print_other_accounting(console, prices)
    if together:
        terminal.print_together(console, together, others)
    if html:
        from gedp.explain.page import explain_page
        from gedp.files import write_text

        write_text(html, explain_page(read, Path(spec).stem, sizes))
        console.print(f"Wrote {html}. Open it in a browser; it needs no network.")
