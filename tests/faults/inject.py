"""One command in a process of its own, in which strace makes the N-th system call of a kind fail, or kills it."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gedp.cli import main

STRACE = shutil.which("strace")
#: System calls that change the file system, by what they do.
CALLS = {
    "write": ("write", "pwrite64", "writev", "sendfile", "copy_file_range"),
    "sync": ("fsync", "fdatasync"),
    "name": ("rename", "renameat", "renameat2", "link", "linkat"),
    "remove": ("unlink", "unlinkat", "rmdir"),
    "make": ("mkdir", "mkdirat", "chmod", "fchmod", "fchmodat"),
    "cut": ("ftruncate", "fallocate"),
    "open": ("open", "openat"),
}
#: What happens: the injection, and whether it goes on from then on.
FAULTS = {"disk full": "error=ENOSPC:when={}+", "disk error": "error=EIO:when={}", "kill -9": "signal=SIGKILL:when={}"}
#: How files are opened to be written.
WRITES = re.compile(r"O_CREAT|O_WRONLY|O_RDWR|O_TRUNC")
PATIENCE = 60.0  # seconds


@dataclass(frozen=True)
class Fault:
    """The `number`-th call of the name, in whichever thread, fails in this way."""

    call: str
    number: int
    how: str

    def __str__(self) -> str:
        return f"{self.call}:{self.number}:{self.how}"

    @property
    def options(self) -> list[str]:
        what = FAULTS[self.how].format(self.number)
        if self.call in CALLS["open"]:
            what = what.removesuffix("+")  # a full disk still opens files to read and folders to clean up
        return ["-e", f"trace={self.call}", "-e", f"inject={self.call}:{what}"]


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, negative for a signal, and what it said."""

    code: int
    out: str
    err: str


def run(command: Sequence[str], folder: Path, options: Sequence[str] = (), log: Path | None = None) -> Ended:
    """`gedp` in `folder` under strace with these options; without any, as it is."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        go_read, go = os.pipe()
        process = os.fork()
        if not process:
            os.close(go)
            _be(command, folder, go_read, out.fileno(), err.fileno())
        os.close(go_read)
        tracer = _attached(process, options, log) if options else None
        os.write(go, b"!")
        os.close(go)
        status = _wait(process)
        if tracer:
            tracer.wait(PATIENCE)
            if tracer.stderr:
                tracer.stderr.close()
        out.seek(0)
        err.seek(0)
        said = (out.read().decode(errors="replace"), err.read().decode(errors="replace"))
    return Ended(os.waitstatus_to_exitcode(status), *said)


def calls(command: Sequence[str], folder: Path) -> dict[str, list[int]]:
    """Which calls change the file system, by name and number; strace counts for each thread by itself."""
    names = [name for names in CALLS.values() for name in names]
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "calls"
        ended = run(command, folder, ["-e", f"trace={','.join('?' + name for name in names)}"], log)
        assert ended.code == 0, ended
        text = log.read_text(errors="replace")
    by_thread: Counter[tuple[str, str]] = Counter()
    found: dict[str, set[int]] = {}
    for thread, call, rest in re.findall(r"^(\d+) +(\w+)\((.*)", text, re.MULTILINE):
        by_thread[thread, call] += 1
        if call not in CALLS["open"] or WRITES.search(rest):
            found.setdefault(call, set()).add(by_thread[thread, call])
    return {call: sorted(numbers) for call, numbers in found.items()}


def hit_a_reader(fault: Fault, log: Path) -> bool:
    """Whether the call that failed only opened a file to be read: numbers differ a little from run to run."""
    failed = [line for line in log.read_text(errors="replace").splitlines() if "(INJECTED)" in line]
    return fault.call in CALLS["open"] and bool(failed) and not any(map(WRITES.search, failed))


def _be(command: Sequence[str], folder: Path, go: int, out: int, err: int) -> None:
    """The child: waits for strace, then is `gedp`."""
    try:
        os.chdir(folder)
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
        sys.argv = ["gedp", *command]
        os.read(go, 1)
        main()
    except SystemExit as end:
        os._exit(int(end.code or 0))
    except BaseException as error:
        os.write(2, f"Traceback: {error!r}".encode())
    os._exit(70)


def _attached(process: int, options: Sequence[str], log: Path | None) -> "subprocess.Popen[str]":
    assert STRACE
    line = [STRACE, "-f", "-p", str(process), "-o", str(log or os.devnull), *options]
    tracer = subprocess.Popen(line, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert tracer.stderr
    said = tracer.stderr.readline()
    if "attached" not in said:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        raise RuntimeError(f"strace cannot attach: {said}")
    return tracer


def _wait(process: int) -> int:
    """The status of the process once it has ended; it is killed when it takes too long."""
    patience = time.monotonic() + PATIENCE
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return status
        if time.monotonic() > patience:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return signal.SIGALRM  # hangs
        time.sleep(0.005)
