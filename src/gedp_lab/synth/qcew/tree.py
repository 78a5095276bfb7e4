"""The published rows as a tree: state, county total, domain, supersector, sector, 3 to 6 digits.

Everything is kept in flat arrays, siblings side by side, so that a whole level is worked on at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gedp.arrays import BoolArray, IntArray
from gedp.errors import Fault, FaultsError
from gedp.industries import DEPTHS, depth_of, parent_of
from gedp_lab.synth.states import POSTAL_OF_FIPS

_VALUES = ("month1_emplvl", "month2_emplvl", "month3_emplvl", "total_qtrly_wages")
_SUPPRESSED = "N"


@dataclass(frozen=True)
class TreeLevel:
    """Nodes of one depth, children of one parent side by side. Values are meaningless where not `known`."""

    area: IntArray  # index into Tree.areas: (area code, ownership)
    industry: IntArray  # index into Tree.industries
    parent: IntArray  # position in the level above
    child_counts: IntArray  # per node of the level above: how many of these are its children
    estabs: IntArray
    known: BoolArray
    values: IntArray  # shape (4, nodes): m1emp, m2emp, m3emp, wage

    def sum_by_parent(self, numbers: IntArray) -> IntArray:
        """Exact sums over the children of every node of the level above (last axis)."""
        starts = np.cumsum(self.child_counts) - self.child_counts
        return np.add.reduceat(numbers, starts, axis=-1)


@dataclass(frozen=True)
class PublishedRows:
    """Published rows as arrays."""

    area: IntArray
    industry: IntArray
    depth: IntArray
    estabs: IntArray
    known: BoolArray
    values: IntArray

    def take(self, chosen: BoolArray | IntArray) -> "PublishedRows":
        """The chosen rows, by mask or by position."""
        return PublishedRows(
            self.area[chosen],
            self.industry[chosen],
            self.depth[chosen],
            self.estabs[chosen],
            self.known[chosen],
            self.values[:, chosen],
        )


@dataclass(frozen=True)
class Tree:
    """Level 0 has one node per state and ownership, level 1 the county totals, level 8 the NAICS-6 cells."""

    areas: tuple[tuple[str, str], ...]  # (area code, ownership)
    industries: tuple[str, ...]
    parent_industry: IntArray  # -1 for the total
    levels: tuple[TreeLevel, ...]
    state_rows: PublishedRows  # active rows of state × industry

    def state_of_area(self) -> IntArray:
        """The position in level 0 of every area's state and ownership (-1 for a state without counties)."""
        position = {self.areas[area]: place for place, area in enumerate(self.levels[0].area)}
        return np.array([position.get((area[:2] + "000", own), -1) for area, own in self.areas])


def build_tree(rows: pa.Table) -> Tree:
    """The tree of published rows; raises FaultsError with every way in which they do not nest."""
    areas, area = _encode_pairs(rows["area_fips"], rows["own_code"])
    industries, industry = _encode(rows["industry_code"])
    parents = [parent_of(code) for code in industries]
    position = {code: place for place, code in enumerate(industries)}
    parent_industry = np.array([position.get(code or "", -1) for code in parents], np.int64)
    depths = np.array([-1 if (depth := depth_of(code)) is None else depth for code in industries], np.int64)
    agglevel = rows["agglvl_code"].to_numpy()
    faults = [*_null_faults(rows), *_code_faults(industries, depths, industry, agglevel)]
    if faults:
        raise FaultsError("QCEW rows", faults)
    code = pc.utf8_trim_whitespace(rows["disclosure_code"])
    every = PublishedRows(
        area,
        industry,
        depths[industry],
        rows["qtrly_estabs"].to_numpy(),
        ~pc.equal(code, _SUPPRESSED).to_numpy(),
        np.stack([rows[name].to_numpy() for name in _VALUES]),
    )
    if faults := [*_repeat_faults(every, areas, industries), *_value_faults(every)]:
        raise FaultsError("QCEW rows", faults)
    active = every.estabs > 0
    county = active & (agglevel > 70)
    state_rows = every.take(active & (agglevel < 70))
    areas, states = _state_nodes(areas, every.take(county), state_rows)
    levels, faults = _levels(every.take(county), states, areas, industries, parent_industry)
    if faults:
        raise FaultsError("QCEW rows", faults)
    return Tree(areas, industries, parent_industry, tuple(levels), state_rows)


def _encode(column: pa.ChunkedArray) -> tuple[tuple[str, ...], IntArray]:
    """The distinct words in order, and every row's place among them."""
    encoded = column.combine_chunks().dictionary_encode()
    words, place = np.unique(encoded.dictionary.to_pylist(), return_inverse=True)
    return tuple(words.tolist()), place[encoded.indices.to_numpy()]


def _encode_pairs(first: pa.ChunkedArray, second: pa.ChunkedArray) -> tuple[tuple[tuple[str, str], ...], IntArray]:
    words1, index1 = _encode(first)
    words2, index2 = _encode(second)
    distinct, index = np.unique(index1 * len(words2) + index2, return_inverse=True)
    pairs = tuple((words1[pair // len(words2)], words2[pair % len(words2)]) for pair in distinct.tolist())
    return pairs, index


def _state_nodes(
    areas: tuple[tuple[str, str], ...], county: PublishedRows, state_rows: PublishedRows
) -> tuple[tuple[tuple[str, str], ...], TreeLevel]:
    """Level 0. A state's total is known only if disclosed and of as many establishments as its counties.

    (A file may hold a state's row and only some of its counties.)
    """
    roots = county.take(county.depth == 0)
    place = {pair: index for index, pair in enumerate(areas)}
    wanted = sorted({(areas[area][0][:2] + "000", areas[area][1]) for area in roots.area.tolist()})
    areas = (*areas, *(pair for pair in wanted if pair not in place))
    place = {pair: index for index, pair in enumerate(areas)}
    totals = state_rows.take(state_rows.depth == 0)
    row_of_area = {area: row for row, area in enumerate(totals.area.tolist())}
    index = np.array([place[pair] for pair in wanted], np.int64)
    number = {area: node for node, area in enumerate(index.tolist())}
    of_county = np.array([number[place[(areas[a][0][:2] + "000", areas[a][1])]] for a in roots.area.tolist()])
    estabs = np.bincount(of_county, roots.estabs, len(wanted)).astype(np.int64)
    known = np.zeros(len(wanted), bool)
    values = np.zeros((4, len(wanted)), np.int64)
    for node, area in enumerate(index.tolist()):
        row = row_of_area.get(area)
        if row is not None and totals.known[row] and totals.estabs[row] == estabs[node]:
            known[node] = True
            values[:, node] = totals.values[:, row]
    nowhere = np.zeros(0, np.int64)
    return areas, TreeLevel(index, np.full(len(index), -1), nowhere, nowhere, estabs, known, values)


def _levels(
    county: PublishedRows,
    states: TreeLevel,
    areas: Sequence[tuple[str, str]],
    industries: Sequence[str],
    parent_industry: IntArray,
) -> tuple[list[TreeLevel], list[Fault]]:
    """Levels 0 to 8, each ordered by the position of the parent above, then by code."""
    levels, faults = [states], []
    width = len(industries) + 1
    state_place = {areas[area]: node for node, area in enumerate(states.area.tolist())}
    state_of_area = np.array([state_place.get((area[:2] + "000", own), -1) for area, own in areas])
    keys = np.zeros(0, np.int64)
    for depth in range(DEPTHS):
        rows = county.take(county.depth == depth)
        if depth == 0:
            parent = state_of_area[rows.area]
        else:
            parent = _find(keys, rows.area * width + parent_industry[rows.industry])
        if (orphans := parent < 0).any():
            one = int(np.flatnonzero(orphans)[0])
            name = f"{areas[rows.area[one]][0]} industry {industries[rows.industry[one]]}"
            problem = f"{orphans.sum()} rows without the row they are part of, such as {name}"
            faults.append(Fault(f"level {71 + depth}", problem, "Use a whole file; codes must nest"))
            return levels, faults
        among_siblings = rows.area if depth == 0 else rows.industry
        order = np.argsort(parent * (len(areas) + width) + among_siblings)
        rows, parent = rows.take(order), parent[order]
        counts = np.bincount(parent, minlength=len(levels[-1].area))
        levels.append(TreeLevel(rows.area, rows.industry, parent, counts, rows.estabs, rows.known, rows.values))
        keys = rows.area * width + rows.industry
        missing = levels[-2].estabs != np.bincount(parent, rows.estabs, len(counts))
        if missing.any():
            one = int(np.flatnonzero(missing)[0])
            above = levels[-2]
            name = f"{areas[above.area[one]][0]} industry {industries[above.industry[one]]}"
            problem = f"establishments of {missing.sum()} rows are not those of their parts, such as {name}"
            faults.append(Fault(f"level {70 + depth}", problem, "Use a whole file; codes must nest"))
            return levels, faults
    return levels, faults


def _find(keys: IntArray, wanted: IntArray) -> IntArray:
    """The position of every wanted key among `keys`, -1 if absent."""
    if not len(keys):
        return np.full(len(wanted), -1)
    order = np.argsort(keys)
    place = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
    found = order[place]
    return np.where(keys[found] == wanted, found, -1)


def _null_faults(rows: pa.Table) -> list[Fault]:
    return [
        Fault(f"column {name}", f"{rows[name].null_count} empty values", "The file may be cut short")
        for name in rows.column_names
        if rows[name].null_count
    ]


def _code_faults(industries: Sequence[str], depths: IntArray, industry: IntArray, agglevel: IntArray) -> list[Fault]:
    faults = []
    unknown = [code for code, depth in zip(industries, depths, strict=True) if depth < 0]
    if unknown:
        faults.append(
            Fault(
                "column industry_code",
                f"{len(unknown)} unknown codes, such as {unknown[0]!r}",
                "Use NAICS files",
            )
        )
    wrong = (depths[industry] >= 0) & (agglevel % 10 - 1 != depths[industry])
    if wrong.any():
        one = int(np.flatnonzero(wrong)[0])
        example = f"{industries[industry[one]]} at level {agglevel[one]}"
        faults.append(
            Fault(
                "column agglvl_code",
                f"{wrong.sum()} rows at the wrong level, such as {example}",
                "Correct them",
            )
        )
    return faults


def _repeat_faults(rows: PublishedRows, areas: Sequence[tuple[str, str]], industries: Sequence[str]) -> list[Fault]:
    faults = []
    strange = sorted({area for area, _ in areas if area[:2] not in POSTAL_OF_FIPS or len(area) != 5})
    if strange:
        faults.append(Fault("column area_fips", f"unknown areas such as {strange[0]!r}", "Use 5-digit FIPS codes"))
    keys = np.sort(rows.area * len(industries) + rows.industry)
    repeated = int((keys[1:] == keys[:-1]).sum())
    if repeated:
        faults.append(Fault("rows", f"{repeated} rows repeat an area and industry", "Give each file once"))
    return faults


def _value_faults(rows: PublishedRows) -> list[Fault]:
    faults = []
    negative = (rows.estabs < 0) | (rows.values < 0).any(axis=0)
    if negative.any():
        faults.append(Fault("values", f"{negative.sum()} rows with negative numbers", "Correct the file"))
    empty = (rows.estabs == 0) & (rows.values > 0).any(axis=0)
    if empty.any():
        problem = f"{empty.sum()} rows with jobs or wages but no establishment"
        faults.append(Fault("values", problem, "Correct the file"))
    return faults
