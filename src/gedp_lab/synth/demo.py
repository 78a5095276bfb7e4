"""The demonstration state: cells made from nothing but this page, for trying things out without a file.

Its counties run from one large city to small rural ones, its industries have the sizes and pay that such
industries roughly have, and both the cells and the establishments inside them are heavy-tailed. Its state
code is 00, so that nobody takes it for a real one.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from gedp.progress import Advance
from gedp_lab.synth.cells import CELL_SCHEMA
from gedp_lab.synth.demo_labels import COUNTIES, county_code
from gedp_lab.synth.establishments import Summary, write_establishments

STATE = "00"
YEAR, QUARTER = 2016, 1
ESTABLISHMENTS = 20_000  # about
FILE_NAME = "establishments.parquet"


@dataclass(frozen=True)
class Sector:
    """Share of the state's establishments, jobs per establishment, monthly pay in dollars, and NAICS codes."""

    share: float
    size: float
    pay: float
    codes: str


SECTORS = (
    Sector(0.011, 9, 2600, "111421 112111 113310 114111 115116"),
    Sector(0.003, 16, 7500, "211111 212312 213112"),
    Sector(0.002, 30, 9500, "221122 221310"),
    Sector(0.089, 8, 4400, "236115 236117 236118 236220 237310 238111 238161 238212 238221 238320 238911"),
    Sector(0.020, 24, 4600, "311811 311991 312120 321911 323111 327320 332312 332710 337110 339950"),
    Sector(0.018, 50, 6200, "325412 325998 326199 333249 334413 334511 336390 339112"),
    Sector(0.070, 9, 6100, "423430 423450 423610 423830 424210 424410 424480 424690 425120"),
    Sector(0.080, 13, 2500, "441110 441120 441310 442110 443142 444110 444130 446110 447110 448140 453998 454111"),
    Sector(0.039, 21, 2100, "445110 445120 445310 451110 452112 452990 453220"),
    Sector(0.027, 19, 4100, "481111 484110 484121 485410 488510 492110 493110"),
    Sector(0.017, 17, 7700, "511110 511210 512131 515112 517110 518210 519130"),
    Sector(0.054, 12, 10900, "522110 522130 523930 524114 524210 525990"),
    Sector(0.041, 5, 4500, "531110 531210 531311 532111 532299"),
    Sector(0.129, 7, 7100, "541110 541211 541330 541511 541512 541611 541618 541711 541810 541940"),
    Sector(0.008, 34, 11300, "551112 551114"),
    Sector(0.060, 16, 3000, "561110 561320 561612 561720 561730 562111"),
    Sector(0.013, 25, 3800, "611110 611310 611620 611691"),
    Sector(0.117, 15, 3700, "621111 621210 621310 621340 621511 621610 623110 623312 624120 624410"),
    Sector(0.001, 900, 4700, "622110"),
    Sector(0.015, 15, 2700, "711110 711310 712110 713110 713940 713990"),
    Sector(0.075, 19, 1600, "721110 721191 722410 722511 722513 722515"),
    Sector(0.093, 5, 2850, "811111 811192 812112 812113 812210 812320 813110 813410 814110"),
    Sector(0.018, 1.2, 4000, "999999"),
)


def demo_cells(seed: int = 0) -> pa.Table:
    """The cells of the demonstration state (schema of `gedp_lab.synth.cells`): about 20,000 establishments."""
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 0, 0)))
    codes = [code for sector in SECTORS for code in sector.codes.split()]
    number = np.array([len(sector.codes.split()) for sector in SECTORS])
    share, size, pay = (
        np.repeat([getattr(sector, name) for sector in SECTORS], number) for name in ("share", "size", "pay")
    )
    share = share / np.repeat(number, number) * generator.lognormal(0, 0.8, len(codes))
    county_share = np.arange(1, len(COUNTIES) + 1) ** -1.2
    expected = np.outer(county_share, share) * generator.lognormal(0, 0.4, (len(COUNTIES), len(codes)))
    estabs = generator.poisson(ESTABLISHMENTS * expected / expected.sum())
    county, industry = np.nonzero(estabs)
    estabs = estabs[county, industry]
    jobs = estabs * size[industry] * generator.lognormal(-0.15, 0.55, len(estabs))
    trend = generator.normal(0.01, 0.03, len(estabs))
    months = [np.rint(jobs * (1 + step * trend)) for step in (-1, 0, 1)]
    wage = np.rint(sum(months) * pay[industry] * generator.lognormal(0, 0.2, len(estabs)))
    columns = {
        "state": pa.array([STATE] * len(estabs)),
        "cnty": pa.array([county_code(int(place)) for place in county]),
        "naics": pa.array([codes[place] for place in industry]),
        "own": pa.array(["5"] * len(estabs)),
        "estabs": estabs.astype(np.int64),
        **{f"m{month}emp": jobs.astype(np.int64) for month, jobs in enumerate(months, start=1)},
        "wage": wage.astype(np.int64),
    }
    return pa.table(columns, schema=CELL_SCHEMA)


def make_demo(folder: Path, seed: int = 0, progress: Advance | None = None) -> Summary:
    """Writes the demonstration state to `folder`/establishments.parquet."""
    return write_establishments(
        demo_cells(seed), folder / FILE_NAME, year=YEAR, quarter=QUARTER, seed=seed, progress=progress
    )
