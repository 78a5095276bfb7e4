"""The ledger around the noise: where a link is left, and which decisions are published."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gedp.accounting.composition import PrivacyLoss
from gedp.confidential import recording
from gedp.confidential.recording import _made
from gedp.ledger import KnownBy, Ledger, Request
from gedp.ledger.entries import Break, Decision
from gedp.policy import parse_spec
from tests.policy.test_spec import GOOD

pytestmark = pytest.mark.usefixtures("no_disk_waits")


@pytest.mark.parametrize(
    ("read", "meant", "origins", "is_left"),
    [
        pytest.param(["t.csv"], ["t.csv"], [], True, id="a file"),
        pytest.param([], ["t.csv"], [], True, id="a table in memory that stands for a file"),
        pytest.param([], ["t.csv"], ["t.csv"], False, id="a table of Spark, read from the file"),
        pytest.param([], [], [], False, id="a table in memory"),
    ],
)
def test_a_link_to_the_ledger_is_left_beside_files_that_nothing_else_reads_as_a_folder(
    read: list[str],
    meant: list[str],
    origins: list[str],
    is_left: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left: list[list[Path]] = []
    monkeypatch.setattr(recording, "leave_pointer", lambda ledger, files: left.append(files))
    monkeypatch.setattr(recording, "known_by", lambda engine, spec: KnownBy([Path(name) for name in meant]))
    monkeypatch.setattr(recording, "doubts_about", lambda path, request, data: ())
    engine: Any = SimpleNamespace(files=lambda: read, origins=lambda: origins)
    ledger, spec = Ledger.open(tmp_path / "ledger"), parse_spec(GOOD)
    monkeypatch.setattr(Ledger, "_marks", lambda *_: [])
    record = recording.record(ledger, engine, Request.of(spec), spec, tmp_path / "out")
    assert left == []
    record.pay()
    assert left == ([[Path("t.csv")]] if is_left else [])


def test_a_published_decision_names_what_was_damaged_or_what_was_added(tmp_path: Path) -> None:
    added = Ledger.open(tmp_path / "ledger").decide("two releases of 2019", add=PrivacyLoss.of("0.5"))
    assert _made(added).what == ("budget counted in addition",)
    assert isinstance(added.event, Decision)
    broken = Break(2, "it is missing", "0" * 64)
    damaged = replace(added, event=replace(added.event, breaks=(broken,)))
    assert _made(damaged).what == (f"the ledger was damaged: {broken}",)
    assert _made(damaged).reason == "two releases of 2019"
