"""How far one establishment can move a combination of attributes: arithmetic on public values alone.

All attributes of a record may move at once, each in the direction in which the combination grows. So with Δ_a the most
that attribute a can move below its bound, and w_a its weight, the combination moves by at most Σ |w_a| Δ_a. The
argument is in docs/proofs/combinations.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gedp.arrays import MOST_UNITS, FloatArray, IntArray
from gedp.individual.bounds import RAISE, bounds_at
from gedp.policy import Attribute, Weights


@dataclass(frozen=True, repr=False)
class CombinedBounds:
    """Public bounds on the values of every attribute, in its units, and what they make of the sensitivity."""

    bounds: Mapping[str, IntArray]
    sensitivity: FloatArray  # in units of the combination


def combined(weights: Weights, amounts: Mapping[str, IntArray], bounds: Mapping[str, IntArray]) -> IntArray:
    """The combination of values, each cut off at its bound, in units of its own."""
    clipped = [weight * np.clip(amounts[name], -bounds[name], bounds[name]) for name, weight in weights.of.items()]
    total: IntArray = np.add.reduce(clipped)
    return total


def combined_bounds(
    weights: Weights,
    attributes: Mapping[str, Attribute],
    upper: Mapping[str, FloatArray],
    *,
    most: float | FloatArray,
    least: float,
    crowded_by: Mapping[str, FloatArray] | None = None,
) -> CombinedBounds:
    """Bounds of all attributes from upper bounds on their values, in units; sensitivities are at least `least`.

    Where the weighted bounds add up to more than `most`, which no grid could carry, all are cut down in proportion.
    They then add up to at most twice as much, as long as the weights add up to no more than `most`. `crowded_by` has
    bounds that they are cut down by in the place of their own, up to a unit and rounding above or below them: then
    three times as much.
    """
    whole, crowd = ({name: _whole(each[name]) for name in weights.of} for each in (upper, crowded_by or upper))
    own = {name: bounds_at(attributes[name], bounds) for name, bounds in whole.items()}
    together = _weighted(weights, crowd)
    factor = np.minimum(most / together, 1.0)
    if (factor < 1).any():
        own = {name: bounds_at(attributes[name], np.floor(each.bounds * factor)) for name, each in own.items()}
    sensitivity = _weighted(weights, {name: each.sensitivity for name, each in own.items()}) * RAISE
    return CombinedBounds({name: each.bounds for name, each in own.items()}, np.maximum(sensitivity, least))


def _whole(upper: FloatArray) -> FloatArray:
    """In whole units, 1 at least."""
    whole: FloatArray = np.maximum(np.ceil(np.minimum(upper, MOST_UNITS)), 1.0)
    return whole


def _weighted(weights: Weights, numbers: Mapping[str, FloatArray]) -> FloatArray:
    """Σ |w_a| of a number for each attribute."""
    total: FloatArray = np.add.reduce([abs(weight) * numbers[name] for name, weight in weights.of.items()])
    return total
