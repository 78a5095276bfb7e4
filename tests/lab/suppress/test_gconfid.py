"""The files for G-Confid, with the real program where it is installed; and what happens to programs that do not end."""

import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gedp_lab.suppress import gconfid
from gedp_lab.suppress.audit import audit
from gedp_lab.suppress.outside import LeftOutError, ProgramCall
from tests.lab.suppress.examples import bob, hide
from tests.lab.suppress.test_tauargus import world

#: In place of Python with gconfid: hides what is sensitive and the quantity of the first number.
STAND_IN = f"""#!{sys.executable}
import pyarrow as pa, pyarrow.parquet as pq
cells, sums = (pq.read_table(name).to_pylist() for name in ("cells.parquet", "sums.parquet"))
size = {{cell["CellId"]: cell["TotalNoise"] for cell in cells}}
totals, split_columns = dict.fromkeys((row["ConstraintId"] for row in sums), 0), []
for row in sums:
    totals[row["ConstraintId"]] += row["Coefficient"] * size[row["CellId"]]
    split_columns += [row["ConstraintId"]] * (row["Coefficient"] == -1)
assert sorted(split_columns) == sorted(totals) and max(map(abs, totals.values())) < 1e-6
hidden = [cell["Status"] in "SX" or cell["CellId"] == 1 for cell in cells]
assert all((cell["Sensitivity"] > 0) == (cell["Status"] == "S") for cell in cells)
status = ["X" if each else "P" for each in hidden]
pq.write_table(pa.table({{"CellId": list(size), "OutStatus": status}}), "result.parquet")
"""


def program(folder: Path, text: str) -> ProgramCall:
    path = folder / "program"
    path.write_text(text)
    path.chmod(0o700)
    return ProgramCall(folder, str(path))


def test_without_an_environment_a_line_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(gconfid.VARIABLE, raising=False)
    with pytest.raises(LeftOutError, match="pip install gconfid, and set GEDP_GCONFID"):
        gconfid.suppress(bob(), gconfid.call_in(tmp_path))


def test_quantities_and_their_sums_are_what_it_gets_and_what_it_hides_is_found(tmp_path: Path) -> None:
    tables, _, _ = world()
    hidden = gconfid.suppress(tables, program(tmp_path, STAND_IN))
    first = tables.system.of_cell == 0
    assert np.array_equal(hidden, tables.is_sensitive | first | (tables.system.needs[tables.system.of_cell] > 0))


def test_parts_that_nobody_publishes_count_as_hidden_and_cost_nothing(tmp_path: Path) -> None:
    tables = bob()  # county and sector cut through each other
    hidden = gconfid.suppress(tables, program(tmp_path, STAND_IN))
    assert hidden[hide(tables, ("county", 0), ("sector", 0))].all()
    assert not hidden[~tables.is_shown].any()


def test_a_program_that_does_not_end_is_stopped_with_all_that_it_started(tmp_path: Path) -> None:
    """Its child would otherwise go on with confidential values."""
    call = program(tmp_path, f"#!/bin/sh\necho {4711}\nsleep 60 & echo $! > {tmp_path}/child\nwait\n")
    with call.files() as folder, pytest.raises(LeftOutError, match="stopped after 2 seconds") as stopped:
        ProgramCall(tmp_path, call.command, minutes=0).run("it", [call.command], folder, "result", grace=2)
    assert "4711" not in str(stopped.value)
    assert _has_ended(int((tmp_path / "child").read_text()))
    assert {path.name for path in tmp_path.iterdir()} == {"program", "child"}


def test_what_a_program_keeps_while_it_works_is_in_its_folder(tmp_path: Path) -> None:
    call = program(tmp_path, f"#!{sys.executable}\nimport tempfile\nopen('result', 'w').write(tempfile.gettempdir())\n")
    with call.files() as folder:
        call.run("it", [call.found("")], folder, "result")
        assert Path((folder / "result").read_text()) == folder


@pytest.mark.skipif(
    not os.environ.get(gconfid.VARIABLE),
    reason=f"{gconfid.VARIABLE} names no Python with gconfid (pip install gconfid)",
)
def test_the_real_program_leaves_no_sensitive_cell_unsafe(tmp_path: Path) -> None:
    tables, _, _ = world()
    hidden = gconfid.suppress(tables, gconfid.call_in(tmp_path))
    assert hidden[tables.is_sensitive].all()
    assert hidden.sum() > tables.is_sensitive.sum()
    assert not audit(tables, hidden).is_unsafe(tables).any()
    assert not list(tmp_path.iterdir())


def _has_ended(process: int) -> bool:
    """Within a second, as nobody waits for the child of a program that is gone."""
    for _ in range(100):
        state = Path(f"/proc/{process}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.01)
    return False
