"""Reader of the County Business Patterns county file (Census Bureau, `cbp16co.txt`) and of the imputed CBP.

CBP prints first-quarter payroll `qp1` in thousands of dollars and sets a withheld figure to zero under the
noise flag D or S: zero then means unknown. Payroll leaves this module in dollars, unknown figures as null.
The imputed CBP (Eckert, Fort, Schott and Yang) has the same rows with an employment figure in every one.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gedp.errors import Fault
from gedp_lab.synth.cbp.codes import industry_digits
from gedp_lab.synth.cbp.csvfile import CsvSource, read_batches, whole_numbers
from gedp_lab.synth.sizes import CBP_CLASSES

CBP_COLUMNS = ("fipstate", "fipscty", "naics", "emp_nf", "emp", "qp1_nf", "qp1", "est")
EFSY_COLUMNS = ("fipstate", "fipscty", "naics", "emp")
WITHHELD = ("D", "S")
DOLLARS_PER_UNIT = 1000.0


def cbp_year(path: Path) -> int | None:
    """The year in a name such as `cbp16co.txt`; CBP rows do not carry it."""
    match = re.search(r"cbp(\d\d)co", path.name.lower())
    if match is None:
        return None
    short = int(match[1])
    return 1900 + short if short >= 86 else 2000 + short


def efsy_year(path: Path) -> int | None:
    """The year in a name such as `efsy_cbp_2016.csv`."""
    match = re.search(r"(?<!\d)((?:19|20)\d\d)(?!\d)", path.name)
    return int(match[1]) if match else None


def read_cbp(path: Path, faults: list[Fault], *, size_classes: bool = False) -> pa.Table | None:
    """Rows (state, cnty, code, est, emp, qp1): employees, dollars of payroll, null where withheld. If asked,
    also the establishments by size class (`CBP_CLASSES`), which CBP never withholds."""
    classes = (*CBP_CLASSES,) if size_classes else ()
    table = _read(CsvSource(path, (*CBP_COLUMNS, *classes)), faults)
    if table is None:
        return None
    columns = _area(table, path, faults)
    for name in ("est", *classes):
        columns[name] = whole_numbers(table, name, path, faults)
    if size_classes:
        faults += _class_faults(path, columns)
    for name, scale in (("emp", 1.0), ("qp1", DOLLARS_PER_UNIT)):
        withheld = pc.is_in(pc.utf8_upper(table[f"{name}_nf"]), pa.array(WITHHELD))
        figures = pc.multiply(whole_numbers(table, name, path, faults), scale)
        columns[name] = pc.if_else(withheld, pa.scalar(None, pa.float64()), figures)
    return pa.table(columns)


def _class_faults(path: Path, columns: Mapping[str, pa.ChunkedArray]) -> list[Fault]:
    inside = np.sum([columns[name].to_numpy() for name in CBP_CLASSES], axis=0)
    others = int((np.abs(inside - columns["est"].to_numpy()) > 0).sum())  # malformed numbers are faults already
    if not others:
        return []
    problem = f"{others} row{'s have' if others > 1 else ' has'} size classes that do not add up to est"
    return [Fault(str(path), problem, "Download it again, or use another spread than classes")]


def read_efsy(path: Path, faults: list[Fault]) -> pa.Table | None:
    """Rows (state, cnty, code, emp) of the imputed CBP; no employment figure is missing."""
    table = _read(CsvSource(path, EFSY_COLUMNS), faults)
    if table is None:
        return None
    return pa.table(_area(table, path, faults) | {"emp": whole_numbers(table, "emp", path, faults)})


def _read(source: CsvSource, faults: list[Fault]) -> pa.Table | None:
    before = len(faults)
    batches = list(read_batches(source, faults))
    if not batches:
        if len(faults) == before:
            faults.append(Fault(str(source.path), "has no rows", "Download the file again"))
        return None
    return pa.Table.from_batches(batches)


def _area(table: pa.Table, path: Path, faults: list[Fault]) -> dict[str, pa.ChunkedArray]:
    columns = {
        "state": pc.utf8_lpad(table["fipstate"], 2, "0"),
        "cnty": pc.utf8_lpad(table["fipscty"], 3, "0"),
        "code": industry_digits(table["naics"]),
    }
    checks = {
        "fipstate": pc.match_substring_regex(columns["state"], r"^\d\d$"),
        "fipscty": pc.match_substring_regex(columns["cnty"], r"^\d{3}$"),
        "naics": pc.is_valid(columns["code"]),
    }
    for name, good in checks.items():
        bad = table.num_rows - (pc.sum(good).as_py() or 0)
        if bad:
            faults.append(Fault(str(path), f"column {name}: {bad} codes are malformed", "See the record layout of CBP"))
    return columns
