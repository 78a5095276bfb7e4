"""Standard output that may fail at any write: the work goes on, and the end says what was lost.

A full disk or a reader that has gone is no reason to stop between a release and its report, and no refusal.
"""

import errno
import io
import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

LOST = 3  # exit code: done, but the output could not be written
BROKEN_PIPE = 128 + signal.SIGPIPE if hasattr(signal, "SIGPIPE") else LOST  # as other tools end when nobody reads on
REPEATED = 2_000  # bytes of lost output that the error stream gets instead


class Sturdy(io.FileIO):
    """A standard stream that remembers its first failure and swallows everything from then on."""

    def __init__(self, number: int, failure: OSError | None = None) -> None:
        super().__init__(number, "wb", closefd=False)
        self._number = number
        self._failure = failure
        self.failure: OSError | None = None  # a failure counts once something was lost by it
        self.lost = bytearray()

    def write(self, data: "ReadableBuffer", /) -> int:
        """Writes all of `data`, or keeps the beginning of what is lost."""
        rest = memoryview(data).cast("B")
        size = rest.nbytes
        while rest.nbytes and not self._failure:
            try:
                rest = rest[os.write(self._number, rest) :]
            except BlockingIOError:
                select.select([], [self._number], [])
            except OSError as error:
                self._failure = error
        if rest.nbytes:
            self.failure = self._failure
            self.lost += rest[: REPEATED + 1 - len(self.lost)]
        return size


class Streams:
    """The standard streams during a command. `repeat`: lost output is public and may go to the error stream instead."""

    def __init__(self, out: Sturdy | None) -> None:
        self._out = out
        self.repeat = False

    def end(self) -> tuple[int, str]:
        """The exit code of a command that is done, and what there is to say: 0 and nothing, unless output was lost."""
        sys.stdout.flush()
        if self._out is None or not (failure := self._out.failure):
            return 0, ""
        if failure.errno == errno.EPIPE:
            return BROKEN_PIPE, ""
        reason = (failure.strerror or "it failed").lower()
        text = f"standard output could not be written: {reason}. Everything else is done and its files are complete"
        said = self._out.lost.decode(errors="replace").strip()
        if self.repeat and said and len(self._out.lost) <= REPEATED:
            text += f". It would have said:\n{said}"
        return LOST, text


@contextmanager
def streams() -> Iterator[Streams]:
    """Inside, writing to standard output and standard error never fails. Streams put there by others stay."""
    closed = _fill_closed()
    before = sys.stdout, sys.stderr
    out, err = (_sturdy(stream, number, number in closed) for number, stream in enumerate(before, start=1))
    sys.stdout, sys.stderr = _text(out, before[0]), _text(err, before[1])
    try:
        yield Streams(out)
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        sys.stdout, sys.stderr = before


def _fill_closed() -> set[int]:
    """Opens the null device in place of closed standard streams, lest a file of ours gets their number."""
    closed = set()
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
            closed.add(number)
    return closed


def _sturdy(stream: TextIO | None, number: int, closed: bool) -> Sturdy | None:
    """For a stream of the system; None for one that a test or another program put there."""
    real = sys.__stdout__ if number == 1 else sys.__stderr__
    if stream is not real:
        return None
    if stream is not None:
        stream.flush()
    return Sturdy(number, OSError(errno.EBADF, "it is closed") if closed or stream is None else None)


def _text(sturdy: Sturdy | None, before: TextIO) -> TextIO:
    if sturdy is None:
        if isinstance(before, io.TextIOWrapper):
            before.reconfigure(errors="replace")
        return before
    encoding = getattr(before, "encoding", None) or "utf-8"
    # A terminal without Greek letters gets question marks.
    return io.TextIOWrapper(
        io.BufferedWriter(sturdy), encoding, errors="replace", line_buffering=sturdy.isatty() or sturdy.fileno() == 2
    )
