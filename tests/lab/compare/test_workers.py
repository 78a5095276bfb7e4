"""Work in several processes: all of it is done once, errors come home, and who dies is missed."""

import errno
import os
import pickle
import signal
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from gedp.errors import Fault, FaultsError, TableChangedError
from gedp.files import WriteError
from gedp_lab.compare.workers import Work, WorkerDiedError, run_numbered, usual_workers


def write(folder: Path, number: int) -> None:
    with (folder / f"{number}").open("x") as file:  # fails if it is done twice
        file.write(f"{os.getpid()} {os.environ.get('OPENBLAS_NUM_THREADS')}")


def writing(folder: Path) -> Work:
    return partial(write, folder)


def fail(error: BaseException, number: int) -> None:
    if number == 2:
        raise error


def failing(error: BaseException) -> Work:
    return partial(fail, error)


def die(number: int) -> None:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)


def dying() -> Work:
    return die


@pytest.mark.parametrize("workers", [1, 2])
def test_every_number_is_done_once(workers: int, tmp_path: Path) -> None:
    before = dict(os.environ)
    assert sorted(run_numbered(partial(writing, tmp_path), range(7), workers)) == list(range(7))
    assert sorted(int(path.name) for path in tmp_path.iterdir()) == list(range(7))
    texts = {path.read_text() for path in tmp_path.iterdir()}
    if workers > 1:
        assert all(text.endswith(" 1") for text in texts)
        assert str(os.getpid()) not in {text.split()[0] for text in texts}
    assert dict(os.environ) == before
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


FAULTS = FaultsError("t.csv", [Fault("here", "wrong", "Do right")])
ERRORS = [FAULTS, TableChangedError(), WriteError("cannot write"), OSError(errno.ENOSPC, "No space left on device")]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_survive_the_way_between_processes(error: Exception) -> None:
    error.add_note("a note")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.__notes__) == (type(error), str(error), ["a note"])
    if isinstance(error, FaultsError):
        assert again.faults == error.faults


def test_errors_come_home() -> None:
    with pytest.raises(FaultsError, match="Do right"):
        list(run_numbered(partial(failing, FAULTS), range(4), 2))


def test_who_dies_is_missed() -> None:
    done = []
    with pytest.raises(WorkerDiedError, match="a process ended before its work was done"):  # noqa: PT012
        for number in run_numbered(dying, range(5), 2):
            done.append(number)  # noqa: PERF402
    assert 2 not in done


def test_who_stops_asking_ends_the_processes(tmp_path: Path) -> None:
    with closing(run_numbered(partial(writing, tmp_path), range(1000), 2)) as done:
        next(done)
    assert len(list(tmp_path.iterdir())) < 1000
    pids = {int(path.read_text().split()[0]) for path in tmp_path.iterdir() if path.read_text()}
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_there_is_a_worker_for_a_core_but_not_many() -> None:
    assert 1 <= usual_workers() <= 4
