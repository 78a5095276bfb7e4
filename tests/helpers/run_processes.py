"""What the other processes of the tests of whole runs do. Importable, so that they start with everything imported."""

import os
import sys
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np
import pyarrow as pa

import gedp.cli.run
import gedp.confidential.run
import gedp.explain.document  # noqa: F401
from tests.helpers.runs import gedp as command

pa.array(np.zeros(1))  # imports pandas, where it is installed


def keep_running(folder: Path, first: int, told: Connection) -> None:
    """`gedp run` until killed: to a folder of its own each time, or in the place of the one before.

    Reports the numbers of the runs that ended well.
    """
    os.chdir(folder)
    number = first
    while True:
        told.send(("begun", number))
        where = ["--out", f"out/{number}"] if number % 3 else ["--out", "out/same", "--force"]
        assert command("run", "spec.toml", "--answers-only", *where, folder=folder).code == 0
        told.send(("finished", number))
        number += 1


def run_once(folder: Path, arguments: list[str], told: Connection) -> None:
    """`gedp` with its output in files: err, and nowhere."""
    from gedp.cli import main

    os.chdir(folder)
    with Path("err").open("wb") as err, Path(os.devnull).open("wb") as out:
        os.dup2(err.fileno(), 2)
        os.dup2(out.fileno(), 1)
    sys.argv = ["gedp", *arguments]
    told.send("ready")
    main()


def race(folders: list[Path], name: str, barrier: Barrier, told: Connection) -> None:
    """In every folder, at the same moment as another process: a run to the folder `name`. Reports how it ended."""
    for folder in folders:
        barrier.wait(60)
        ended = command("run", "spec.toml", "--answers-only", "--out", name, folder=folder)
        told.send((ended.code, ended.err))
