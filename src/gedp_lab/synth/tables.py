"""What the commands print: summaries, comparisons and shapes as blocks of a document."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gedp.arrays import BoolArray, IntArray
from gedp.documents import Block, Paragraph, PrintedTable
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

BY_JOBS = "Establishments by jobs in month 3"


def filling_blocks(filling: FilledTree, made: Summary, title: str) -> Iterator[Block]:
    """What was published of every state, what was made of it, and how gaps were filled."""
    columns = ("state", "counties", "cells", "known", "estabs", "known", "jobs, m3", "wages, $M")
    *rows, total = _filling_rows(filling)
    yield PrintedTable(title, columns, rows, footer=total if len(rows) > 1 else ())
    sizes = zip(("none", *LABELS), made.sizes, strict=True)
    counts = [[label, f"{count:,}", f"{count / made.establishments:.2%}"] for label, count in sizes]
    yield PrintedTable(BY_JOBS, ("jobs", "establishments", "share"), counts)
    yield from map(Paragraph, _filling_notes(filling))


def _filling_rows(filling: FilledTree) -> Iterator[list[str]]:
    """One line per state: cells, establishments (and the share with published figures), jobs, wages; then of all."""
    cells = filling.cells
    states = sorted(pc.unique(cells["state"]).to_pylist())
    state = pc.index_in(cells["state"], pa.array(states)).to_numpy()
    county = pc.cast(cells["cnty"], pa.int64()).to_numpy()
    estabs, jobs, wage = (cells[name].to_numpy() for name in ("estabs", "m3emp", "wage"))
    counties = np.bincount(np.unique(state * 1000 + county) // 1000)
    for place, code in enumerate(states):
        rows = state == place
        numbers = _numbers(filling.disclosed[rows], estabs[rows], jobs[rows], wage[rows])
        yield [POSTAL_OF_FIPS.get(code, code), f"{counties[place]:,}", *numbers]
    yield ["all", f"{counties.sum():,}", *_numbers(filling.disclosed, estabs, jobs, wage)]


def _numbers(known: BoolArray, estabs: IntArray, jobs: IntArray, wage: IntArray) -> tuple[str, ...]:
    return (
        f"{len(known):,}",
        f"{known.mean():.1%}",
        f"{estabs.sum():,}",
        f"{estabs[known].sum() / estabs.sum():.1%}",
        f"{jobs.sum():,}",
        f"{wage.sum() / 1e6:,.0f}",
    )


def _filling_notes(filling: FilledTree) -> Iterator[str]:
    """What a reader should know of how the gaps were filled."""
    if filling.counties_from_state:
        names = _some(filling.counties_from_state)
        yield f"Suppressed county totals, filled from what the state's total leaves: {names}."
    if filling.counties_estimated:
        names = _some(filling.counties_estimated)
        yield f"Suppressed county totals, estimated because no statewide total was given: {names}."
    if filling.states_without_rows:
        names = _some(POSTAL_OF_FIPS.get(code, code) for code in filling.states_without_rows)
        yield f"No statewide rows were given for {names}: typical sizes there are those of its disclosed counties."


def _some(names: Iterable[str], most: int = 6) -> str:
    names = list(names)
    listed = ", ".join(names[:most])
    return listed if len(names) <= most else f"{listed} and {len(names) - most} more"


def series_blocks(series: SeriesSummary) -> Iterator[Block]:
    """One line per quarter: establishments, jobs, how far they are off the published ones, births, deaths and moves."""
    rows = []
    for place, quarter in enumerate(series.quarters):
        estabs_off = jobs_off = "–"
        if quarter.published is not None:
            estabs_off = f"{quarter.establishments - quarter.published.establishments:,}"
            jobs_off = "–" if (jobs := quarter.published.jobs) is None else f"{quarter.jobs - jobs:,}"
        flows = (f"{flow:,}" if place else "–" for flow in (quarter.births, quarter.deaths, quarter.moves))
        rows.append([quarter.period, f"{quarter.establishments:,}", estabs_off, *flows, f"{quarter.jobs:,}", jobs_off])
    columns = ("quarter", "estabs", "off", "births", "deaths", "moves", "jobs, m3", "off")
    yield PrintedTable("Synthetic series", columns, rows)
    yield from map(Paragraph, _series_notes(series))


def _series_notes(series: SeriesSummary) -> list[str]:
    """How gaps were filled in published quarters, and which others are extrapolated, by what rates."""
    periods = [quarter.period for quarter in series.quarters]
    told: dict[str, list[str]] = {}
    for period, filling in zip(periods, series.fillings, strict=False):
        for note in _filling_notes(filling):
            told.setdefault(note, []).append(period)
    notes = [f"{', '.join(where)}: {note}" for note, where in told.items()]
    if rates := series.extrapolated_by:
        extrapolated = ", ".join(periods[len(series.fillings) :])
        notes.append(
            f"Not published but extrapolated: {extrapolated}, with births {rates.births:.2%}, "
            f"deaths {rates.deaths:.2%}, moves {rates.moves:.2%} and growth of jobs {rates.growth:+.2%} per quarter."
        )
    return notes


def totals_table(title: str, made: Summary | Shape) -> PrintedTable:
    """What a file of establishments adds up to."""
    numbers = {
        "establishments": made.establishments,
        "counties": made.counties,
        "county × industry cells": made.cells,
        "jobs, month 1": made.m1emp,
        "jobs, month 2": made.m2emp,
        "jobs, month 3": made.m3emp,
        "wages in the quarter, $": made.wage,
    }
    if isinstance(made, Shape):
        numbers["industries (6 digits)"] = made.industries
    return PrintedTable(title, ("what", "number"), [[label, f"{number:,}"] for label, number in numbers.items()])


def route_blocks(result: "RouteResult") -> Iterator[Block]:
    """Where the county x NAICS-4 figures came from, how well regressions fit, and what was left out."""
    counts = result.provenance
    imputed = "regression" if result.employment_fit else "donors"
    sources = (
        ("jobs, month 1", "QWI", counts.month1_published),
        ("jobs, month 1", imputed, counts.month1_modelled),
        ("jobs, month 3", "QWI", counts.month3_published),
        ("jobs, month 3", "imputed CBP", counts.month3_imputed),
        ("wages", "CBP payroll", counts.wage_from_payroll),
        ("wages", "QWI earnings x jobs", counts.wage_from_earnings),
        ("wages", imputed, counts.wage_from_model),
    )
    rows = [[figure, source, f"{cells:,}", f"{cells / counts.naics4_cells:.1%}"] for figure, source, cells in sources]
    yield PrintedTable("Sources", ("county x NAICS-4 figure", "from", "cells", "share"), rows, texts=("from",))
    yield _fits(result)
    if counts.left_out_cells:
        yield Paragraph(
            f"Left out, for want of a QWI or imputed figure: {counts.left_out_cells:,} county x NAICS-4 cells of CBP, "
            f"{counts.left_out_establishments:,} establishments."
        )


def _fits(result: "RouteResult") -> Block:
    """How well the two regressions fit, and on how many states; only the states where donors took their place."""
    states = len(result.fitted_states)
    learned = f"from {states} state{'s' if states > 1 else ''}"
    fits = [(fit, unit) for fit, unit in ((result.employment_fit, "jobs"), (result.wage_fit, "√$")) if fit]
    if not fits:
        return Paragraph(f"Donors are {learned}.")
    rows = []
    for fit, unit in fits:
        counts = (f"{fit.observations:,}", f"{fit.outliers_removed}", f"{fit.coefficients}")
        rows.append([fit.name, f"{fit.r_squared:.4f}", *counts, f"{fit.residual_sd:,.1f} {unit}"])
    columns = ("model", "R²", "observations", "outliers", "terms", "residual sd")
    return PrintedTable(f"Regressions, learned {learned}", columns, rows)


def withheld_table(published: "PublishedFiles") -> PrintedTable:
    """What is withheld, beside the paper's shares."""
    rows = [
        [row.source, row.level, f"{row.cells:,}", f"{row.withheld:,}", f"{row.share:.1%}", f"{row.aim:.0%}"]
        for row in published.tables
    ]
    columns = ("figure", "level", "cells", "withheld", "share", "paper")
    return PrintedTable(f"Published for {published.year}", columns, rows, texts=("level",))


def comparison_table(comparison: SizeComparison) -> PrintedTable:
    """Published and synthetic size classes side by side."""
    names = ", ".join(POSTAL_OF_FIPS[fips] for fips in comparison.states)
    published, synthetic = sum(comparison.published), sum(comparison.synthetic)
    rows = [
        [label, f"{there:,}", f"{there / published:.4f}", f"{here:,}", f"{here / synthetic:.4f}", f"{difference:+.4f}"]
        for label, there, here, difference in zip(
            LABELS, comparison.published, comparison.synthetic, comparison.differences, strict=True
        )
    ]
    note = (
        f"Largest difference of a share: {max(map(abs, comparison.differences)):.4f}. "
        f"{comparison.without_jobs:,} synthetic establishments without a job are left out, "
        "as in the published counts."
    )
    columns = ("jobs, month 3", "published", "share", "synthetic", "share", "difference")
    footer = ("any", f"{published:,}", "", f"{synthetic:,}", "", "")
    return PrintedTable(f"Establishments by size class: {names}", columns, rows, note, footer=footer)


def shape_blocks(shape: Shape) -> Iterator[Block]:
    """The shape of a file of establishments."""
    yield totals_table("Totals", shape)
    rows = []
    for size in shape.sizes:
        share, jobs_share = size.establishments / max(shape.establishments, 1), size.jobs / max(shape.m3emp, 1)
        rows.append([size.label, f"{size.establishments:,}", f"{share:.1%}", f"{size.jobs:,}", f"{jobs_share:.1%}"])
    largest = shape.dominance
    note = (
        f"In {largest.cells:,} cells of two or more establishments with jobs, the largest holds "
        f"{largest.median_share:.0%} of the cell's jobs (median); more than half in {largest.over_half:.0%} "
        f"of cells, more than four fifths in {largest.over_four_fifths:.0%}. "
        "That is why a cell total can give a business away."
    )
    yield PrintedTable(BY_JOBS, ("jobs", "establishments", "share", "jobs held", "share"), rows, note)
