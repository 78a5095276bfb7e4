"""The figures of `make coverage`, and that it fails when a room of the promise is not tested enough."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.house import covered
from tests.house.covered import by_room, too_little

PROMISE = ("accounting", "confidential", "ledger", "noise")


def report(**run: int) -> dict[str, Any]:
    """Every room of the promise with one file of 60 statements and 40 branches, of which so many were run."""
    files = {}
    for room in PROMISE:
        ran = run.get(room, 100)
        statements = min(ran, 60)
        files[f"src/gedp/{room}/module.py"] = {
            "summary": {
                "num_statements": 60,
                "num_branches": 40,
                "covered_lines": statements,
                "covered_branches": ran - statements,
            }
        }
    return {"files": files}


def test_statements_and_branches_of_all_files_of_a_room_count() -> None:
    found = report(noise=90)
    found["files"]["/somewhere/src/gedp/noise/deeper/other.py"] = found["files"]["src/gedp/noise/module.py"]
    found["files"]["src/gedp/files.py"] = found["files"]["src/gedp/ledger/module.py"]
    found["files"]["src/gedp/confidential/engines/spark.py"] = found["files"]["src/gedp/ledger/module.py"]
    assert by_room(found) == {
        "spark": (100, 100),
        "accounting": (100, 100),
        "confidential": (100, 100),
        "files": (100, 100),
        "ledger": (100, 100),
        "noise": (180, 200),
    }


def test_each_room_needs_enough_whatever_the_others_have() -> None:
    assert too_little(by_room(report(confidential=95)), PROMISE) == []
    assert too_little(by_room(report(confidential=94, noise=80)), PROMISE) == ["confidential", "noise"]
    assert too_little({}, PROMISE) == list(PROMISE)


def test_too_little_is_a_failure_and_names_the_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "coverage.json"
    monkeypatch.setattr(sys, "argv", ["covered", str(path), *PROMISE])
    path.write_text(json.dumps(report()), encoding="utf-8")
    covered.main()
    path.write_text(json.dumps(report(ledger=50)), encoding="utf-8")
    with pytest.raises(SystemExit, match="too little of ledger"):
        covered.main()
    assert "in total         87.5%" in capsys.readouterr().out
