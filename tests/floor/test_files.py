"""Files are written whole or not at all."""

import errno
import shutil
import stat
from pathlib import Path

import pytest

from gedp.files import WriteError, replacing, swap, write_text
from tests.helpers.runs import names


def test_replaces_the_file_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_text("old", encoding="utf-8")
    with replacing(target) as temporary:
        temporary.write_text("new", encoding="utf-8")
        assert target.read_text(encoding="utf-8") == "old"
    assert target.read_text(encoding="utf-8") == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert stat.S_IMODE(target.stat().st_mode) & 0o600 == 0o600


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), ValueError("no"), OSError(errno.ENOSPC, "No space left")])
def test_leaves_nothing_behind_when_interrupted(tmp_path: Path, failure: BaseException) -> None:
    target = tmp_path / "page.html"
    target.write_text("old", encoding="utf-8")
    expected = WriteError if isinstance(failure, OSError) else type(failure)
    with pytest.raises(expected), replacing(target) as temporary:  # noqa: PT012 - the write must come first
        temporary.write_text("half", encoding="utf-8")
        raise failure
    assert target.read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_says_why_a_file_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="no such file or directory"):
        write_text(tmp_path / "absent" / "page.html", "text")


@pytest.mark.parametrize("system", ["linux", "elsewhere"])
def test_folders_are_swapped_or_left_as_they_were(system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", system)
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    swap(tmp_path / "new", tmp_path / "old")
    assert (names(tmp_path / "old"), names(tmp_path / "new"), names(tmp_path)) == (["new"], ["old"], ["new", "old"])
    shutil.rmtree(tmp_path / "new")
    with pytest.raises(FileNotFoundError):
        swap(tmp_path / "new", tmp_path / "old")
    assert (names(tmp_path / "old"), names(tmp_path)) == (["new"], ["old"])
