"""Damage to single bytes of a ledger: it is named, or nothing of it shows; spent budget is never forgotten."""

import random
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gedp.accounting.composition import PrivacyLoss
from gedp.errors import BudgetExceededError, GedpError
from gedp.ledger import Ledger, LedgerError
from gedp.ledger.export import csv_text, json_lines
from tests.helpers.ledgers import history, spend
from tests.helpers.runs import gedp

pytestmark = pytest.mark.usefixtures("no_disk_waits")
ASKED = "0.1"


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory, no_disk_waits: None) -> bytes:
    path = tmp_path_factory.mktemp("ledger") / "sound"
    history(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def spent(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> PrivacyLoss:
    path = tmp_path_factory.mktemp("ledger") / "copy"
    path.write_bytes(content)
    return Ledger.open(path, create=False).total()


def look(path: Path, spent: PrivacyLoss) -> str:
    """Everything that one does with a ledger; errors that are not ours pass through."""
    try:
        ledger = Ledger.open(path, create=False, wait=0)
        state = ledger.state()
        assert state.combined.statement
        assert state.total >= spent, "counts less than was spent"
        csv_text(state.verification.entries)
        json_lines(state.verification.entries)
    except GedpError:
        return "cannot be read"
    if not state.verification.ok:
        with pytest.raises(GedpError):
            spend(ledger, "9", ASKED)
        return "named"
    try:
        spend(ledger, "9", ASKED)
    except GedpError:
        return "cannot be written"
    after = Ledger.open(path, create=False, wait=0).state()
    assert after.verification.ok
    assert after.total == spent + PrivacyLoss.of(ASKED)
    return "of no importance"


def damaged(content: bytes, place: int, mask: int) -> bytes:
    return content[:place] + bytes([content[place] ^ mask]) + content[place + 1 :]


def places(content: bytes) -> list[tuple[int, int]]:
    """Every byte that holds something, each with one bit and with all of them changed; and some that are empty."""
    chance = random.Random(0)
    full = [place for place, byte in enumerate(content) if byte]
    empty = [place for place, byte in enumerate(content) if not byte]
    chosen = full + chance.sample(empty, 500)
    return [(place, mask) for place in chosen for mask in (1 << chance.randrange(8), 0xFF)]


@pytest.mark.parametrize("every", [51, pytest.param(5, marks=pytest.mark.slow)])
def test_every_damaged_byte_is_named_or_of_no_importance(
    every: int, content: bytes, spent: PrivacyLoss, tmp_path: Path
) -> None:
    path = tmp_path / "ledger"
    outcomes = set()
    for place, mask in places(content)[::every]:
        path.write_bytes(damaged(content, place, mask))
        for left in tmp_path.glob("ledger-*"):
            left.unlink()
        try:
            outcomes.add(look(path, spent))
        except Exception as error:
            raise AssertionError(f"byte {place} xor {mask}: {error!r}") from error
    assert {"named", "cannot be read", "of no importance"} <= outcomes


@pytest.mark.parametrize(
    ("what", "mask"),
    [
        (b"CREATE TRIGGER entries_update", 0x80),  # SQLite's message quotes what is no UTF-8
        (b"CREATE TABLE entries", 0xFF),
        (b"PRIMARY KEY, hash", 0x01),  # the entries then have no numbers
    ],
)
@pytest.mark.parametrize("command", ["show", "verify", "remaining"])
def test_a_damaged_schema_ends_in_a_message(
    what: bytes, mask: int, command: str, content: bytes, tmp_path: Path
) -> None:
    for place in range(content.index(what), content.index(what) + len(what)):
        (tmp_path / "ledger").write_bytes(damaged(content, place, mask))
        ended = gedp("ledger", command, "ledger", folder=tmp_path)
        assert ended.code in {1, 2}, place
        assert ended.err.startswith("gedp: the ledger "), ended.err
        assert "Traceback" not in ended.err


@pytest.mark.parametrize("cut", [1, 15, 16, 99, 100, 1000, 4096, 4097, 8192, 16383])
def test_a_ledger_that_was_cut_off_is_not_believed(
    cut: int, content: bytes, spent: PrivacyLoss, tmp_path: Path
) -> None:
    path = tmp_path / "ledger"
    path.write_bytes(content[:cut])
    assert look(path, spent) in {"cannot be read", "named"}


def test_a_disk_that_fails_at_the_very_end_is_not_taken_for_nothing_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entry is in the file, but its folder could not be synced."""
    ledger = Ledger.open(tmp_path / "ledger")
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=_FailsAfterCommit))
    with pytest.raises(LedgerError, match="the disk reports an error") as refused:
        spend(ledger, "9", ASKED)
    assert refused.value.__notes__ == [
        f"What was to be recorded may count already: gedp ledger show {tmp_path / 'ledger'}"
    ]
    monkeypatch.undo()
    assert ledger.total() == PrivacyLoss.of(ASKED)
    with pytest.raises(BudgetExceededError) as over:
        spend(ledger, "0.1", ASKED)
    assert not hasattr(over.value, "__notes__")


class _FailsAfterCommit(sqlite3.Connection):
    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        done = super().execute(sql, parameters)
        if sql == "COMMIT" and self.total_changes:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorname = "SQLITE_IOERR_DIR_FSYNC"
            raise error
        return done
