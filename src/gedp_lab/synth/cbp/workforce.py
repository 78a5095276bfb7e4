"""Reader of Quarterly Workforce Indicators: every CSV file (plain or gzipped) of a folder.

Read are the rows of counties (`geo_level` C) for all industries (`ind_level` A) and for NAICS-4
(`ind_level` 4), of the wanted year and quarter. Where a file also has the breakdowns of the full QWI files
(sex, age, firm size, ...), only the rows of their totals, and of private employers, are read. A figure
counts as published under the status flags 1 (released), 9 (released, significantly distorted), 10 and 12
(the same for aggregates).
"""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from gedp.errors import Fault
from gedp.progress import NextStep, silent
from gedp_lab.synth.cbp.codes import industry_digits
from gedp_lab.synth.cbp.csvfile import CsvSource, read_batches, whole_numbers

VARIABLES = ("Emp", "EmpEnd", "EmpS", "EarnBeg")
KEYS = ("geography", "industry", "ind_level", "geo_level", "year", "quarter")
PUBLISHED_FLAGS = ("1", "9", "10", "12")
TOTALS = {
    "ownercode": "A05",
    "sex": "0",
    "agegrp": "A00",
    "race": "A0",
    "ethnicity": "A0",
    "education": "E0",
    "firmage": "0",
    "firmsize": "0",
}
REQUIRED = (*KEYS, *VARIABLES, *(f"s{name}" for name in VARIABLES))


@dataclass(frozen=True)
class Workforce:
    """QWI of one quarter: counties (state, cnty, Emp, ...) and cells (state, cnty, code, Emp, ...), null
    where a figure is suppressed. Earnings are dollars a month.
    """

    counties: pa.Table
    cells: pa.Table


def read_qwi(
    folder: Path,
    year: int,
    quarter: int,
    faults: list[Fault],
    progress: NextStep = silent,
) -> Workforce | None:
    """The county and county x NAICS-4 rows of all files in the folder."""
    paths = sorted([*folder.glob("*.csv"), *folder.glob("*.csv.gz")]) if folder.is_dir() else []
    if not paths:
        problem = "has no .csv or .csv.gz file" if folder.is_dir() else "is not a folder"
        faults.append(Fault(str(folder), problem, "Put the QWI extracts into one folder and name it"))
        return None
    before = len(faults)
    periods: set[tuple[str, str]] = set()
    parts: list[pa.Table] = []
    for path in paths:
        progress(f"reading {path.name}")
        parts += _rows_of_file(path, year, quarter, periods, faults)
    if not parts:
        if len(faults) == before:
            faults.append(_nothing_found(folder, year, quarter, periods))
        return None
    table = pa.concat_tables(parts)
    level = table["ind_level"]
    columns = [*VARIABLES]
    return Workforce(
        table.filter(pc.equal(level, "A")).select(["state", "cnty", *columns]),
        table.filter(pc.equal(level, "4")).select(["state", "cnty", "code", *columns]),
    )


def _rows_of_file(
    path: Path,
    year: int,
    quarter: int,
    periods: set[tuple[str, str]],
    faults: list[Fault],
) -> list[pa.Table]:
    kept: list[pa.RecordBatch] = []
    for batch in read_batches(CsvSource(path, REQUIRED, tuple(TOTALS)), faults):
        keys = pa.table({"year": batch["year"], "quarter": batch["quarter"]}).group_by(["year", "quarter"])
        periods |= {(row["year"], row["quarter"]) for row in keys.aggregate([]).to_pylist()}
        wanted = _and(
            pc.equal(batch["year"], str(year)),
            pc.equal(batch["quarter"], str(quarter)),
            pc.equal(batch["geo_level"], "C"),
            pc.is_in(batch["ind_level"], pa.array(["A", "4"])),
            *(pc.equal(batch[name], total) for name, total in TOTALS.items() if name in batch.schema.names),
        )
        rows = batch.filter(wanted)
        if rows.num_rows:
            kept.append(rows.select(REQUIRED))
    if not kept:
        return []
    table = pa.Table.from_batches(kept)
    geography = pc.utf8_lpad(table["geography"], 5, "0")
    columns = {
        "state": pc.utf8_slice_codeunits(geography, 0, 2),
        "cnty": pc.utf8_slice_codeunits(geography, 2, 5),
        "code": industry_digits(table["industry"]),
        "ind_level": table["ind_level"],
    }
    length = pc.utf8_length(columns["code"])
    nests = pc.equal(length, pc.if_else(pc.equal(table["ind_level"], "4"), 4, 0))
    bad = table.num_rows - (pc.sum(nests).as_py() or 0)
    if bad:
        faults.append(
            Fault(str(path), f"{bad} industry codes do not fit their ind_level", "Levels A and 4 are read here")
        )
    for name in VARIABLES:
        figures = whole_numbers(table, name, path, faults, blank_is_null=True)
        published = pc.is_in(table[f"s{name}"], pa.array(PUBLISHED_FLAGS))
        columns[name] = pc.if_else(published, figures, pa.scalar(None, pa.float64()))
    return [pa.table(columns)]


def _and(*conditions: pa.Array) -> pa.Array:
    result = conditions[0]
    for condition in conditions[1:]:
        result = pc.and_(result, condition)
    return result


def _nothing_found(folder: Path, year: int, quarter: int, periods: set[tuple[str, str]]) -> Fault:
    if (str(year), str(quarter)) in periods:
        return Fault(
            str(folder),
            f"has no row of a county for {year} quarter {quarter}",
            "Extract counties (geo_level C, ind_level A and 4)",
        )
    found = ", ".join(f"{of_year}Q{of_quarter}" for of_year, of_quarter in sorted(periods)[:5]) or "nothing"
    return Fault(
        str(folder),
        f"holds {found}, but the CBP file is of {year} and quarter {quarter} is needed",
        f"Extract {year} quarter {quarter}",
    )
