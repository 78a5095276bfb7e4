"""How well the likelihood ratio tells two neighbors apart, over many replicates that were drawn by the real code."""

from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
import pyarrow as pa

from gedp.arrays import FloatArray
from tests.attacks.audit import noise_of
from tests.helpers.class_worlds import Record

Told = tuple[FloatArray, FloatArray]  # answers and their variances: replicates × entries
#: The answers where every replicate has this record, and the μ that was paid for them.
Answering = Callable[[Record], tuple[Told, float]]


def replicates_in(answers: pa.Table, entries: int) -> Told:
    """A table of answers with so many entries in every replicate."""
    return answers["estimate"].to_numpy().reshape(-1, entries), answers["variance"].to_numpy().reshape(-1, entries)


def effective_parts(answer: Answering, pair: tuple[Record, Record]) -> tuple[float, float]:
    """The effective μ as a part of what was paid: of the noise as it is, and of noise that is 5% too small.

    The log likelihood ratio is normal in both worlds. What it moves by is known without noise, its deviation is that of
    draws: their quotient is μ, with a relative standard error of 1/√(2·replicates). By the noise as published it must
    be at most what was paid, and more than 99% of it: the pair is the worst.
    """
    with noise_of(0):
        (first, variance), _ = answer(pair[0])
        (second, same), paid = answer(pair[1])
    assert np.array_equal(variance, same)
    weights = (second - first) / variance
    shift = float((weights * (second - first)).sum(axis=1).mean())
    assert 0.99 <= np.sqrt(shift) / paid <= 1
    found = []
    for part in (1.0, 0.95):
        with noise_of(part) if part < 1 else nullcontext():
            (drawn, _), _ = answer(pair[0])
        found.append(shift / float((weights * (drawn - first)).sum(axis=1).std()) / paid)
    return found[0], found[1]
