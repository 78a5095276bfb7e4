"""A log of what a command did and when: steps, times and public counts; never a value, a name of a row, or a message.

How long a step takes can depend a little on confidential values, so a log is for those who may see the table.
"""

import os
import re
import sys
import time
from contextlib import suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path

from gedp._version import __version__
from gedp.files import WriteError, writing

_current: ContextVar["StepLog | None"] = ContextVar("log", default=None)
_FIRST = re.compile(rb"\d{4}-\d\d-\d\dT[\d:+]+ gedp ")


class StepLog:
    """Lines at the end of a file, which only its owner can read if it is new. Once it is there, it stops no work."""

    def __init__(self, path: Path, command: str) -> None:
        self._began, self._step = time.monotonic(), ("", 0.0)
        if path.exists() and not (path.is_file() and _is_log(path)):
            raise WriteError(f"cannot write {path}: it is there already, and no log of gedp")
        with writing(path):
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(self._file, _line(f"gedp {__version__} {command} began"))

    def step(self, name: str, done: int | None = None) -> None:
        """A step begins, so the one before has ended; `done` of it were counted."""
        before, since = self._step
        if before:
            counted = "" if done is None else f", {done:,} done"
            self._write(f"{before}: {time.monotonic() - since:.1f} s{counted}")
        self._step = name, time.monotonic()

    def end(self) -> None:
        """The command ended, or is being stopped by an error."""
        self.step("")
        error = sys.exc_info()[0]
        how = "ended" if error is None else f"stopped ({error.__name__})"
        self._write(f"{how} after {time.monotonic() - self._began:.1f} s")
        os.close(self._file)

    def _write(self, text: str) -> None:
        with suppress(OSError):
            os.write(self._file, _line(text))


def _line(text: str) -> bytes:
    return f"{datetime.now(UTC).isoformat(timespec='seconds')} {text}\n".encode()


def _is_log(path: Path) -> bool:
    with writing(path), path.open("rb") as file:
        start = file.read(100)
    return not start or _FIRST.match(start) is not None


def start_log(path: Path, command: str) -> None:
    """From now on, steps are logged."""
    _current.set(StepLog(path, command))


def current_log() -> StepLog | None:
    """Where steps are logged, if anywhere."""
    return _current.get()


def end_log() -> None:
    """Ends the log, if there is one."""
    if log := _current.get():
        _current.set(None)
        log.end()
