"""Sensitivity rules: which cells are hidden because of who is in them (primary suppression).

X is the total of a cell and x₁ ≥ x₂ ≥ … what its establishments contribute. A sensitive cell must stay open upwards: no
attacker may be sure that it is below X + its need (Handbook on Statistical Disclosure Control, chapter 4).

| rule | written | sensitive if | need |
|---|---|---|---|
| p% | `p:10` | X − x₁ − x₂ < p/100·x₁ | p/100·x₁ − (X − x₁ − x₂) |
| pq | `pq:10/80` | the same with p/q | the same with p/q |
| (n, k) | `nk:2,85` | x₁ + … + xₙ > k/100·X | 100/k·(x₁ + … + xₙ) − X |
| 3 and 80% | `3-and-80` | fewer than 3 establishments, or x₁ > 80% of X | 125% of x₁ − X; x₁/4 of fewer than 3 |
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gedp.arrays import CodeArray, FloatArray, IntArray, sum_by
from gedp.errors import DomainError

FEWEST, DOMINANT = 3, 80.0  # establishments, and percent: the rule of two thresholds
HOW_TO = "Write p:10, pq:10/80, nk:2,85 or 3-and-80"
USUAL = "p:10"


@dataclass(frozen=True, repr=False)
class Contributions:
    """What the rules look at, for every cell: how many establishments, their total, and the largest of them."""

    counts: IntArray
    totals: FloatArray
    largest: FloatArray  # a row for each cell, from the largest down; 0 where there are fewer

    @classmethod
    def of(cls, cell_of_row: CodeArray, values: FloatArray, cells: int, most: int) -> "Contributions":
        """Those of the cells that the rows are in, with the `most` largest of each as far as there are so many."""
        order = np.lexsort((-values, cell_of_row))
        counts = np.bincount(cell_of_row, minlength=cells)
        place = np.arange(len(values)) - np.repeat(np.cumsum(counts) - counts, counts)
        largest = np.zeros((cells, min(most, max(int(counts.max(initial=0)), FEWEST))))
        kept = place < largest.shape[1]
        largest[cell_of_row[order][kept], place[kept]] = values[order][kept]
        return cls(counts.astype(np.int64), sum_by(cell_of_row, values, cells), largest)


class Rule(Protocol):
    """A rule says for every cell how far above its value it must stay open; cells with 0 or less are not sensitive."""

    @property
    def looks_at(self) -> int:
        """How many of the largest establishments of a cell it looks at."""

    def need(self, cells: Contributions) -> FloatArray:
        """How far above the total the largest value must be that an attacker thinks possible."""


@dataclass(frozen=True)
class PriorPosterior:
    """p% (q = 100), or pq: rivals who know the others to within q% may not learn the largest to within p%."""

    p: float
    q: float = 100.0

    @property
    def looks_at(self) -> int:
        """The largest, and the second largest, who attacks."""
        return 2

    def need(self, cells: Contributions) -> FloatArray:
        """What the rest of the cell lacks to hide the largest from the second largest."""
        first, second = cells.largest[:, 0], cells.largest[:, 1]
        return self.p / self.q * first - (cells.totals - first - second)

    def __str__(self) -> str:
        return f"p:{self.p:g}" if self.q == 100 else f"pq:{self.p:g}/{self.q:g}"


@dataclass(frozen=True)
class LargestShare:
    """(n, k): the n largest may not have more than k% of the total."""

    n: int
    k: float

    @property
    def looks_at(self) -> int:
        """The n largest."""
        return self.n

    def need(self, cells: Contributions) -> FloatArray:
        """How much larger the total would have to be for the n largest to have k% of it."""
        top: FloatArray = cells.largest[:, : self.n].sum(axis=1)
        return 100 / self.k * top - cells.totals

    def __str__(self) -> str:
        return f"nk:{self.n},{self.k:g}"


@dataclass(frozen=True)
class ThreeAndEighty:
    """At least 3 establishments, none of them with more than 80% of the total."""

    @property
    def looks_at(self) -> int:
        """The largest."""
        return 1

    def need(self, cells: Contributions) -> FloatArray:
        """As of (1, 80); cells of fewer than 3 stay open by a quarter of the largest, as a single one does."""
        first = cells.largest[:, 0]
        dominated = 100 / DOMINANT * first - cells.totals
        return np.where(cells.counts < FEWEST, np.maximum(dominated, (100 / DOMINANT - 1) * first), dominated)

    def __str__(self) -> str:
        return "3-and-80"


def parse_rule(text: str) -> Rule:
    """The rule that a text such as `p:10` stands for."""
    kind, _, numbers = text.strip().partition(":")
    readers: dict[str, Callable[[str], Rule]] = {
        "p": lambda given: PriorPosterior(_percent(given)),
        "pq": _prior_posterior,
        "nk": _dominance,
        "3-and-80": _nothing,
    }
    try:
        return readers[kind](numbers)
    except (KeyError, ValueError):
        raise DomainError(f"{text!r} is not a rule of sensitivity. {HOW_TO}") from None


def _prior_posterior(text: str) -> Rule:
    p, q = map(_percent, text.split("/"))
    return PriorPosterior(p, q)


def _dominance(text: str) -> Rule:
    n, k = text.split(",")
    return LargestShare(_count(n), _percent(k))


def _percent(text: str) -> float:
    number = float(text)
    if not 0 < number <= 100:
        raise ValueError
    return number


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _nothing(text: str) -> Rule:
    if text:
        raise ValueError
    return ThreeAndEighty()
