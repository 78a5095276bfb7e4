"""Secondary suppression by G-Confid (Statistics Canada), run as a program of its own on files.

The package `gconfid` has a licence (GPL) and requirements of its own, so it lives in an environment of its own: an
environment variable names the Python there. It takes quantities and the sums between them, which is what our linear
programs take too. A quantity may move by half of its value, and a sensitive one must by half of its need; twice such a
change leaves nothing negative, so its promise is ours.
"""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gedp.arrays import BoolArray
from gedp_lab.suppress.linked import LinkedTables, SumSystem
from gedp_lab.suppress.outside import MINUTES, ProgramCall

VARIABLE = "GEDP_GCONFID"
NAME = "G-Confid"
MISSING = (
    f"secondary suppression by {NAME} needs an environment of its own. Get it with python -m venv gconfid-env and "
    f"gconfid-env/bin/pip install gconfid, and set {VARIABLE}=gconfid-env/bin/python"
)
CELLS, SUMS, RESULT = "cells.parquet", "sums.parquet", "result.parquet"
#: Costs are the digits of a value, so that few cells are hidden; by default it hides little value in many cells.
SCRIPT = f"""
from gconfid.suppression.suppression import Suppression
Suppression(incell="{CELLS}", inconstraint="{SUMS}", outsuppress="{RESULT}", cost_function1="Digits")
"""
HIDDEN = "X"


def call_in(folder: Path, minutes: int = MINUTES) -> ProgramCall:
    """The call of the Python that the environment names; `folder` is closed."""
    return ProgramCall(folder, os.environ.get(VARIABLE, ""), minutes)


def suppress(tables: LinkedTables, call: ProgramCall) -> BoolArray:
    """The cells that the program hides."""
    python, system = call.found(MISSING), tables.system
    with call.files() as folder:
        _write(folder, system)
        call.run(NAME, [python, "-I", "-c", SCRIPT], folder, RESULT)
        hidden = _read(folder, system)
    return hidden[system.of_cell] & tables.is_shown


def _write(folder: Path, system: SumSystem) -> None:
    """Quantities above 0, numbered from 1, and their sums: −1 for the whole, 1 for each part."""
    there = system.values > 0
    status = np.select([system.needs > 0, ~system.is_shown], ["S", "X"], "V")
    cells = {
        "CellId": pa.array(np.flatnonzero(there) + 1),
        "TotalNoise": pa.array(system.values[there]),
        "Sensitivity": pa.array(system.needs[there]),
        "Status": pa.array(status[there]),
        "Type": pa.repeat("C", int(there.sum())),
    }
    entries = system.sums.tocoo()
    used = there[entries.col]
    sums = {
        "ConstraintId": pa.array(entries.row[used] + 1),
        "CellId": pa.array(entries.col[used] + 1),
        "Coefficient": pa.array(-entries.data[used].astype(np.int64)),
    }
    pq.write_table(pa.table(cells), folder / CELLS)
    pq.write_table(pa.table(sums), folder / SUMS)


def _read(folder: Path, system: SumSystem) -> BoolArray:
    """Which quantities the program hid."""
    table = pq.read_table(folder / RESULT, columns=["CellId", "OutStatus"])
    hidden = np.zeros(len(system.values), dtype=bool)
    numbers = table["CellId"].to_numpy().astype(np.int64) - 1
    hidden[numbers] = np.array(table["OutStatus"].to_pylist()) == HIDDEN
    return hidden
