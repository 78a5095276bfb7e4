"""The log of a command: steps, times and counts, and nothing that is confidential."""

import os
import re
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from gedp.cli import cli, log
from gedp.errors import GedpError
from tests.helpers.runs import write_case

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00 .+")


def test_steps_times_and_counts_are_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_case(tmp_path)
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        said = CliRunner().invoke(cli, ["--log", "run.log", "run", "spec.toml", "--force"])
        assert said.exit_code == 0, said.output
    lines = (tmp_path / "run.log").read_text(encoding="utf-8").splitlines()
    assert all(map(LINE.fullmatch, lines))
    text = re.sub(r"\d+\.\d s", "0.0 s", "\n".join(line.partition(" ")[2] for line in lines))
    once = text[: len(text) // 2 + 1].strip()
    assert once.startswith("gedp ")
    assert re.search(r"^checking the table: 0.0 s$", once, re.MULTILINE)
    assert re.search(r"^establishments: 0.0 s, \d+ done$", once, re.MULTILINE)
    assert re.search(r"^writing the report: 0.0 s$", once, re.MULTILINE)
    assert once.endswith("ended after 0.0 s")
    assert text.count("began") == 2
    assert stat.S_IMODE((tmp_path / "run.log").stat().st_mode) == 0o600
    assert log.current_log() is None


def test_an_error_is_noted_by_its_kind_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_case(tmp_path, ("t.parquet", "secret-name.parquet"))
    monkeypatch.chdir(tmp_path)
    said = CliRunner().invoke(cli, ["--log", "run.log", "run", "spec.toml"])
    assert isinstance(said.exception, GedpError)
    text = (tmp_path / "run.log").read_text(encoding="utf-8")
    assert "stopped (FaultsError) after" in text
    assert "secret" not in text


def test_other_files_are_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "ledger").write_bytes(b"SQLite format 3\0")
    for path in (tmp_path / "ledger", tmp_path):
        said = CliRunner().invoke(cli, ["--log", str(path), "examples"])
        assert "no log of gedp" in str(said.exception)
    assert (tmp_path / "ledger").read_bytes() == b"SQLite format 3\0"
    nowhere = CliRunner().invoke(cli, ["--log", str(tmp_path / "no" / "x.log"), "examples"])
    assert isinstance(nowhere.exception, GedpError)


def test_a_log_that_cannot_be_written_on_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_case(tmp_path)
    monkeypatch.chdir(tmp_path)
    write = os.write
    began: list[int] = []

    def full(file: int, content: bytes) -> int:
        if b" gedp " in content:
            began.append(file)
            return write(file, content)
        if file in began:
            raise OSError(28, "No space left on device")
        return write(file, content)

    monkeypatch.setattr("gedp.cli.log.os.write", full)
    assert CliRunner().invoke(cli, ["--log", "run.log", "run", "spec.toml"]).exit_code == 0
    assert (tmp_path / "run.log").read_text().count("\n") == 1
