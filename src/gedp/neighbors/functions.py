"""Neighbor functions ψ: which values of a confidential attribute count as close.

A neighbor function on x ≥ 0 is (1) strictly increasing, (2) continuous, (3) concave, and (4) ψ(eˣ) is convex.
Values x and y are close when |ψ(x) − ψ(y)| ≤ γ. Conditions 3 and 4 make the uncertainty interval around x grow
with x in absolute terms and shrink relative to x (paper, Definition 1 and Theorem 1).

Differences of ψ are what the privacy model uses, so `distance` and `moved` compute them without the cancellation
of subtracting two large values of ψ. Where floats leave it open on which side of a limit a difference lies, `enclosed`
has fractions on both sides of it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np
import numpy.typing as npt

from gedp.arrays import FloatArray
from gedp.errors import DomainError
from gedp.neighbors.enclosing import Enclosure, as_written, logarithm, root

#: What a ψ of floats alone may be off by, relative to the value and to ψ.
ROUNDING = 1e-12
#: No amount is smaller but 0; at the smallest floats, slopes would overflow.
SMALLEST = 1e-200


def as_reals(values: npt.ArrayLike, what: str) -> FloatArray:
    """`values` as float64, all finite. The message counts what is wrong and shows no value."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DomainError(f"{what}: some values are not numbers") from None
    bad = int(array.size - np.count_nonzero(np.isfinite(array)))
    if bad:
        raise DomainError(f"{what}: {bad} of {array.size} values are missing or infinite")
    return array


def as_amounts(values: npt.ArrayLike, what: str) -> FloatArray:
    """`values` as float64, all finite and at least 0."""
    array = as_reals(values, what)
    bad = int(np.count_nonzero(array < 0))
    if bad:
        raise DomainError(
            f"{what} is defined for values of 0 or more; {bad} of {array.size} are negative. "
            "Use its signed extension, or split the attribute into gain and loss"
        )
    return array


class NeighborFunction(ABC):
    """ψ with its inverse and slope, vectorised. Subclass it for a function of your own, then run
    `check_neighbor_function` on it.
    """

    #: Theorem 1(2): adding the rest of a group never spreads two values apart, so γ bounds the sensitivity of
    #: ψ(sum). It holds for concave ψ on x ≥ 0 and fails for the signed extension.
    contracts_in_sums = True
    #: Whether `debiased` is right on average, and not only to the second order of the noise.
    is_unbiased = False
    #: Whether the variance of `debiased` is the same whatever the truth.
    has_constant_variance = False
    #: Whether values are computed to a few units in the last place, as docs/proofs/noise.md assumes of built-in ψ.
    is_accurate = False

    @property
    @abstractmethod
    def at_zero(self) -> float:
        """ψ(0), or −inf where ψ falls without bound."""

    @property
    def lowest(self) -> float:
        """The infimum of ψ over its domain."""
        return self.at_zero

    @abstractmethod
    def __call__(self, x: npt.ArrayLike) -> FloatArray:
        """ψ(x)."""

    @abstractmethod
    def inverse(self, y: npt.ArrayLike) -> FloatArray:
        """The x with ψ(x) = y; y below ψ(0) is rejected, so clamp first where that can happen."""

    @abstractmethod
    def slope(self, x: npt.ArrayLike) -> FloatArray:
        """dψ/dx, +inf at 0 where ψ starts vertically."""

    def distance(self, x: npt.ArrayLike, y: npt.ArrayLike) -> FloatArray:
        """ψ(y) − ψ(x); infinite where exactly one of the two has no finite ψ."""
        return self(y) - self(x)

    def rounding(self, x: npt.ArrayLike, y: npt.ArrayLike) -> FloatArray:
        """What `distance` may be off by, if the values are also off by as much as floats are.

        x·ψ'(x) grows with x, so the larger value decides.
        """
        larger = np.maximum(np.abs(np.asarray(x, dtype=np.float64)), np.abs(np.asarray(y, dtype=np.float64)))
        size = np.abs(self.distance(x, y))
        return ROUNDING * (size + larger * self.slope(np.maximum(larger, SMALLEST)))

    def enclosed(self, low: Fraction, high: Fraction, digits: int) -> Enclosure:
        """Fractions below and above ψ(high) − ψ(low), with about so many digits if ψ is known to more than floats."""
        ends = float(low), float(high)
        size, off = as_written(self.distance(*ends)), as_written(self.rounding(*ends))
        return size - off, size + off

    def moved(self, x: npt.ArrayLike, distance: npt.ArrayLike) -> FloatArray:
        """The value whose ψ is ψ(x) + distance, or the end of the domain if that comes first."""
        return self.inverse(np.maximum(self(x) + np.asarray(distance, dtype=np.float64), self.lowest))

    def inverse_curvature(self, x: npt.ArrayLike) -> FloatArray:
        """The second derivative of ψ⁻¹ at ψ(x), −ψ''(x)/ψ'(x)³; here from the slopes on both sides of x."""
        x = np.asarray(x, dtype=np.float64)
        step = 1e-4 * np.maximum(np.abs(x), 1e-6)
        low, high = np.maximum(x - step, 0.0), x + step
        bend: FloatArray = (self.slope(high) - self.slope(low)) / (high - low)
        return -bend / self.slope(x) ** 3

    def debiased(self, omega: FloatArray, sigma: float | FloatArray) -> FloatArray:
        """An estimate of x from ω = ψ(x) + N(0, σ²); here by the delta method, to the second order of σ."""
        x = self.inverse(np.maximum(omega, self.lowest))
        finite = np.isfinite(x)
        correction = sigma**2 / 2 * self.inverse_curvature(np.where(finite, x, 1.0))
        return np.where(finite, x - correction, x)

    def debiased_variance(self, x: FloatArray, sigma: float | FloatArray) -> FloatArray:
        """The variance of `debiased` where the truth is x; here to order σ⁴."""
        at = np.where(x == 0, np.finfo(float).tiny, x)  # some slopes are infinite at 0
        finite = np.isfinite(at)
        at = np.where(finite, at, 1.0)
        with np.errstate(divide="ignore"):
            variance: FloatArray = (sigma / self.slope(at)) ** 2 + (sigma**2 * self.inverse_curvature(at)) ** 2 / 2
        return np.where(finite, variance, np.inf)

    def variance_line(self, sigma: float) -> tuple[float, float] | None:
        """Slope and base, where `debiased_variance` is slope·x + base for every x of 0 or more; None elsewhere."""
        return None

    def _above_lowest(self, y: npt.ArrayLike) -> FloatArray:
        array = np.asarray(y, dtype=np.float64)
        bad = int(array.size - np.count_nonzero(array >= self.lowest))
        if bad:
            raise DomainError(
                f"{self} has no value below {self.lowest:g}; {bad} of {array.size} arguments of its inverse are"
            )
        return array


def _check_shift(shift: float) -> None:
    if not (np.isfinite(shift) and shift >= 0):
        raise DomainError(f"a shift must be a finite number of 0 or more, not {shift}")


def in_full(number: float) -> str:
    """With as many digits as it takes to tell the number from every other."""
    texts = (f"{number:.{digits}g}" for digits in (6, 15, 17))
    return next(text for text in texts if float(text) == number)


def _shifted(shift: float) -> str:
    return f"x + {in_full(shift)}" if shift else "x"


@dataclass(frozen=True)
class Linear(NeighborFunction):
    """ψ(x) = x: every interval has the same absolute width. With γ = 1 it is one person more or less."""

    is_unbiased = has_constant_variance = is_accurate = True

    @property
    def at_zero(self) -> float:
        """0."""
        return 0.0

    def __call__(self, x: npt.ArrayLike) -> FloatArray:
        """ψ(x)."""
        return as_amounts(x, str(self)).copy()[()]

    def inverse(self, y: npt.ArrayLike) -> FloatArray:
        """Returns y: the function is its own inverse."""
        return self._above_lowest(y).copy()[()]

    def slope(self, x: npt.ArrayLike) -> FloatArray:
        """1."""
        return np.ones_like(as_amounts(x, str(self)))

    def enclosed(self, low: Fraction, high: Fraction, digits: int) -> Enclosure:
        """high − low, exactly."""
        return high - low, high - low

    def inverse_curvature(self, x: npt.ArrayLike) -> FloatArray:
        """0: the inverse is straight."""
        return np.zeros_like(as_amounts(x, str(self)))

    def debiased(self, omega: FloatArray, sigma: float | FloatArray) -> FloatArray:
        """ω itself."""
        return omega

    def __str__(self) -> str:
        return "x"


@dataclass(frozen=True)
class Sqrt(NeighborFunction):
    """ψ(x) = √(x + shift): interval widths grow like √x, as an attacker's own sampling error would."""

    shift: float = 0.0

    is_unbiased = is_accurate = True

    def __post_init__(self) -> None:
        _check_shift(self.shift)

    @property
    def at_zero(self) -> float:
        """√shift."""
        return float(np.sqrt(self.shift))

    def __call__(self, x: npt.ArrayLike) -> FloatArray:
        """ψ(x)."""
        return cast(FloatArray, np.sqrt(as_amounts(x, str(self)) + self.shift))

    def inverse(self, y: npt.ArrayLike) -> FloatArray:
        """y² − shift, factored so that nothing cancels near ψ(0)."""
        root = self.at_zero
        y = self._above_lowest(y)
        return (y - root) * (y + root)

    def slope(self, x: npt.ArrayLike) -> FloatArray:
        """1 / (2ψ(x))."""
        with np.errstate(divide="ignore"):
            return 0.5 / self(x)

    def inverse_curvature(self, x: npt.ArrayLike) -> FloatArray:
        """2: the inverse is a parabola."""
        return np.full_like(as_amounts(x, str(self)), 2.0)

    def debiased(self, omega: FloatArray, sigma: float | FloatArray) -> FloatArray:
        """ω² is too large by σ² on average."""
        return omega**2 - sigma**2 - self.shift

    def debiased_variance(self, x: FloatArray, sigma: float | FloatArray) -> FloatArray:
        """Exact: 4σ²(x + shift) + 2σ⁴."""
        square = sigma**2
        fourth = np.square(square) if isinstance(sigma, np.ndarray) else sigma**4  # a power of an array is slow
        variance: FloatArray = x * (4 * square)
        variance += 4 * square * self.shift + 2 * fourth
        return variance

    def variance_line(self, sigma: float) -> tuple[float, float]:
        """The variance is a line itself."""
        return 4 * sigma**2, 4 * sigma**2 * self.shift + 2 * sigma**4

    def distance(self, x: npt.ArrayLike, y: npt.ArrayLike) -> FloatArray:
        """(y − x) / (ψ(x) + ψ(y))."""
        total = self(x) + self(y)
        difference = np.asarray(y, dtype=np.float64) - np.asarray(x, dtype=np.float64)
        return np.divide(difference, total, out=np.zeros(total.shape), where=total > 0)[()]

    def enclosed(self, low: Fraction, high: Fraction, digits: int) -> Enclosure:
        """The difference of two roots; exact where both are fractions."""
        shift = as_written(self.shift)
        (a, b), (c, d) = root(low + shift, digits), root(high + shift, digits)
        return c - b, d - a

    def moved(self, x: npt.ArrayLike, distance: npt.ArrayLike) -> FloatArray:
        """x + d (2ψ(x) + d)."""
        step, x, root = np.asarray(distance, dtype=np.float64), np.asarray(x, dtype=np.float64), self(x)
        end = x + step * (2 * root + step)
        total = self.at_zero + root
        from_zero = np.divide(x, total, out=np.zeros(total.shape), where=total > 0)
        return np.where(step > -from_zero, np.maximum(end, 0.0), 0.0)[()]

    def __str__(self) -> str:
        return f"sqrt({_shifted(self.shift)})"


@dataclass(frozen=True)
class Log(NeighborFunction):
    """ψ(x) = log(x + shift): intervals of the same relative width at every size (once x is well above shift).

    Without a shift ψ(0) is −inf: an establishment with a zero can be told from every other, and a zero has no ψ.
    """

    shift: float = 0.0

    is_unbiased = is_accurate = True

    def __post_init__(self) -> None:
        _check_shift(self.shift)

    @property
    def at_zero(self) -> float:
        """log(shift), −inf without a shift."""
        return float(np.log(self.shift)) if self.shift else -np.inf

    def __call__(self, x: npt.ArrayLike) -> FloatArray:
        """ψ(x)."""
        x = as_amounts(x, str(self))
        if not self.shift and (zeros := x.size - np.count_nonzero(x)):
            raise DomainError(
                f"log(x) has no value at 0, and {zeros} of {x.size} values are 0. "
                "Give the function a shift, such as log(x + 1)"
            )
        total = x + self.shift
        # Near 1 the rounding of x + shift would be all that is left of the logarithm: carry it along.
        x_part = total - self.shift
        rounding = (x - x_part) + (self.shift - (total - x_part))
        near_one = np.abs(total - 1) < 0.5
        return np.where(near_one, np.log1p(np.where(near_one, (total - 1) + rounding, 0)), np.log(total))[()]

    def inverse(self, y: npt.ArrayLike) -> FloatArray:
        """exp(y) − shift, as shift · expm1(y − ψ(0)) where there is a shift."""
        y = self._above_lowest(y)
        if not self.shift:
            return cast(FloatArray, np.exp(y))
        return self.shift * np.expm1(y - self.at_zero)

    def slope(self, x: npt.ArrayLike) -> FloatArray:
        """1 / (x + shift)."""
        with np.errstate(divide="ignore"):
            return 1.0 / (as_amounts(x, str(self)) + self.shift)

    def inverse_curvature(self, x: npt.ArrayLike) -> FloatArray:
        """The same as every derivative of the exponential there: x + shift."""
        return as_amounts(x, str(self)) + self.shift

    def debiased(self, omega: FloatArray, sigma: float | FloatArray) -> FloatArray:
        """exp(ω) is too large by a factor of exp(σ²/2) on average."""
        return np.exp(omega - sigma**2 / 2) - self.shift

    def debiased_variance(self, x: FloatArray, sigma: float | FloatArray) -> FloatArray:
        """Exact: (x + shift)²(exp(σ²) − 1); infinite where no float holds it."""
        with np.errstate(over="ignore", invalid="ignore"):
            variance: FloatArray = (x + self.shift) ** 2 * np.expm1(sigma**2)
        return variance

    def distance(self, x: npt.ArrayLike, y: npt.ArrayLike) -> FloatArray:
        """log1p((y − x)/(x + shift)); infinite between 0 and anything else when there is no shift."""
        x, y = np.broadcast_arrays(as_amounts(x, str(self)), as_amounts(y, str(self)))
        low, high = np.minimum(x, y) + self.shift, np.maximum(x, y) + self.shift
        gap = np.abs(y - x)
        ratio = np.divide(gap, low, out=np.full(gap.shape, np.inf), where=low > 0)
        # log1p is exact for neighbours; for far values the quotient itself is.
        with np.errstate(divide="ignore", invalid="ignore"):
            size = np.where(ratio < 1, np.log1p(ratio), np.log(high) - np.log(low))
        return np.where(gap > 0, np.sign(y - x) * size, 0.0)[()]

    def enclosed(self, low: Fraction, high: Fraction, digits: int) -> Enclosure:
        """The logarithm of the quotient."""
        shift = as_written(self.shift)
        return logarithm((high + shift) / (low + shift), digits)

    def moved(self, x: npt.ArrayLike, distance: npt.ArrayLike) -> FloatArray:
        """x·exp(d) + shift·expm1(d)."""
        self(x)  # refuses what has no ψ
        step = np.asarray(distance, dtype=np.float64)
        x = np.asarray(x, dtype=np.float64)
        from_shift = self.shift * np.expm1(step) if self.shift else 0.0
        with np.errstate(invalid="ignore"):
            grown = np.where(x > 0, x * np.exp(step), 0.0)  # 0·∞ is 0 here
        return np.maximum(grown + from_shift, 0.0)

    def __str__(self) -> str:
        return f"log({_shifted(self.shift)})"


@dataclass(frozen=True)
class Signed(NeighborFunction):
    """sign(x) · (ψ(|x|) − ψ(0)): the extension of ψ to attributes that can be negative.

    Where ψ(0) = 0 this is the paper's sign(x)·ψ(|x|); otherwise subtracting ψ(0) is what makes it continuous.
    It is not concave through 0, so ψ of a sum can be far more sensitive than ψ of one value: protect sums of a
    signed attribute by clipping (pnc, probably no clipping), or split it into gain and loss.
    """

    base: NeighborFunction
    contracts_in_sums = False

    def __post_init__(self) -> None:
        if isinstance(self.base, Signed):
            raise DomainError("the function is already signed")
        if not np.isfinite(self.base.at_zero):
            raise DomainError(f"{self.base} has no value at 0, so it has no signed extension; give it a shift")

    @property
    def at_zero(self) -> float:
        """0."""
        return 0.0

    @property
    def lowest(self) -> float:
        """−inf: the domain has no lower end."""
        return -np.inf

    def __call__(self, x: npt.ArrayLike) -> FloatArray:
        """ψ(x)."""
        x = as_reals(x, str(self))
        return cast(FloatArray, np.sign(x) * self.base.distance(0.0, np.abs(x)))

    def inverse(self, y: npt.ArrayLike) -> FloatArray:
        """sign(y) · ψ⁻¹(|y| + ψ(0))."""
        y = np.asarray(y, dtype=np.float64)
        return cast(FloatArray, np.sign(y) * self.base.moved(0.0, np.abs(y)))

    def slope(self, x: npt.ArrayLike) -> FloatArray:
        """The slope of ψ at |x|."""
        return self.base.slope(np.abs(as_reals(x, str(self))))

    def inverse_curvature(self, x: npt.ArrayLike) -> FloatArray:
        """That of ψ, with the sign of x."""
        x = as_reals(x, str(self))
        return cast(FloatArray, np.sign(x) * self.base.inverse_curvature(np.abs(x)))

    def distance(self, x: npt.ArrayLike, y: npt.ArrayLike) -> FloatArray:
        """Along one side as ψ has it; through 0 the two sides added."""
        x, y = np.broadcast_arrays(as_reals(x, str(self)), as_reals(y, str(self)))
        same_side = x * y > 0
        along = np.sign(x) * self.base.distance(np.abs(x), np.abs(y))
        return np.where(same_side, along, self(y) - self(x))[()]

    def enclosed(self, low: Fraction, high: Fraction, digits: int) -> Enclosure:
        """Along one side as ψ has it; through 0 the two sides added."""
        if low * high > 0:
            return self.base.enclosed(min(abs(low), abs(high)), max(abs(low), abs(high)), digits)
        (a, b), (c, d) = (self.base.enclosed(Fraction(0), abs(end), digits) for end in (low, high))
        return a + c, b + d

    def __str__(self) -> str:
        return f"signed {self.base}"


def gain_and_loss(x: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """An attribute that can be negative as two that cannot: max(0, x) and max(0, −x), whose difference is x."""
    x = as_reals(x, "gain and loss")
    return np.maximum(x, 0.0), np.maximum(-x, 0.0)


#: Those that a spec can name, each made with a shift where it has one.
BUILT_IN: Mapping[str, Callable[[float], NeighborFunction]] = {
    "sqrt": Sqrt,
    "log": Log,
    "linear": lambda _: Linear(),
}
