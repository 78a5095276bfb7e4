"""Queries of one's own for random specs, each with the least sensitivity that holds over any number of steps."""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gedp.arrays import FloatArray
from gedp.neighbors import Linear
from gedp.policy import Attribute, Spec

Columns = Mapping[str, Any]
#: No world has more rows, nor values beyond this many units.
MOST_ROWS, MOST_UNITS = 30, 1e13
ROUNDED_UP = 1 + 1e-9


@dataclass(frozen=True)
class Part:
    """Some entries of an answer: what they are made of, how far a step moves them, and a bound on each."""

    entries: Callable[[Columns], FloatArray]
    sensitivity: float
    largest: float


@dataclass(frozen=True)
class Own:
    """A query about some attributes, whose entries all move at once."""

    parts: Mapping[str, Part]
    mu: float

    def __call__(self, columns: Columns) -> FloatArray:
        return np.concatenate([part.entries(columns) for part in self.parts.values()])

    def stated(self) -> dict[str, Any]:
        """All that has to be stated about it."""
        return {
            "name": "own",
            "attributes": list(self.parts),
            "mu": self.mu,
            "sensitivity": math.hypot(*(part.sensitivity for part in self.parts.values())) * ROUNDED_UP,
            "largest": max(part.largest for part in self.parts.values()) * ROUNDED_UP,
        }


def make_own(chance: random.Random, spec: Spec, bound: int | None, *, of_zeros: bool) -> Own:
    """Some query; with a bound the most sensitive to a value there, or to 0."""
    attributes = spec.policy.attributes
    names = chance.sample(sorted(attributes), chance.randint(1, len(attributes)))
    makers = [_clipped, _clipped, _zeros, _classes, _psi] if bound is None else [_zeros] if of_zeros else [_clipped]
    parts = {}
    for name in names:
        attribute = attributes[name]
        units = bound or chance.choice([1, 10, 1000, 10**6])
        parts[name] = chance.choice(makers)(attribute, float(units * attribute.unit))
    return Own(parts, chance.choice([0.2, 0.5, 1, 2]))


def _clipped(attribute: Attribute, bound: float) -> Part:
    """Sums by g of values that are cut off: each is in one of them."""
    name, low = attribute.name, float(attribute.protection.low(bound))
    reach = bound - max(low, -bound if attribute.signed else 0.0)

    def sums(columns: Columns) -> FloatArray:
        clipped = np.clip(columns[name], -bound, bound)
        return np.array([clipped[columns["g"] == code].sum() for code in "ab"])

    return Part(sums, reach + 1e-9 * bound, MOST_ROWS * bound)


def _zeros(attribute: Attribute, _: float) -> Part:
    """How many have nothing: nobody does who is nearer than one unit."""
    nearest = float(attribute.protection.steps(0.0, float(attribute.unit)))
    return Part(lambda columns: np.array([(columns[attribute.name] == 0).sum()]), 1 / nearest, MOST_ROWS)


def _classes(attribute: Attribute, edge: float) -> Part:
    """Numbers below an edge, at it and above it."""
    edges = [-np.inf, edge, np.nextafter(edge, np.inf), np.inf]
    return Part(lambda columns: np.histogram(columns[attribute.name], edges)[0], math.sqrt(2), MOST_ROWS)


def _psi(attribute: Attribute, bound: float) -> Part:
    """The sum of ψ; where ψ is linear, floats would not do."""
    protection = attribute.protection
    if isinstance(protection.psi, Linear) or attribute.signed:
        return _clipped(attribute, bound)
    largest = float(protection.psi(MOST_UNITS * float(attribute.unit)))
    return Part(
        lambda columns: np.array([protection.psi(columns[attribute.name]).sum()]), protection.gamma, MOST_ROWS * largest
    )
