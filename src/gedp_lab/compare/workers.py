"""Numbered work in several processes: each gets its next number when it is done with the last.

Processes that are started here leave interrupts to the one that started them, and do linear algebra on one thread, as
there is one process per core. One that dies is noticed, since its end of the pipe closes.
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
Prepare = Callable[[], Work]
MOST_WORKERS = 4
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class WorkerDiedError(GedpError):
    """A process ended before its work was done."""


def usual_workers() -> int:
    """One for each core that this process may use, but not many: each holds the whole table."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_WORKERS)


def run_numbered(prepare: Prepare, numbers: Sequence[int], workers: int) -> Generator[int, None, None]:
    """Each number once the work on it is done; in this process if there is one worker or one number.

    `prepare` is called once in every process and returns the work; it must be importable there.
    """
    if min(workers, len(numbers)) == 1:
        work = prepare()
        for number in numbers:
            work(number)
            yield number
        return
    left = list(reversed(numbers))
    processes: dict[Connection, BaseProcess] = {}
    try:
        with _quiet_start():
            for _ in range(min(workers, len(left))):
                connection, process = _start_worker(prepare)
                processes[connection] = process
                connection.send(left.pop())
        busy = set(processes)
        while busy:
            ready = wait(list(busy))
            for connection in [each for each in busy if each in ready]:
                yield _finished_number(connection)
                if left:
                    connection.send(left.pop())
                else:
                    busy.discard(connection)
    finally:
        for connection, process in processes.items():
            connection.close()
            process.terminate()
        for process in processes.values():
            process.join()


def _start_worker(prepare: Prepare) -> tuple[Connection, BaseProcess]:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, prepare), daemon=True)
    process.start()
    there.close()
    return here, process


def _finished_number(connection: Connection) -> int:
    """The number that a worker has finished. What went wrong there is raised here."""
    try:
        outcome: int | BaseException = connection.recv()
    except (EOFError, OSError):
        outcome = WorkerDiedError("a process ended before its work was done: killed, perhaps for want of memory")
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _serve(connection: Connection, prepare: Prepare) -> None:
    """A worker's loop. Its errors are sent to the process that started it, which raises them."""
    work: Work | None = None
    while True:
        try:
            number = connection.recv()
        except (EOFError, OSError):  # nobody is waiting any more
            return
        try:
            work = work or prepare()
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
