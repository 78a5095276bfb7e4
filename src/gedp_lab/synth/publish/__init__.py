"""Publishes establishments as CBP, QWI and an imputed CBP, in the layouts of the real files.

For trying the route from those files at full size with a known truth: figures carry noise, and as many are
withheld as the paper counts in the real files. Reading order: rates, leaves (one pass over the
establishments), tabulate (levels, and what to withhold), county_patterns, workforce and imputed (the three
layouts).
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gedp.folders import new_folder
from gedp.progress import Progress, silent
from gedp_lab.synth.publish.county_patterns import PublishedLevel, publish_levels, write_cbp
from gedp_lab.synth.publish.imputed import write_efsy
from gedp_lab.synth.publish.leaves import read_leaves
from gedp_lab.synth.publish.rates import Rates
from gedp_lab.synth.publish.tabulate import levels_of
from gedp_lab.synth.publish.workforce import IND_LEVELS, write_qwi

__all__ = ["PublishedFiles", "Rates", "Withheld", "publish"]


@dataclass(frozen=True)
class Withheld:
    """Cells of one table, and how many of them are withheld."""

    source: str
    level: str
    cells: int
    withheld: int
    aim: float

    @property
    def share(self) -> float:
        """Which part of the cells is withheld."""
        return self.withheld / self.cells if self.cells else 0.0


@dataclass(frozen=True)
class PublishedFiles:
    """The files written, and what is withheld in them."""

    cbp: Path
    qwi: Path
    efsy: Path
    year: int
    establishments: int
    covered: int
    tables: tuple[Withheld, ...]


def publish(
    establishments: Path,
    out: Path,
    *,
    seed: int = 0,
    rates: Rates | None = None,
    progress: Progress = silent,
) -> PublishedFiles:
    """Writes `cbp16co.txt`, `efsy_cbp_2016.csv` and the folder `qwi` (for 2016) into the new folder `out`.

    `progress` is called with a step, how much of it is done, and how much there is (0 where that is not
    known).
    """
    rates = rates or Rates()
    for_leaves, for_cbp, for_qwi = np.random.SeedSequence(seed).generate_state(3)
    with new_folder(out) as folder:
        leaves = read_leaves(establishments, int(for_leaves), progress)
        progress("writing CBP", 0, 0)
        cbp = publish_levels(levels_of(leaves.table, "est"), rates.cbp, np.random.default_rng(for_cbp))
        cbp_name, efsy_name = f"cbp{leaves.year % 100:02d}co.txt", f"efsy_cbp_{leaves.year}.csv"
        write_cbp(cbp, folder / cbp_name)
        progress("writing the imputed CBP", 0, 0)
        write_efsy(cbp, folder / efsy_name)
        progress("writing QWI", 0, 0)
        levels = levels_of(leaves.table, "qwi_est", [*IND_LEVELS])
        suppressed = write_qwi(
            levels, rates.qwi, leaves.year, leaves.quarter, folder / "qwi", np.random.default_rng(for_qwi)
        )
    cells = levels[4].table.num_rows
    return PublishedFiles(
        cbp=out / cbp_name,
        qwi=out / "qwi",
        efsy=out / efsy_name,
        year=leaves.year,
        establishments=leaves.establishments,
        covered=int(cbp[0].level.integers("est").sum()),
        tables=(
            *(_withheld(level, rates.cbp[digits]) for digits, level in cbp.items()),
            *(Withheld(f"QWI {name}", "county x NAICS-4", cells, n, rates.qwi[name]) for name, n in suppressed.items()),
        ),
    )


def _withheld(published: PublishedLevel, aim: float) -> Withheld:
    digits = published.level.digits
    level = {0: "county", 2: "county x sector"}.get(digits, f"county x NAICS-{digits}")
    return Withheld("CBP payroll", level, len(published.withheld), int(published.withheld.sum()), aim)
