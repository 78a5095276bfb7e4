"""What must never happen, whatever is changed: each finding is a short text, which cases of one cause share."""

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gedp.cli import UNFORESEEN
from gedp.cli.streams import BROKEN_PIPE, LOST
from gedp.errors import GedpError
from gedp.ledger import Ledger
from gedp.policy import price
from gedp.policy.examples import find_spec
from tests.fuzz.kinds import Kind
from tests.fuzz.tables import SECRET
from tests.helpers.canaries import sings

CODES = {0, 1, 2, LOST, BROKEN_PIPE}
SAYS_SPENT = ("counts as spent", "paid for", "set aside", "complete and valid", "count already")
SEES_TRUTH = ("evaluate", "compare")

#: The total of every ledger in the folder; None where it cannot be read or does not verify.
Totals = Mapping[Path, Fraction | None]


@dataclass(frozen=True)
class Ended:
    """How a command of a case ended."""

    code: int
    out: str
    err: str


def totals(folder: Path) -> Totals:
    found: dict[Path, Fraction | None] = {}
    for path in regular_files(folder):
        with path.open("rb") as file:
            if not (file.read(16) == b"SQLite format 3\0" or path.suffix == ".ledger"):
                continue
        found[path] = None
        with suppress(GedpError):
            state = Ledger.open(path, create=False, wait=1).state()
            found[path] = state.total.mu_squared if state.verification.ok else None
    return found


def regular_files(folder: Path) -> Iterator[Path]:
    """Files, without devices and links. A journal goes away when its ledger is opened."""
    for path in sorted(folder.rglob("*")):
        if os.path.lexists(path) and stat.S_ISREG(path.lstat().st_mode):
            yield path


def judge(
    kind: Kind, command: Sequence[str], ended: Ended, before: Totals, after: Totals, folder: Path, world: Path
) -> Iterator[str]:
    """Everything wrong with how a command ended, in a folder that began as a copy of `world`."""
    yield from _ends_badly(ended)
    yield from _sings(kind, command, ended, folder, world)
    yield from _leaves_behind(folder)
    if not _elsewhere(command, folder):
        yield from _miscounts(command, ended, before, after, folder)


def _ends_badly(ended: Ended) -> Iterator[str]:
    last = (ended.err.strip().splitlines() or [""])[-1]
    if ended.code == UNFORESEEN or "Traceback (most recent call last)" in ended.err:
        place = re.findall(r'File ".*/(\w+/\w+\.py)", line (\d+)', ended.err)
        yield f"traceback: {last.split(':')[0]} at {':'.join(place[-1]) if place else '?'}"
    elif ended.code not in CODES:
        yield f"exit code {ended.code}"
    if named := re.search(r"unexpected (\w+) at (\S+ > )*(\S+)\. Its message", ended.err):
        yield f"unexpected error: {named[1]} at {named[3]}"
    if named := re.search(r"(\w+\.py):(\d+): (\w*Warning)", ended.err):
        yield f"warning: {named[3]} at {named[1]}:{named[2]}"
    if ended.code in {1, 2} and not ended.err.strip() and not ended.out.strip():
        yield f"ends with {ended.code} and says nothing"


def _sings(kind: Kind, command: Sequence[str], ended: Ended, folder: Path, world: Path) -> Iterator[str]:
    name = command[0] if command else ""
    if shows(ended.err):
        yield f"canary on the error stream of {name}"
    sees_numbers = name in ("tabulate", "microdata") and kind.numbers_may_show
    if shows(ended.out) and name not in SEES_TRUTH and not sees_numbers:
        yield f"canary on the output of {name}"
    for path in regular_files(folder):
        if _is_confidential(path, folder) or _is_old(path, world / path.relative_to(folder)):
            continue
        numbers = path.name != "manifest.json" and path.relative_to(folder).parts[0] in ("new", "out", "first")
        if (not (kind.numbers_may_show and numbers) and _holds(path)) or shows(str(path.relative_to(folder))):
            yield f"canary in a file: {path.name}"


def shows(text: object) -> bool:
    """Whether a canary is to be seen, as digits or as words."""
    return sings(text) or (SECRET.encode() in text if isinstance(text, bytes) else SECRET in str(text))


def _is_confidential(path: Path, folder: Path) -> bool:
    """The table itself, and results that see the truth, which are stamped."""
    inside = path.relative_to(folder).parts
    named = inside[0] in ("t.parquet", "t.csv", "parts") or path.name.startswith("CONFIDENTIAL")
    return named or any((folder / Path(*inside[:n]) / "CONFIDENTIAL.txt").exists() for n in range(1, len(inside)))


def _is_old(path: Path, original: Path) -> bool:
    return original.is_file() and original.read_bytes() == path.read_bytes()


def _holds(path: Path) -> bool:
    if shows(path.read_bytes()):
        return True
    if path.suffix == ".parquet":
        with suppress(pa.ArrowException, OSError, ValueError):
            return shows(str(pq.read_table(path).to_pylist()))
    return False


def _leaves_behind(folder: Path) -> Iterator[str]:
    for path in folder.rglob(".*"):
        yield f"left behind: {re.sub(r'[a-z0-9_]{8}', 'X', path.name)}"


def _elsewhere(command: Sequence[str], folder: Path) -> bool:
    """Whether the ledger lies outside the folder."""
    if "--ledger" not in command[:-1]:
        return False
    path = folder / command[list(command).index("--ledger") + 1]
    return not path.resolve().is_relative_to(folder.resolve())


def _miscounts(command: Sequence[str], ended: Ended, before: Totals, after: Totals, folder: Path) -> Iterator[str]:
    if any(before[path] is not None and path not in after for path in before):
        yield "a ledger is gone"
    if "decide" in command:
        if any((after.get(path) or 0) < (total or 0) for path, total in before.items()):
            yield "a decision forgot budget"
        return
    spent = sum((total or Fraction(0)) - (before.get(path) or 0) for path, total in after.items())
    released = command[:1] == ["run"] and ended.code in {0, LOST, BROKEN_PIPE} and _is_a_run(command)
    if released:
        yield from _unpaid(command, spent, before, after, folder)
    elif spent and not any(text in ended.err for text in SAYS_SPENT):
        yield f"spent although {command[0]} ended with {ended.code}" if spent > 0 else "budget was given back"


def _is_a_run(command: Sequence[str]) -> bool:
    return not {"--dry-run", "-h", "--help"} & set(command)


def _unpaid(
    command: Sequence[str], spent: Fraction | int, before: Totals, after: Totals, folder: Path
) -> Iterator[str]:
    spec = find_spec(command[1])
    due = Fraction(0) if spec.data.synthetic and "--ledger" not in command else price(spec).total.mu_squared
    if spent != due:
        yield "the ledger rose by something else than the price"
    if any(before.get(path, 0) is None and total is not None for path, total in after.items()):
        yield "released although the ledger was broken"
    target = folder / (command[list(command).index("--out") + 1] if "--out" in command else spec.output.dir)
    with suppress(OSError, ValueError):
        manifest = json.loads((target / "manifest.json").read_text(encoding="utf-8"))
        if due and not any(_finished(path, manifest["release"]) for path in after):
            yield "a release that the ledger does not call finished"
        return
    yield "a run that ended well left no release"


def _finished(path: Path, release: str) -> bool:
    with suppress(GedpError):
        state = Ledger.open(path, create=False, wait=1).state()
        return any(each.reserve.release == release and each.outcome == "finished" for each in state.releases)
    return False
