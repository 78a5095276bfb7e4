"""`gedp synth qcew`: establishments that add up to the published QCEW."""

import time
from pathlib import Path

import click

_FILE = click.Path(path_type=Path)


@click.command("qcew")
@click.option(
    "--qcew",
    "inputs",
    type=_FILE,
    multiple=True,
    required=True,
    help="Published QCEW: file, zip or folder; may be repeated.",
)
@click.option("--state", "states", multiple=True, help="State, by postal or FIPS code; may be repeated. Default: all.")
@click.option("--out", type=_FILE, required=True, help="Parquet file to write.")
@click.option(
    "--own",
    type=click.Choice(["1", "2", "3", "5"]),
    multiple=True,
    default=["5"],
    show_default=True,
    help="Ownership: 1 federal, 2 state, 3 local, 5 private; may be repeated.",
)
@click.option("--year", type=click.IntRange(1990, 2100), help="Year, if the files hold several or do not show it.")
@click.option("--quarter", type=click.IntRange(1, 4), help="Quarter, in the same cases.")
@click.option(
    "--spread",
    type=click.Choice(["skewed", "paper"]),
    default="skewed",
    show_default=True,
    help="How a cell is divided among its establishments.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random draws.")
@click.option("--plot", type=_FILE, help="Also plot the size distribution (.png, .svg, .pdf).")
def command(
    inputs: tuple[Path, ...],
    states: tuple[str, ...],
    out: Path,
    own: tuple[str, ...],
    year: int | None,
    quarter: int | None,
    spread: str,
    seed: int,
    plot: Path | None,
) -> None:
    """Make synthetic establishments that add up to the published QCEW.

    Reads the files of the Bureau of Labor Statistics as they are: the quarterly single file, by-area CSVs, a
    zip or folder of either, or Parquet with the same columns. Suppressed cells are filled from the levels
    above; every disclosed county figure is reproduced to the last unit.

    \b
    Examples:
      gedp synth qcew --qcew 2016_qtrly_singlefile.zip --quarter 1 --state NJ --out nj.parquet
      gedp synth qcew --qcew areas/ --year 2016 --quarter 1 --out nation.parquet --plot sizes.png
    """
    from gedp.cli.console import make_console
    from gedp.cli.progress import steps
    from gedp.files import require_writable
    from gedp.lab.synth.establishments import write_establishments
    from gedp.lab.synth.plots import check_plot, plot_sizes
    from gedp.lab.synth.qcew.fill import fill
    from gedp.lab.synth.qcew.read import read_qcew
    from gedp.lab.synth.qcew.sources import find_sources
    from gedp.lab.synth.qcew.tree import build_tree
    from gedp.lab.synth.states import state_fips
    from gedp.lab.synth.tables import filling_notes, filling_table, sizes_table

    began = time.perf_counter()
    wanted = state_fips(states)
    require_writable(out)
    if plot is not None:
        check_plot(plot)
    with steps() as at:
        at.step("reading", sum(source.size for source in find_sources(inputs)))
        published = read_qcew(inputs, states=wanted, own=own, year=year, quarter=quarter, progress=at.advance)
        at.step("filling suppressed cells")
        filling = fill(build_tree(published.rows))
        at.step("writing establishments", int(filling.cells["estabs"].to_numpy().sum()))
        summary = write_establishments(
            filling.cells,
            out,
            year=published.year,
            quarter=published.quarter,
            seed=seed,
            spread=spread,
            progress=at.advance,
        )
        if plot is not None:
            at.step("plotting")
            plot_sizes(out, plot)
    console = make_console()
    console.print(filling_table(filling, f"Synthetic establishments, {published.year} quarter {published.quarter}"))
    console.print(sizes_table(summary))
    for note in filling_notes(filling):
        console.print(note)
    console.print(
        f"Wrote {out} in {time.perf_counter() - began:.1f} s (spread {spread}, seed {seed}).",
        soft_wrap=True,
        markup=False,
    )
    if plot is not None:
        console.print(f"Wrote {plot}.", soft_wrap=True, markup=False)
