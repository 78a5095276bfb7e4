"""A sample of all faults of the file system; `python -m tests.faults` tries every one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gedp
from tests.faults.inject import STRACE

SAMPLE = 40  # faults


def harness(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, as the commands are forked from it. Skipped, or a failure, where strace is missing."""
    if not STRACE:
        message = "no strace found: install it (Debian: apt-get install strace) to test faults of the file system"
        (pytest.fail if os.environ.get("GEDP_REQUIRE_STRACE") else pytest.skip)(message)
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(gedp.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_no_fault_of_a_sample_leaves_halves_or_forgets_budget() -> None:
    ended = harness("tests.faults", "--cases", str(SAMPLE))
    print(ended.stdout)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"{SAMPLE} faults" in ended.stdout


@pytest.mark.slow
def test_files_that_are_written_in_place_are_reported() -> None:
    ended = harness("tests.faults.planted")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "half a file: out/report.html" in ended.stdout
    assert "python -m tests.faults --only 'report/" in ended.stdout
