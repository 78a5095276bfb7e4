"""Which ledger is a dataset's: found by what its files are and what they hold, not by how they are spelled.

A ledger knows a file that it has recorded: the same path, another name of the same file, or the same bytes. It also
knows the rows of a table in any other file, by the rule in `contents`. It is looked for beside the files and in every
folder above them, beside the ledger that is named and above it, and where GEDP_LEDGERS says. A file is also known to
the ledger that is named after it, so that a corrected file keeps its ledger.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

from gedp.accounting.series import SeriesLoss
from gedp.errors import Refused
from gedp.files import is_ledger, is_mount_point, is_same, real
from gedp.ledger.contents import MOST_PART, ContentMark, Contents, Doubt, KnownBy, same_rows, share_in_common
from gedp.ledger.digests import file_digest
from gedp.ledger.entries import Reserve
from gedp.ledger.judging import Request
from gedp.ledger.ledger import Ledger
from gedp.ledger.state import LedgerState
from gedp.ledger.store import NotALedgerError
from gedp.policy.model import Spec

SUFFIX = ".ledger"
#: Folders and ledgers to look in as well, separated as in PATH.
ENVIRONMENT = "GEDP_LEDGERS"


def find_ledger(data: KnownBy, named: Path | None = None) -> Path | None:
    """The ledger that knows these data, or `named` if none does; rejects where two would. None: there is none yet."""
    known = _ledgers_knowing(data, named)
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
    for path in files:
        how = "a hard link" if path.stat().st_nlink > 1 else "it is mounted here" if is_mount_point(path) else ""
        if how:
            raise Refused(
                f"{path.name} has another name somewhere ({how}), beside which its ledger may lie. Name the ledger "
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


def require_own_ledger(ledger: Ledger | None, data: KnownBy) -> None:
    """Rejects a release that another ledger would have to know of."""
    known = _ledgers_knowing(data, ledger.path if ledger else None)
    others = [path for path in known if ledger is None or not is_same(path, ledger.path)]
    if others:
        raise Refused(f"these data have a ledger, and a release must be recorded in it: {others[0]}")


def doubts_about(ledger: Path, request: Request, data: KnownBy) -> tuple[Doubt, ...]:
    """What a person has to decide before these data get this ledger, because another one has data that are alike.

    Nothing where the ledger has recorded these data before: then it was decided, or it was the first. A file that is
    recorded counts if it held data like these; it may have been overwritten.
    """
    own = Ledger.open(ledger, create=False) if ledger.exists() else None
    if request.synthetic or data.content is None or (own and _knows_rows(ledger, data.content)):
        return ()
    if own and _has_recorded(own, data) and (not own.contents() or _alike(own, request, data.content)):
        return ()
    folders = {real(path).parent for path in data.files}
    doubts = {}
    for candidate in _in_reach([*data.files, ledger]):
        opened = None if is_same(candidate, ledger) else _opened(candidate)
        is_beside = candidate.parent in folders
        if opened is not None and (why := _alike(opened, request, data.content, is_beside=is_beside)):
            doubts[real(candidate)] = Doubt(
                f"these count as other data than those of {real(candidate).name}, although {why}",
                f"If they are data of the same establishments, record the release there: --ledger {near(candidate)}, "
                "with --period if the table is that of another period (ledger and period in Python).",
            )
    return tuple(doubts.values())


def _alike(ledger: Ledger, request: Request, content: Contents, *, is_beside: bool = False) -> str:
    """In which way the data of a ledger and these are alike; "" if they are not."""
    confidential = [(reserve, mark) for reserve, mark in ledger.contents() if not reserve.synthetic]
    if not confidential:
        return ""
    held, own = content(), content().mark(ledger.key())
    share = max((share_in_common(own, mark) for _, mark in confidential if own.shares_a_name_with(mark)), default=0)
    if share >= MOST_PART:
        who = "establishments" if held.has_ids else "combinations of public columns"
        return f"about {5 * round(20 * share)}% of the {who} are the same"
    if is_beside and any(_same_columns(request, own, reserve, mark) for reserve, mark in confidential):
        return "both tables have the same columns and lie in the same folder"
    return ""


def _same_columns(request: Request, own: ContentMark, reserve: Reserve, mark: ContentMark) -> bool:
    return own.columns.keys() == mark.columns.keys() and set(request.public) == set(reserve.public)


def require_one_series(ledger: Path, files: Sequence[Path], spec: Spec) -> None:
    """Rejects a ledger that has nothing about these attributes where another one nearby holds a series about them.

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
    opened = _opened(candidate)
    state = opened and opened.state()
    return state.series if state and _about(state, spec) else None


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
    known = [real(candidate) for candidate in _in_reach(found_at) if _knows(candidate, found_at)]
    return list(dict.fromkeys(known))


def _ledgers_knowing(data: KnownBy, named: Path | None) -> list[Path]:
    """Every ledger in reach that knows these data: by a file, as a table of a database, or by their rows."""
    reach, content = _in_reach([*data.files, *([named] if named else [])]), data.content
    of_tables = [real(candidate) for candidate in reach if data.tables and _knows_tables(candidate, data.tables)]
    of_rows = [real(candidate) for candidate in reach if content is not None and _knows_rows(candidate, content)]
    return list(dict.fromkeys([*ledgers_of(data.files), *of_tables, *of_rows]))


def _knows_tables(candidate: Path, tables: Sequence[str]) -> bool:
    opened = _opened(candidate)
    return opened is not None and any(mark.path in tables for mark in opened.marks())


def _knows_rows(candidate: Path, content: Contents) -> bool:
    opened = _opened(candidate)
    known = opened.contents() if opened else []
    if opened is None or not known:
        return False
    own = content().mark(opened.key())
    return any(same_rows(own, mark) for _, mark in known)


def _opened(candidate: Path) -> Ledger | None:
    """The ledger in a file that is called one; None for somebody else's file."""
    try:
        return Ledger.open(candidate, create=False)
    except NotALedgerError:
        return None


def _in_reach(paths: Sequence[Path]) -> list[Path]:
    """Every file that is called a ledger, beside these paths, above them, or where the user says."""
    named = [Path(name) for name in os.environ.get(ENVIRONMENT, "").split(os.pathsep) if name]
    if missing := [path for path in named if not (path.is_dir() or is_ledger(path))]:
        raise Refused(f"{ENVIRONMENT} names {missing[0]}, which is no folder and no ledger. Restore it, or take it out")
    alone = [path for path in named if not path.is_dir()]
    folders = [folder for path in map(real, paths) for folder in path.parents]
    return [*_called_ledgers([*folders, *(real(path) for path in named if path.is_dir())]), *alone]


def _candidates(files: Sequence[Path]) -> list[Path]:
    """Every file that is called a ledger, beside the files or above them."""
    return _called_ledgers([folder for path in files for folder in path.parents])


def _called_ledgers(folders: Sequence[Path]) -> list[Path]:
    """Every file in these folders that is called a ledger."""
    found: list[Path] = []
    for folder in dict.fromkeys(folders):
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
    ledger = _opened(candidate)
    return ledger is not None and _has_recorded(ledger, KnownBy(files))


def _has_recorded(ledger: Ledger, data: KnownBy) -> bool:
    """Whether a release from these files or tables is in the ledger."""
    marks = ledger.marks()
    folder = real(ledger.path).parent
    if any(mark.path in data.tables for mark in marks):
        return True
    if any(is_same(folder / mark.path, path) for mark in marks for path in data.files):
        return True
    sizes = {mark.size for mark in marks}
    digests = {mark.digest for mark in marks}
    alike = [path for path in data.files if path.stat().st_size in sizes]
    return any(file_digest(path, ledger.key()) in digests for path in alike)
