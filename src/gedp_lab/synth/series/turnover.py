"""Who closes, who moves and where somebody opens, from one quarter to the next.

Where the numbers of establishments of the next quarter are published, cells that shrink lose as many as they must. If
that is less than the rates of deaths and moves ask for, others leave too, and births take their places. Those who leave
are more often small than large. Some of them move: they fill a place that opens in the same industry of another county,
or in another industry of the same county, and keep their ids.
"""

from dataclasses import dataclass

import numpy as np

from gedp.arrays import BoolArray, FloatArray, IntArray
from gedp_lab.synth.series.panel import Places, StatePanel
from gedp_lab.synth.series.rates import TurnoverRates


@dataclass(frozen=True)
class Turnover:
    """Rows of the panel that are still there, the cell of each by now, and the cells of births."""

    rows: IntArray
    cell: IntArray
    births: IntArray
    deaths: int
    moves: int


def turn_over(
    panel: StatePanel, places: Places, wanted: IntArray | None, rates: TurnoverRates, generator: np.random.Generator
) -> Turnover:
    """The turnover of one state; `wanted` are the establishments of each cell next quarter, if they are known."""
    count = len(panel.ids)
    before = np.bincount(panel.cell, minlength=places.count)
    needed = np.zeros_like(before) if wanted is None else np.maximum(before - wanted, 0)
    lasting = generator.standard_exponential(count) * np.sqrt(1.0 + panel.values.m3emp)
    leaves = choose_leavers(panel.cell, lasting, needed, round((rates.deaths + rates.moves) * count))
    if wanted is None:
        models = generator.choice(count, min(count, round((rates.births + rates.moves) * count)), replace=False)
        entries = panel.cell[models]
    else:
        staying = np.bincount(panel.cell[~leaves], minlength=places.count)
        entries = np.repeat(np.arange(places.count), wanted - staying)
    movers, taken = match_moves(
        panel.cell, np.flatnonzero(leaves), entries, places, round(rates.moves * count), generator
    )
    rows = np.concatenate([np.flatnonzero(~leaves), movers])
    cell = np.concatenate([panel.cell[~leaves], entries[taken]])
    births = np.delete(entries, taken)
    return Turnover(rows, cell, births, int(leaves.sum()) - len(movers), len(movers))


def choose_leavers(cell: IntArray, lasting: FloatArray, needed: IntArray, total: int) -> BoolArray:
    """Of every cell as many as it needs to lose, and then anybody until `total` are gone, who lasts least first."""
    order = np.lexsort((lasting, cell))
    sizes = np.bincount(cell, minlength=len(needed))
    rank = np.arange(len(cell)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    leaves = np.zeros(len(cell), bool)
    leaves[order] = rank < needed[cell[order]]
    others = np.flatnonzero(~leaves)
    more = max(0, total - int(leaves.sum()))
    leaves[others[np.argsort(lasting[others], kind="stable")[:more]]] = True
    return leaves


def match_moves(
    cell: IntArray, leavers: IntArray, entries: IntArray, places: Places, number: int, generator: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Leavers (rows) who take an entry instead (positions among `entries`): half of them to another county, half to
    another industry, as far as there are such pairs."""
    leavers, positions = generator.permutation(leavers), generator.permutation(len(entries))
    own = places.codes["own"].index
    movers, taken = [leavers[:0]], [positions[:0]]
    for kept, share in (("naics", number - number // 2), ("cnty", number // 2)):
        same = places.codes[kept].index.astype(np.int64) * (int(own.max()) + 1) + own
        left, right = _pairs(same[cell[leavers]], same[entries[positions]])
        moving = cell[leavers[left]] != entries[positions[right]]
        chosen = generator.permutation(np.flatnonzero(moving))[:share]
        movers.append(leavers[left[chosen]])
        taken.append(positions[right[chosen]])
        leavers, positions = np.delete(leavers, left[chosen]), np.delete(positions, right[chosen])
    return np.concatenate(movers), np.concatenate(taken)


def _pairs(first: IntArray, second: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs of positions with equal keys, none twice."""
    _, left, right = np.intersect1d(_numbered(first), _numbered(second), assume_unique=True, return_indices=True)
    return left, right


def _numbered(keys: IntArray) -> IntArray:
    """Each key with its place among its equals, as one number."""
    order = np.argsort(keys, kind="stable")
    _, sizes = np.unique(keys, return_counts=True)
    place = np.empty(len(keys), np.int64)
    place[order] = np.arange(len(keys)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return (keys << 32) | place
