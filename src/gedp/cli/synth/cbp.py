"""`gedp synth cbp`: establishments from CBP, QWI and the imputed CBP."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gedp.lab.synth.cbp import RouteResult

_PATH = click.Path(path_type=Path)


@click.command(name="cbp")
@click.option("--cbp", required=True, type=_PATH, help="CBP county file, such as cbp16co.txt.")
@click.option("--qwi", required=True, type=_PATH, help="Folder of QWI extracts (.csv, .csv.gz).")
@click.option("--efsy", required=True, type=_PATH, help="Imputed CBP, such as efsy_cbp_2016.csv.")
@click.option("--out", required=True, type=_PATH, help="Parquet file of establishments to write.")
@click.option("--state", "states", multiple=True, help="State, by postal or FIPS code; may be repeated. Default: all.")
@click.option("--year", type=int, help="Year of the CBP file, if its name does not show it.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random draws.")
@click.option(
    "--spread",
    type=click.Choice(["skewed", "paper"]),
    default="skewed",
    show_default=True,
    help="How a cell is divided among its establishments.",
)
@click.option(
    "--noise",
    type=click.Choice(["prediction", "mean"]),
    default="prediction",
    show_default=True,
    help="Error added to a modelled figure: that of one prediction, or of the fitted mean.",
)
@click.option("--plot", type=_PATH, help="Also plot the size distribution (.png, .svg, .pdf).")
def command(
    cbp: Path,
    qwi: Path,
    efsy: Path,
    out: Path,
    states: tuple[str, ...],
    year: int | None,
    seed: int,
    spread: str,
    noise: str,
    plot: Path | None,
) -> None:
    """Make establishments from County Business Patterns (CBP), QWI and the imputed CBP.

    \b
    Needs three public sources of the same year:
      the CBP county file (Census Bureau), QWI extracts of quarter 1 (counties; all industries and
      NAICS-4), and the CBP imputed by Eckert, Fort, Schott and Yang.

    \b
    Examples:
      gedp synth cbp --cbp cbp16co.txt --qwi qwi/ --efsy efsy_cbp_2016.csv --state RI --out ri.parquet
    """
    from gedp.cli.progress import steps
    from gedp.files import require_writable
    from gedp.lab.synth.cbp import EmploymentOptions, cells_from_sources, read_sources
    from gedp.lab.synth.establishments import write_establishments
    from gedp.lab.synth.plots import check_plot, plot_sizes

    require_writable(out)
    if plot is not None:
        check_plot(plot)
    options = EmploymentOptions(noise="prediction" if noise == "prediction" else "mean")
    with steps() as at:
        sources = read_sources(cbp, qwi, efsy, states=states, year=year, progress=at.step)
        result = cells_from_sources(sources, seed=seed, options=options, progress=at.step)
        at.step("writing establishments", sum(result.cells["estabs"].to_pylist()))
        summary = write_establishments(
            result.cells,
            out,
            year=sources.year,
            quarter=sources.quarter,
            seed=seed,
            spread=spread,
            progress=at.advance,
        )
        if plot is not None:
            at.step("plotting")
            plot_sizes(out, plot)
    _report(result, summary, out)


def _report(result: "RouteResult", summary: Any, out: Path) -> None:
    from rich.table import Table

    from gedp.cli.console import make_console

    console = make_console()
    made = Table("", "total", title="Synthetic establishments", title_justify="left")
    made.columns[1].justify = "right"
    made.add_row("establishments", f"{summary.establishments:,}")
    made.add_row("county x NAICS-6 cells", f"{result.cells.num_rows:,}")
    for name, label in (("m1emp", "jobs, month 1"), ("m2emp", "jobs, month 2"), ("m3emp", "jobs, month 3")):
        made.add_row(label, f"{getattr(summary, name):,}")
    made.add_row("wages, dollars per quarter", f"{summary.wage:,}")
    console.print(made)
    console.print(sources_table(result))
    console.print(fits_table(result))
    console.print(f"Wrote {out}.", soft_wrap=True)
    left_out = result.provenance
    if left_out.left_out_cells:
        console.print(
            f"Left out, for want of a QWI or imputed figure: {left_out.left_out_cells:,} county x NAICS-4 "
            f"cells of CBP, {left_out.left_out_establishments:,} establishments."
        )


def sources_table(result: "RouteResult") -> Any:
    """Where the county x NAICS-4 figures came from, as a table for the terminal."""
    from rich.table import Table

    counts = result.provenance
    table = Table("county x NAICS-4 figure", "from", "cells", "share", title="Sources", title_justify="left")
    for figure, source, cells in (
        ("jobs, month 1", "QWI", counts.month1_published),
        ("jobs, month 1", "regression", counts.month1_modelled),
        ("jobs, month 3", "QWI", counts.month3_published),
        ("jobs, month 3", "imputed CBP", counts.month3_imputed),
        ("wages", "CBP payroll", counts.wage_from_payroll),
        ("wages", "QWI earnings x jobs", counts.wage_from_earnings),
        ("wages", "regression", counts.wage_from_model),
    ):
        table.add_row(figure, source, f"{cells:,}", f"{cells / counts.naics4_cells:.1%}")
    for column in table.columns[2:]:
        column.justify = "right"
    return table


def fits_table(result: "RouteResult") -> Any:
    """The fit of the two regressions, as a table for the terminal."""
    from rich.table import Table

    headers = ("model", "R²", "observations", "outliers", "terms", "residual sd")
    table = Table(*headers, title="Regressions", title_justify="left")
    for fit, unit in ((result.employment_fit, "jobs"), (result.wage_fit, "√$")):
        table.add_row(
            fit.name,
            f"{fit.r_squared:.4f}",
            f"{fit.observations:,}",
            f"{fit.outliers_removed}",
            f"{fit.coefficients}",
            f"{fit.residual_sd:,.1f} {unit}",
        )
    for column in table.columns[1:]:
        column.justify = "right"
    return table
