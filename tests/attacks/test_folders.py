"""`--force` replaces a release and nothing else."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gedp.confidential.run import plan_run, run
from gedp.folders import Claim, PlaceTakenError
from gedp.ledger import Ledger
from gedp.policy import read_spec
from gedp.release import read_release
from tests.helpers.runs import COMMAND, PRICE, all_files, gedp, names, small_table, spent, write_case, write_spec


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in all_files(folder)}


def any_manifest(out: Path) -> None:
    out.mkdir()
    (out / "manifest.json").write_text('{"name": "an app"}')
    (out / "precious.txt").write_text("years of work")


def forged_manifest(out: Path) -> None:
    """A true release, whose manifest was made to list somebody's file."""
    (out / "precious.txt").write_text("years of work")
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    manifest["files"]["precious.txt"] = "0" * 64
    (out / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


FOREIGN: dict[str, Callable[[Path], object]] = {
    "a note": lambda out: (out / "notes.txt").write_text("do not delete"),
    "a folder with a file": lambda out: shutil.copytree(out / "tables", out / "more"),
    "a ledger": lambda out: shutil.copy(out.parent / "t.parquet.ledger", out / "t.parquet.ledger"),
    "a link": lambda out: (out / "link").symlink_to("..", target_is_directory=True),
    "a hidden file": lambda out: (out / "tables" / ".hidden").touch(),
    "an altered table": lambda out: (out / "tables" / "county.csv").write_text("mine now"),
    "a forged manifest": forged_manifest,
    "a table that was a link": lambda out: (out / "tables" / "other.csv").symlink_to(out.parent / "t.parquet"),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_a_folder_with_anything_else_in_it_is_not_replaced(what: str, tmp_path: Path) -> None:
    write_case(tmp_path)
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    FOREIGN[what](tmp_path / "out")
    before = contents(tmp_path)
    for dry in ([], ["--dry-run"]):
        ended = gedp("run", "spec.toml", "--force", *dry, folder=tmp_path)
        assert (ended.code, "so it is not replaced" in ended.err) == (1, True), ended
    assert contents(tmp_path) == before
    assert spent(tmp_path) == PRICE


def test_any_other_folder_with_a_manifest_is_not_replaced(tmp_path: Path) -> None:
    write_case(tmp_path)
    any_manifest(tmp_path / "out")
    before = contents(tmp_path)
    assert gedp("run", "spec.toml", "--force", folder=tmp_path).code == 1
    assert contents(tmp_path) == before


@pytest.mark.parametrize("where", [".", "..", "spec.toml", "t.parquet"])
def test_the_folder_of_the_data_and_the_spec_is_not_replaced(where: str, tmp_path: Path) -> None:
    """Not even if it is made to look like a release."""
    write_case(tmp_path / "a")
    before = contents(tmp_path)
    ended = gedp("run", "spec.toml", "--force", "--out", where, folder=tmp_path / "a")
    assert ended.code == 1, ended
    assert contents(tmp_path) == before


def test_a_release_that_is_the_source_is_not_replaced(tmp_path: Path) -> None:
    write_case(tmp_path)
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    signed = ("gamma = 0.5 }", "gamma = 0.5, signed = true }"), ("unit = 0.01", "signed = true")
    write_spec(tmp_path, ("t.parquet", "out/identity.parquet"), *signed, ('mechanism = "psi"', ""))
    before = contents(tmp_path)
    ended = gedp("run", "spec.toml", "--force", folder=tmp_path)
    assert (ended.code, "holds identity.parquet, which this run needs" in ended.err) == (1, True), ended
    assert contents(tmp_path) == before


def test_a_whole_release_with_what_was_made_from_it_is_replaced(tmp_path: Path) -> None:
    write_case(tmp_path)
    assert gedp("run", "spec.toml", folder=tmp_path).code == 0
    gedp("sign", "--new-key", "key", folder=tmp_path)
    first = read_release(tmp_path / "out").manifest.release
    assert gedp("run", "spec.toml", "--answers-only", "--force", folder=tmp_path).code == 0
    assert read_release(tmp_path / "out").manifest.release != first
    assert names(tmp_path / "out") == ["identity.parquet", "manifest.json", "tables"]
    assert not [name for name in names(tmp_path) if name.startswith(".") or "kept" in name]


def test_a_file_that_comes_while_the_release_is_made_is_kept(tmp_path: Path) -> None:
    write_case(tmp_path)
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    plan = plan_run(read_spec(tmp_path / "spec.toml"), replace=True)

    def late(*_: object) -> None:
        (tmp_path / "out" / "late.txt").write_text("years of work")

    run(plan, progress=late)
    (kept,) = (path for path in tmp_path.iterdir() if "kept" in path.name)
    assert [path.name for path in kept.rglob("*")] == ["late.txt"]
    read_release(tmp_path / "out")


def test_a_killed_run_holds_nothing_and_its_leftovers_are_cleared(tmp_path: Path) -> None:
    write_case(tmp_path, table=small_table(200_000))
    running = subprocess.Popen([*COMMAND, "run", "spec.toml"], cwd=tmp_path, stdout=subprocess.DEVNULL)
    partial = tmp_path / ".out.gedp-partial"
    while not partial.exists() and running.poll() is None:
        time.sleep(0.002)
    running.send_signal(signal.SIGKILL)
    running.wait()
    if partial.exists():
        assert partial.stat().st_mode & 0o077 == 0
        (partial / "rest").touch()
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    assert names(tmp_path / "out") == ["identity.parquet", "manifest.json", "tables"]
    assert not partial.exists()


def test_a_claim_is_held_by_one_and_passed_on(tmp_path: Path) -> None:
    target = tmp_path / "out"
    first, second, third = (Claim(target) for _ in range(3))
    first.take()
    with pytest.raises(PlaceTakenError, match="another process is writing to"):
        second.take()
    second.give_up()
    (first.folder / "file").touch()
    first.folder.rename(target)
    third.take()  # the name is free again, whoever still holds the folder that had it
    first.fulfilled()
    first.give_up()
    assert target.exists()
    with pytest.raises(PlaceTakenError):
        Claim(target).take()
    third.give_up()
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("step", ["mkdir", "chmod", "iterdir", "stat"])
def test_a_claim_interrupted_while_it_is_taken_leaves_nothing(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, plain = Claim(tmp_path / "out"), getattr(Path, step)

    def interrupted(path: Path, *args: object, **options: object) -> None:
        plain(path, *args, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            claim.take()
    claim.give_up()
    assert names(tmp_path) == []


def test_a_link_in_the_place_of_the_private_folder_is_not_followed(tmp_path: Path) -> None:
    write_case(tmp_path)
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "precious.txt").write_text("years of work")
    (tmp_path / ".out.gedp-partial").symlink_to("victim", target_is_directory=True)
    ended = gedp("run", "spec.toml", folder=tmp_path)
    assert (ended.code, "Traceback" in ended.err) == (2, False)
    assert names(tmp_path / "victim") == ["precious.txt"]
    assert spent(tmp_path) == 0


@pytest.mark.parametrize("where", ["x:y/out", "mock:/out", "a/../out2", "out3/", "release:1"])
def test_a_folder_whose_name_libraries_take_for_an_address_is_a_folder(where: str, tmp_path: Path) -> None:
    write_case(tmp_path)
    (tmp_path / "a").mkdir()
    ended = gedp("run", "spec.toml", "--answers-only", "--out", where, folder=tmp_path)
    assert ended.code == 0, ended
    assert len(read_release(tmp_path / where).identity()) == 40


@pytest.mark.parametrize("where", ["o\udcff", "/", "/proc"])
def test_a_folder_that_cannot_be_one_is_refused_before_anything_is_spent(where: str, tmp_path: Path) -> None:
    write_case(tmp_path)
    for more in ([], ["--force"], ["--force", "--dry-run"]):
        ended = gedp("run", "spec.toml", "--out", where, *more, folder=tmp_path)
        assert (ended.code in (1, 2), "Traceback" in ended.err) == (True, False), ended
        assert spent(tmp_path) == 0


def test_a_release_that_somebody_holds_is_not_paid_for_again(tmp_path: Path) -> None:
    write_case(tmp_path)
    assert gedp("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    descriptor = os.open(tmp_path / "out", os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        ended = gedp("run", "spec.toml", "--answers-only", "--force", folder=tmp_path)
    finally:
        os.close(descriptor)
    assert (ended.code, "another process" in ended.err, spent(tmp_path)) == (1, True, PRICE), ended


def test_of_many_runs_for_one_folder_one_pays(tmp_path: Path) -> None:
    """Each is a process that imports everything: that takes the time."""
    write_case(tmp_path)
    runs = [
        subprocess.Popen([*COMMAND, "run", "spec.toml", "--answers-only"], cwd=tmp_path, stderr=subprocess.DEVNULL)
        for _ in range(3)
    ]
    ends = sorted(process.wait() for process in runs)
    assert ends == [0, 1, 1]
    state = Ledger.open(tmp_path / "t.parquet.ledger").state()
    assert state.total.mu_squared == PRICE
    assert [release.outcome for release in state.releases] == ["finished"]
    assert not [name for name in names(tmp_path) if name.startswith(".")]
