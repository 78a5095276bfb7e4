"""Output that cannot be written or shown: what was begun is finished, and the exit code tells a loss from a refusal."""

import os
import pty
import shlex
import subprocess
from pathlib import Path
from unittest.mock import Mock

import pytest

from gedp import cli
from gedp.cli import UNFORESEEN
from gedp.cli.streams import BROKEN_PIPE, LOST
from gedp.ledger import Ledger
from tests.helpers.runs import COMMAND, LEDGER, PRICE, gedp, names, write_case

WHOLE = {"identity.parquet", "manifest.json", "microdata.json", "microdata.parquet", "report.html", "tables"}
COMMANDS = (
    ("--help",),
    ("explain", "spec.toml"),
    ("ledger", "export", LEDGER, "--out", "ledger.csv"),
    ("ledger", "show", LEDGER),
    ("report", "out"),
    ("run", "spec.toml", "--dry-run", "--force"),
    ("tabulate", "out"),
    ("tabulate", "out", "--out", "table.csv"),
)
#: What is closed, and how a command then ends; main() sees to it for all of them, so not every pair is tried.
CLOSED = {">&-": LOST, "2>&-": 0, "<&- >&- 2>&-": LOST}
CLOSED_IN_EVERY_WAY = {("--help",), ("tabulate", "out")}


def test_a_message_cannot_steer_the_terminal(tmp_path: Path) -> None:
    """It may quote a code of somebody else's file."""
    write_case(tmp_path)
    assert gedp("run", "spec.toml", folder=tmp_path).code == 0
    (tmp_path / "fixed.csv").write_text("cnty,emp\n00\x1b[2J\u202e1,5\n", encoding="utf-8")
    ended = gedp("tabulate", "out", "--by", "cnty", "--fixed", "fixed.csv", folder=tmp_path)
    assert (ended.code, "cnty 00\\x1b[2J\\u202e1" in ended.err) == (2, True), ended
    assert ended.err.replace("\n", "").isprintable()


def shell(line: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A line for bash in which `gedp` is ours, a new process that takes a second to import everything.

    The code is that of the first command of a pipe that fails.
    """
    script = f'gedp() {{ "$PYTHON" -c "$CODE" "$@"; }}; set -o pipefail; {line}'
    known = {"PYTHON": COMMAND[0], "CODE": COMMAND[2], "PYTHONPATH": str(Path(cli.__file__).parents[2])}
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, env={**os.environ, **known, **environment}, capture_output=True, text=True
    )


def spent(folder: Path) -> object:
    return Ledger.open(folder / LEDGER, create=False).total().mu_squared


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("released")
    write_case(folder)
    assert gedp("run", "spec.toml", folder=folder).code == 0
    return folder


@pytest.mark.parametrize(
    ("output", "code", "reason"),
    [
        (">/dev/full", LOST, "no space left on device"),
        (">&-", LOST, "it is closed"),
        ("1</dev/null", LOST, "bad file descriptor"),
        ("| true", BROKEN_PIPE, ""),
        (">/dev/full 2>/dev/full", LOST, ""),
        ("<&- >&- 2>&-", LOST, ""),
        ("2>&-", 0, ""),
        ("2>/dev/full", 0, ""),
    ],
)
def test_a_release_whose_output_is_lost_is_complete_and_not_refused(
    output: str, code: int, reason: str, tmp_path: Path
) -> None:
    write_case(tmp_path)
    ended = shell(f"gedp run spec.toml {output}", tmp_path)
    assert ended.returncode == code, ended
    assert set(names(tmp_path / "out")) == WHOLE
    assert spent(tmp_path) == PRICE
    if not reason:
        assert ended.stderr == ""
    else:
        assert ended.stderr.startswith(f"gedp: standard output could not be written: {reason}. Everything else is done")
        assert "Released 3 queries, 40 establishments, to out" in ended.stderr
        assert "The report for the public: out/report.html" in ended.stderr


@pytest.mark.parametrize("output", [">/dev/full", ">&-"])
def test_a_refusal_stays_one_when_output_is_lost_too(output: str, released: Path) -> None:
    ended = shell(f"gedp run spec.toml {output}", released)
    assert ended.returncode == 1
    assert "already exists and nothing was spent" in ended.stderr
    assert shell(f"gedp explain no-such-spec {output}", released).returncode == 2


@pytest.mark.parametrize(
    ("command", "output"),
    [(c, output) for c in COMMANDS for output in CLOSED if output == ">&-" or c in CLOSED_IN_EVERY_WAY],
)
def test_no_command_ends_in_a_traceback_when_streams_are_closed(
    command: tuple[str, ...], output: str, released: Path
) -> None:
    ended = shell(f"gedp {shlex.join(command)} {output}", released)
    assert ended.returncode == CLOSED[output], ended
    assert "Traceback" not in ended.stderr
    assert "Error" not in ended.stderr


def test_no_file_gets_the_number_of_a_closed_stream(released: Path) -> None:
    """Or what is printed would end up in it."""
    ended = shell("gedp ledger export t.parquet.ledger --out closed.csv <&- >&- 2>&-", released)
    assert ended.returncode == LOST
    assert (released / "closed.csv").read_text(encoding="utf-8").startswith("sequence,")
    assert gedp("ledger", "verify", LEDGER, folder=released).code == 0


def test_a_table_for_a_program_that_reads_slowly_is_whole(released: Path) -> None:
    """A pipe that would block, set so by another program that has it open."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    arguments = ["tabulate", "out", "--by", "cnty,naics", "--out", "-"]
    line = [*COMMAND[:2], f"import os; os.write(1, b'x' * 65536)\n{COMMAND[2]}", *arguments]
    process = subprocess.Popen(line, cwd=released, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        content = pipe.read()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert content.count(b"\n") == 1 + 2 * 12


def test_what_the_truth_says_is_not_repeated_on_the_error_stream(released: Path) -> None:
    ended = shell("gedp evaluate out --truth t.parquet --by cnty --force >/dev/full", released)
    assert ended.returncode == LOST
    assert ended.stderr.count("\n") == 1
    assert "would have said" not in ended.stderr


def test_an_error_that_nobody_foresaw_is_not_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gedp.policy.examples.example_names", Mock(side_effect=ValueError("nobody foresaw this")))
    ended = gedp("examples", folder=tmp_path)
    assert ended.code == UNFORESEEN
    assert ended.err.startswith("Traceback (most recent call last):")


SIZES = ("0", "1", "-5", "abc", "²", "99999999999999", "", "19")


@pytest.mark.parametrize("columns", SIZES)
@pytest.mark.parametrize(
    "command",
    [
        ("explain", "spec.toml"),
        ("ledger", "show", LEDGER),
        ("reproduce", "intervals"),
        ("run", "spec.toml", "--dry-run", "--force"),
    ],
    ids=" ".join,
)
def test_a_width_that_is_none_changes_nothing(
    command: tuple[str, ...], columns: str, released: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("LINES", raising=False)
    usual = gedp(*command, folder=released)
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("LINES", columns)
    assert gedp(*command, folder=released) == usual
    assert len(usual.out) > 100


@pytest.mark.parametrize(
    "environment",
    [
        {"TERM": "no-such-terminal"},
        {"NO_COLOR": "1"},
        {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"COLUMNS": "0", "LINES": "0", "TERM": "dumb", "PYTHONIOENCODING": "ascii"},
    ],
    ids=str,
)
def test_odd_terminals_get_words_and_numbers(environment: dict[str, str], released: Path) -> None:
    """On a real terminal, which has no size."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "explain", "spec.toml"],
        cwd=released,
        env={**os.environ, **environment},
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    said = b""
    while True:
        try:
            chunk = os.read(leader, 65536)
        except OSError:  # the other side is closed
            break
        if not chunk:
            break
        said += chunk
    os.close(leader)
    assert process.wait(60) == 0, said
    assert b"Traceback" not in said
    assert b"emp" in said
    assert b"wage" in said
