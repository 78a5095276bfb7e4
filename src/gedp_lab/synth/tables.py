"""What the commands print: rich tables of summaries, comparisons and shapes."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table

from gedp.arrays import BoolArray, IntArray
from gedp_lab.synth.compare import SizeComparison
from gedp_lab.synth.establishments import Summary
from gedp_lab.synth.qcew.fill import FilledTree
from gedp_lab.synth.series.write import SeriesSummary
from gedp_lab.synth.shape import Shape
from gedp_lab.synth.sizes import LABELS
from gedp_lab.synth.states import POSTAL_OF_FIPS

if TYPE_CHECKING:
    from gedp_lab.synth.cbp import RouteResult
    from gedp_lab.synth.publish import PublishedFiles

_WORDS = ("from", "level")  # columns of texts


def _table(title: str, columns: Iterable[str]) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place == 0 or column in _WORDS else "right")
    return table


def filling_table(filling: FilledTree, title: str) -> Table:
    """One line per state: cells, establishments (and the share with published figures), jobs, wages."""
    columns = ("state", "counties", "cells", "known", "estabs", "known", "jobs, m3", "wages, $M")
    table = _table(title, columns)
    cells = filling.cells
    states = sorted(pc.unique(cells["state"]).to_pylist())
    state = pc.index_in(cells["state"], pa.array(states)).to_numpy()
    county = pc.cast(cells["cnty"], pa.int64()).to_numpy()
    estabs, jobs, wage = (cells[name].to_numpy() for name in ("estabs", "m3emp", "wage"))
    counties = np.bincount(np.unique(state * 1000 + county) // 1000)
    for place, code in enumerate(states):
        rows = state == place
        numbers = _numbers(filling.disclosed[rows], estabs[rows], jobs[rows], wage[rows])
        table.add_row(POSTAL_OF_FIPS.get(code, code), f"{counties[place]:,}", *numbers)
    if len(states) > 1:
        table.add_section()
        table.add_row("all", f"{counties.sum():,}", *_numbers(filling.disclosed, estabs, jobs, wage))
    return table


def _numbers(known: BoolArray, estabs: IntArray, jobs: IntArray, wage: IntArray) -> tuple[str, ...]:
    return (
        f"{len(known):,}",
        f"{known.mean():.1%}",
        f"{estabs.sum():,}",
        f"{estabs[known].sum() / estabs.sum():.1%}",
        f"{jobs.sum():,}",
        f"{wage.sum() / 1e6:,.0f}",
    )


def filling_notes(filling: FilledTree) -> list[str]:
    """What a reader should know of how the gaps were filled."""
    notes = []
    if filling.counties_from_state:
        notes.append(
            f"Suppressed county totals, filled from what the state's total leaves: "
            f"{_some(filling.counties_from_state)}."
        )
    if filling.counties_estimated:
        notes.append(
            f"Suppressed county totals, estimated because no statewide total was given: "
            f"{_some(filling.counties_estimated)}."
        )
    if filling.states_without_rows:
        names = [POSTAL_OF_FIPS.get(code, code) for code in filling.states_without_rows]
        notes.append(
            f"No statewide rows were given for {_some(names)}: typical sizes there are those of its disclosed counties."
        )
    return notes


def _some(names: Iterable[str], most: int = 6) -> str:
    names = list(names)
    listed = ", ".join(names[:most])
    return listed if len(names) <= most else f"{listed} and {len(names) - most} more"


def series_table(series: SeriesSummary) -> Table:
    """One line per quarter: establishments, jobs, how far they are off the published ones, births, deaths and moves."""
    table = _table("Synthetic series", ("quarter", "estabs", "off", "births", "deaths", "moves", "jobs, m3", "off"))
    for place, quarter in enumerate(series.quarters):
        estabs_off = jobs_off = "–"
        if quarter.published is not None:
            estabs_off = f"{quarter.establishments - quarter.published.establishments:,}"
            jobs_off = "–" if (jobs := quarter.published.jobs) is None else f"{quarter.jobs - jobs:,}"
        flows = (f"{flow:,}" if place else "–" for flow in (quarter.births, quarter.deaths, quarter.moves))
        table.add_row(quarter.period, f"{quarter.establishments:,}", estabs_off, *flows, f"{quarter.jobs:,}", jobs_off)
    return table


def series_notes(series: SeriesSummary) -> list[str]:
    """How gaps were filled in published quarters, and which others are extrapolated, by what rates."""
    periods = [quarter.period for quarter in series.quarters]
    told: dict[str, list[str]] = {}
    for period, filling in zip(periods, series.fillings, strict=False):
        for note in filling_notes(filling):
            told.setdefault(note, []).append(period)
    notes = [f"{', '.join(where)}: {note}" for note, where in told.items()]
    if rates := series.extrapolated_by:
        extrapolated = ", ".join(periods[len(series.fillings) :])
        notes.append(
            f"Not published but extrapolated: {extrapolated}, with births {rates.births:.2%}, "
            f"deaths {rates.deaths:.2%}, moves {rates.moves:.2%} and growth of jobs {rates.growth:+.2%} per quarter."
        )
    return notes


def sizes_table(summary: Summary) -> Table:
    """Establishments by size class."""
    table = _table("Establishments by jobs in month 3", ("jobs", "establishments", "share"))
    for label, count in zip(("none", *LABELS), summary.sizes, strict=True):
        table.add_row(label, f"{count:,}", f"{count / summary.establishments:.2%}")
    return table


def totals_table(title: str, made: Summary | Shape) -> Table:
    """What a file of establishments adds up to."""
    table = _table(title, ("what", "number"))
    for label, number in (
        ("establishments", made.establishments),
        ("counties", made.counties),
        ("county × industry cells", made.cells),
        ("jobs, month 1", made.m1emp),
        ("jobs, month 2", made.m2emp),
        ("jobs, month 3", made.m3emp),
        ("wages in the quarter, $", made.wage),
    ):
        table.add_row(label, f"{number:,}")
    return table


def sources_table(result: "RouteResult") -> Table:
    """Where the county x NAICS-4 figures came from."""
    counts = result.provenance
    imputed = "regression" if result.employment_fit else "donors"
    table = _table("Sources", ("county x NAICS-4 figure", "from", "cells", "share"))
    for figure, source, cells in (
        ("jobs, month 1", "QWI", counts.month1_published),
        ("jobs, month 1", imputed, counts.month1_modelled),
        ("jobs, month 3", "QWI", counts.month3_published),
        ("jobs, month 3", "imputed CBP", counts.month3_imputed),
        ("wages", "CBP payroll", counts.wage_from_payroll),
        ("wages", "QWI earnings x jobs", counts.wage_from_earnings),
        ("wages", imputed, counts.wage_from_model),
    ):
        table.add_row(figure, source, f"{cells:,}", f"{cells / counts.naics4_cells:.1%}")
    return table


def fits_table(result: "RouteResult") -> RenderableType:
    """How well the two regressions fit, and on how many states; only the states where donors took their place."""
    states = len(result.fitted_states)
    learned = f"from {states} state{'s' if states > 1 else ''}"
    fits = [(fit, unit) for fit, unit in ((result.employment_fit, "jobs"), (result.wage_fit, "√$")) if fit]
    if not fits:
        return f"Donors are {learned}."
    title = f"Regressions, learned {learned}"
    table = _table(title, ("model", "R²", "observations", "outliers", "terms", "residual sd"))
    for fit, unit in fits:
        counts = (f"{fit.observations:,}", f"{fit.outliers_removed}", f"{fit.coefficients}")
        table.add_row(fit.name, f"{fit.r_squared:.4f}", *counts, f"{fit.residual_sd:,.1f} {unit}")
    return table


def left_out_notes(result: "RouteResult") -> list[str]:
    """Which cells of CBP the other sources lack."""
    found = result.provenance
    if not found.left_out_cells:
        return []
    return [
        f"Left out, for want of a QWI or imputed figure: {found.left_out_cells:,} county x NAICS-4 cells of CBP, "
        f"{found.left_out_establishments:,} establishments."
    ]


def withheld_table(published: "PublishedFiles") -> Table:
    """What is withheld, beside the paper's shares."""
    table = _table(f"Published for {published.year}", ("figure", "level", "cells", "withheld", "share", "paper"))
    for row in published.tables:
        table.add_row(
            row.source, row.level, f"{row.cells:,}", f"{row.withheld:,}", f"{row.share:.1%}", f"{row.aim:.0%}"
        )
    return table


def comparison_table(comparison: SizeComparison) -> RenderableType:
    """Published and synthetic size classes side by side."""
    names = ", ".join(POSTAL_OF_FIPS[fips] for fips in comparison.states)
    columns = ("jobs, month 3", "published", "share", "synthetic", "share", "difference")
    table = _table(f"Establishments by size class: {names}", columns)
    published, synthetic = sum(comparison.published), sum(comparison.synthetic)
    rows = zip(LABELS, comparison.published, comparison.synthetic, comparison.differences, strict=True)
    for label, there, here, difference in rows:
        shares = (f"{there / published:.4f}", f"{here:,}", f"{here / synthetic:.4f}")
        table.add_row(label, f"{there:,}", *shares, f"{difference:+.4f}")
    table.add_section()
    table.add_row("any", f"{published:,}", "", f"{synthetic:,}")
    worst = max(map(abs, comparison.differences))
    note = (
        f"Largest difference of a share: {worst:.4f}. "
        f"{comparison.without_jobs:,} synthetic establishments without a job are left out, "
        "as in the published counts."
    )
    return Group(table, note)


def shape_tables(shape: Shape) -> RenderableType:
    """The shape of a file of establishments."""
    totals = totals_table("Totals", shape)
    totals.add_row("industries (6 digits)", f"{shape.industries:,}")
    sizes = _table("Establishments by jobs in month 3", ("jobs", "establishments", "share", "jobs held", "share"))
    for size in shape.sizes:
        share, jobs_share = (
            size.establishments / max(shape.establishments, 1),
            size.jobs / max(shape.m3emp, 1),
        )
        sizes.add_row(size.label, f"{size.establishments:,}", f"{share:.1%}", f"{size.jobs:,}", f"{jobs_share:.1%}")
    largest = shape.dominance
    note = (
        f"In {largest.cells:,} cells of two or more establishments with jobs, the largest holds "
        f"{largest.median_share:.0%} of the cell's jobs (median); more than half in {largest.over_half:.0%} "
        f"of cells, more than four fifths in {largest.over_four_fifths:.0%}. "
        "That is why a cell total can give a business away."
    )
    return Group(totals, sizes, note)
