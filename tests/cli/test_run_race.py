"""Two `gedp run` at the same time for the last of the budget: exactly one wins."""

from pathlib import Path
from typing import Any

import pytest

from gedp.ledger import Ledger
from gedp.release import read_release
from tests.helpers import run_processes
from tests.helpers.runs import LEDGER, PRICE, gedp, names, write_case

ONE_ONLY = ("mu = 1\n", "mu = 0.39\n")  # 0.1521, and one release costs 0.08


@pytest.mark.parametrize("races", [8, pytest.param(50, marks=pytest.mark.slow)])
def test_of_two_runs_exactly_one_gets_the_last_of_the_budget(races: int, tmp_path: Path, processes: Any) -> None:
    """In every third race the budget was partly spent before; in the others the two also race to make the ledger."""
    folders = [tmp_path / str(i) for i in range(races)]
    for i, folder in enumerate(folders):
        exactly_two = ("mu = 1\n", "mu = 0.4\n")
        write_case(folder, ONE_ONLY if i % 3 else exactly_two)
        if i % 3 == 0:
            assert gedp("run", "spec.toml", "--answers-only", "--out", "before", folder=folder).code == 0
    barrier = processes.Barrier(2)
    pipes = [processes.Pipe(duplex=False) for _ in range(2)]
    racers = [
        processes.Process(target=run_processes.race, args=(folders, name, barrier, send))
        for name, (_, send) in zip(("one", "two"), pipes, strict=True)
    ]
    for racer, (_, send) in zip(racers, pipes, strict=True):
        racer.start()
        send.close()  # so that a racer that dies is an error here, not silence
    ends = [[receive.recv() for _ in folders] for receive, _ in pipes]
    for racer in racers:
        racer.join(30)
        assert racer.exitcode == 0
    winners = []
    for i, (folder, one, two) in enumerate(zip(folders, *ends, strict=True)):
        assert sorted([one[0], two[0]]) == [0, 1], "exactly one wins"
        winner, loser = ("one", "two") if one[0] == 0 else ("two", "one")
        winners.append(winner)
        refusal = (two if winner == "one" else one)[1]
        assert refusal.startswith("gedp: over budget: ")
        assert refusal.count("\n") == 1
        state = Ledger.open(folder / LEDGER, create=False).state()
        assert state.verification.ok
        assert state.total.mu_squared == (PRICE if i % 3 else 2 * PRICE)
        assert {release.outcome for release in state.releases} == {"finished"}
        assert read_release(folder / winner).manifest.release == state.releases[-1].reserve.release
        assert not (folder / loser).exists()
        assert not [name for name in names(folder) if name.startswith(".")]
    print(f"{races} of {races}: one {winners.count('one')}, two {winners.count('two')}")
