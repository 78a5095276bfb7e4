"""Answers whose worker comes to grief in the middle of its work."""

import os
import shutil
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from gedp.confidential.drawings import FirstDrawing, IdentityAnswers, SecondDrawing
from gedp.confidential.engines import Drawn
from gedp.noise.entropy import Entropy
from gedp.passes import Batch


def is_first_try(every: int = 1) -> bool:
    """Whether this is the first try of a task, or of every so-manieth task."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context is not None and context.attemptNumber() == 0 and context.partitionId() % every == 0


@dataclass(frozen=True, repr=False)
class Marking(IdentityAnswers):
    """Leaves a file wherever something befell a worker."""

    marks: Path = Path()

    def mark(self) -> None:
        (self.marks / uuid4().hex).touch()


class Killed(Marking):
    """Every worker is killed after it drew."""

    def __call__(self, batch: Batch, entropy: Entropy) -> Drawn:
        return _killed_after(super().__call__(batch, entropy), self.marks / uuid4().hex)


@dataclass(frozen=True, repr=False)
class KilledFirst(FirstDrawing):
    """Every worker is killed after it drew first answers."""

    marks: Path = Path()

    def __call__(self, batch: Batch, entropy: Entropy) -> Drawn:
        return _killed_after(super().__call__(batch, entropy), self.marks / f"{type(self).__name__} {uuid4().hex}")


@dataclass(frozen=True, repr=False)
class KilledSecond(SecondDrawing):
    """Every worker is killed after it drew second answers."""

    marks: Path = Path()

    def __call__(self, batch: Batch, entropy: Entropy) -> Drawn:
        return _killed_after(super().__call__(batch, entropy), self.marks / f"{type(self).__name__} {uuid4().hex}")


def _killed_after(drawn: Drawn, mark: Path) -> Drawn:
    if is_first_try():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return drawn


class Failed(Marking):
    """Every second task fails, and quotes what it has."""

    def __call__(self, batch: Batch, entropy: Entropy) -> Drawn:
        drawn = super().__call__(batch, entropy)
        if is_first_try(every=2):
            self.mark()
            raise ValueError(f"cannot do {batch.amounts}")
        return drawn


class Hopeless(Marking):
    """All tries fail, and quote what they have."""

    def __call__(self, batch: Batch, entropy: Entropy) -> Drawn:
        self.mark()
        raise ValueError(f"cannot do {batch.amounts}")


class Obstructed(Marking):
    """There is a file in the place of the folder that rows are to be written to."""

    def __call__(self, batch: Batch, entropy: Entropy) -> Drawn:
        drawn = super().__call__(batch, entropy)
        rows = next(self.marks.glob(".*.gedp-partial")) / "rows"
        shutil.rmtree(rows, ignore_errors=True)
        rows.touch()
        return drawn


class Watching(Marking):
    """The first task waits until the others are done, and says how many files of theirs can be seen by then."""

    def __call__(self, batch: Batch, entropy: Entropy) -> Drawn:
        from pyspark import TaskContext

        drawn, context = super().__call__(batch, entropy), TaskContext.get()
        assert context is not None
        (rows,) = self.marks.glob(".*.gedp-partial/rows")
        if context.partitionId() == 0:
            end = time.monotonic() + 100
            while len(list(rows.rglob("part-*.parquet"))) < 3 and time.monotonic() < end:
                time.sleep(0.1)
            time.sleep(2)  # for the last one to be committed
            (self.marks / "seen").write_text(str(len(list(rows.glob("part-*")))), "utf-8")
        return drawn


class Slow(Marking):
    """The first task waits after it drew, until a second copy of it has drawn elsewhere, and the copy is done first."""

    def __call__(self, batch: Batch, entropy: Entropy) -> Drawn:
        from pyspark import TaskContext

        drawn, context = super().__call__(batch, entropy), TaskContext.get()
        if context is not None and context.partitionId() == 0:
            host = os.environ["SPARK_LOCAL_HOSTNAME"]
            (self.marks / f"attempt {context.attemptNumber()} on {host}").touch()
            end = time.monotonic() + 300
            while len(list(self.marks.iterdir())) < 2 and time.monotonic() < end:
                time.sleep(0.1)
            if context.attemptNumber() == 0:
                time.sleep(10)
        return drawn
