"""The folder of confidential results: modes, stamps, whole or absent, never where it should not be."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gedp.files import WriteError, private_file
from gedp.folders import PlaceTakenError
from gedp_lab.evaluate.folder import INDEX, STAGING, FolderTakenError, Stamp, results_folder
from tests.helpers.runs import names
from tests.microdata.test_fit import IDENTITY, release_of, some_rows

TABLE = pa.table({"x": [1, 2, 3]})
SECRET, OPEN = Stamp(confidential=True), Stamp(confidential=False)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o277], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def write(target: Path, stamp: Stamp = SECRET, text: str = "x", *, force: bool = False) -> None:
    with results_folder(target, stamp, "evaluate", force=force) as results:
        results.write_parquet("t.parquet", TABLE)
        results.write_csv("t.csv", TABLE)
        results.write_text("p.html", stamp.banner + text)


@pytest.mark.usefixtures("umask")
def test_nobody_else_may_read_whatever_the_umask_even_while_writing(tmp_path: Path) -> None:
    target = tmp_path / "r"
    with results_folder(target, SECRET, "evaluate") as results:
        os.umask(0)  # for the asserts below; files made so far had the other
        assert mode(target) == mode(results.staging) == 0o700
        assert results.staging.parent == target
        with private_file(results.staging / "f") as file:
            file.write(b"x")
            file.flush()
            (temporary,) = results.staging.iterdir()
            assert mode(temporary) == 0o600
        results.write_csv("t.csv", TABLE)
    assert mode(target) == 0o700
    assert {mode(path) for path in target.iterdir()} == {0o600}


def test_an_empty_folder_that_was_open_is_closed(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir(mode=0o755)
    write(tmp_path / "r")
    assert mode(tmp_path / "r") == 0o700


def test_every_file_carries_the_stamp(tmp_path: Path) -> None:
    for stamp, target in ((SECRET, tmp_path / "secret"), (OPEN, tmp_path / "open")):
        write(target, stamp)
        prefix = "CONFIDENTIAL-" if stamp.confidential else ""
        assert names(target) == sorted([INDEX, *(f"{prefix}{name}" for name in ("p.html", "t.csv", "t.parquet"))])
        index = json.loads((target / INDEX).read_text())
        assert index["classification"] == stamp.text
        assert sorted(index["files"]) == [name for name in names(target) if name != INDEX]
        metadata = pq.read_schema(target / f"{prefix}t.parquet").metadata or {}
        assert metadata[b"classification"].decode() == stamp.text
        assert ("CONFIDENTIAL" in (target / f"{prefix}p.html").read_text()) == stamp.confidential
    assert "CONFIDENTIAL" not in OPEN.text + OPEN.banner


def test_a_folder_that_is_taken_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "r"
    target.mkdir()
    (target / "mine").write_text("x")
    for force in (False, True):
        with pytest.raises(FolderTakenError, match="holds something else"):
            write(target, force=force)
    assert names(target) == ["mine"]
    (tmp_path / "file").write_text("x")
    with pytest.raises(FolderTakenError, match="already exists"):
        write(tmp_path / "file", force=True)


def test_results_of_another_command_are_not_replaced(tmp_path: Path) -> None:
    with results_folder(tmp_path / "r", SECRET, "compare") as results:
        results.write_csv("t.csv", TABLE)
    with pytest.raises(FolderTakenError, match="It holds something else"):
        write(tmp_path / "r", force=True)


def test_results_are_replaced_when_told_so_and_other_files_stay(tmp_path: Path) -> None:
    target = tmp_path / "r"
    write(target, text="first")
    (target / "notes").write_text("mine")
    with pytest.raises(FolderTakenError, match="Use --force"):
        write(target, text="second")
    write(target, OPEN, text="third", force=True)
    assert names(target) == ["notes", "p.html", INDEX, "t.csv", "t.parquet"]


def test_an_index_that_names_other_places_removes_nothing(tmp_path: Path) -> None:
    target = tmp_path / "r"
    write(target)
    (tmp_path / "precious").write_text("x")
    (target / INDEX).write_text(json.dumps({"classification": "CONFIDENTIAL", "files": {"../precious": ""}}))
    with pytest.raises(FolderTakenError, match="holds something else"):
        write(target, force=True)
    assert (tmp_path / "precious").exists()


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device"), ValueError])
def test_after_an_error_there_is_nothing_new(
    tmp_path: Path, there: bool, error: BaseException | type[BaseException]
) -> None:
    target = tmp_path / "r"
    if there:
        write(target, text="old")
    before = names(target) if there else []

    def fail() -> None:
        with results_folder(target, SECRET, "evaluate", force=True) as results:
            results.write_parquet("new.parquet", TABLE)
            raise error

    with pytest.raises((KeyboardInterrupt, OSError, ValueError)):
        fail()
    assert names(tmp_path) == (["r"] if there else [])
    assert not there or (names(target) == before and "old" in (target / "CONFIDENTIAL-p.html").read_text())


def test_half_of_the_files_is_worse_than_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt just while files get their names."""
    target, moved, replace = tmp_path / "r", 0, Path.replace

    def interrupted(path: Path, to: Path) -> Path:
        nonlocal moved
        if to.parent == target:
            moved += 1
            if moved == 3:
                raise KeyboardInterrupt
        return replace(path, to)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(target)
    assert names(tmp_path) == []


def test_what_a_killed_run_left_can_be_replaced(tmp_path: Path) -> None:
    left = tmp_path / "r" / STAGING
    left.mkdir(parents=True)
    (left / "half").write_text("x")
    with pytest.raises(FolderTakenError, match="Use --force"):
        write(tmp_path / "r")
    write(tmp_path / "r", force=True)
    assert not left.exists()


def test_of_two_at_once_the_second_is_refused(tmp_path: Path) -> None:
    with results_folder(tmp_path / "r", SECRET, "evaluate") as results:
        results.write_csv("t.csv", TABLE)
        with pytest.raises(PlaceTakenError, match="another process is writing to"):
            write(tmp_path / "r", force=True)
    assert names(tmp_path / "r") == ["CONFIDENTIAL-t.csv", INDEX]


def test_never_inside_a_release(tmp_path: Path) -> None:
    release = release_of(some_rows(5), [IDENTITY], tmp_path)
    (tmp_path / "link").symlink_to(release.folder)
    for target in (release.folder, release.folder / "r", release.folder / "tables" / "r", tmp_path / "link" / "r"):
        with pytest.raises(FolderTakenError, match="inside the release"):
            write(target, force=True)
    manifest = release.folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"created"', '"made"'))
    with pytest.raises(FolderTakenError, match="inside the release"):  # even if it cannot be read any more
        write(release.folder / "r")


def test_a_disk_that_is_full_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(WriteError, match="no space left on device"):
        write(tmp_path / "r")
    assert names(tmp_path) == []
    with pytest.raises(WriteError, match="no such file"):
        write(tmp_path / "missing" / "r")
