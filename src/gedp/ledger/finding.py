"""Which ledger is a dataset's: found by what its files are, not by how they are spelled.

A ledger knows a file that it has recorded: the same path, another name of the same file, or the same content. It is
looked for beside the files and in every folder above them, and whatever way the files were named, the same ones lead to
it. A file is also known to the ledger that is named after it, so that a corrected file keeps its ledger.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

from gedp.accounting.series import SeriesLoss
from gedp.errors import Refused
from gedp.files import is_ledger, is_same, real
from gedp.ledger.digests import file_digest
from gedp.ledger.ledger import Ledger
from gedp.ledger.state import LedgerState
from gedp.ledger.store import NotALedgerError
from gedp.policy.model import Spec

SUFFIX = ".ledger"


def find_ledger(files: Sequence[Path], named: Path | None = None, tables: Sequence[str] = ()) -> Path | None:
    """The ledger that knows these files, or tables of a database, or `named` if none does; refuses where two would.

    None means that there is none yet.
    """
    known = [*ledgers_of(files), *(_ledgers_of_tables(tables, named) if named else [])]
    if named is not None:
        others = [path for path in known if not is_same(path, named)]
        if others:
            raise Refused(f"these data already have a ledger: {others[0]}. Name this one, or none")
        return named
    if len(known) > 1:
        listed = ", ".join(map(str, known))
        raise Refused(
            f"these data are recorded in several ledgers: {listed}. A release goes into one of them, so release the "
            "files of each ledger separately"
        )
    return near(known[0]) if known else None


def new_ledger(files: Sequence[Path]) -> Path:
    """Where the ledger of these files is made: after the file, or in the folder that holds them all."""
    linked = [path.name for path in files if path.stat().st_nlink > 1]
    if linked:
        raise Refused(
            f"{linked[0]} has another name somewhere (a hard link), beside which its ledger may lie. Name the ledger "
            "with --ledger, even if it is to be created"
        )
    return near(beside(files))


def near(path: Path) -> Path:
    """The path as people would write it here."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def beside(files: Sequence[Path]) -> Path:
    """Where the ledger of these files is looked for first."""
    found_at = [real(path) for path in files]
    if len(found_at) == 1:
        return found_at[0].with_name(found_at[0].name + SUFFIX)
    folder = Path(os.path.commonpath([path.parent for path in found_at]))
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*(path.name for path in found_at), strict=False))
    start = "".join(letters[0] for letters in alike).rstrip(" ._-0123456789")
    return folder / f"{start or folder.name or 'data'}{SUFFIX}"


def require_own_ledger(ledger: Ledger | None, files: Sequence[Path], tables: Sequence[str] = ()) -> None:
    """Refuses a release that another ledger would have to know of."""
    known = [*ledgers_of(files), *(_ledgers_of_tables(tables, ledger.path) if ledger else [])]
    others = [path for path in known if ledger is None or not is_same(path, ledger.path)]
    if others:
        raise Refused(f"these data have a ledger, and a release must be recorded in it: {others[0]}")


def require_one_series(ledger: Path, files: Sequence[Path], spec: Spec) -> None:
    """Refuses a ledger that has nothing about these attributes where another one nearby holds a series about them.

    Two would each allow the budget of a year, and one for a table alone would be beside it. Nearby is beside the ledger
    or the files, or above them.
    """
    if ledger.exists() and _about(Ledger.open(ledger, create=False).state(), spec):
        return
    for candidate in _candidates([real(ledger), *map(real, files)]):
        held = None if is_same(candidate, ledger) else _series_in(candidate, spec)
        if held is not None:
            raise Refused(
                f"{near(real(candidate))} holds a series about the same attributes ({held.all.name}). Release this "
                "table as a period of it: --ledger and --period (ledger and period in Python). If these are other "
                "establishments, keep their table and their ledger in a folder of their own"
            )


def _series_in(candidate: Path, spec: Spec) -> SeriesLoss | None:
    """What a ledger spent on each period, if it holds a series about attributes of the spec."""
    try:
        state = Ledger.open(candidate, create=False).state()
    except NotALedgerError:
        return None  # somebody else's file
    return state.series if _about(state, spec) else None


def _about(state: LedgerState, spec: Spec) -> bool:
    """Whether a ledger has released attributes of the spec."""
    return any(reserve.attributes.keys() & spec.policy.attributes.keys() for reserve in state.counted)


def leave_pointer(ledger: Ledger, files: Sequence[Path]) -> None:
    """A link beside the files to a ledger that lies elsewhere, so that it is found without being named."""
    place = beside(files)
    if not os.path.lexists(place):
        with suppress(OSError):  # then only those who name it find it, as docs/ledger.md says
            place.symlink_to(os.path.relpath(real(ledger.path), place.parent))
    if is_ledger(place) and not is_same(place, ledger.path):  # also where somebody else was faster
        raise Refused(f"these data have a ledger, and a release must be recorded in it: {near(place)}")


def ledgers_of(files: Sequence[Path]) -> list[Path]:
    """Every ledger that knows one of these files."""
    found_at = [real(path) for path in files]
    known = [real(candidate) for candidate in _candidates(found_at) if _knows(candidate, found_at)]
    return list(dict.fromkeys(known))


def _ledgers_of_tables(tables: Sequence[str], named: Path) -> list[Path]:
    """Every ledger that knows one of these tables of a database, beside the one that is named or above it."""
    known = [real(candidate) for candidate in _candidates([real(named)]) if tables and _knows_tables(candidate, tables)]
    return list(dict.fromkeys(known))


def _knows_tables(candidate: Path, tables: Sequence[str]) -> bool:
    try:
        marks = Ledger.open(candidate, create=False).marks()
    except NotALedgerError:
        return False  # somebody else's file
    return any(mark.path in tables for mark in marks)


def _candidates(files: Sequence[Path]) -> list[Path]:
    """Every file that is called a ledger, beside the files or above them."""
    folders = dict.fromkeys(folder for path in files for folder in path.parents)
    found: list[Path] = []
    for folder in folders:
        try:
            called = sorted(folder.glob(f"*{SUFFIX}"))
        except OSError:
            continue
        if lost := [path for path in called if path.is_symlink() and not path.exists()]:
            raise Refused(f"{near(lost[0])} leads to a ledger that is missing. Restore it, or remove the link")
        found += [path for path in called if path.is_file()]
    return found


def _knows(candidate: Path, files: Sequence[Path]) -> bool:
    if any(candidate == path.with_name(path.name + SUFFIX) for path in files):
        return True
    try:
        ledger = Ledger.open(candidate, create=False)
    except NotALedgerError:
        return False  # somebody else's file
    marks = ledger.marks()
    folder = real(candidate).parent
    if any(is_same(folder / mark.path, path) for mark in marks for path in files):
        return True
    sizes = {mark.size for mark in marks}
    digests = {mark.digest for mark in marks}
    alike = [path for path in files if path.stat().st_size in sizes]
    return any(file_digest(path, ledger.key()) in digests for path in alike)
