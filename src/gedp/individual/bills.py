"""What the establishments of every cell pay for tables: some of it alike, some by how far each can move."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gedp.arrays import BoolArray, CodeArray, FloatArray
from gedp.individual.filling import LEAST_SECOND, GroupNoise, QueryGroups, Terms
from gedp.individual.units import UnitParts


@dataclass(frozen=True, repr=False)
class Bills:
    """By finest cell, over all queries: the price of ψ of sums, and that of clipped sums for each unit² of reach."""

    alike: FloatArray
    by_reach: FloatArray

    @classmethod
    def of(
        cls, cells: int, groups: Sequence[tuple[CodeArray, BoolArray, FloatArray]], parts: UnitParts | None = None
    ) -> "Bills":
        """For every query the group of each cell, which groups are answered by ψ of their sum, and their precisions.

        The records of a part of a unit all pay alike, relative to the share of the part.
        """
        alike, by_reach = np.zeros(cells), np.zeros(cells)
        for of_cell, by_psi, precision in groups:
            alike += np.where(by_psi, precision, 0.0)[of_cell]
            by_reach += np.where(by_psi, 0.0, precision)[of_cell]
        if parts is not None:
            alike[parts.cell], by_reach[parts.cell] = 0.0, 0.0
            for of_cell, by_psi, precision in groups:
                clipped, of_psi = parts.costs(of_cell)
                group = of_cell[parts.cell]
                alike[parts.cell] += precision[group] * np.where(by_psi[group], of_psi, clipped)
        return cls(alike, by_reach)

    @classmethod
    def planned(cls, cells: int, partitions: Sequence[QueryGroups], noise: Mapping[str, GroupNoise]) -> "Bills":
        """What the filling of the queries comes to."""
        return cls.of(cells, [(p.of_cell, noise[p.query].by_psi, noise[p.query].precision) for p in partitions])

    def paid(self, cell: CodeArray, reach: FloatArray) -> FloatArray:
        """What establishments pay, by their cells and by how far they can move."""
        return self.alike[cell] + self.by_reach[cell] * reach**2

    def left(self, cell: CodeArray, reach: FloatArray, terms: Terms) -> FloatArray:
        """What is left of the pool for second answers: never nothing, so that their noise has a size."""
        return np.maximum(terms.pool - self.paid(cell, reach), LEAST_SECOND * terms.pool)
