"""The commands, the folder in which each starts, and what must hold whatever fails."""

import errno
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import pyarrow.parquet as pq

from gedp.cli.streams import BROKEN_PIPE, LOST
from gedp.errors import GedpError
from gedp.ledger import Ledger
from gedp.policy import price, read_spec
from gedp.release import read_release, writer
from tests.faults.inject import Ended, Fault, calls, hit_a_reader, run
from tests.fuzz.judge import SAYS_SPENT, regular_files, shows
from tests.helpers.runs import LEDGER, gedp

KILLED = -9
CODES = {0, 1, 2, LOST, BROKEN_PIPE, KILLED}


@dataclass(frozen=True)
class Scenario:
    """A command, what it makes, and how it may end when it is repeated without faults."""

    name: str
    command: tuple[str, ...]
    makes: tuple[str, ...] = ()
    spends: Fraction | None = None  # None: what the spec costs, for a run

    @property
    def is_run(self) -> bool:
        return self.command[0] == "run"

    @property
    def finishes(self) -> bool:
        """Whether it starts with a release that is whole, paid for, and has no name yet."""
        return self.command == FINISH


NOTHING = Fraction(0)
FINISH = ("ledger", "finish", LEDGER)
#: What a message says about a release that is whole and not in its place.
LEFT = "only lacks its name"
RUN = ("run", "spec.toml", "--out", "new", "--answers-only")
SCENARIOS: tuple[Scenario, ...] = (
    Scenario("run", RUN),
    Scenario("run --force", ("run", "spec.toml", "--force")),
    Scenario("microdata", ("microdata", "out"), ("out/microdata.parquet", "out/microdata.json"), NOTHING),
    Scenario("report", ("report", "out"), ("out/report.html",), NOTHING),
    Scenario("tabulate --out", ("tabulate", "out", "--by", "cnty", "--out", "table.csv"), ("table.csv",), NOTHING),
    Scenario("ledger export", ("ledger", "export", LEDGER, "--out", "ledger.csv"), ("ledger.csv",), NOTHING),
    Scenario("ledger finish", FINISH, (), NOTHING),
    Scenario("ledger decide", ("ledger", "decide", LEDGER, "--note", "x", "--add-mu", "0.1"), (), Fraction(1, 100)),
)


@dataclass(frozen=True)
class Case:
    """One fault in one scenario."""

    scenario: Scenario
    fault: Fault

    def __str__(self) -> str:
        return f"{self.scenario.name}/{self.fault}"


def case_of(text: str) -> Case:
    """The case that is shown like this."""
    name, _, fault = text.rpartition("/")
    call, number, how = fault.split(":")
    return Case(next(each for each in SCENARIOS if each.name == name), Fault(call, int(number), how))


@dataclass(frozen=True)
class Outcome:
    """How a case ended, and what is wrong with that."""

    case: Case
    ended: Ended
    violations: list[str]


def faults_of(scenario: Scenario, world: Path, folder: Path) -> list[Fault]:
    """Every fault that there can be, by counting the calls of a run without any."""
    start(world, folder, scenario)
    found = calls(scenario.command, folder)
    hows = ("disk full", "disk error", "kill -9")
    return [Fault(call, number, how) for call, numbers in found.items() for number in numbers for how in hows]


def leave_whole(world: Path) -> None:
    """Beside a world, one in which a release was interrupted once it was whole."""
    left = world.with_name("left")
    shutil.copytree(world, left)
    with patch.object(writer, "_sync", side_effect=OSError(errno.EIO, "injected")):
        ended = gedp(*RUN, folder=left)
    assert (ended.code, LEFT in ended.err) == (2, True), ended


def start(world: Path, folder: Path, scenario: Scenario) -> None:
    """A fresh copy, in which every file that the scenarios make is there from before."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(world.with_name("left") if scenario.finishes else world, folder)
    for name in ("table.csv", "ledger.csv"):
        (folder / name).write_text("from before\n", encoding="utf-8")


def try_case(case: Case, world: Path, folder: Path) -> Outcome:
    """The command with the fault, and what it leaves; then the command once more, without."""
    start(world, folder, case.scenario)
    before = _State(folder)
    log = folder.with_name("log")
    ended = run(case.scenario.command, folder, case.fault.options, log)
    if hit_a_reader(case.fault, log):  # of the machine's own files too, which is no fault of a disk
        return Outcome(case, ended, [])
    violations = [*_ends_badly(case, ended), *_leaves_badly(case, ended, before, folder)]
    violations += _finishes_badly(case, run(FINISH, folder), folder)
    again = run(case.scenario.command, folder)
    violations += _goes_on_badly(case, again, folder)
    return Outcome(case, ended, violations)


class _State:
    """What was in the folder before."""

    def __init__(self, folder: Path) -> None:
        self.release = str(read_release(folder / "out").manifest.release)
        self.total = _total(folder / LEDGER)
        self.files = {path.relative_to(folder): path.read_bytes() for path in regular_files(folder)}


def _total(path: Path) -> Fraction:
    """What counts; an error if the ledger does not verify. Nothing, where there is no ledger."""
    if not path.exists():
        return NOTHING
    state = Ledger.open(path, create=False, wait=5).state()
    if not state.verification.ok:
        raise GedpError(f"the ledger does not verify: {', '.join(map(str, state.verification.breaks))}")
    return state.total.mu_squared


def _ends_badly(case: Case, ended: Ended) -> Iterator[str]:
    if ended.code not in CODES or ((ended.code == KILLED) != (case.fault.how == "kill -9") and ended.code == KILLED):
        yield f"exit code {ended.code}"
    if "Traceback" in ended.err or "unexpected" in ended.err or "Error:" in ended.err:
        yield "a traceback or an unexpected error"
    if ended.code in {1, 2} and not ended.err.startswith("gedp: ") and "write" not in case.fault.call:
        yield "no message"  # unless it could not be written


def _leaves_badly(case: Case, ended: Ended, before: _State, folder: Path) -> Iterator[str]:
    ledger, start_total = folder / LEDGER, before.total
    try:
        risen = _total(ledger) - start_total
    except GedpError as error:
        yield f"the ledger: {error}"
        return
    due = price(read_spec(folder / "spec.toml")).total.mu_squared if case.scenario.is_run else case.scenario.spends
    if risen not in (NOTHING, due):
        yield f"the ledger rose by {risen}"
    if ended.code in {0, LOST} and risen != due:
        yield "done, but not counted"
    silenced = case.fault.call == "write" and not ended.err
    if ended.code in {1, 2} and risen and not silenced and not any(text in ended.err for text in SAYS_SPENT):
        yield "spent without a word"
    drawn = [*folder.glob(".*/tables/*"), *folder.glob(".*/identity.parquet")]
    if (
        drawn
        and not risen
        and not case.scenario.finishes
        and not (ended.code != KILLED and case.fault.call in ("unlinkat", "rmdir"))
    ):
        yield "noise was drawn and not counted"
    yield from _releases_badly(case, ended, before, folder, bool(risen) or case.scenario.finishes)
    yield from _files_badly(case, before, folder)
    to_be_finished = case.scenario.finishes or LEFT in ended.err or "gedp ledger finish" in ended.err
    if ended.code != KILLED and not to_be_finished and case.fault.call not in ("unlink", "unlinkat", "rmdir"):
        noted = any(text in ended.err for text in SAYS_SPENT)  # then a note beside the ledger is for `finish`
        left = [path for path in folder.rglob(".*") if path.is_file() or any(path.iterdir())]
        left = [path for path in left if not (noted and path.suffix == ".open")]
        yield from (f"left behind: {'.'.join(path.name.split('.')[:2])}" for path in left)


def _releases_badly(case: Case, ended: Ended, before: _State, folder: Path, paid: bool) -> Iterator[str]:
    found = {}
    for name in ("new", "out"):
        if (folder / name).exists():
            try:
                found[name] = str(read_release(folder / name).manifest.release)
            except GedpError:
                yield f"half a release in {name}"
    if "out" not in found:
        yield "the release before is gone"
    elif found["out"] != before.release and not ("--force" in case.scenario.command and paid):
        yield "a release that was not paid for"
    if "new" in found and not paid:
        yield "a release that was not paid for"
    if ended.code in {0, LOST} and "new" in case.scenario.command and "new" not in found:
        yield "done, but there is no release"


def _files_badly(case: Case, before: _State, folder: Path) -> Iterator[str]:
    made = case.scenario.makes
    if case.scenario.is_run:
        target = "new" if "new" in case.scenario.command else "out"
        made = tuple(f"{target}/{name}" for name in ("microdata.parquet", "microdata.json", "report.html"))
    for name in made:
        path = folder / name
        if path.exists() and path.read_bytes() != before.files.get(Path(name)) and not _is_whole(path):
            yield f"half a file: {name}"
        if not path.exists() and Path(name) in before.files and not case.scenario.is_run:
            yield f"gone: {name}"
    for path in regular_files(folder):
        if path.name != "t.parquet" and path.name != "t.csv" and shows(path.read_bytes()):
            yield f"confidential: {path.name}"


def _is_whole(path: Path) -> bool:
    if path.suffix == ".parquet":
        try:
            return bool(pq.read_table(path).num_rows)
        except (OSError, ValueError):
            return False
    ends = {".html": "</html>", ".json": "}", ".csv": ""}
    text = path.read_text(encoding="utf-8")
    return text.endswith("\n") and text.strip().endswith(ends[path.suffix])


def _finishes_badly(case: Case, ended: Ended, folder: Path) -> Iterator[str]:
    """Whatever failed, `gedp ledger finish` brings every release to its end, at no price; not over another release."""
    state = Ledger.open(folder / LEDGER, create=False, wait=5).state()
    if ended.code != 0 and not ("--force" in case.scenario.command and "already exists" in ended.err):
        yield f"cannot be finished: exit code {ended.code}: {ended.err.strip()[:100]}"
    if ended.code == 0 and any(release.outcome == "reserved" for release in state.releases):
        yield "finished, and a release has no end"
    if ended.code == 0 and list(folder.glob(".*.open")):
        yield "finished, and a note is left"
    for release in state.releases:
        if release.outcome == "unspent" and (folder / "new").exists():
            manifest = read_release(folder / "new").manifest
            if manifest.release == release.reserve.release:
                yield "given back, and published"


def _goes_on_badly(case: Case, again: Ended, folder: Path) -> Iterator[str]:
    taken = case.scenario.is_run and again.code == 1 and ("already exists" in again.err or LEFT in again.err)
    if again.code != 0 and not taken:
        yield f"cannot be repeated: exit code {again.code}: {again.err.strip()[:100]}"
    try:
        _total(folder / LEDGER)
    except GedpError as error:
        yield f"the ledger, after the next command: {error}"
