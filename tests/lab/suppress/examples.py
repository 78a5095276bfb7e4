"""The paper's example of cell suppression, and random small tables."""

from itertools import product

import numpy as np
from hypothesis import strategies as st

from gedp.arrays import BoolArray, CodeArray, FloatArray
from gedp_lab.suppress.linked import LinkedTables, link
from gedp_lab.suppress.rules import LargestShare, Rule

#: County and sector of Bob, Carlos, Green Hills, Isaac and Alice (the paper's appendix), with wages of our own.
WAGES = np.array([50.0, 30.0, 20.0, 40.0, 60.0])
BOB = {
    "total": np.zeros(5, dtype=np.int32),
    "county": np.array([0, 1, 1, 2, 2], dtype=np.int32),
    "sector": np.array([0, 1, 2, 1, 2], dtype=np.int32),
}
ONE = LargestShare(1, 95)  # as in the example: only cells of a single establishment are sensitive


def bob(rule: Rule = ONE) -> LinkedTables:
    """The total, three counties (X, Y, Z) and three sectors (52, 23, 11)."""
    return link(BOB, WAGES, rule)


def hide(tables: LinkedTables, *cells: tuple[str, int]) -> BoolArray:
    """Cells by level and number."""
    hidden = np.zeros(tables.count, dtype=bool)
    for level, number in cells:
        hidden[tables.level(tables.names.index(level)).start + number] = True
    return hidden


@st.composite
def small_tables(draw: st.DrawFn) -> tuple[dict[str, CodeArray], FloatArray]:
    """Some establishments in two areas within a state and some industries within sectors; tables by some of these."""
    rows = draw(st.integers(2, 12))
    area = np.array(draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)), dtype=np.int32)
    industry = np.array(draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows)), dtype=np.int32)
    values = np.array(draw(st.lists(st.integers(0, 40), min_size=rows, max_size=rows)), dtype=np.float64)
    nothing = np.zeros(rows, dtype=np.int32)
    keys = {"": nothing, "area": area, "sector": industry // 2, "industry": industry}
    every = {f"{a}, {b}": _together(keys[a], keys[b]) for a, b in product(["", "area"], ["", "sector", "industry"])}
    for name in ("one cut", "another cut"):  # groups that do not nest, whose sums tell more together than one by one
        of_industry = draw(st.lists(st.integers(0, 1), min_size=12, max_size=12))
        every[name] = _together(nothing, np.array(of_industry, dtype=np.int32)[4 * area + industry])
    chosen = draw(st.lists(st.sampled_from(sorted(every)), min_size=1, unique=True))
    return {name: every[name] for name in chosen}, values


def larger_table(seed: int) -> tuple[dict[str, CodeArray], FloatArray]:
    """120 establishments in 5 areas and 9 industries, most of them small; tables by all levels."""
    chance, rows = np.random.default_rng(seed), 120
    area, industry = (chance.integers(0, most, rows).astype(np.int32) for most in (5, 9))
    nothing = np.zeros(rows, dtype=np.int32)
    kinds = {"": nothing, "sector": industry // 3, "industry": industry}
    levels = {f"{a}, {b}": _together(of, kinds[b]) for (a, of), b in product([("", nothing), ("area", area)], kinds)}
    return levels, np.rint(np.exp(chance.normal(2, 1.5, rows)))


def _together(first: CodeArray, second: CodeArray) -> CodeArray:
    _, codes = np.unique(first * 10 + second, return_inverse=True)
    result: CodeArray = codes.astype(np.int32)
    return result
