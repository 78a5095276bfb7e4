"""Answers whose worker comes to grief, in the middle of its work, the first time it is tried."""

import os
import signal

from gedp.confidential.answering import IdentityAnswers
from gedp.confidential.engines import Batch, Drawn
from gedp.noise.entropy import Entropy


def is_first_try(every: int = 1) -> bool:
    """Whether this is the first try of a task, or of every so-manieth task."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context is not None and context.attemptNumber() == 0 and context.partitionId() % every == 0


class Killed(IdentityAnswers):
    """Every worker is killed after it drew."""

    def __call__(self, batch: Batch, entropy: Entropy) -> Drawn:
        drawn = super().__call__(batch, entropy)
        if is_first_try():
            os.kill(os.getpid(), signal.SIGKILL)
        return drawn


class Failed(IdentityAnswers):
    """Every second task fails, and quotes what it has."""

    def __call__(self, batch: Batch, entropy: Entropy) -> Drawn:
        drawn = super().__call__(batch, entropy)
        if is_first_try(every=2):
            raise ValueError(f"cannot do {batch.amounts}")
        return drawn


class Hopeless(IdentityAnswers):
    """All tries fail, and quote what they have."""

    def __call__(self, batch: Batch, entropy: Entropy) -> Drawn:
        raise ValueError(f"cannot do {batch.amounts}")
