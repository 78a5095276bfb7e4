"""The command line: exit codes, messages, quick help."""

import subprocess
import sys
from pathlib import Path

import pytest

from gedp import __version__
from gedp.cli import COMMANDS
from tests.test_policy import GOOD, changed


def gedp(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from gedp.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
    )


def test_version_and_help() -> None:
    assert gedp("--version").stdout == f"gedp {__version__}\n"
    result = gedp("--help")
    assert result.returncode == 0
    assert all(name in result.stdout for name in COMMANDS)


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; sys.argv = ['gedp', '--help']\nfrom gedp.cli import cli\ntry: cli()\nexcept SystemExit: pass\n"
    heavy = "print(sorted({'numpy', 'scipy', 'rich', 'matplotlib', 'duckdb', 'pyarrow'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code + heavy], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(command: str) -> None:
    result = gedp(command, "--help")
    assert result.returncode == 0
    assert "Examples:" in result.stdout


def test_explain_shows_intervals_power_prices_and_other_accounting() -> None:
    result = gedp("explain", "paper-baseline", "--sizes", "3,36,360,36000")
    assert result.returncode == 0, result.stderr
    for expected in ("1.5", "42.2", "35,810.5", "49.2%", "74.6%", "84.7%", "0.3606", "2.30651", "zCDP", "a firm's 10"):
        assert expected in result.stdout, expected


def test_explain_reports_all_five_mistakes_with_exit_code_2(tmp_path: Path) -> None:
    text = changed(
        ('"naics", prefix', '"naic", prefix'),
        ('emp = { psi = "sqrt"', 'emp = { psi = "sqroot"'),
        ("gamma = 50", "gamma = -50"),
        ('by = ["cnty"]', 'by = ["county"]'),
        ("{ emp = 0.7, wage", "{ emp = 0.7, wages"),
    )
    (tmp_path / "bad.toml").write_text(text, encoding="utf-8")
    result = gedp("explain", "bad.toml", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.startswith("gedp: bad.toml: 5 faults\n  line 7")
    assert result.stderr.count("\n  line ") == 5
    assert "Traceback" not in result.stderr


def test_over_budget_ends_with_exit_code_1_and_the_price_list(tmp_path: Path) -> None:
    (tmp_path / "dear.toml").write_text(changed(("mu = 1.4", "mu = 1.2")), encoding="utf-8")
    result = gedp("explain", "dear.toml", cwd=tmp_path)
    assert result.returncode == 1
    assert "identity" in result.stdout
    assert "over the budget of 1.2" in result.stdout
    assert "Multiply every query's mu by 0.8571" in result.stderr


def test_two_publishers(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(changed(("gamma = 0.5", "gamma = 0.2")), encoding="utf-8")
    (tmp_path / "ours.toml").write_text(GOOD, encoding="utf-8")
    result = gedp("explain", "ours.toml", "--with", "other.toml", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    said = result.stdout[result.stdout.index("Together with other.toml") :]
    assert "mu = 1.98" in said
    assert "emp: psi = narrowed from (sqrt(x))/0.5 and (sqrt(x))/0.2" in " ".join(said.split())
    assert "wage: psi = sqrt(x), gamma = 50" in said


def test_bad_usage_ends_with_exit_code_2(tmp_path: Path) -> None:
    assert gedp("explain", "absent.toml").returncode == 2
    assert gedp("explain").returncode == 2
    assert gedp("nonsense").returncode == 2
    assert gedp("explain", "paper-equal", "--sizes", "3,x").returncode == 2
    unwritable = gedp("explain", "paper-equal", "--html", str(tmp_path / "no" / "such" / "page.html"))
    assert unwritable.returncode == 2
    assert "cannot write" in unwritable.stderr
    assert "Traceback" not in unwritable.stderr


def test_examples_are_listed_and_printed(tmp_path: Path) -> None:
    assert gedp("examples").stdout.startswith("paper-baseline")
    (tmp_path / "mine.toml").write_text(gedp("examples", "paper-equal").stdout, encoding="utf-8")
    assert gedp("explain", "mine.toml", cwd=tmp_path).returncode == 0
    assert gedp("examples", "nothing").returncode == 2
