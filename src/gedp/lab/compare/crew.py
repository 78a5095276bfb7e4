"""Numbered work in several processes: each gets its next number when it is done with the last.

Processes that are started here leave interrupts to the one that started them, and do linear algebra on one thread, as
there is one process a core. One that dies is noticed, since its end of the pipe closes.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from gedp.errors import GedpError

Work = Callable[[int], None]
MOST_WORKERS = 4
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class WorkerDiedError(GedpError):
    """A process ended before its work was done."""


def usual_workers() -> int:
    """One for each core that this process may use, but not many: each holds the whole table."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_WORKERS)


def done_by(begin: Callable[[], Work], numbers: Sequence[int], workers: int) -> Generator[int, None, None]:
    """Each number once the work on it is done; in this process if there is one worker or one number.

    `begin` is called in every process to prepare the work; it must be importable there.
    """
    if min(workers, len(numbers)) == 1:
        work = begin()
        for number in numbers:
            work(number)
            yield number
        return
    left = list(reversed(numbers))
    crew: dict[Connection, BaseProcess] = {}
    try:
        with _quiet_start():
            for _ in range(min(workers, len(left))):
                connection, process = _hired(begin)
                crew[connection] = process
                connection.send(left.pop())
        busy = set(crew)
        while busy:
            ready = wait(list(busy))
            for connection in [each for each in busy if each in ready]:
                yield _outcome(connection)
                if left:
                    connection.send(left.pop())
                else:
                    busy.discard(connection)
    finally:
        for connection, process in crew.items():
            connection.close()
            process.terminate()
        for process in crew.values():
            process.join()


def _hired(begin: Callable[[], Work]) -> tuple[Connection, BaseProcess]:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, begin), daemon=True)
    process.start()
    there.close()
    return here, process


def _outcome(connection: Connection) -> int:
    try:
        outcome: int | BaseException = connection.recv()
    except (EOFError, OSError):
        outcome = WorkerDiedError("a process ended before its work was done: killed, perhaps for want of memory")
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _serve(connection: Connection, begin: Callable[[], Work]) -> None:
    """The life of a worker. Its errors go home, where they are raised."""
    work: Work | None = None
    while True:
        try:
            number = connection.recv()
        except (EOFError, OSError):  # nobody is waiting any more
            return
        try:
            work = work or begin()
            work(number)
            connection.send(number)
        except (GedpError, OSError) as error:
            connection.send(error)
            return


@contextmanager
def _quiet_start() -> Iterator[None]:
    """What a process inherits when it is started in here: no interrupts, and one thread for linear algebra."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    has_masks = hasattr(signal, "pthread_sigmask")
    if has_masks:
        resource_tracker.ensure_running()  # when first needed it would let interrupts in again
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value
        if has_masks:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
