"""Several processes on one ledger: never more than the budget together, and nothing forgotten when one is killed."""

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from gedp.accounting.composition import PrivacyLoss
from gedp.ledger import Ledger, store
from tests.helpers.ledger_processes import keep_releasing, race
from tests.helpers.ledgers import spend

RACES, KILLS = 50, 30


def test_of_two_processes_that_race_for_the_last_of_the_budget_exactly_one_wins(tmp_path: Path, processes: Any) -> None:
    paths = [tmp_path / f"{i}" for i in range(RACES)]
    for path in paths[::2]:  # at the others the processes also race to make the ledger
        spend(Ledger.open(path), "1", "0.6")  # 0.36, and 0.64 is left
    barrier = processes.Barrier(2)
    pipes = [processes.Pipe(duplex=False) for _ in range(2)]
    racers = [processes.Process(target=race, args=(paths, barrier, send)) for _, send in pipes]
    for racer, (_, send) in zip(racers, pipes, strict=True):
        racer.start()
        send.close()  # so that a racer that dies is an error here, not silence
    answers = [[receive.recv() for _ in paths] for receive, _ in pipes]
    for racer in racers:
        racer.join(30)
        assert racer.exitcode == 0
    for path, one, other in zip(paths, *answers, strict=True):
        assert (one is None) != (other is None), "exactly one wins"
        state = Ledger.open(path, create=False).state()
        assert state.verification.ok
        assert state.total <= PrivacyLoss.of(1)
        assert state.releases[-1].reserve.release == (one or other)


def received(pipe: Connection) -> Iterator[tuple[str, str]]:
    try:
        while pipe.poll(0):
            yield pipe.recv()
    except (EOFError, OSError):  # killed before, or while, it said more
        pass


def test_a_killed_process_is_never_forgotten(tmp_path: Path, processes: Any) -> None:
    """kill -9 at random moments; what the process was told is what the ledger shows, and at most one step more."""
    path = tmp_path / "ledger"
    Ledger.open(path)
    chance = random.Random(20_240_607)
    told: list[tuple[str, str]] = []
    left_behind = 0
    for _ in range(KILLS):
        receive, send = processes.Pipe(duplex=False)
        child = processes.Process(target=keep_releasing, args=(path, send))
        child.start()
        send.close()
        assert receive.poll(60), "it is at work"
        time.sleep(chance.uniform(0, 0.06))
        child.kill()
        child.join(30)
        left_behind += path.with_name("ledger-journal").exists()
        told += received(receive)
        state = Ledger.open(path, create=False).state()
        assert state.verification.ok, state.verification.breaks
        outcomes = {release.reserve.release: release.outcome for release in state.releases}
        for step, release in told:
            assert outcomes[release] in {step, "finished"}
        finished = [release for step, release in told if step == "finished"]
        assert state.total.mu_squared * 100 >= len(finished)
        assert state.total.mu_squared * 100 == len(outcomes)
        steps = sum(1 + (outcome == "finished") for outcome in outcomes.values())
        assert steps - len(told) <= KILLS
    assert any(step == "finished" for step, _ in told)
    print(f"{len(told)} steps told, {left_behind} kills left a half-written transaction")


def test_many_threads_share_a_ledger(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger")
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: spend(ledger, "9", "0.1"), range(24)))
    assert len({reservation.release_id for reservation in made}) == 24
    assert ledger.total().mu_squared * 100 == 24


def test_commits_are_made_to_survive_power_failures(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger")
    with store.transaction(ledger.path, 1, write=True) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
