"""Each case in a process of its own, forked from one that has everything imported, a few at a time, never for long."""

import os
import pickle
import random
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from gedp.cli import main
from tests.fuzz.judge import Ended, judge, totals
from tests.fuzz.kinds import chosen, copied
from tests.fuzz.world import fast

MEMORY = 6 << 30  # bytes of addresses: a file without end must not take the machine down


@dataclass
class Result:
    """What became of a case: its kind, how each command ended, and what is wrong with that."""

    number: int
    kind: str = ""
    codes: list[int] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    lines: list[list[str]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    seconds: float = 0.0


def run_case(seed: int, number: int, world: Path, folder: Path) -> Result:
    """The whole case, in this process, which is not good for another one afterwards."""
    chance = random.Random(f"{seed}/{number}")
    kind = chosen(chance)
    result = Result(number, kind.name)
    folder = folder / "a" / "b" / "case"  # room for paths that lead upwards
    copied(world, folder)
    spent = totals(folder)
    commands = kind.prepare(chance, folder)
    if not kind.forges and any((totals(folder).get(path) or total) < total for path, total in spent.items() if total):
        result.findings.append("a damaged ledger verifies with less than was spent")
    for command in commands:
        before = totals(folder)
        ended = execute(command, folder)
        found = judge(kind, command, ended, before, totals(folder), folder, world)
        result.codes.append(ended.code)
        result.lines.append(command)
        result.texts.append(f"{ended.out[-2000:]}\n{ended.err[-4000:]}")
        result.findings += found
    result.findings = list(dict.fromkeys(result.findings))
    return result


def execute(command: list[str], folder: Path) -> Ended:
    """`gedp` with its output in files, so that what libraries print is seen too."""
    os.chdir(folder)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
        sys.argv = ["gedp", *command]
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        except BaseException:
            traceback.print_exc()
            code = -1
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return Ended(code, *texts)


@dataclass
class _Child:
    number: int
    began: float
    pipe: int
    folder: Path
    content: bytes = b""


def run_cases(
    numbers: Iterable[int], work: Callable[[int, Path], Result], *, workers: int = 2, limit: float = 30.0
) -> Iterator[Result]:
    """The results of the cases, as they come. One that takes longer than `limit` seconds is ended: it hangs."""
    waiting = iter(numbers)
    running: dict[int, _Child] = {}
    with tempfile.TemporaryDirectory(prefix="gedp-fuzz-") as scratch:
        while True:
            while len(running) < workers and (number := next(waiting, None)) is not None:
                process, child = _fork(number, work, Path(scratch) / str(number))
                running[process] = child
            if not running:
                return
            by_pipe = {child.pipe: process for process, child in running.items()}
            for pipe in select.select(list(by_pipe), [], [], 0.5)[0]:
                child = running[by_pipe[pipe]]
                chunk = os.read(pipe, 1 << 20)
                child.content += chunk
                if not chunk:
                    del running[by_pipe[pipe]]
                    yield _finished(by_pipe[pipe], child)
            for process, child in list(running.items()):
                if time.monotonic() - child.began > limit:
                    os.kill(process, signal.SIGKILL)
                    del running[process]
                    yield _finished(process, child, hangs=True)


def _fork(number: int, work: Callable[[int, Path], Result], folder: Path) -> tuple[int, _Child]:
    folder.mkdir()
    read, write = os.pipe()
    process = os.fork()
    if process:
        os.close(write)
        return process, _Child(number, time.monotonic(), read, folder)
    try:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        (folder / "tmp").mkdir()
        tempfile.tempdir = os.environ["TMPDIR"] = str(folder / "tmp")
        os.environ["BROWSER"] = "true"  # opens nothing
        fast()
        began = time.monotonic()
        result = work(number, folder)
        result.seconds = time.monotonic() - began
        with suppress(OSError):
            if left := [path.name for path in (folder / "tmp").iterdir()]:
                result.findings.append(f"left behind in the temporary folder: {len(left)} files")
    except BaseException:
        result = Result(number, "the fuzzer itself", [-1], [f"the fuzzer failed:\n{traceback.format_exc()}"])
    with os.fdopen(write, "wb") as pipe:
        pickle.dump(result, pipe)
    os._exit(0)


def _finished(process: int, child: _Child, *, hangs: bool = False) -> Result:
    _, status = os.waitpid(process, 0)
    os.close(child.pipe)
    shutil.rmtree(child.folder, ignore_errors=True)
    if hangs:
        return Result(child.number, "", [], ["hangs"], seconds=time.monotonic() - child.began)
    try:
        result = pickle.loads(child.content)
    except (EOFError, pickle.UnpicklingError):
        return Result(child.number, "", [], [f"died: {os.waitstatus_to_exitcode(status)}"])
    assert isinstance(result, Result)
    return result
