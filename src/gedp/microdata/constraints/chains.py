"""Which groupings of cells are inside each other, and how few families they make in which each is inside the next."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import maximum_bipartite_matching

from gedp.arrays import IntArray
from gedp.partitions import Partition


def chains_of(groupings: Sequence[Partition], first: Sequence[bool]) -> list[list[int]]:
    """The fewest families, each from the coarsest to the finest; those with `first` groupings, then the longest first.

    The fewest chains of a partial order come from a maximum matching of each element with one below it (Dilworth).
    """
    count = len(groupings)
    inside = np.zeros((count, count), dtype=bool)
    for i in range(count):
        for j in range(count):
            inside[i, j] = i != j and not inside[j, i] and groupings[i].inside(groupings[j]) is not None
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


def crossing(left: Partition, right: Partition) -> tuple[Partition, IntArray]:
    """The cells divided into the pairs of groups that occur, and the two groups of every pair."""
    codes = left.group_of.astype(np.int64) * right.count + right.group_of
    pairs, of_cell = np.unique(codes, return_inverse=True)
    return Partition(of_cell.astype(np.int32), len(pairs)), np.stack(np.divmod(pairs, right.count))
