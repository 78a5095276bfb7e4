"""The table every source of synthetic data makes: one row per county × NAICS-6 × ownership cell."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gedp.arrays import IntArray
from gedp.errors import Fault, FaultsError
from gedp.industries import depth_of
from gedp_lab.synth.columns import integers
from gedp_lab.synth.sizes import CBP_CLASSES, possible_jobs

CELL_SCHEMA = pa.schema(
    [
        ("state", pa.string()),  # FIPS, 2 digits
        ("cnty", pa.string()),  # 3 digits, numbered within the state
        ("naics", pa.string()),  # 6 digits
        ("own", pa.string()),  # "5" is private
        ("estabs", pa.int64()),
        ("m1emp", pa.int64()),
        ("m2emp", pa.int64()),
        ("m3emp", pa.int64()),
        ("wage", pa.int64()),  # whole dollars in the quarter
    ]
)
CLASS_SCHEMA = pa.schema([*CELL_SCHEMA, *((name, pa.int64()) for name in CBP_CLASSES)])  # establishments by size
KEYS = ("state", "cnty", "naics", "own")
ATTRIBUTES = ("m1emp", "m2emp", "m3emp", "wage")
_KEY_PATTERNS = {"state": r"^\d{2}$", "cnty": r"^\d{3}$", "own": r"^\d$"}


def check_cells(table: pa.Table, *, by_class: bool = False) -> None:
    """Raises FaultsError with every way in which `table` is not a table of cells, with size classes if asked."""
    wanted = CLASS_SCHEMA if by_class else CELL_SCHEMA
    faults = _schema_faults(table, wanted)
    if not faults and not table.num_rows:
        faults = [Fault("rows", "there are none", "Give at least one cell")]
    if not faults:
        faults = [*_key_faults(table), *_value_faults(table), *(_class_faults(table) if by_class else ())]
    if faults:
        raise FaultsError("cells", faults)


def _schema_faults(table: pa.Table, schema: pa.Schema) -> list[Fault]:
    faults = []
    for field in schema:
        if field.name not in table.column_names:
            faults.append(Fault(f"column {field.name}", "missing", f"Add it as {field.type}"))
        elif table.schema.field(field.name).type != field.type:
            kind = table.schema.field(field.name).type
            faults.append(Fault(f"column {field.name}", f"is {kind}", f"Convert it to {field.type}"))
        elif table[field.name].null_count:
            faults.append(Fault(f"column {field.name}", f"{table[field.name].null_count} nulls", "Fill them first"))
    return faults


def _key_faults(table: pa.Table) -> list[Fault]:
    faults = []
    for name, pattern in _KEY_PATTERNS.items():
        values = pc.unique(table[name])
        strange = values.filter(pc.invert(pc.match_substring_regex(values, pattern))).to_pylist()
        if strange:
            faults.append(
                Fault(
                    f"column {name}",
                    f"strange codes {strange[:3]}",
                    "Pad codes with zeros to their full width",
                )
            )
    unknown = [code for code in pc.unique(table["naics"]).to_pylist() if depth_of(code) != 7]
    if unknown:
        faults.append(
            Fault(
                "column naics",
                f"{len(unknown)} codes without a sector or not of 6 digits",
                f"See {unknown[:3]}",
            )
        )
    distinct = table.group_by(list(KEYS)).aggregate([]).num_rows
    if distinct != table.num_rows:
        faults.append(
            Fault(
                "rows",
                f"{table.num_rows - distinct} repeat a cell",
                "Keep one row for each state, cnty, naics, own",
            )
        )
    return faults


def _value_faults(table: pa.Table) -> list[Fault]:
    faults = []
    for name, least in (("estabs", 1), *((name, 0) for name in ATTRIBUTES)):
        low = pc.sum(pc.less(table[name], least)).as_py() or 0
        if low:
            faults.append(Fault(f"column {name}", f"{low} values under {least}", "Correct or drop those cells"))
    return faults


def class_counts(table: pa.Table) -> IntArray:
    """Establishments by size class, a row per cell."""
    return np.column_stack([integers(table, name) for name in CBP_CLASSES])


def _class_faults(table: pa.Table) -> list[Fault]:
    counts = class_counts(table)
    if (counts < 0).any():
        return [Fault("size classes", "some are below 0", "Correct or drop those cells")]
    faults = []
    others = int((counts.sum(axis=1) != table["estabs"].to_numpy()).sum())
    if others:
        problem = f"{others} cells have another number of establishments than their classes add up to"
        faults.append(Fault("size classes", problem, "Give classes of the same establishments, or another spread"))
    least, most = possible_jobs(counts)
    jobs = table["m3emp"].to_numpy()
    outside = int(((jobs < least) | (jobs > most)).sum())
    if outside:
        problem = f"{outside} cells have fewer or more jobs in month 3 than their classes allow"
        faults.append(Fault("size classes", problem, "Bring m3emp between the bounds of the classes"))
    return faults
