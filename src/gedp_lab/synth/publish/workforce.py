"""Writes QWI extracts: per state one file of county totals and sectors, and one of county x NAICS-4."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from gedp.arrays import BoolArray, FloatArray
from gedp_lab.synth.cbp.codes import qwi_code
from gedp_lab.synth.publish.tabulate import IndustryLevel, dominance, riskiest
from gedp_lab.synth.states import POSTAL_OF_FIPS

JITTER = 0.03
RELEASED, SUPPRESSED, DISTORTED, NOT_COMPUTABLE = "1", "5", "9", "-1"
DISTORTION = 0.05  # relative noise from which a released figure is flagged as distorted
IND_LEVELS = {0: "A", 2: "S", 4: "4"}


def workforce_rows(
    level: IndustryLevel, shares: Mapping[str, float], year: int, quarter: int, rng: np.random.Generator
) -> tuple[pa.Table, dict[str, int]]:
    """QWI rows of one level, and how many figures of each variable are suppressed."""
    months = level.floats("qwi_months")
    earnings = np.where(months > 0, level.floats("qwi_wage") / np.where(months > 0, months, 1.0), np.nan)
    figures = {
        "Emp": level.floats("qwi_emp"),
        "EmpEnd": level.floats("qwi_end"),
        "EmpS": level.floats("qwi_stable"),
        "EarnBeg": earnings,
    }
    true = level.floats("true_m1")
    risk = dominance(level.floats("qwi_max"), true)
    distorted = np.abs(figures["Emp"] - true) > DISTORTION * np.maximum(true, 1.0)
    geography = pc.binary_join_element_wise(level.table["state"], level.table["cnty"], "")
    count = len(true)
    columns: dict[str, pa.Array | pa.ChunkedArray] = {
        "geo_level": pa.array(["C"] * count, pa.string()),
        "geography": geography,
        "ind_level": pa.array([IND_LEVELS[level.digits]] * count, pa.string()),
        "industry": pa.array([qwi_code(code) for code in level.table["code"].to_pylist()], pa.string()),
        "year": pa.array([str(year)] * count, pa.string()),
        "quarter": pa.array([str(quarter)] * count, pa.string()),
    }
    flags: dict[str, pa.Array] = {}
    suppressed: dict[str, int] = {}
    for name, values in figures.items():
        withheld = riskiest(level.integers("qwi_est"), risk, shares.get(name, 0.0), rng, JITTER)
        suppressed[name] = int(withheld.sum())
        columns[name] = _shown(values, withheld)
        flags[f"s{name}"] = pa.array(_flags(values, withheld, distorted))
    return pa.table({**columns, **flags}), suppressed


def _shown(values: FloatArray, withheld: BoolArray) -> pa.Array:
    hidden = withheld | np.isnan(values)
    return pa.array(np.where(hidden, 0, np.rint(values)).astype(np.int64), mask=hidden)


def _flags(values: FloatArray, withheld: BoolArray, distorted: BoolArray) -> NDArray[np.str_]:
    flags = np.where(distorted, DISTORTED, RELEASED)
    flags = np.where(np.isnan(values), NOT_COMPUTABLE, flags)
    return np.where(withheld, SUPPRESSED, flags)


def write_qwi(
    levels: Mapping[int, IndustryLevel],
    shares: Mapping[str, float],
    year: int,
    quarter: int,
    folder: Path,
    rng: np.random.Generator,
) -> dict[str, int]:
    """Writes the extracts of every state, named as the Census Bureau does; county totals and sectors are all
    released. Returns the number of suppressed figures at county x NAICS-4 by variable."""
    folder.mkdir()
    none: Mapping[str, float] = {}
    totals, _ = workforce_rows(levels[0], none, year, quarter, rng)
    sectors, _ = workforce_rows(levels[2], none, year, quarter, rng)
    cells, suppressed = workforce_rows(levels[4], shares, year, quarter, rng)
    for kind, table in (("ns", pa.concat_tables([totals, sectors])), ("n4", cells)):
        state_of = pc.utf8_slice_codeunits(table["geography"], 0, 2)
        for state in sorted(set(state_of.to_pylist())):
            name = f"qwi_{POSTAL_OF_FIPS.get(state, state).lower()}_sa_f_gc_{kind}_op_u.csv"
            rows = table.filter(pc.equal(state_of, state))
            pacsv.write_csv(rows, folder / name, pacsv.WriteOptions(quoting_style="needed"))
    return suppressed
