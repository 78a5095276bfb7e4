"""A protection: a neighbor function with its distance γ, and the uncertainty intervals the two define."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gedp.arrays import BoolArray, FloatArray
from gedp.errors import DomainError
from gedp.neighbors.functions import NeighborFunction, in_full

#: Values and ψ are taken to be this accurate, so the computed end of an interval counts as inside it.
ROUNDING = 1e-12
#: No amount is smaller but 0; at the smallest floats, slopes would overflow.
SMALLEST = 1e-200


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
        """Whether x and y are in each other's intervals; an end of an interval, as computed, is inside."""
        return np.abs(self.psi.distance(x, y)) <= self.gamma + self._rounding(x, y)

    def steps(self, x: npt.ArrayLike, y: npt.ArrayLike) -> FloatArray:
        """The metric: the least whole number of γ-steps from x to y, ⌈|ψ(x) − ψ(y)|/γ⌉; inf if none suffices."""
        exact = (np.abs(self.psi.distance(x, y)) - self._rounding(x, y)) / self.gamma
        return np.maximum(np.ceil(exact), np.not_equal(x, y))

    def _rounding(self, x: npt.ArrayLike, y: npt.ArrayLike) -> FloatArray:
        """What a relative error of ROUNDING in γ and in the larger value makes of a distance."""
        larger = np.maximum(np.abs(np.asarray(x, dtype=np.float64)), np.abs(np.asarray(y, dtype=np.float64)))
        slope = self.psi.slope(np.maximum(larger, SMALLEST))
        return ROUNDING * (self.gamma + larger * slope)

    def __str__(self) -> str:
        return f"psi = {self.psi}, gamma = {in_full(self.gamma)}"
