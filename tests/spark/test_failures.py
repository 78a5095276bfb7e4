"""What becomes of a release with Spark when something fails: nothing of it can be read, and all of it is paid."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import gedp
from gedp.confidential import priced
from gedp.confidential.engines.spark import SparkEngine
from gedp.errors import TableChangedError
from gedp.files import WriteError
from gedp.ledger import Ledger
from tests.spark.conftest import ROOT
from tests.spark.failing import Obstructed, Watching
from tests.spark.test_spark import large_table, spec_of

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that PySpark leaves open
]


def test_a_write_that_fails_is_called_one_and_paid(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(priced, "IdentityAnswers", partial(Obstructed, marks=tmp_path))
    frame = session.createDataFrame(large_table(50))
    with pytest.raises(WriteError, match=r"^cannot write the rows of the release: ") as raised:
        gedp.run(spec_of(synthetic=False), frame, out=tmp_path / "out", ledger=tmp_path / "ledger")
    assert "counts as spent" in raised.value.__notes__[0]
    ledger = Ledger.open(tmp_path / "ledger", create=False)
    assert float(ledger.total().mu_squared) == pytest.approx(6)
    assert [release.outcome for release in ledger.state().releases] == ["abandoned"]
    assert [path.name for path in tmp_path.iterdir()] == ["ledger"]


def test_of_no_task_anything_is_seen_before_all_are_done(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the rows of a task that is tried again, or started twice, are there once."""
    monkeypatch.setattr(priced, "IdentityAnswers", partial(Watching, marks=tmp_path))
    release = gedp.run(spec_of(), session.createDataFrame(large_table(400)).repartition(4), out=tmp_path / "out")
    assert (tmp_path / "seen").read_text("utf-8") == "0"
    assert release.identity().num_rows == 400


def test_rows_that_are_lost_on_the_way_are_missed(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one_lost(self: SparkEngine, frame: Any, folder: Path) -> None:
        write(self, frame.limit(frame.count() - 1) if folder.name == "identity.parquet" else frame, folder)

    write = SparkEngine._write
    monkeypatch.setattr(SparkEngine, "_write", one_lost)
    with pytest.raises(TableChangedError):
        gedp.run(spec_of(), session.createDataFrame(large_table(50)), out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("session")
def test_a_run_that_is_killed_is_paid_and_leaves_nothing_to_be_read(tmp_path: Path) -> None:
    """Nothing in the folder of Spark, and beside the release what the next run clears away."""
    table, local = large_table(20_000), tmp_path / "local"
    local.mkdir()
    pq.write_table(table, tmp_path / "t.parquet")
    text = gedp.write_spec(spec_of(synthetic=False)).replace("[data]\n", '[data]\nsource = "t.parquet"\n')
    (tmp_path / "spec.toml").write_text(text, "utf-8")
    command = [sys.executable, "-m", "gedp", "run", "spec.toml", "--engine", "spark", "--out", "out"]
    environment = {**os.environ, "SPARK_LOCAL_DIRS": str(local)}
    running = subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=True)
    private = tmp_path / ".out.gedp-partial"
    while not (private / "rows").exists():
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert private.stat().st_mode & 0o077 == 0
    wait_for_all_of(running.pid)
    assert list(local.iterdir()) == []
    ledger = Ledger.open(tmp_path / "t.parquet.ledger", create=False)
    assert float(ledger.total().mu_squared) == pytest.approx(6)
    assert not (tmp_path / "out").exists()
    (private / "rest").touch()
    assert subprocess.run([*command[:5], "--out", "out"], cwd=tmp_path, check=False).returncode == 0  # with other noise
    assert not private.exists()
    assert float(ledger.total().mu_squared) == pytest.approx(12)


def wait_for_all_of(group: int) -> None:
    """Until no process of a group is left: Java ends when it misses Python."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError("some process goes on")


def test_of_a_task_that_is_done_twice_one_outcome_is_published(session: Any, tmp_path: Path) -> None:
    """Speculation, on two hosts: a copy of a slow task is started on the other one, and both draw."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.spark.two_hosts", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=500, check=True)
    marks = sorted(path.name for path in (tmp_path / "marks").iterdir())
    assert [mark.partition(" on ")[0] for mark in marks] == ["attempt 0", "attempt 1"]
    assert len({mark.partition(" on ")[2] for mark in marks}) == 2
    identity = gedp.read_release(tmp_path / "out").identity().sort_by("key")
    assert identity["key"].to_pylist() == large_table(400)["key"].to_pylist()
