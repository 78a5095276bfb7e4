"""Which ledger is a dataset's, where folders cannot be read or written and names are taken."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gedp.errors import Refused
from gedp.ledger import KnownBy, Ledger, LedgerError
from gedp.ledger.finding import _knows, _knows_tables, beside, find_ledger, leave_pointer, ledgers_of

pytestmark = pytest.mark.usefixtures("no_disk_waits")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data" / "t.parquet"
    path.parent.mkdir()
    path.write_bytes(b"some rows")
    return path


def test_a_ledger_elsewhere_is_found_by_the_link_beside_the_data(data: Path, tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "elsewhere.gedp")
    assert find_ledger(KnownBy([data])) is None
    leave_pointer(ledger, [data])
    assert beside([data]).is_symlink()
    assert ledgers_of([data]) == [ledger.path.resolve()]


def test_where_no_link_can_be_made_the_release_goes_on(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, target: object) -> None:
        raise PermissionError

    ledger = Ledger.open(tmp_path / "elsewhere.gedp")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "symlink_to", refuse)
        leave_pointer(ledger, [data])
    assert ledgers_of([data]) == []
    assert find_ledger(KnownBy([data]), named=ledger.path) == ledger.path


def test_a_link_never_takes_the_place_of_another_ledger(data: Path, tmp_path: Path) -> None:
    own, other = Ledger.open(beside([data])), Ledger.open(tmp_path / "elsewhere.gedp")
    with pytest.raises(Refused, match="these data have a ledger, and a release must be recorded in it"):
        leave_pointer(other, [data])
    leave_pointer(own, [data])
    assert not beside([data]).is_symlink()
    assert ledgers_of([data]) == [own.path.resolve()]


def test_a_folder_above_that_cannot_be_listed_hides_no_ledger_but_its_own(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, glob = Ledger.open(beside([data])), Path.glob

    def closed_above(folder: Path, pattern: str) -> Iterator[Path]:
        if folder != data.parent.resolve():
            raise PermissionError
        return iter(list(glob(folder, pattern)))

    monkeypatch.setattr(Path, "glob", closed_above)
    assert ledgers_of([data]) == [own.path.resolve()]


def test_of_two_who_leave_a_link_at_once_the_second_is_refused(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both see that there is none yet; the first makes it in between."""
    first, second = (Ledger.open(tmp_path / f"{name}.gedp") for name in ("first", "second"))
    symlink_to = Path.symlink_to

    def overtaken(place: Path, target: Path) -> None:
        symlink_to(place, first.path.resolve())
        symlink_to(place, target)

    monkeypatch.setattr(Path, "symlink_to", overtaken)
    with pytest.raises(Refused, match="these data have a ledger, and a release must be recorded in it"):
        leave_pointer(second, [data])
    assert ledgers_of([data]) == [first.path.resolve()]


def test_data_with_a_ledger_take_that_one_and_no_other(data: Path, tmp_path: Path) -> None:
    own = Ledger.open(beside([data]))
    assert find_ledger(KnownBy([data]), own.path) == own.path
    with pytest.raises(Refused, match="already have a ledger"):
        find_ledger(KnownBy([data]), tmp_path / "other.ledger")


@pytest.mark.parametrize(
    ("names", "ledger"),
    [
        (("firms.csv",), "firms.csv.ledger"),
        (("firms-2016.csv", "firms-2017.csv"), "firms.ledger"),
        (("10 firms 1.csv", "10 firms 2.csv"), "10 firms.ledger"),
        (("a.csv", "b.csv"), "data.ledger"),
    ],
)
def test_the_ledger_of_several_files_is_called_after_what_their_names_share(
    names: tuple[str, ...], ledger: str, data: Path
) -> None:
    assert beside([data.with_name(name) for name in names]) == data.parent.resolve() / ledger


def test_a_file_that_is_only_called_a_ledger_knows_nothing(tmp_path: Path) -> None:
    data, called = tmp_path / "data.csv", tmp_path / "notes.ledger"
    data.write_text("id,emp\n1,2\n")
    called.write_text("things to do")
    assert ledgers_of([data]) == []
    assert not _knows(called, [data])
    assert not _knows_tables(called, ["public.firms"])
    assert called.read_text() == "things to do"


def test_a_ledger_that_has_gone_is_not_made_anew_by_looking_for_it(tmp_path: Path) -> None:
    gone = tmp_path / "gone.ledger"
    with pytest.raises(LedgerError):
        _knows(gone, [])
    with pytest.raises(LedgerError):
        _knows_tables(gone, ["public.firms"])
    assert not gone.exists()
