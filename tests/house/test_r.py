"""What the page about R shows, runs with the R that is installed."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.helpers.demonstration import Demonstration
from tests.house.test_docs import ROOT, blocks, run_commands

PAGE = ROOT / "docs" / "r.md"


def test_a_release_is_read_by_r(tmp_path: Path, demonstration: Demonstration) -> None:
    program = shutil.which("Rscript")
    if program is None and not os.environ.get("GEDP_REQUIRE_R"):
        pytest.skip("R is not installed (Debian: apt-get install r-base-core)")
    assert program is not None
    run_commands(PAGE, tmp_path, demonstration)
    (tmp_path / "page.R").write_text("\n".join(blocks(PAGE, "r")), encoding="utf-8")
    ended = subprocess.run(
        [program, "--vanilla", "page.R"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert ended.returncode == 0, ended.stderr
    assert re.search(r"more jobs, standard error at most", ended.stdout)
