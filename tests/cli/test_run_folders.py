"""The folder that `gedp run` writes to: taken, replaced, linked, or impossible."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from gedp.confidential.run import plan_run, run
from gedp.errors import Refused
from gedp.policy import read_spec
from gedp.release import MANIFEST, read_release
from tests.helpers.runs import LEDGER, PRICE, all_files, names, one_message, outcomes, spent, write_case
from tests.helpers.runs import gedp as command

pytestmark = pytest.mark.usefixtures("no_disk_waits")


def test_a_folder_that_is_taken_is_refused_before_there_is_a_ledger(tmp_path: Path) -> None:
    write_case(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    before = all_files(tmp_path)
    ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert (
        ended.code,
        "It is not a release of this version, so it is not replaced. Choose another folder" in ended.err,
    ) == (1, True)
    assert all_files(tmp_path) == before


def test_twice_on_the_same_folder_refuses_and_spends_nothing(tmp_path: Path) -> None:
    write_case(tmp_path)
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    manifest = (tmp_path / "out" / MANIFEST).read_bytes()
    ended = command("run", "spec.toml", "--answers-only", folder=tmp_path)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        "gedp: out already exists and nothing was spent. Replace it with --force (replace=True in Python), which "
        "spends budget again, or choose another folder\n"
    )
    assert (tmp_path / "out" / MANIFEST).read_bytes() == manifest
    assert spent(tmp_path) == PRICE
    assert outcomes(tmp_path) == ["finished"]


def test_force_replaces_the_release_and_spends_again(tmp_path: Path) -> None:
    write_case(tmp_path)
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    first = read_release(tmp_path / "out")
    before = first.identity()
    ended = command("run", "spec.toml", "--answers-only", "--force", folder=tmp_path)
    assert ended.code == 0
    assert "Everything released from these data has spent mu = 0.4 together" in ended.out
    second = read_release(tmp_path / "out")
    assert second.manifest.release != first.manifest.release
    assert second.identity()["emp__psi"].to_pylist() != before["emp__psi"].to_pylist()
    assert spent(tmp_path) == 2 * PRICE
    assert names(tmp_path) == ["out", "spec.toml", "t.parquet", LEDGER]


def test_force_beyond_the_budget_leaves_the_old_release_intact(tmp_path: Path) -> None:
    write_case(tmp_path, ("mu = 1\n", "mu = 0.3\n"))
    assert command("run", "spec.toml", "--answers-only", folder=tmp_path).code == 0
    manifest = (tmp_path / "out" / MANIFEST).read_bytes()
    ended = command("run", "spec.toml", "--answers-only", "--force", folder=tmp_path)
    assert ended.code == 1
    assert "over budget: mu = 0.282843 is spent on this dataset" in ended.err
    assert one_message(ended.err)
    assert (tmp_path / "out" / MANIFEST).read_bytes() == manifest
    read_release(tmp_path / "out")
    assert spent(tmp_path) == PRICE
    assert names(tmp_path) == ["out", "spec.toml", "t.parquet", LEDGER]


def test_force_never_replaces_what_is_no_release(tmp_path: Path) -> None:
    write_case(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("years of work", encoding="utf-8")
    for arguments in ((), ("--force",)):
        ended = command("run", "spec.toml", "--answers-only", *arguments, folder=tmp_path)
        assert (ended.code, "It is not a release" in ended.err) == (1, True)
    assert names(tmp_path / "out") == ["thesis.tex"]
    assert spent(tmp_path) == 0


def test_of_two_runs_into_one_folder_the_second_is_refused_and_pays_nothing(tmp_path: Path) -> None:
    """Also where both had found the folder free, and whether or not a release may be replaced."""
    plan = plan_run(read_spec(write_case(tmp_path)))
    refusals = []

    def other(what: str, done: int, of: int) -> None:
        for may_replace in (False, True):
            with pytest.raises(Refused, match="another process is writing to") as refused:
                run(replace(plan, replace=may_replace))
            refusals.append(refused)

    run(plan, progress=other)
    assert len(refusals) > 2
    assert (spent(tmp_path), outcomes(tmp_path)) == (PRICE, ["finished"])
    assert not [name for name in names(tmp_path) if name.startswith(".")]
    with pytest.raises(Refused, match="already exists and nothing was spent"):
        run(plan)
    assert spent(tmp_path) == PRICE


def test_an_output_folder_that_cannot_be_is_refused_before_spending(tmp_path: Path) -> None:
    write_case(tmp_path)
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    (tmp_path / "loop").symlink_to("loop")
    for out, code in (("file", 1), ("file/out", 2), ("/proc/out", 2), ("loop", 1), ("loop/out", 2)):
        ended = command("run", "spec.toml", "--answers-only", "--out", out, folder=tmp_path)
        assert (ended.code, one_message(ended.err)) == (code, True), (out, ended)
        assert spent(tmp_path) == 0
    assert (tmp_path / "file").read_text(encoding="utf-8") == "in the way"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_refused_before_spending(tmp_path: Path) -> None:
    write_case(tmp_path)
    (tmp_path / "closed").mkdir(mode=0o555)
    ended = command("run", "spec.toml", "--answers-only", "--out", "closed/out", folder=tmp_path)
    assert (ended.code, "permission denied" in ended.err) == (2, True)
    assert spent(tmp_path) == 0


def test_a_link_to_a_folder_is_followed(tmp_path: Path) -> None:
    write_case(tmp_path)
    (tmp_path / "there").mkdir()
    (tmp_path / "out").symlink_to("there/release")
    for arguments in ((), ("--force",)):
        assert command("run", "spec.toml", "--answers-only", *arguments, folder=tmp_path).code == 0
        assert (tmp_path / "out").is_symlink()
        read_release(tmp_path / "out")
        assert names(tmp_path / "there") == ["release"]
