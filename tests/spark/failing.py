"""Answers whose worker comes to grief, in the middle of its work, the first time it is tried."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from gedp.confidential.answering import IdentityAnswers
from gedp.confidential.engines import Batch, Drawn
from gedp.noise.entropy import Entropy


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
        drawn = super().__call__(batch, entropy)
        if is_first_try():
            self.mark()
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
