"""What a typical establishment has, where nothing is known but what a spec says."""

import math

from gedp.policy import Attribute

PEOPLE = 4  # of a median establishment
STEPS_TO_ZERO = 4  # of γ, from the median to 0
MEDIAN_WITHOUT_ZERO = 100  # units, where ψ has no value at 0


def assumed_median(attribute: Attribute) -> float:
    """As the spec says, or four people, or else the size whose interval reaches a quarter of the way to zero in ψ."""
    psi, gamma = attribute.protection.psi, attribute.protection.gamma
    if attribute.typical is not None:
        return float(attribute.typical)
    if attribute.person is not None:
        return PEOPLE * float(attribute.person)
    if math.isfinite(psi.at_zero):
        return float(psi.moved(0.0, STEPS_TO_ZERO * gamma))
    return MEDIAN_WITHOUT_ZERO * float(attribute.unit)
