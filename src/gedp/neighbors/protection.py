"""A protection: a neighbor function with its distance γ, and the uncertainty intervals the two define."""

from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gedp.arrays import BoolArray, FloatArray
from gedp.errors import DomainError
from gedp.neighbors.enclosing import as_written
from gedp.neighbors.functions import ROUNDING, NeighborFunction, in_full

#: To how many digits distances are computed where fewer leave it open how many steps they are.
DIGITS = (30, 60, 120)


class Interval(NamedTuple):
    """The values between `low` and `high`, both included."""

    low: FloatArray
    high: FloatArray

    def __repr__(self) -> str:
        return f"Interval(low={self.low}, high={self.high})"

    @property
    def width(self) -> FloatArray:
        """high − low."""
        return self.high - self.low


@dataclass(frozen=True)
class Protection:
    """Values x and y of one attribute are close when |ψ(x) − ψ(y)| ≤ γ.

    >>> from gedp.neighbors import Sqrt
    >>> low, high = Protection(Sqrt(), gamma=0.5).interval(36)
    >>> print(low, high)
    30.25 42.25
    """

    psi: NeighborFunction
    gamma: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.gamma) and self.gamma > 0):
            raise DomainError(f"gamma must be a finite number above 0, not {self.gamma}")

    def interval(self, x: npt.ArrayLike, k: float = 1) -> Interval:
        """The uncertainty interval around x: every value within k steps of γ."""
        if not k > 0:
            raise DomainError(f"an interval has a positive number of steps, not {k}")
        reach = k * self.gamma
        return Interval(self.psi.moved(x, -reach), self.psi.moved(x, reach))

    def low(self, x: npt.ArrayLike) -> FloatArray:
        """The lower end of the uncertainty interval around x."""
        return self.psi.moved(x, -self.gamma)

    def relative_width(self, x: npt.ArrayLike) -> FloatArray:
        """The width of the interval as a multiple of |x|; infinite at 0."""
        with np.errstate(divide="ignore"):
            return self.interval(x).width / np.abs(np.asarray(x, dtype=np.float64))

    def is_close(self, x: npt.ArrayLike, y: npt.ArrayLike) -> BoolArray:
        """Whether x and y are in each other's intervals, decided as `steps` are."""
        return self.steps(x, y) <= 1

    def steps(self, x: npt.ArrayLike, y: npt.ArrayLike) -> FloatArray:
        """The metric: the least whole number of γ-steps from x to y, ⌈|ψ(x) − ψ(y)|/γ⌉; inf if none suffices.

        Floats count as the decimals they are written as. Where floating point leaves it open, built-in ψ are computed
        to more digits; where that leaves it open, as with a ψ of one's own, it is the larger number.
        """
        x, y = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64))
        shape, x, y = x.shape, x.ravel(), y.ravel()
        apart, rounding = np.abs(self.psi.distance(x, y)), self.psi.rounding(x, y) + ROUNDING * self.gamma
        with np.errstate(invalid="ignore"):  # ∞ − ∞
            fewest, steps = (np.ceil((apart + off) / self.gamma) for off in (-rounding, rounding))
        steps[x == y] = 0
        for place in np.nonzero(fewest < steps)[0]:
            steps[place] = self._settled(float(x[place]), float(y[place]))
        return steps.reshape(shape)[()]

    def _settled(self, x: float, y: float) -> int:
        """The number of steps between two different values, on either side of which its distance is known to lie."""
        low, high = sorted((as_written(x), as_written(y)))
        most = 1
        for digits in DIGITS:
            least, most = (ceil(end / as_written(self.gamma)) for end in self.psi.enclosed(low, high, digits))
            if least == most:
                break
        return max(most, 1)

    def __str__(self) -> str:
        return f"psi = {self.psi}, gamma = {in_full(self.gamma)}"
