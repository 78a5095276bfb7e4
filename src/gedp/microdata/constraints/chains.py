"""Which groupings of cells are inside each other, and how few families they make in which each is inside the next."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import maximum_bipartite_matching

from gedp.arrays import CodeArray, IntArray


def refines(fine: CodeArray, coarse: CodeArray) -> bool:
    """Whether every group of `fine` lies inside one group of `coarse`."""
    around = np.zeros(int(fine.max(initial=-1)) + 1, dtype=coarse.dtype)
    around[fine] = coarse
    return bool(np.array_equal(around[fine], coarse))


def chains_of(groupings: Sequence[CodeArray], first: Sequence[bool]) -> list[list[int]]:
    """The fewest families, each from the coarsest to the finest; those with `first` groupings, then the longest first.

    The fewest chains of a partial order come from a maximum matching of each element with one below it (Dilworth).
    """
    count = len(groupings)
    inside = np.zeros((count, count), dtype=bool)
    for i in range(count):
        for j in range(count):
            inside[i, j] = i != j and refines(groupings[i], groupings[j]) and not inside[j, i]
    around = (
        maximum_bipartite_matching(sparse.csr_array(inside), perm_type="column") if count else np.empty(0, np.int32)
    )
    finest = set(range(count)) - {int(place) for place in around}
    chains = []
    for start in sorted(finest):
        chain, place = [start], int(around[start])
        while place >= 0:
            chain.append(place)
            place = int(around[place])
        chains.append(chain[::-1])
    return sorted(chains, key=lambda chain: (-sum(first[place] for place in chain), -len(chain)))


def crossing(left: CodeArray, right: CodeArray) -> tuple[CodeArray, IntArray]:
    """The pairs of groups of two groupings that occur: the pair of every cell, and the two groups of every pair."""
    size = int(right.max(initial=0)) + 1
    pairs, of_cell = np.unique(left.astype(np.int64) * size + right, return_inverse=True)
    return of_cell.astype(np.int32), np.stack(np.divmod(pairs, size))
