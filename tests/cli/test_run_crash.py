"""Ends that nobody chose: kill -9 at random moments, signals, and what is then on disk and in the ledger."""

import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import duckdb
import pytest

from gedp.cli.signals import interrupts
from gedp.confidential.engines.local import LocalEngine
from gedp.errors import GedpError
from gedp.ledger import Ledger
from gedp.release import read_release
from tests.helpers import run_processes
from tests.helpers.runs import LEDGER, PRICE, gedp, names, small_table, start, write_case

UNLIMITED = ("mu = 1\n", "mu = 1000\n")


def received(pipe: Connection) -> Iterator[tuple[str, int]]:
    try:
        while pipe.poll(0):
            yield pipe.recv()
    except (EOFError, OSError):  # killed before, or while, it said more
        pass


def whole(folder: Path) -> str | None:
    """The id of the release in a folder, if it is taken for one."""
    try:
        return read_release(folder).manifest.release
    except GedpError:
        return None


def check_what_is_left(folder: Path) -> dict[str, str]:
    """The ledger is sound and counts every release that anybody could read. Returns what became of each."""
    state = Ledger.open(folder / LEDGER, create=False).state()
    assert state.verification.ok, state.verification.breaks
    outcomes = {release.reserve.release: release.outcome for release in state.releases}
    assert state.total.mu_squared == PRICE * sum(outcome != "unspent" for outcome in outcomes.values())
    visible = [path for path in (folder / "out").iterdir() if not path.name.startswith(".")]
    found = [whole(path) for path in visible]
    assert None not in found, "a folder with its name is a whole release"
    assert len(set(found)) == len(found)
    assert {outcomes[name] for name in found if name} <= {"reserved", "finished"}
    for path in (folder / "out").iterdir():
        if path.name.startswith("."):  # was never given its name; whole or not, it was paid for
            assert whole(path) in {None, *outcomes}
    return outcomes


def bring_to_an_end(folder: Path) -> None:
    """Whatever was killed is finished or lost, and was paid already. If an old release is in the way, it is lost."""
    before = Ledger.open(folder / LEDGER, create=False).state().total
    ended = gedp("ledger", "finish", LEDGER, folder=folder)
    if ended.code == 1:
        assert "out/same already exists" in ended.err, ended
        shutil.rmtree(folder / "out" / ".same.gedp-partial")
        assert gedp("ledger", "finish", LEDGER, folder=folder).code == 0
    outcomes = check_what_is_left(folder)
    assert set(outcomes.values()) <= {"finished", "abandoned"}
    assert Ledger.open(folder / LEDGER, create=False).state().total == before
    for path in (folder / "out").iterdir():
        assert path.name.startswith(".") or outcomes[str(whole(path))] == "finished"


@pytest.mark.parametrize("kills", [12, pytest.param(40, marks=pytest.mark.slow)])
def test_kill_at_random_moments(kills: int, tmp_path: Path, processes: Any) -> None:
    write_case(tmp_path, UNLIMITED)
    assert gedp("run", "spec.toml", "--answers-only", "--out", "out/same", folder=tmp_path).code == 0
    chance = random.Random()
    number, finished, unfinished, left_behind = 1, 0, 0, 0
    for _ in range(kills):
        receive, send = processes.Pipe(duplex=False)
        child = processes.Process(target=run_processes.keep_running, args=(tmp_path, number, send))
        child.start()
        send.close()
        assert receive.poll(60), "it is at work"
        time.sleep(chance.uniform(0, 0.5))
        child.kill()
        child.join(30)
        assert child.exitcode == -signal.SIGKILL
        told = list(received(receive))
        outcomes = check_what_is_left(tmp_path)
        for step, at in told:
            number = max(number, at + 1)
            if step == "finished" and at % 3:
                name = whole(tmp_path / "out" / str(at))
                assert name
                assert outcomes[name] == "finished"
        finished += sum(step == "finished" for step, _ in told)
        assert list(outcomes.values()).count("finished") >= finished + 1
        assert whole(tmp_path / "out" / "same"), "--force leaves the old release or the new one, never neither"
        unfinished += list(outcomes.values()).count("reserved")
        left_behind += sum(path.name.startswith(".") for path in (tmp_path / "out").iterdir())
        bring_to_an_end(tmp_path)
    print(f"{kills} kills, {finished} releases, {unfinished} reservations and {left_behind} folders left behind")
    assert gedp("run", "spec.toml", "--answers-only", "--out", "out/last", folder=tmp_path).code == 0
    assert gedp("run", "spec.toml", "--answers-only", "--out", "out/last", "--force", folder=tmp_path).code == 0
    assert gedp("ledger", "verify", LEDGER, folder=tmp_path).code == 0
    outcomes = check_what_is_left(tmp_path)
    assert list(outcomes.values())[-2:] == ["finished", "finished"]


def reservations(folder: Path) -> list[str]:
    return [release.outcome for release in Ledger.open(folder / LEDGER, create=False).state().releases]


@pytest.mark.parametrize("times", [10, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupts_at_random_moments(number: signal.Signals, times: int, tmp_path: Path, processes: Any) -> None:
    """They end in one line and the exit code of the signal, or come too late; what may have been spent is said."""
    write_case(tmp_path, UNLIMITED)
    assert gedp("run", "spec.toml", "--answers-only", "--out", "out/first", folder=tmp_path).code == 0
    chance = random.Random()
    seen: Counter[str] = Counter()
    for i in range(times):
        before = reservations(tmp_path)
        receive, send = processes.Pipe(duplex=False)
        arguments = ["run", "spec.toml", "--answers-only", "--out", f"out/{i}"]
        child = processes.Process(target=run_processes.run_once, args=(tmp_path, arguments, send))
        child.start()
        assert receive.recv() == "ready"
        time.sleep(chance.uniform(0.01, 0.25))
        with suppress(ProcessLookupError):
            os.kill(child.pid, number)
        child.join(30)
        said = (tmp_path / "err").read_text(encoding="utf-8").strip()
        assert child.exitcode in {0, 128 + number}, said
        new = reservations(tmp_path)[len(before) :]
        if child.exitcode == 0:
            assert said == ""
            assert new == ["finished"]
        else:
            assert said.startswith("gedp: interrupted" if number == signal.SIGINT else "gedp: terminated"), said
            assert "\n" not in said
            if "counts as spent" in said:
                assert new == ["abandoned"]
            elif new == ["reserved"]:  # while the ledger was being written
                assert "may be set aside already" in said or "is whole and paid for" in said
            else:  # before the first draw, while its price was recorded, or after the release
                assert new in ([], ["unspent"], ["finished"])
        seen[f"{child.exitcode} {new}"] += 1
        check_what_is_left(tmp_path)
    assert gedp("ledger", "finish", LEDGER, folder=tmp_path).code == 0
    hidden = [name for name in names(tmp_path / "out") if name.startswith(".")]
    assert len(hidden) <= 1, "cleaned up, unless the signal came right between making and remembering a folder"
    print(dict(seen))
    assert gedp("run", "spec.toml", "--answers-only", "--out", "out/last", folder=tmp_path).code == 0


@pytest.mark.parametrize(
    ("number", "word"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated"), (signal.SIGHUP, "terminated")]
)
def test_a_signal_after_the_first_draw(number: signal.Signals, word: str, tmp_path: Path) -> None:
    """A process of its own, with a table large enough to be interrupted while noise is drawn."""
    write_case(tmp_path, table=small_table(400_000))
    process = start("run", "spec.toml", "--answers-only", folder=tmp_path)
    patience = time.monotonic() + 60
    while not ((tmp_path / LEDGER).exists() and reservations(tmp_path)):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < patience
        time.sleep(0.002)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "\n" not in err.strip()
    assert names(tmp_path) == ["spec.toml", "t.parquet", LEDGER]
    assert err.strip().startswith(
        f"gedp: {word}. Noise was drawn and the release is not whole, so it is lost and mu = 0.282843 counts as spent"
    )
    assert reservations(tmp_path) == ["abandoned"]


def test_what_nohup_ignores_stays_ignored(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupts() as came:
            os.kill(os.getpid(), signal.SIGHUP)
            assert came == []
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGTERM)
            assert came == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_interrupt_inside_duckdb_is_an_interrupt() -> None:
    """DuckDB makes an error of its own of it."""
    engine = LocalEngine(small_table())
    for error in (RuntimeError("Query interrupted"), duckdb.InterruptException("Interrupted!")):
        with pytest.raises(KeyboardInterrupt):
            engine._censored(Mock(side_effect=error))
