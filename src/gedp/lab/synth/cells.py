"""The table every source of synthetic data makes: one row per county × NAICS-6 × ownership cell."""

import pyarrow as pa
import pyarrow.compute as pc

from gedp.errors import Fault, FaultsError
from gedp.industries import depth_of

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
KEYS = ("state", "cnty", "naics", "own")
ATTRIBUTES = ("m1emp", "m2emp", "m3emp", "wage")
_KEY_PATTERNS = {"state": r"^\d{2}$", "cnty": r"^\d{3}$", "own": r"^\d$"}


def check_cells(table: pa.Table) -> None:
    """Raises FaultsError with every way in which `table` is not a table of cells."""
    faults = _schema_faults(table)
    if not faults and not table.num_rows:
        faults = [Fault("rows", "there are none", "Give at least one cell")]
    if not faults:
        faults = [*_key_faults(table), *_value_faults(table)]
    if faults:
        raise FaultsError("cells", faults)


def _schema_faults(table: pa.Table) -> list[Fault]:
    faults = []
    for field in CELL_SCHEMA:
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
