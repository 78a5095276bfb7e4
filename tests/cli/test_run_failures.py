"""`gedp run` on a full disk, interrupted, or with a ledger that is damaged or in use: nothing half or forgotten."""

import errno
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from gedp.confidential.measure import answer
from gedp.confidential.run import plan_run
from gedp.ledger import Ledger, LedgerLockedError, PreparedReservation
from gedp.policy import read_spec
from gedp.release import MANIFEST, ReleaseWriter, read_release
from tests.helpers.ledgers import edit
from tests.helpers.runs import (
    COMMAND,
    LEDGER,
    PRICE,
    all_files,
    names,
    one_message,
    outcomes,
    small_table,
    spent,
    write_case,
)
from tests.helpers.runs import gedp as command

pytestmark = pytest.mark.usefixtures("no_disk_waits")


def full_disk(*arguments: object, **options: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("step", ["write_identity", "write_answers"])
def test_a_full_disk_ends_in_one_message_and_the_budget_stays_spent(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_case(tmp_path)
    target = {"write_identity": "rows.pq.ParquetWriter", "write_answers": "writer.pa.csv.write_csv"}[step]
    with monkeypatch.context() as patch:
        patch.setattr(f"gedp.release.{target}", full_disk)
        ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert ended.code == 2
    assert ended.err.startswith("gedp: cannot write out: no space left on device. Noise was drawn and the release is ")
    assert "so it is lost and mu = 0.282843 counts as spent" in ended.err
    assert ended.err.count("\n") == 1
    assert names(tmp_path) == ["spec.toml", "t.parquet", LEDGER]
    assert outcomes(tmp_path) == ["abandoned"]
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    assert spent(tmp_path) == 2 * PRICE


def test_a_disk_that_fails_once_the_release_is_whole_leaves_it_to_be_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_case(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("gedp.release.writer._sync", full_disk)
        ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert (ended.code, one_message(ended.err)) == (2, True)
    assert f"is whole and paid for, and only lacks its name. Finish it with: gedp ledger finish {LEDGER}" in ended.err
    again = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert (again.code, "only lacks its name; nothing more was spent" in again.err) == (1, True), again
    shown = command("ledger", "show", LEDGER, folder=tmp_path)
    assert f" in out was interrupted. Finish it: gedp ledger finish {LEDGER}" in shown.out
    assert "is finished: out is whole" in command("ledger", "finish", LEDGER, folder=tmp_path).out
    assert command("ledger", "verify", LEDGER, "--release", "out", folder=tmp_path).code == 0
    assert names(tmp_path) == ["out", "spec.toml", "t.parquet", LEDGER]
    assert (spent(tmp_path), outcomes(tmp_path)) == (PRICE, ["finished"])


def test_a_full_disk_while_replacing_leaves_the_old_release_intact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_case(tmp_path)
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    manifest = (tmp_path / "out" / MANIFEST).read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("gedp.release.writer.swap", full_disk)
        assert command("run", "spec.toml", "--answers-only", "--force", folder=tmp_path).code == 2
    assert (tmp_path / "out" / MANIFEST).read_bytes() == manifest
    read_release(tmp_path / "out")
    assert (spent(tmp_path), outcomes(tmp_path)) == (2 * PRICE, ["finished", "reserved"])
    taken = command("ledger", "finish", LEDGER, folder=tmp_path)
    assert (taken.code, "out already exists. Move it away" in taken.err) == (1, True), taken
    (tmp_path / "out").rename(tmp_path / "before")
    assert command("ledger", "finish", LEDGER, folder=tmp_path).code == 0
    assert names(tmp_path) == ["before", "out", "spec.toml", "t.parquet", LEDGER]
    assert (spent(tmp_path), outcomes(tmp_path)) == (2 * PRICE, ["finished", "finished"])


@pytest.mark.parametrize("limit", [0, 60_000])
def test_files_that_may_not_grow(limit: int, tmp_path: Path) -> None:
    """A real limit on the size of files: none fit (not even the ledger), or all but the identity answers."""
    write_case(tmp_path, table=small_table(20_000))
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit})); {COMMAND[2]}"
    ended = subprocess.run(
        [COMMAND[0], "-c", limited, "run", "spec.toml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert one_message(ended.stderr)
    assert ended.stderr.count("\n") == 1
    if limit:
        assert ended.stderr.startswith("gedp: cannot write out: file too large. Noise was drawn and the release is not")
        assert outcomes(tmp_path) == ["abandoned"]
    assert not (tmp_path / "out").exists()
    assert not [name for name in names(tmp_path) if name.startswith(".out")]
    assert spent(tmp_path) == (PRICE if limit else 0)


def forge(path: Path) -> None:
    edit(path, lambda connection: connection.execute("UPDATE entries SET body = replace(body, '1/25', '1/100')"))


@pytest.mark.parametrize(
    ("harm", "code", "said"),
    [
        (forge, 1, "is not as it was written, so nothing can be released"),
        (lambda path: path.write_bytes(b"no ledger at all, but long enough to be looked at " * 40), 2, "not a ledger"),
        (lambda path: path.write_bytes(b""), 2, "not a ledger (the file is empty"),
        (lambda path: path.write_bytes(path.read_bytes()[:9000]), 1, "is damaged and cannot be read"),
        (lambda path: (path.unlink(), path.mkdir()), 2, "there is no ledger at"),
    ],
)
def test_a_ledger_that_cannot_be_trusted_stops_the_run(
    harm: Callable[[Path], object], code: int, said: str, tmp_path: Path
) -> None:
    write_case(tmp_path)
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    harm(tmp_path / LEDGER)
    before = {path: path.read_bytes() for path in all_files(tmp_path)}
    for arguments in (("--out", "other"), ("--force",), ("--dry-run", "--out", "other")):
        ended = command("run", "spec.toml", "--answers-only", *arguments, folder=tmp_path)
        assert (ended.code, said in ended.err, one_message(ended.err)) == (code, True, True), ended
    assert {path: path.read_bytes() for path in all_files(tmp_path)} == before


def test_a_disk_without_room_for_the_rows_is_refused_before_anything_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_case(tmp_path)
    before = names(tmp_path)
    full = shutil.disk_usage(tmp_path)._replace(free=1000)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: full)
        ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert (ended.code, one_message(ended.err)) == (2, True), ended
    assert "0.0 GB are free. Nothing was spent" in ended.err
    assert [name for name in names(tmp_path) if name != LEDGER] == before
    assert spent(tmp_path) == 0


def test_a_locked_ledger_refuses_and_spends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_run(read_spec(write_case(tmp_path)))
    monkeypatch.setattr(Ledger, "open", partial(Ledger.open, wait=0.1))
    ledger = Ledger.open(tmp_path / LEDGER)
    with closing(sqlite3.connect(tmp_path / LEDGER, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerLockedError, match="Nothing was recorded"):
            answer(plan.prepared, out=tmp_path / "out", ledger=ledger)
        connection.execute("ROLLBACK")
    assert spent(tmp_path) == 0
    assert names(tmp_path) == ["spec.toml", "t.parquet", LEDGER]


def test_a_release_is_whole_even_if_the_ledger_cannot_note_that_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_case(tmp_path)

    def locked(*arguments: object) -> None:
        raise LedgerLockedError("the ledger is in use")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "commit", locked)
        ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert (ended.code, one_message(ended.err)) == (1, True)
    assert "The release in out is whole and paid for" in ended.err
    assert f"Finish it with: gedp ledger finish {LEDGER}" in ended.err
    read_release(tmp_path / "out")
    assert (spent(tmp_path), outcomes(tmp_path)) == (PRICE, ["reserved"])
    assert command("ledger", "finish", LEDGER, "out", folder=tmp_path).code == 0
    assert (spent(tmp_path), outcomes(tmp_path)) == (PRICE, ["finished"])
    again = command("ledger", "finish", LEDGER, folder=tmp_path)
    assert (again.code, "There is nothing to finish" in again.out) == (0, True)


def test_an_interrupt_is_recorded_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_case(tmp_path)

    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ReleaseWriter, "write_answers", interrupt)
        ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert ended.code == 130
    assert ended.err.strip().startswith(
        "gedp: interrupted. Noise was drawn and the release is not whole, so it is lost and mu = 0.282843 counts as "
    )
    assert ended.err.strip().count("\n") == 0
    assert names(tmp_path) == ["spec.toml", "t.parquet", LEDGER]
    assert outcomes(tmp_path) == ["abandoned"]


def test_an_interrupt_once_the_release_has_its_name_leaves_it_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_case(tmp_path)
    commit, calls = Ledger.commit, []

    def interrupt_first(ledger: Ledger, release: str, digest: str) -> None:
        calls.append(release)
        if len(calls) == 1:
            raise KeyboardInterrupt
        commit(ledger, release, digest)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "commit", interrupt_first)
        ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert (ended.code, ended.err.strip().count("\n")) == (130, 0)
    assert "The release in out is whole and paid for" in ended.err
    read_release(tmp_path / "out")
    assert (spent(tmp_path), outcomes(tmp_path)) == (PRICE, ["finished"])


@pytest.mark.parametrize("step", ["prepare", "draw_answers"])
def test_an_interrupt_before_the_first_draw_costs_nothing(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_case(tmp_path)

    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"gedp.confidential.{'run' if step == 'prepare' else 'measure'}.{step}", interrupt)
        ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert (ended.code, one_message(ended.err.strip())) == (130, True)
    assert ended.err.strip().endswith("No noise was drawn, so nothing was spent") == (step == "draw_answers")
    assert spent(tmp_path) == 0
    assert step == "prepare" or outcomes(tmp_path) == []
    assert [name for name in names(tmp_path) if name != LEDGER] == ["spec.toml", "t.parquet"]


def interrupted_after(prepared: PreparedReservation) -> None:
    reserve(prepared)
    raise KeyboardInterrupt


reserve = PreparedReservation.reserve


def test_an_interrupt_while_the_price_is_recorded_gives_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No word was given out by then, and the run itself says so."""
    write_case(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(PreparedReservation, "reserve", interrupted_after)
        ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert (ended.code, "No noise was drawn, so nothing was spent" in ended.err) == (130, True)
    assert spent(tmp_path) == 0
    assert outcomes(tmp_path) == ["unspent"]
    assert names(tmp_path) == ["spec.toml", "t.parquet", LEDGER]


def test_where_it_cannot_be_given_back_the_message_says_where_to_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_case(tmp_path)

    def locked(*arguments: object, **options: object) -> None:
        raise LedgerLockedError("the ledger is in use")

    with monkeypatch.context() as patch:
        patch.setattr(PreparedReservation, "reserve", interrupted_after)
        patch.setattr(Ledger, "abandon", locked)
        ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert ended.code == 130
    assert f"Its price may be set aside already: gedp ledger show {LEDGER}" in ended.err
    assert "nothing was spent" not in ended.err
    assert (spent(tmp_path), outcomes(tmp_path)) == (PRICE, ["reserved"])
    assert not (tmp_path / "out").exists()
    ended = command("ledger", "finish", LEDGER, folder=tmp_path)
    assert (ended.code, "it is not in out" in ended.out) == (0, True)
    assert (spent(tmp_path), outcomes(tmp_path)) == (PRICE, ["abandoned"])
