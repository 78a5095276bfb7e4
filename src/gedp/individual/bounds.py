"""Public bounds on confidential values, and how far a value can move below its bound."""

from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction

import numpy as np

from gedp.arrays import MOST_UNITS, FloatArray, IntArray
from gedp.neighbors import NeighborFunction, Signed
from gedp.policy import Attribute

#: Relative error bound of ψ and its inverse, with room to spare; sensitivities computed from them are raised by it.
RAISE = 1 + 1e-11
_LARGEST = 1e150  # finite: a first answer may be infinite under enormous noise


#: How far ends of intervals lie apart that two machines compute from the same answer, as a part of them and of their ψ.
APART = 2.0**-38
APART_IN_PSI = 2.0**-46


class For(IntEnum):
    """What a bound is used for, and how often `apart` is added to it.

    Where values are cut off, what is charged for that, and what is planned may be worked out by different machines,
    whose last bits differ. All the same, no value is cut off above the bound that it is charged for, nor is any bound
    that is charged for above the planned one.
    """

    CLIPPING = 0
    CHARGING = 1
    PLANNING = 2


def apart(psi: NeighborFunction, ends: FloatArray, of_psi: FloatArray) -> FloatArray:
    """How far apart two machines may find these ends, where the numbers that ψ⁻¹ was taken of are at most `of_psi`."""
    at_zero = abs(psi.at_zero) if np.isfinite(psi.at_zero) else 0.0
    with np.errstate(divide="ignore"):
        steps = np.minimum(of_psi + at_zero, _LARGEST) / psi.slope(ends)
    return APART * ends + APART_IN_PSI * steps


@dataclass(frozen=True, repr=False)
class ClippingBounds:
    """Public bounds on single values, in whole units, and what each makes of the sensitivity of a sum."""

    bounds: IntArray
    sensitivity: FloatArray  # in units

    def sigma(self, mu: Fraction) -> FloatArray:
        """The standard deviation of the noise, in units, before the grid rounds it up."""
        return self.sensitivity / float(mu)


def clipping_bounds(
    attribute: Attribute, upper: FloatArray, *, most: float | FloatArray = float(MOST_UNITS), least: float = 0.0
) -> ClippingBounds:
    """Bounds at computed upper ends of values, which are rounded up to whole units, at most `most`."""
    return bounds_at(attribute, np.ceil(np.minimum(in_units(attribute, upper), most)), least=least)


def in_units(attribute: Attribute, upper: FloatArray) -> FloatArray:
    """Upper ends that came from ψ⁻¹, in units, raised by what may be lacking."""
    return upper / float(attribute.unit) * RAISE


def bounds_at(attribute: Attribute, whole: FloatArray, *, least: float = 0.0) -> ClippingBounds:
    """Δ = u − ψ⁻¹(max(ψ(0), ψ(u) − γ)) at bounds of whole units, of 1 at least; Δ is at least `least`."""
    unit, bounds = float(attribute.unit), np.maximum(whole, 1.0)
    protection = attribute.protection
    low = protection.low(bounds * unit) / unit
    floor = -bounds if isinstance(protection.psi, Signed) else 0.0
    reach = bounds - np.maximum(low, floor)
    # The difference of two close numbers keeps only their absolute error.
    sensitivity = np.minimum(reach + bounds * (RAISE - 1), 2 * bounds)
    return ClippingBounds(bounds.astype(np.int64), np.maximum(sensitivity, least))
