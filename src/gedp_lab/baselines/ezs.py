"""EZS multiplicative noise (Evans, Zayatz, Slanta): every establishment has a secret factor, 1 + δ or 1 − δ, for good.

δ is between two ends and mostly near the lower (ramp). Balanced: within a cell, only the largest establishment has a
sign of chance; each smaller one takes the sign that brings the noise of the cell back towards 0. Flags are those of
County Business Patterns: G where a cell's noise is below 2%, H below 5%, else the cell is withheld (S).
"""

from dataclasses import dataclass

import numpy as np

from gedp.arrays import BoolArray, CodeArray, FloatArray
from gedp.noise.entropy import Entropy
from gedp_lab.baselines.draws import ramp, signs

LOW_NOISE, MEDIUM_NOISE = 0.02, 0.05
FLAGS = np.array(["G", "H", "S"])


@dataclass(frozen=True)
class Ezs:
    """The ends of δ. Agencies keep theirs secret; these are textbook values."""

    least: float = 0.10
    most: float = 0.25

    def factors(self, n: int, entropy: Entropy) -> FloatArray:
        """A factor for every establishment, for good."""
        sizes = ramp(n, self.least, self.most, entropy)
        return 1 + signs(n, entropy) * sizes

    def balanced(self, values: FloatArray, cell_of_row: CodeArray, entropy: Entropy) -> FloatArray:
        """Factors whose noise cancels within cells as far as the sizes of establishments allow."""
        sizes, chance = ramp(len(values), self.least, self.most, entropy), signs(len(values), entropy)
        order = np.lexsort((-values, cell_of_row))
        counts = np.bincount(cell_of_row)
        rank = np.empty(len(values), dtype=np.int64)
        rank[order] = np.arange(len(values)) - np.repeat(np.cumsum(counts) - counts, counts)[: len(values)]
        noise, sign = np.zeros(len(counts)), np.empty(len(values))
        by_rank = np.argsort(rank, kind="stable")
        for rows in np.split(by_rank, np.flatnonzero(np.diff(rank[by_rank])) + 1):
            cells = cell_of_row[rows]
            sign[rows] = np.where(noise[cells] == 0, chance[rows], -np.sign(noise[cells]))
            noise[cells] += sign[rows] * sizes[rows] * values[rows]
        return 1 + sign * sizes

    def possible(self, published: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """What one establishment's value can be: between the first two, or between the last two, and nowhere else."""
        return (
            published / (1 + self.most),
            published / (1 + self.least),
            published / (1 - self.least),
            published / (1 - self.most),
        )

    def told_apart(self, ratio: float, draws: FloatArray) -> float:
        """How often a published value is possible for only one of two values, the second `ratio` times the first.

        `draws` are factors; either value is the true one in half of the cases.
        """
        impossible = [~self._is_factor(draws / ratio), ~self._is_factor(draws * ratio)]
        return float(np.mean(impossible))

    def _is_factor(self, number: FloatArray) -> BoolArray:
        off = np.abs(number - 1)
        return (off >= self.least) & (off <= self.most)


def flags(true: FloatArray, noisy: FloatArray) -> CodeArray:
    """The flag of every cell: 0 for G, 1 for H, 2 for S (withheld)."""
    off = np.abs(noisy - true) / np.maximum(np.abs(true), np.finfo(float).tiny)
    return np.where(true == 0, 0, np.digitize(off, [LOW_NOISE, MEDIUM_NOISE])).astype(np.int32)


@dataclass(frozen=True)
class PermanentFactorAttack:
    """What an attacker gets who knows one value of each establishment that is alone in a cell."""

    cells: int  # of which both values are above 0
    exact: int  # whose other value follows to the last unit
    near: int  # to within a unit, or 1%


def attack_permanent(
    known: FloatArray, other: FloatArray, factors: FloatArray, units: tuple[float, float]
) -> PermanentFactorAttack:
    """Divides out the factor: published values of the same establishment have the same one.

    `known` is what the attacker knows, `other` what is to be found; both are published with noise, in whole units.
    """
    usable = (known > 0) & (other > 0)
    known, other, factors = known[usable], other[usable], factors[usable]
    published = [np.rint(value * factors / unit) * unit for value, unit in zip((known, other), units, strict=True)]
    factor = np.where(published[0] > 0, published[0], known) / known
    off = np.abs(np.rint(published[1] / factor / units[1]) * units[1] - other)
    near = off <= np.maximum(units[1], 0.01 * other)
    return PermanentFactorAttack(len(known), int((off < units[1] / 2).sum()), int(near.sum()))
