"""Reproducible random numbers for establishments, the same however the work is cut into batches.

Synthetic data are public, so an ordinary seeded generator is right here; it protects nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gedp.arrays import FloatArray

BLOCK = 16_384

# Fills a block: (generator, number of establishments) to an array of shape (draws an establishment, number).
Recipe = Callable[[np.random.Generator, int], FloatArray]


@dataclass(frozen=True)
class Stream:
    """The random numbers of one state's establishments, numbered from 0.

    They are drawn in blocks of fixed length, each from its own generator keyed by seed, state and block, so
    any range can be had on its own, and a state comes out the same alone or in the nation.
    """

    seed: int
    state: int

    def draw(self, recipe: Recipe, first: int, count: int) -> FloatArray:
        """What `recipe` draws for establishments first … first + count - 1, one column each."""
        blocks = range(first // BLOCK, (first + count - 1) // BLOCK + 1)
        drawn = np.concatenate([recipe(self._generator(block), BLOCK) for block in blocks], axis=1)
        offset = first - blocks.start * BLOCK
        return drawn[:, offset : offset + count]

    def _generator(self, block: int) -> np.random.Generator:
        sequence = np.random.SeedSequence(self.seed, spawn_key=(self.state, block))
        return np.random.Generator(np.random.PCG64(sequence))
