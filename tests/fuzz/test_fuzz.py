"""The fuzzer can fail: bugs that are planted are reported, with the command that repeats the case."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gedp
from tests.fuzz.kinds import KINDS, chosen
from tests.fuzz.planted import PLANTS

ROOT = Path(__file__).parents[2]
REPORTS = {
    "traceback": "traceback: ValueError at fuzz/planted.py",
    "hang": "hangs",
    "canary on standard output": "canary on the output of examples",
    "canary on the error stream": "canary on the error stream of examples",
    "canary in words": "canary on the output of examples",
    "canary in a file": "canary in a file: notes.txt",
    "budget spent": "spent although examples ended with 0",
    "ledger gone": "a ledger is gone",
    "file left behind": "left behind: .left.tmp",
    "odd exit code": "exit code 99",
    "death": "died: -6",
}


@pytest.fixture(scope="module")
def reported() -> str:
    """What the fuzzer says, in a process of its own, as the cases are forked from it."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.planted"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(Path(gedp.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
    return ended.stdout


@pytest.mark.slow
@pytest.mark.parametrize("what", REPORTS)
def test_a_planted_bug_is_reported(what: str, reported: str) -> None:
    assert re.search(rf"FAILURE, \d+ cases? \(planted\): {re.escape(REPORTS[what])}", reported), reported
    assert f"python -m tests.fuzz --seed 1 --only {list(PLANTS).index(what)}\n" in reported


@pytest.mark.slow
def test_where_nothing_is_planted_nothing_is_reported(reported: str) -> None:
    assert "--only 0\n" not in reported
    assert ["nothing", *REPORTS] == list(PLANTS)


def test_every_kind_is_tried() -> None:
    found = {chosen(random.Random(f"1/{number}")).name for number in range(3000)}
    assert found == {kind.name for kind in KINDS}


def test_cases_repeat(tmp_path: Path) -> None:
    """The same seed and number change the same things."""
    for name in ("spec", "CSV table", "Parquet table", "map file"):
        kind = next(kind for kind in KINDS if kind.name == name)
        contents = []
        for folder in (tmp_path / "a", tmp_path / "b"):
            folder.mkdir(exist_ok=True)
            kind.prepare(random.Random("5/7"), folder)
            contents.append({path.name: path.read_bytes() for path in sorted(folder.iterdir())})
        assert contents[0] == contents[1]
