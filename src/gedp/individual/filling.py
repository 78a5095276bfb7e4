"""How precisely every group is answered, and what is left for the answers about establishments.

Queries are filled from coarse to fine. Each group gets a fraction of what its members have left: as a clipped sum, for
which a member pays by what it can move, or as ψ of the sum, for which all pay alike; whichever is predicted to vary
less. In the finest cells the fraction is the one that makes the cell's own predicted variance least. What is left then
goes into a second answer for every establishment.

Precisions are in the attribute's own measure. They follow from public values alone. That nobody pays more than the
pool is not argued here but checked, establishment by establishment, on what is drawn: see `charges`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gedp.arrays import BoolArray, CodeArray, FloatArray, sum_by
from gedp.individual.rows import Rows
from gedp.neighbors import Linear, NeighborFunction, Protection, Signed
from gedp.neighbors.estimates import psi_variance

#: Of what its members have left, the least that a group takes.
LEAST_FRACTION = 0.02
#: Of the pool, the least that all coarser queries together leave to a finest cell.
LEAST_LEFT = 1e-4
#: Of the pool, the least that the second answer for an establishment takes, so that its noise has a size.
LEAST_SECOND = 1e-6
#: With so many, a query that takes `LEAST_FRACTION` still leaves `LEAST_LEFT` in the end.
MOST_QUERIES = 400
#: Fractions that a finest cell may take.
CELL_FRACTIONS = (0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95)
COARSE_CELL_FRACTIONS = (0.05, 0.3, 0.8)  # while looking for the best settings of a large table


@dataclass(frozen=True, repr=False)
class QueryGroups:
    """The groups of one query: which one every finest cell is in."""

    query: str
    of_cell: CodeArray
    count: int

    def least(self, by_cell: FloatArray) -> FloatArray:
        """The least value of the cells of every group."""
        least = np.full(self.count, np.inf)
        np.minimum.at(least, self.of_cell, by_cell)
        return least

    def total(self, by_cell: FloatArray) -> FloatArray:
        """The sum over the cells of every group."""
        return sum_by(self.of_cell, by_cell, self.count)


def coarse_to_fine(partitions: Sequence[QueryGroups]) -> list[QueryGroups]:
    """In the order in which they are filled; of those with as many groups, the first comes first."""
    return sorted(partitions, key=lambda partition: partition.count)


@dataclass(frozen=True)
class Terms:
    """What everybody pays for the first answer, the pool for all others, and what counts as close."""

    protection: Protection
    first: float  # μ² of the first answer for every establishment
    pool: float  # μ² for everything after it
    widest: float = math.inf  # the most noise that a clipped sum can have, in the attribute's own measure

    @property
    def psi(self) -> NeighborFunction:
        """The neighbor function."""
        return self.protection.psi

    @property
    def allows_psi(self) -> bool:
        """Whether sums may be answered by their ψ. Where ψ is linear, clipped sums are never worse."""
        return self.psi.contracts_in_sums and not isinstance(self.psi, Linear | Signed)

    def sigma(self, precision: FloatArray) -> FloatArray:
        """The noise on ψ at a price of μ² = precision."""
        sigma: FloatArray = self.protection.gamma / np.sqrt(precision)
        return sigma

    @property
    def least_precision(self) -> float:
        """Of a clipped sum: below it, no grid carries the noise."""
        return 1 / self.widest**2

    def carried(self, precision: FloatArray) -> FloatArray:
        """Precisions of clipped sums; 0 where no grid carries the noise."""
        return np.where(precision >= self.least_precision, precision, 0.0)


@dataclass(frozen=True)
class Portions:
    """How much of what is left each query takes; and what is set aside for it before coarser ones take theirs."""

    fractions: Mapping[str, float]  # by query; nothing where it has none
    reserves: Mapping[str, float] = field(default_factory=dict)  # in μ²; by query
    second: float = 0.0  # set aside for the second answers


@dataclass(frozen=True, repr=False)
class GroupNoise:
    """How each group of a query is answered: by ψ of its sum at a price, or by a clipped sum with a precision."""

    by_psi: BoolArray
    precision: FloatArray  # 1/variance of a clipped sum; μ² for ψ of the sum

    def charges(self, rows: Rows, partition: QueryGroups) -> FloatArray:
        """What every establishment pays, up to rounding."""
        by_psi, precision = (each[partition.of_cell][rows.cell] for each in (self.by_psi, self.precision))
        clipped, of_psi = rows.costs(partition.query, partition.of_cell)
        return np.where(by_psi, precision * of_psi, precision * clipped)

    def variances(self, terms: Terms, totals: FloatArray) -> FloatArray:
        """Of the answers, where these are the true totals of the groups."""
        of_psi = psi_variance(terms.psi, totals, terms.sigma(np.where(self.by_psi, self.precision, 1.0)))
        with np.errstate(divide="ignore"):
            return np.where(self.by_psi, of_psi, 1 / self.precision)


@dataclass(frozen=True, repr=False)
class Filling:
    """The noise of every query, and what is left to every row."""

    noise: Mapping[str, GroupNoise]
    left: FloatArray

    @property
    def is_carried(self) -> bool:
        """Whether there is a grid for the noise of every group."""
        return all(bool((each.precision > 0).all()) for each in self.noise.values())


def most_fraction(queries: int) -> float:
    """Of what is left, the most that one of so many queries takes, so that enough is left for the cells."""
    return float(1 - LEAST_LEFT ** (1 / max(queries, 1)))


def fill(
    rows: Rows,
    partitions: Sequence[QueryGroups],
    terms: Terms,
    portions: Portions,
    cell_fractions: Sequence[float] = CELL_FRACTIONS,
) -> Filling:
    """Fills the queries from coarse to fine, and leaves the rest to the second answers."""
    left, least = np.full(len(rows.cell), terms.pool), LEAST_SECOND * terms.pool
    noise: dict[str, GroupNoise] = {}
    waiting = sum(portions.reserves.values()) + max(portions.second, least)
    ordered = coarse_to_fine(partitions)
    for place, partition in enumerate(ordered):
        own = portions.reserves.get(partition.query, 0.0)
        waiting -= own
        available = left - (waiting + own)
        if partition.count == rows.cells and place == len(ordered) - 1:
            chosen = _fill_cells(rows, partition, terms, left, available, own, cell_fractions)
        else:
            chosen = _fill_groups(
                rows, partition, terms, own + portions.fractions.get(partition.query, 0.0) * available
            )
        noise[partition.query] = chosen
        left = left - chosen.charges(rows, partition)
    return Filling(noise, np.maximum(left, least))  # below only by rounding


def _fill_groups(rows: Rows, partition: QueryGroups, terms: Terms, offered: FloatArray) -> GroupNoise:
    """The most that every member can pay of what it offers, in the better of the two forms."""
    cost, cost_of_psi = rows.costs(partition.query, partition.of_cell)
    clipped = terms.carried(partition.least(rows.least(offered / cost)))
    by_psi = np.zeros(partition.count, dtype=bool)
    if not terms.allows_psi:
        return GroupNoise(by_psi, clipped)
    price = partition.least(rows.least(offered / cost_of_psi))
    of_psi = psi_variance(terms.psi, partition.total(rows.sums), terms.sigma(price))
    by_psi = (clipped == 0) | (of_psi * clipped < 1)
    return GroupNoise(by_psi, np.where(by_psi, price, clipped))


def _fill_cells(
    rows: Rows,
    partition: QueryGroups,
    terms: Terms,
    left: FloatArray,
    available: FloatArray,
    own: float,
    fractions: Sequence[float],
) -> GroupNoise:
    """For every finest cell the fraction and form with which its total varies least, establishments included."""
    best, chosen, by_psi = np.zeros(rows.cells), np.zeros(rows.cells), np.zeros(rows.cells, dtype=bool)
    clipped, of_psi = rows.costs(partition.query, partition.of_cell)
    for fraction in fractions:
        offered = own + fraction * available
        for form in (False, True) if terms.allows_psi else (False,):
            cost = of_psi if form else clipped
            precision = rows.least(offered / cost)
            precision = precision if form else terms.carried(precision)
            rest = np.maximum(left - precision[rows.cell] * cost, LEAST_SECOND * terms.pool)
            with np.errstate(divide="ignore"):
                of_cell = psi_variance(terms.psi, rows.sums, terms.sigma(precision)) if form else 1 / precision
            known = 1 / row_variances(rows, terms, rest) + 1 / of_cell
            better = (known > best) & (precision > 0)
            best, chosen = np.where(better, known, best), np.where(better, precision, chosen)
            by_psi = np.where(better, form, by_psi)
    cell_of = np.empty(partition.count, dtype=np.int64)
    cell_of[partition.of_cell] = np.arange(rows.cells)
    return GroupNoise(by_psi[cell_of], chosen[cell_of])


def row_variances(rows: Rows, terms: Terms, second: FloatArray) -> FloatArray:
    """Of the sum of the answers for the establishments of every cell, both answers taken together."""
    price = terms.first * rows.first_share + second * rows.second_share
    return rows.total(psi_variance(terms.psi, rows.expected, terms.sigma(price)))
