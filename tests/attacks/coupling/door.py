"""The place where noise is added, taken over: wild noise in the first world, the same noisy numbers in the second."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from gedp.arrays import FloatArray
from gedp.errors import GedpError
from gedp.noise import gaussian
from gedp.noise.entropy import Entropy
from gedp.noise.gaussian import Steps

#: Settings under which answers could be infinite within so many deviations are refused; so none are drawn beyond.
FURTHEST = 12.0


class CouplingError(GedpError):
    """The two worlds can be told apart by more than was paid for. The program lets errors of its own kind through."""


@dataclass
class Door:
    """Stands where noise is added, and remembers what was published and how large the noise should have been."""

    chance: np.random.Generator
    spread: float  #: of the noise in the first world; 1 is as it should be
    drift: float  #: its mean, in units of its size
    calls: list[tuple[Steps, Steps, FloatArray]] = field(default_factory=list)
    squared_distance: Fraction = Fraction(0)

    @contextmanager
    def first_world(self) -> Iterator[None]:
        """Noise as wild as this door has it."""

        def draw(steps: Steps, scale: npt.ArrayLike, entropy: Entropy) -> Steps:
            scales = np.broadcast_to(np.asarray(scale, dtype=np.float64), steps.shape)
            normal = np.clip(self.chance.normal(self.drift, self.spread, steps.shape), -FURTHEST, FURTHEST)
            self.calls.append((steps, steps + np.rint(normal * scales).astype(np.int64), scales))
            return self.calls[-1][1]

        with patch.object(gaussian, "with_noise", draw):
            yield

    @contextmanager
    def second_world(self) -> Iterator[None]:
        """Whatever noise gives the numbers of the first world."""
        expected = iter(self.calls)

        def draw(steps: Steps, scale: npt.ArrayLike, entropy: Entropy) -> Steps:
            before, published, scales = next(expected, (None, None, None))
            if before is None or published is None or scales is None or before.shape != steps.shape:
                raise CouplingError("the second world draws another number of times")
            if not np.array_equal(scales, np.broadcast_to(np.asarray(scale, dtype=np.float64), steps.shape)):
                raise CouplingError("the second world asks for noise of another size")
            for place in zip(*np.nonzero(before != steps), strict=True):
                moved = Fraction(int(before[place]) - int(steps[place]))
                self.squared_distance += (moved / Fraction(float(scales[place]))) ** 2
            return published

        with patch.object(gaussian, "with_noise", draw):
            yield
        if next(expected, None) is not None:
            raise CouplingError("the second world draws less often")
