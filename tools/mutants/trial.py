"""Running tests on changed code, each time in a child of this process, which has collected all of them.

A function is changed by giving it other code, wherever it is in use already; properties and what decorators wrap are
functions, too. Where something else is changed, a constant or a default, the child imports everything anew, with the
changed module in the place of the one on file.
"""

import gc
import importlib.abc
import inspect
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout, suppress
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from tools.mutants.changes import SOURCE, Mutant

OPTIONS = [
    *("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow", "--hypothesis-profile=mutants"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # Hypothesis is loaded already
]
#: How many times the seconds of its tests a trial may take: of processor time, and by the clock, as others use the
#: machine as well.
PROCESSOR, CLOCK = 2, 40


def noticed(mutant: Mutant, tests: Sequence[str], seconds: int, log: Path) -> str:
    """How a change is noticed: by a `test`, by the `time` it takes; or `no`."""

    def run() -> int:
        resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR * seconds, PROCESSOR * seconds + 5))
        if not swapped(mutant):
            forget()
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


def prepared(folders: Sequence[str]) -> None:
    """Collects the tests once, so that no trial has to."""
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        ended = pytest.main([*OPTIONS, "--collect-only", *folders])
    if ended != 0:
        raise SystemExit("the tests cannot be collected")


def swapped(mutant: Mutant) -> bool:
    """Gives the function its changed code; False where the change is not in the code of a function."""
    path, first = str(SOURCE / mutant.file), mutant.around[0]
    new = [code for code in _of_functions(compile(mutant.code, path, "exec")) if code.co_firstlineno == first]
    live = [
        function
        for function in gc.get_objects()
        if isinstance(function, FunctionType)
        and (function.__code__.co_filename, function.__code__.co_firstlineno) == (path, first)
    ]
    if len(new) != 1 or not live or any(function.__code__ == new[0] for function in live):
        return False
    for function in live:
        function.__code__ = new[0]
    return True


def _of_functions(code: CodeType) -> Iterator[CodeType]:
    """The functions of a module and of its classes, but not those inside of functions."""
    for part in code.co_consts:
        if isinstance(part, CodeType):
            is_function = part.co_flags & inspect.CO_NEWLOCALS
            yield from [part] if is_function else _of_functions(part)


def forget() -> None:
    """As if nothing of the program and its tests had been imported."""
    for name in list(sys.modules):
        if name.split(".")[0] in ("gedp", "gedp_lab", "tests"):
            del sys.modules[name]


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
