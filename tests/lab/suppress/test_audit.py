"""The attacker's intervals against a dense linear program over the parts of all cells, and the paper's example."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from gedp.arrays import BoolArray, CodeArray, FloatArray
from gedp_lab.suppress.audit import audit
from gedp_lab.suppress.linked import LinkedTables, link
from gedp_lab.suppress.publishers import second_tables
from gedp_lab.suppress.rules import parse_rule
from gedp_lab.suppress.secondary import suppress
from tests.lab.suppress.examples import BOB, ONE, WAGES, bob, hide, larger_table, small_tables

pytest.importorskip("highspy")


def dense_interval(tables: LinkedTables, hidden: BoolArray, cell: int) -> tuple[float, float]:
    """Least and largest value of a cell: one unknown for every part that all tables cut, one row per published cell."""
    rows = np.column_stack(tables.cell_of_row)
    parts = np.unique(rows, axis=0)
    matrix = np.zeros((tables.count, len(parts)))
    for place in range(len(tables.names)):
        matrix[tables.level(place).start + parts[:, place], np.arange(len(parts))] = 1
    known = tables.is_shown & ~hidden
    ends = []
    for sign in (1, -1):
        found = linprog(sign * matrix[cell], A_eq=matrix[known], b_eq=tables.values[known], bounds=(0, None))
        ends.append(np.inf if found.fun is None else sign * found.fun)
    return ends[0], ends[1]


@settings(max_examples=100, deadline=None)
@given(small_tables(), st.randoms(use_true_random=False), st.sampled_from([0.3, 0.6, 0.9]), st.sampled_from([1, 10**8]))
def test_intervals_are_those_of_a_dense_linear_program(
    drawn: tuple[dict[str, CodeArray], FloatArray], chance: Random, share: float, giant: int
) -> None:
    """Also beside an establishment that is a hundred million times as large."""
    levels, values = drawn
    values[0] *= giant
    tables = link(levels, values, ONE)
    hidden = np.array([chance.random() < share for _ in range(tables.count)]) & tables.is_shown
    found = audit(tables, hidden)
    for cell in np.flatnonzero(hidden):
        low, high = dense_interval(tables, hidden, int(cell))
        assert found.low[cell] == pytest.approx(low, abs=1e-4)
        assert found.high[cell] == pytest.approx(high, abs=1e-4)
    assert (found.low[~hidden & tables.is_shown] == tables.values[~hidden & tables.is_shown]).all()


@settings(max_examples=60, deadline=None)
@given(small_tables(), st.sampled_from(["p:10", "nk:2,85", "3-and-80"]))
def test_no_sensitive_cell_is_unsafe_after_secondary_suppression(
    drawn: tuple[dict[str, CodeArray], FloatArray], rule: str
) -> None:
    levels, values = drawn
    tables = link(levels, values, parse_rule(rule))
    hidden = suppress(tables)
    assert hidden[tables.is_sensitive].all()
    for cell in np.flatnonzero(tables.is_sensitive):
        _, high = dense_interval(tables, hidden, int(cell))
        assert high >= tables.values[cell] + tables.needs[cell] - 1e-4


@pytest.mark.parametrize("rule", ["p:10", "p:50", "nk:2,85"])
def test_larger_tables_are_safe_too_though_most_cells_take_no_program_of_their_own(rule: str) -> None:
    for seed in range(12):
        levels, values = larger_table(seed)
        tables = link(levels, values, parse_rule(rule))
        before, after = (audit(tables, hidden).is_unsafe(tables) for hidden in (tables.is_sensitive, suppress(tables)))
        assert before.any()
        assert not after.any()


def test_bobs_wages_follow_from_the_cells_that_primary_suppression_leaves() -> None:
    tables = bob()
    hidden = hide(tables, ("county", 0), ("sector", 0))
    found = audit(tables, hidden)
    assert found.is_exact(tables)[hidden].all()
    assert found.low[hidden] == pytest.approx(WAGES[0])
    assert found.is_unsafe(tables).sum() == 2


def test_without_the_total_and_county_y_bobs_wages_are_open_upwards() -> None:
    tables = bob()
    hidden = hide(tables, ("county", 0), ("sector", 0), ("total", 0), ("county", 1))
    found = audit(tables, hidden)
    assert not found.is_unsafe(tables).any()
    assert np.isposinf(found.high[hide(tables, ("county", 0))]).all()
    assert found.low[hide(tables, ("county", 0))] == pytest.approx(0)


def test_the_papers_pattern_does_not_hide_county_y() -> None:
    tables = bob()
    hidden = hide(tables, ("county", 0), ("sector", 0), ("total", 0), ("county", 1))
    found = audit(tables, hidden)  # Y is sectors 23 and 11 less county Z, since nobody else is there
    assert found.is_exact(tables)[hide(tables, ("county", 1))].all()
    assert found.is_exact(tables).sum() == 1


def test_the_total_of_a_second_publisher_opens_bobs_wages() -> None:
    tables = bob()
    hidden = hide(tables, ("county", 0), ("sector", 0), ("total", 0), ("county", 1))
    before = audit(tables, hidden)
    assert not before.is_unsafe(tables)[hide(tables, ("county", 0))].any()
    found = second_tables(tables, hidden, before, BOB, WAGES, ONE)
    assert found[0].name == "total"
    assert found[0].unsafe_alone == 0
    assert found[0].exact[hide(tables, ("county", 0), ("sector", 0))].all()


@pytest.mark.parametrize("giant", [50.0, 4e9, 1e11])
def test_a_small_cell_is_found_beside_a_giant(giant: float) -> None:
    """It is a sum of one table less a sum of the other, which no single sum tells."""
    levels = {"cell": [0, 1, 2, 3, 4], "one": [0, 0, 0, 1, 1], "other": [0, 0, 1, 1, 1]}
    values = np.array([10.0, 20.0, 7.0, giant, 5.0])
    tables = link({name: np.array(codes, dtype=np.int32) for name, codes in levels.items()}, values, ONE)
    hidden = hide(tables, *(("cell", number) for number in range(5)))
    found = audit(tables, hidden)
    assert found.is_exact(tables)[[0, 2]].tolist() == [False, True]
    assert found.is_unsafe(tables)[[0, 2]].tolist() == [False, True]


def test_a_cell_that_is_hidden_in_one_table_and_shown_in_an_equal_one_is_known() -> None:
    codes = np.array([0, 1, 2], dtype=np.int32)
    tables = link({"one": codes, "same": codes[::1].copy()}, np.array([5.0, 7.0, 9.0]), ONE)
    found = audit(tables, hide(tables, ("one", 1)))
    assert found.low[1] == found.high[1] == 7


def test_as_many_cells_are_hidden_as_the_need_takes() -> None:
    """One establishment of 200 must stay open by 20: hiding cells of 8 and 9 would not do."""
    sizes = {0: [200.0], 1: [1.0] * 8, 2: [1.0] * 9, 3: [1.0] * 50}
    cell = np.array([number for number, values in sizes.items() for _ in values], dtype=np.int32)
    values = np.concatenate([np.array(each) for each in sizes.values()])
    tables = link({"total": np.zeros_like(cell), "cell": cell}, values, parse_rule("p:10"))
    assert tables.needs.tolist() == [0, pytest.approx(20), 0, 0, 0]
    hidden = suppress(tables)
    assert hidden.tolist()[:2] == [False, True]
    assert audit(tables, hidden).high[1] >= 220
