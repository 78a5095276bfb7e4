"""The place where noise is added, taken over: wild noise in the first world, the same noisy numbers in the second."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from gedp.arrays import FloatArray, IntArray
from gedp.confidential.drawings import FirstDrawing, IdentityAnswers, SecondDrawing
from gedp.errors import GedpError
from gedp.noise import gaussian
from gedp.noise.entropy import Entropy, Words
from gedp.noise.gaussian import Steps

#: Settings under which answers could be infinite within so many deviations are refused; so none are drawn beyond.
FURTHEST = 12.0


class CouplingError(GedpError):
    """The two worlds can be told apart by more than was paid for. The program lets errors of its own kind through."""


@dataclass(frozen=True)
class Added:
    """What noise was added to, what came out, and how large the noise should have been."""

    before: Steps
    published: Steps
    scales: FloatArray

    def reordered(self, order: IntArray) -> "Added":
        """The same for rows that are stored in another order."""
        return Added(self.before[order], self.published[order], self.scales[order])

    def squared_distance(self, steps: Steps) -> Fraction:
        """How far the noise is from noise that gives the same numbers on other values, in units of its size."""
        moved = Fraction(0)
        for place in zip(*np.nonzero(self.before != steps), strict=True):
            apart = int(self.before[place]) - int(steps[place])
            moved += (Fraction(apart) / Fraction(float(self.scales[place]))) ** 2
        return moved


@dataclass
class Door:
    """Stands where noise is added, and remembers everything that went through."""

    chance: np.random.Generator
    spread: float  #: of the noise in the first world; 1 is as it should be
    drift: float  #: its mean, in units of its size
    added: list[Added] = field(default_factory=list)
    squared_distance: Fraction = Fraction(0)

    @contextmanager
    def first_world(self) -> Iterator[None]:
        """Noise as wild as this door has it."""

        def draw(steps: Steps, scale: npt.ArrayLike, entropy: Entropy) -> Steps:
            scales = np.broadcast_to(np.asarray(scale, dtype=np.float64), steps.shape)
            normal = np.clip(self.chance.normal(self.drift, self.spread, steps.shape), -FURTHEST, FURTHEST)
            self.added.append(Added(steps, steps + np.rint(normal * scales).astype(np.int64), scales))
            return self.added[-1].published

        with patch.object(gaussian, "with_noise", draw):
            yield

    @contextmanager
    def second_world(self, order: IntArray | None = None) -> Iterator[None]:
        """Whatever noise gives the numbers of the first world.

        If the rows are stored in another `order`, row by row, noise and random words go with them.
        """
        expected = iter(self.added)

        def draw(steps: Steps, scale: npt.ArrayLike, entropy: Entropy) -> Steps:
            added = next(expected, None)
            if added is None or added.before.shape != steps.shape:
                raise CouplingError("the second world draws another number of times")
            if isinstance(entropy, _OfRows):
                added = added.reordered(entropy.order)
            if not np.array_equal(added.scales, np.broadcast_to(np.asarray(scale, dtype=np.float64), steps.shape)):
                raise CouplingError("the second world asks for noise of another size")
            self.squared_distance += added.squared_distance(steps)
            return added.published

        with ExitStack() as patches:
            patches.enter_context(patch.object(gaussian, "with_noise", draw))
            for drawing in (IdentityAnswers, FirstDrawing, SecondDrawing) if order is not None else ():
                patches.enter_context(patch.object(drawing, "__call__", _with_rows(drawing.__call__, order)))
            yield
        if next(expected, None) is not None:
            raise CouplingError("the second world draws less often")


@dataclass(repr=False)
class _OfRows(Entropy):
    """A source that knows where the rows were in the first world."""

    source: Entropy
    order: IntArray
    kind = "seeded"

    def words(self, n: int) -> Words:
        return self.source.words(n)[self.order]

    def spare(self) -> int:
        return self.source.spare()


def _with_rows(drawing: Callable[..., Any], order: IntArray | None) -> Callable[..., Any]:
    assert order is not None
    return lambda self, batch, entropy: drawing(self, batch, _OfRows(entropy, order))
