"""Running tests in a child of this process, which has the libraries loaded but nothing of gedp."""

import importlib.abc
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path

import pytest

from tools.mutants.changes import SOURCE, Mutant

OPTIONS = [
    *("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow", "--hypothesis-profile=mutants"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # Hypothesis is loaded already
]
#: How many times the seconds of its tests a trial may take: of processor time, and by the clock, as others use the
#: machine as well.
PROCESSOR, CLOCK = 2, 10


def noticed(mutant: Mutant, tests: Sequence[str], seconds: int, log: Path) -> str:
    """How a change is noticed: by a `test`, by the `time` it takes; or `no`."""

    def run() -> int:
        resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR * seconds, PROCESSOR * seconds + 5))
        sys.meta_path.insert(0, Changed(mutant))
        return int(pytest.main([*OPTIONS, "-x", *tests]))

    ended = in_a_child(run, log, CLOCK * seconds) if tests else 0
    if ended < 0:
        return "time"
    return "test" if ended else "no"


def in_a_child(run: Callable[[], int], log: Path, seconds: float | None = None) -> int:
    """What it returns in a process of its own; the negative signal where one ended it, ours after so many seconds."""
    scratch = tempfile.mkdtemp(prefix="gedp-mutants-")
    child = os.fork()
    if child == 0:
        _become_a_child(scratch, log)
        try:
            ended = run()
        except BaseException:  # whatever happens, this process must not go on as its parent
            sys.excepthook(*sys.exc_info())
            ended = 3
        sys.stdout.flush()
        os._exit(ended)
    try:
        return _waited_for(child, seconds)
    finally:
        _kill_group(child)
        shutil.rmtree(scratch, ignore_errors=True)


def _become_a_child(scratch: str, log: Path) -> None:
    os.setpgid(0, 0)
    with log.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.environ |= {"TMPDIR": scratch, "PYTEST_DEBUG_TEMPROOT": scratch, "CI": "true"}
    tempfile.tempdir = None


def _waited_for(child: int, seconds: float | None) -> int:
    start = time.monotonic()
    while seconds is None or time.monotonic() < start + seconds:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    _kill_group(child)
    os.waitpid(child, 0)
    return -signal.SIGKILL


def _kill_group(child: int) -> None:
    """Ends what the child has started, too."""
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


class Changed(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Loads the changed module in the place of the one on file."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        self.path = SOURCE / mutant.file

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        """The changed module, and no other."""
        if fullname != self.mutant.module.removesuffix(".__init__"):
            return None
        package = [str(self.path.parent)] if self.path.name == "__init__.py" else None
        return spec_from_file_location(fullname, self.path, loader=self, submodule_search_locations=package)

    def get_source(self, fullname: str) -> str:
        """Its code."""
        return self.mutant.code
