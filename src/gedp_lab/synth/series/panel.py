"""The establishments of one state in one quarter, and the cells that they can be in."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gedp.arrays import IntArray
from gedp_lab.synth.cells import ATTRIBUTES, KEYS
from gedp_lab.synth.establishments import Coded, code_columns
from gedp_lab.synth.spreads import Attributes


@dataclass(frozen=True)
class StatePanel:
    """Establishments ordered by cell; a cell is a row number of `Places`."""

    ids: IntArray
    cell: IntArray
    values: Attributes


@dataclass(frozen=True)
class Places:
    """Every county × NAICS-6 × ownership cell of the series, ordered, and its figures in each published quarter."""

    codes: dict[str, Coded]
    estabs: IntArray  # shape (quarters, cells): 0 where a cell is not there
    totals: IntArray  # shape (quarters, 4, cells)

    @property
    def count(self) -> int:
        """How many cells there are."""
        return len(self.codes["state"].index)

    def state_slices(self) -> dict[str, slice]:
        """The run of cells of each state, by FIPS code."""
        state = self.codes["state"]
        starts = np.flatnonzero(np.diff(state.index, prepend=-1)).tolist()
        ends = [*starts[1:], self.count]
        return {state.words[state.index[start]]: slice(start, end) for start, end in zip(starts, ends, strict=True)}


def find_places(quarters: Sequence[pa.Table]) -> Places:
    """All cells that any quarter has (tables with the columns of CELL_SCHEMA)."""
    ascending = [(name, "ascending") for name in KEYS]
    everywhere = pa.concat_tables([cells.select(KEYS) for cells in quarters])
    keys = everywhere.group_by(list(KEYS)).aggregate([]).select(KEYS).sort_by(ascending)
    numbered = keys.append_column("place", pa.array(np.arange(keys.num_rows)))
    estabs = np.zeros((len(quarters), keys.num_rows), np.int64)
    totals = np.zeros((len(quarters), len(ATTRIBUTES), keys.num_rows), np.int64)
    for quarter, cells in enumerate(quarters):
        placed = cells.join(numbered, list(KEYS))
        place = placed["place"].to_numpy()
        estabs[quarter, place] = placed["estabs"].to_numpy()
        for which, name in enumerate(ATTRIBUTES):
            totals[quarter, which, place] = placed[name].to_numpy()
    return Places(code_columns(keys), estabs, totals)


def read_panels(establishments: Path, places: Places) -> dict[str, StatePanel]:
    """The panels of a file that `write_establishments` made of the first quarter's cells, by state."""
    columns = pq.read_table(establishments, columns=["state", "primary_key", *ATTRIBUTES])
    panels = {}
    for state, cells in places.state_slices().items():
        rows = columns.filter(pc.equal(columns["state"], state))
        cell = np.repeat(np.arange(cells.start, cells.stop), places.estabs[0, cells])
        values = Attributes(*(rows[name].to_numpy() for name in ATTRIBUTES))
        panels[state] = StatePanel(rows["primary_key"].to_numpy(), cell, values)
    return panels
