"""Public bounds on confidential values, and how far a value can move below its bound."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gedp.arrays import MOST_UNITS, FloatArray, IntArray
from gedp.neighbors import Signed
from gedp.policy import Attribute

#: Relative error bound of ψ and its inverse, with room to spare; sensitivities computed from them are raised by it.
RAISE = 1 + 1e-11


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
