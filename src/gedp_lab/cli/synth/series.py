"""`gedp synth series`: establishments over several quarters."""

from pathlib import Path

import click

from gedp.cli.options import PATH
from gedp_lab.cli.synth.inputs import published_qcew

_SHARE = "share of last quarter's establishments"


@click.command("series")
@published_qcew
@click.option("--year", type=click.IntRange(1990, 2100), help="Year of the first quarter, if files begin earlier.")
@click.option("--quarter", type=click.IntRange(1, 4), help="The first quarter, in the same case.")
@click.option("--state", "states", multiple=True, help="State, by postal or FIPS code; may be repeated. Default: all.")
@click.option("--out", type=PATH, required=True, help="Folder to create, with one Parquet file per quarter.")
@click.option("--quarters", type=click.IntRange(min=1), default=4, show_default=True, help="How many quarters to make.")
@click.option("--births", type=float, help=f"Births in quarters that are not published: {_SHARE}.")
@click.option("--deaths", type=float, help=f"Deaths: {_SHARE}; more where published numbers need it.  [default: 0.028]")
@click.option("--moves", type=float, help=f"Moves to another county or industry: {_SHARE}.  [default: 0.002]")
@click.option("--growth", type=float, help="Growth of jobs per quarter, in quarters that are not published.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random draws.")
def command(
    inputs: tuple[Path, ...],
    own: tuple[str, ...],
    year: int | None,
    quarter: int | None,
    states: tuple[str, ...],
    out: Path,
    quarters: int,
    births: float | None,
    deaths: float | None,
    moves: float | None,
    growth: float | None,
    seed: int,
) -> None:
    """Make synthetic establishments over several quarters that add up to the published QCEW of each.

    Establishments keep their ids (primary_key) from quarter to quarter, and change their jobs and pay
    gradually; some open, some close, some move. Every quarter that the files hold is reproduced as
    exactly as `gedp synth qcew` reproduces one. Quarters after these are extrapolated, by the average
    rates of the published ones unless you give others; with one published quarter, by 3% births,
    2.8% deaths, 0.2% moves and 0.4% growth.

    \b
    Examples:
      gedp synth series --qcew 2016_qtrly_singlefile.zip --state NJ --out nj/
      gedp synth series --qcew 2016.q1.singlefile.zip --state RI --out ri/ --quarters 8 --growth 0.01
    """
    from gedp.cli.console import make_console
    from gedp.cli.progress import steps
    from gedp.documents.terminal import print_blocks
    from gedp_lab.synth.qcew.read import read_quarters
    from gedp_lab.synth.qcew.sources import find_sources
    from gedp_lab.synth.series.rates import AskedRates
    from gedp_lab.synth.series.write import write_series
    from gedp_lab.synth.states import state_fips
    from gedp_lab.synth.tables import series_blocks

    asked = AskedRates(births, deaths, moves, growth)
    wanted = state_fips(states)
    with steps() as at:
        at.step("reading", sum(source.size for source in find_sources(inputs)))
        published = read_quarters(inputs, states=wanted, own=own, year=year, quarter=quarter, progress=at.advance)
        at.step("filling suppressed cells")
        series = write_series(published, out, quarters=quarters, seed=seed, asked=asked, progress=at.reach)
    console = make_console()
    print_blocks(console, list(series_blocks(series)))
    console.print(f"Wrote {out} (seed {seed}).", soft_wrap=True)
