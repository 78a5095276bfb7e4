"""The files of a series, one per quarter, and what came out."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from gedp.errors import GedpError
from gedp.folders import new_folder
from gedp.progress import Progress, silent
from gedp_lab.synth.establishments import establishments_table, establishments_writer, write_establishments
from gedp_lab.synth.qcew.fill import FilledTree, fill
from gedp_lab.synth.qcew.read import QcewRows, following
from gedp_lab.synth.qcew.tree import build_tree
from gedp_lab.synth.series.growth import grow
from gedp_lab.synth.series.panel import Places, StatePanel, find_places, read_panels
from gedp_lab.synth.series.rates import AskedRates, TurnoverRates, average
from gedp_lab.synth.series.turnover import turn_over

COUNTY_TOTAL = 71


@dataclass(frozen=True)
class Published:
    """Sums over the published county totals of a quarter."""

    establishments: int
    jobs: int | None  # in month 3; None if a county's is suppressed


@dataclass(frozen=True)
class QuarterSummary:
    """What one file of the series adds up to, and how it came about. Its `published` sums are None if it is
    extrapolated."""

    period: str
    establishments: int
    births: int
    deaths: int
    moves: int
    jobs: int  # in month 3
    wage: int
    published: Published | None

    def rates(self, before: "QuarterSummary") -> TurnoverRates:
        """The rates by which this quarter followed the one before."""
        births, deaths, moves = (number / before.establishments for number in (self.births, self.deaths, self.moves))
        return TurnoverRates(births, deaths, moves, self.jobs / max(before.jobs, 1) - 1)


@dataclass(frozen=True)
class SeriesSummary:
    """A series as it was written: its quarters, how suppressed figures were filled in each of the published ones, and
    the rates of those that were extrapolated."""

    quarters: tuple[QuarterSummary, ...]
    fillings: tuple[FilledTree, ...]
    extrapolated_by: TurnoverRates | None


def write_series(
    published: Sequence[QcewRows],
    out: Path,
    *,
    quarters: int,
    seed: int,
    asked: AskedRates | None = None,
    progress: Progress = silent,
) -> SeriesSummary:
    """Writes the folder `out` with one file per quarter, such as 2016Q1.parquet, with the 18 columns of
    `write_establishments`; `primary_key` is the same for the same establishment.

    The first file is what `write_establishments` makes of the first quarter. Every published quarter is reproduced as
    exactly as the first; the following ones are extrapolated, by the rates asked for or else by the average of those
    that came out between the published quarters.
    """
    if quarters < 1 or seed < 0:
        raise GedpError("quarters must be 1 or more, and the seed not negative.")
    asked = asked or AskedRates()
    given = published[:quarters]
    fillings: list[FilledTree] = []
    for rows in given:
        fillings.append(fill(build_tree(rows.rows), fillings[-1].cells if fillings else None))
    places = find_places([filling.cells for filling in fillings])
    year, quarter = given[0].year, given[0].quarter
    with new_folder(out) as folder:
        first = folder / f"{year}Q{quarter}.parquet"
        made = write_establishments(fillings[0].cells, first, year=year, quarter=quarter, seed=seed)
        panels = read_panels(first, places)
        start = (made.establishments, 0, 0, 0, made.m3emp, made.wage)
        done = [QuarterSummary(f"{year}Q{quarter}", *start, published=_published(given[0]))]
        steps = _Steps(places, seed, made.establishments + 1)
        rates = asked.over(TurnoverRates())
        for number in range(1, quarters):
            progress("writing quarters", number, quarters)
            year, quarter = following(year, quarter)
            known = number if number < len(given) else None
            if number == len(given):
                rates = asked.over(average([after.rates(before) for before, after in pairwise(done)]))
            counts = steps.write(folder / f"{year}Q{quarter}.parquet", panels, (year, quarter), number, known, rates)
            totals = _published(given[known]) if known else None
            done.append(QuarterSummary(f"{year}Q{quarter}", *counts, published=totals))
    return SeriesSummary(tuple(done), tuple(fillings), rates if quarters > len(given) else None)


class _Steps:
    """Takes the panels from quarter to quarter. Every state has random numbers of its own in every quarter, so it comes
    out the same alone or among others, up to the numbering of ids."""

    def __init__(self, places: Places, seed: int, next_id: int) -> None:
        self.places, self.seed, self.next_id = places, seed, next_id

    def write(
        self,
        path: Path,
        panels: dict[str, StatePanel],
        when: tuple[int, int],
        number: int,
        known: int | None,
        rates: TurnoverRates,
    ) -> tuple[int, int, int, int, int, int]:
        """Replaces the panels by those of the next quarter and writes these. `known` is the number of the quarter
        among the published ones, if it is one. Returns establishments, births, deaths, moves, jobs and wages."""
        counts = np.zeros(6, np.int64)
        with establishments_writer(path) as writer:
            for state, panel in panels.items():
                generator = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(int(state), 0, number)))
                panels[state], numbers = self._next(state, panel, known, rates, generator)
                after = panels[state]
                writer.write_table(establishments_table(self.places.codes, after.cell, after.values, after.ids, *when))
                counts += numbers
        establishments, births, deaths, moves, jobs, wage = counts.tolist()
        return establishments, births, deaths, moves, jobs, wage

    def _next(
        self, state: str, panel: StatePanel, known: int | None, rates: TurnoverRates, generator: np.random.Generator
    ) -> tuple[StatePanel, tuple[int, ...]]:
        wanted = totals = None
        if known is not None:
            cells = self.places.state_slices()[state]
            wanted = np.zeros(self.places.count, np.int64)
            wanted[cells] = self.places.estabs[known, cells]
            totals = self.places.totals[known]
        turnover = turn_over(panel, self.places, wanted, rates, generator)
        after = grow(panel, turnover, self.next_id, totals, rates.growth, generator)
        births = len(turnover.births)
        self.next_id += births
        sums = int(after.values.m3emp.sum()), int(after.values.wage.sum())
        return after, (len(after.ids), births, turnover.deaths, turnover.moves, *sums)


def _published(quarter: QcewRows) -> Published:
    counties = quarter.rows.filter(pc.equal(quarter.rows["agglvl_code"], COUNTY_TOTAL))
    hidden = pc.any(pc.equal(pc.utf8_trim_whitespace(counties["disclosure_code"]), "N")).as_py()
    sums = {name: int(pc.sum(counties[name]).as_py()) for name in ("qtrly_estabs", "month3_emplvl")}
    return Published(sums["qtrly_estabs"], None if hidden else sums["month3_emplvl"])
