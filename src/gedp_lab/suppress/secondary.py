"""Further cells to hide, so that no sensitive cell can be worked out: a simple method of our own.

One sensitive cell after another, the largest need first: how could all cells change together so that this one becomes
larger by its need, every sum still holds, and nothing becomes negative? Of all such changes take the one that moves
published cells least, which is a linear program, and hide every cell that it moves. The changed table is then one that
the attacker must think possible, so the cell is safe. So are all others that the same change lifts by their need, or
its opposite, as far as that leaves nothing negative: they take no program of their own. The result is safe by
construction, and the audit checks it; nothing says that it hides as few cells as possible.
"""

import numpy as np
from scipy import sparse

from gedp.arrays import BoolArray, FloatArray
from gedp.progress import Progress, silent
from gedp_lab.suppress.audit import NEAR, audit
from gedp_lab.suppress.linked import LinkedTables, SumSystem
from gedp_lab.suppress.program import Program


def suppress(tables: LinkedTables, progress: Progress = silent) -> BoolArray:
    """The cells to hide: the sensitive ones, and as many others as make them safe."""
    system, sensitive = tables.system, tables.is_sensitive
    unsafe = np.unique(system.of_cell[audit(tables, sensitive).is_unsafe(tables)])
    unsafe = unsafe[np.argsort(-system.needs[unsafe], kind="stable")]
    changes = _Changes(system, system.is_hidden(sensitive | ~tables.is_shown))
    for done, place in enumerate(unsafe):
        progress("secondary suppression", done, len(unsafe))
        if not changes.is_safe[place]:
            changes.protect(int(place))
    return changes.hidden[system.of_cell] & tables.is_shown


class _Changes:
    """Changes of all quantities that every sum allows: a rise and a fall for each, of which one is 0."""

    def __init__(self, system: SumSystem, hidden: BoolArray) -> None:
        self._values, self._needs, self.hidden = system.values, system.needs, hidden
        self.is_safe = np.zeros(len(hidden), dtype=bool)  # as far as changes so far have shown
        count = len(hidden)
        both = sparse.csr_array(sparse.hstack([system.sums, -system.sums]))
        nothing, most = np.zeros(2 * count), np.concatenate([np.full(count, np.inf), self._values])
        self._program = Program(both, np.zeros(both.shape[0]), nothing, most)
        costs = np.where(hidden, 0.0, _costs(self._values))
        self._program.change_costs(np.arange(2 * count), np.concatenate([costs, costs]))

    def protect(self, place: int) -> None:
        """Hides what moves where one quantity rises by its need; those hidden so far move at no cost."""
        count, need = len(self.hidden), float(self._needs[place])
        self._program.bound(place, need, need)
        self._program.bound(count + place, 0.0, 0.0)
        values = self._program.solved()
        assert values is not None  # costs are not negative
        self._program.bound(place, 0.0, np.inf)
        self._program.bound(count + place, 0.0, float(self._values[place]))
        change = values[:count] - values[count:]
        change[np.abs(change) <= NEAR * max(need, 1e-9)] = 0.0
        self.is_safe |= self._reach(change) | self._reach(-change)
        new = np.flatnonzero((change != 0) & ~self.hidden)
        self.hidden[new] = True
        self._program.change_costs(np.concatenate([new, count + new]), np.zeros(2 * len(new)))

    def _reach(self, change: FloatArray) -> BoolArray:
        """Which quantities rise by their need in a change, or in that share of it that leaves nothing negative."""
        falls = change < 0
        share = float((self._values[falls] / -change[falls]).min(initial=1.0))
        return (change > 0) & (share * change >= self._needs)


def _costs(values: FloatArray) -> FloatArray:
    """What it costs to move a published quantity by one: little more for a large one, so that few are moved."""
    return 1.0 + np.log1p(values)
