"""`gedp explain`: what a policy promises, before any data is touched."""

from pathlib import Path

import click

from gedp.cli.options import FILE, numbers_by_name, period_option


def _sizes(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, list[float]]:
    """Sizes by attribute; those before any name, under "", are for all others."""
    sizes: dict[str, list[float]] = {}
    for text in value:
        name = ""
        for part in text.split(","):
            before, named, number = part.rpartition("=")
            name = before.strip() if named else name
            try:
                sizes.setdefault(name, []).append(float(number))
            except ValueError:
                sizes[name] = [-1.0]
    if any(not 0 < size < 1e15 for each in sizes.values() for size in each):
        raise click.BadParameter("give positive numbers separated by commas, like 3,36,360 or emp=3,36,wage=1000,50000")
    return sizes


def _record(ctx: click.Context, param: click.Parameter, value: str | None) -> dict[str, float] | None:
    return None if value is None else numbers_by_name(value, "emp=36,wage=500000")


@click.command()
@click.argument("spec", metavar="SPEC")
@period_option
@click.option("--html", type=FILE, help="Also write an interactive page to this file.")
@click.option(
    "--sizes",
    callback=_sizes,
    multiple=True,
    metavar="[NAME=]X,Y,…",
    help="Show the intervals around these values, of all attributes or of one; may be repeated.",
)
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
    period: str | None,
    html: Path | None,
    sizes: dict[str, list[float]],
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
      gedp explain my.toml --sizes emp=3,36,360 --sizes wage=1000,100000
      gedp explain my.toml --html policy.html      a page for a policy meeting
      gedp explain my.toml --record emp=36,wage=500000 --against emp=40,wage=520000
      gedp explain out                             what a release promises
      gedp explain bls.toml --with state.toml      what two publishers promise together
      gedp explain bls.toml --with state.toml --with tax.toml      and three

    Exit codes: 0 done, 1 over budget (the price list is shown), 2 faults in the file.
    """
    from gedp.cli.console import make_console
    from gedp.cli.output import files_of, require_other
    from gedp.documents.terminal import print_blocks, to_terminal
    from gedp.explain.document import explain_document, price_blocks
    from gedp.explain.page import explain_page
    from gedp.files import write_text
    from gedp.policy import for_period, price, require_within_budget
    from gedp.policy.examples import find_spec
    from gedp.release import read_release
    from gedp.release.derived import DERIVED

    console = make_console()
    if (record is None) != (against is None):
        raise click.UsageError("--record and --against go together")
    release = read_release(spec) if Path(spec).is_dir() else None
    manifest = None if release is None else release.manifest
    if manifest is not None and period is not None:
        raise click.UsageError("a release has its period; --period goes with a spec")
    read = for_period(find_spec(spec), period) if manifest is None else manifest.spec
    prices = price(read)
    if not prices.within_budget:
        print_blocks(console, price_blocks(read))
        require_within_budget(prices)
    if html:
        require_other(html, spec, *others, *files_of(read), option="--html")
    if html and release:
        release.require_not_part(html, made=DERIVED)

    records = None if record is None or against is None else (record, against)
    explained = read, Path(spec).stem, sizes, records, manifest, {name: find_spec(name) for name in others}
    to_terminal(console, explain_document(*explained))
    if html:
        write_text(html, explain_page(*explained))
        console.print(f"Wrote {html}. Open it in a browser; it needs no network.")
