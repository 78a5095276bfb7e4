"""One pass over the establishments: noise on each of them, then sums per county x NAICS-6.

Every establishment gets one factor for CBP and one for QWI, as the Census Bureau does in both products, so
that published figures still add up. Its factors are not public; ours lie 2% to 10% above or below 1, the
smaller distances being the more likely. Draws come in the order of the file, whatever the size of the
batches read.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gedp.arrays import FloatArray, IntArray
from gedp.errors import Fault, FaultsError
from gedp.progress import Progress, silent
from gedp_lab.synth.database import database
from gedp_lab.synth.sizes import CBP_CLASSES, cbp_class

KEYS = ("state", "cnty", "naics", "own")
FIGURES = ("m1emp", "m2emp", "m3emp", "wage")
PERIOD = ("year", "qtr")
SMALLEST_NOISE, LARGEST_NOISE = 0.02, 0.10
STABLE_SHARE = 0.9  # of the smallest month's employment, those who work the whole quarter

# Industries that CBP does not cover: crops and animals, railways, post, funds and trusts, notaries, private
# households, public administration.
OUTSIDE_CBP = r"^(111|112|482|491|525110|525120|525190|525920|541120|814|92)"

_SUMS = ("est", *CBP_CLASSES, "true_emp", "emp", "true_wage", "wage")
_QWI_SUMS = ("qwi_est", "true_m1", "qwi_emp", "qwi_end", "qwi_stable", "qwi_wage", "qwi_months")
_MAXIMA = ("max_wage", "max_emp", "qwi_max")
SUMMED = (*_SUMS, *_QWI_SUMS)
_FRACTIONS = ("wage", "qwi_emp", "qwi_end", "qwi_stable", "qwi_wage", "qwi_months")
LEAF_SQL = ", ".join(
    [
        *(f"sum({name})::{'DOUBLE' if name in _FRACTIONS else 'BIGINT'} AS {name}" for name in SUMMED),
        *(f"max({name}) AS {name}" for name in _MAXIMA),
    ]
)


@dataclass(frozen=True)
class Leaves:
    """Sums per county x NAICS-6, with the period of the establishments."""

    table: pa.Table
    year: int
    quarter: int
    establishments: int


def noise_factors(count: int, rng: np.random.Generator) -> FloatArray:
    """Multipliers 1 +- d, with d between the smallest and largest noise and a falling triangular density."""
    side, place = rng.random((count, 2)).T
    distance = SMALLEST_NOISE + (LARGEST_NOISE - SMALLEST_NOISE) * (1 - np.sqrt(place))
    factors: FloatArray = 1 + np.where(side < 0.5, -distance, distance)
    return factors


def whole_at_random(values: FloatArray, rng: np.random.Generator) -> IntArray:
    """Rounds up or down at random, right on average: small employments would otherwise never change."""
    return np.floor(values + rng.random(len(values))).astype(np.int64)


def read_leaves(path: Path, seed: int, progress: Progress = silent, batch_rows: int = 500_000) -> Leaves:
    """Reads the private establishments of a Parquet file, batch by batch, and sums them with their noise.

    Of those without a job or a dollar in the quarter, QWI and CBP see nothing."""
    file = _open(path)
    total = file.metadata.num_rows
    streams = [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(4)]
    periods: set[tuple[int, int]] = set()
    done = used = negative = 0
    with database() as connection:
        for batch in file.iter_batches(batch_rows, columns=[*KEYS, *FIGURES, *PERIOD]):
            rows = pa.Table.from_batches([batch])
            rows = rows.filter(pc.equal(pc.cast(rows["own"], pa.string()), "5"))
            found = rows.group_by(list(PERIOD)).aggregate([]).to_pylist()
            periods |= {(int(row["year"]), int(row["qtr"])) for row in found}
            noisy = _with_noise(rows, streams)
            negative += sum(pc.sum(pc.less(rows[name], 0)).as_py() or 0 for name in FIGURES)
            connection.register("batch", noisy)
            into = "INSERT INTO parts" if done else "CREATE TEMP TABLE parts AS"
            connection.execute(f"{into} SELECT state, cnty, naics, {LEAF_SQL} FROM batch GROUP BY ALL")
            done += batch.num_rows
            used += rows.num_rows
            progress("reading establishments", done, total)
        _check(path, used, negative, periods)
        connection.execute(f"CREATE TEMP TABLE leaves AS SELECT state, cnty, naics, {LEAF_SQL} FROM parts GROUP BY ALL")
        table = connection.sql("FROM leaves ORDER BY state, cnty, naics").to_arrow_table()
    year, quarter = periods.pop()
    return Leaves(table, year, quarter, used)


def _open(path: Path) -> pq.ParquetFile:
    try:
        file = pq.ParquetFile(path)
    except (OSError, pa.ArrowInvalid):
        problem = "is not a Parquet file" if path.is_file() else "does not exist"
        fault = Fault(str(path), problem, "Give the establishments that `gedp synth` wrote")
        raise FaultsError("the establishments", [fault]) from None
    missing = [name for name in (*KEYS, *FIGURES, *PERIOD) if name not in file.schema_arrow.names]
    if missing:
        fault = Fault(str(path), f"lacks the columns {', '.join(missing)}", "Give all the 18 columns")
        raise FaultsError("the establishments", [fault])
    return file


def _check(path: Path, used: int, negative: int, periods: set[tuple[int, int]]) -> None:
    faults = []
    if not used:
        faults.append(Fault(str(path), "has no private establishment", "CBP and QWI cover private ones"))
    if negative:
        faults.append(Fault(str(path), f"{negative} figures are below 0", "Employment and wages cannot be negative"))
    if len(periods) > 1:
        faults.append(Fault(str(path), "holds more than one quarter", "Publish one quarter at a time"))
    if any(quarter != 1 for _, quarter in periods):
        faults.append(Fault(str(path), "is not of quarter 1", "CBP's quarterly payroll is the first quarter's"))
    if faults:
        raise FaultsError("the establishments", faults)


def _with_noise(rows: pa.Table, streams: list[np.random.Generator]) -> pa.Table:
    count = rows.num_rows
    cbp_factor, qwi_factor = noise_factors(count, streams[0]), noise_factors(count, streams[1])
    m1, m2, m3, wage = (np.asarray(rows[name].to_numpy(), dtype=np.float64) for name in FIGURES)
    naics = cbp_naics(pc.cast(rows["naics"], pa.string()))
    active = (m1 + m2 + m3 + wage) > 0
    covered = pc.invert(pc.match_substring_regex(naics, OUTSIDE_CBP)).to_numpy(zero_copy_only=False) & active
    stable = whole_at_random(STABLE_SHARE * np.minimum(np.minimum(m1, m2), m3), streams[2])
    size_class = cbp_class(m3)
    columns = {
        "state": pc.utf8_lpad(pc.cast(rows["state"], pa.string()), 2, "0"),
        "cnty": pc.utf8_lpad(pc.cast(rows["cnty"], pa.string()), 3, "0"),
        "naics": naics,
        "est": covered.astype(np.int64),
        **{name: (covered & (size_class == at)).astype(np.int64) for at, name in enumerate(CBP_CLASSES)},
        "true_emp": np.where(covered, m3, 0).astype(np.int64),
        "emp": np.where(covered, whole_at_random(m3 * cbp_factor, streams[3]), 0),
        "true_wage": np.where(covered, wage, 0).astype(np.int64),
        "wage": np.where(covered, wage * cbp_factor, 0.0),
        "qwi_est": active.astype(np.int64),
        "true_m1": m1.astype(np.int64),
        "qwi_emp": m1 * qwi_factor,
        "qwi_end": m3 * qwi_factor,
        "qwi_stable": stable * qwi_factor,
        "qwi_wage": wage * qwi_factor,
        "qwi_months": (m1 + m2 + m3) * qwi_factor,
        "max_wage": np.where(covered, wage, 0).astype(np.int64),
        "max_emp": np.where(covered, m3, 0).astype(np.int64),
        "qwi_max": m1.astype(np.int64),
    }
    return pa.table(columns)


def cbp_naics(codes: pa.ChunkedArray) -> pa.ChunkedArray:
    """QCEW's own six-digit codes as NAICS has them: 238xx1 and 238xx2 are 238xx0, 999999 is 999990."""
    codes = pc.replace_substring_regex(codes, r"^(238..)[12]$", r"\10")
    return pc.if_else(pc.equal(codes, "999999"), "999990", codes)
