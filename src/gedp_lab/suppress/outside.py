"""Programs of others, run as programs of their own on files: a licence and an environment of theirs are not ours.

What they read has confidential values. So their files, and what they keep while they work, are in a folder inside a
closed one, which is deleted when they end; what they print is thrown away, since it may quote a value.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from gedp.errors import GedpError

MINUTES = 10


class LeftOutError(GedpError):
    """A program is not there, failed or took too long: what it would have done is left out, and the rest goes on."""


@dataclass(frozen=True)
class ProgramCall:
    """Which program is called, where its files go, and how long it may take."""

    folder: Path  # closed
    command: str
    minutes: int = MINUTES

    def found(self, missing: str) -> str:
        """The program by its whole path; without it, `missing` says how to get it."""
        path = shutil.which(self.command)
        if path is None:
            raise LeftOutError(missing)
        return str(Path(path).absolute())  # not resolved: the Python of an environment is a link

    @contextmanager
    def files(self) -> Iterator[Path]:
        """A folder for the files of the program, deleted in the end."""
        with TemporaryDirectory(prefix=".program-", dir=self.folder) as folder:
            yield Path(folder)

    def run(self, name: str, arguments: Sequence[str], folder: Path, result: str, grace: int = 0) -> None:
        """Runs the program until it ends, or until its minutes and `grace` seconds are over, and expects a file."""
        seconds = 60 * self.minutes + grace
        inside = {**os.environ, "TMPDIR": str(folder.absolute())}
        nothing = subprocess.DEVNULL
        process = subprocess.Popen(
            arguments, cwd=folder, env=inside, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
        )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise LeftOutError(
                f"{name} was stopped after {seconds} seconds. Give it more time with --minutes, or fewer tables"
            ) from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # with all that it has started
                process.wait()
        if code or not (folder / result).exists():
            raise LeftOutError(f"{name} ended with exit code {code} and wrote no table")
