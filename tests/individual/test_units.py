"""What a unit of several records pays: slow, obvious sums over its records are the oracle."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.arrays import FloatArray
from gedp.individual import Portions, Terms, fill
from gedp.individual.answers import FirstAnswers
from gedp.individual.filling import QueryGroups
from gedp.individual.units import UnitCells, UnitParts, unit_cells
from gedp.neighbors import Protection, Sqrt
from gedp.policy import Attribute
from tests.helpers.builder import spec_of

EMP: Attribute = spec_of("sums", accounting="individual").policy.attributes["emp"]
TERMS = Terms(Protection(Sqrt(), 0.5), 0.3, 1.0)
GROUPS = np.array([0, 0, 1, 1, 2], dtype=np.int32)  # of the cells by keys
PARTITIONS = [
    QueryGroups("total", np.zeros(5, dtype=np.int32), 1),
    QueryGroups("group", GROUPS, 3),
    QueryGroups("cell", np.arange(5, dtype=np.int32), 5),
]


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[int], list[int], list[float]]:
    """For every record its unit, its cell by keys (each cell has a record), and its first answer."""
    records = draw(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), min_size=0, max_size=25))
    records += [(7 + cell, cell) for cell in range(5)]
    omega = draw(st.lists(st.floats(-3, 60), min_size=len(records), max_size=len(records)))
    return [unit for unit, _ in records], [cell for _, cell in records], omega


def cells_of(units: list[int], cells: list[int]) -> tuple[list[int], UnitCells | None]:
    """The finest cell of every record, and the cells of units of several records."""
    several = {unit for unit in units if units.count(unit) > 1}
    pairs = sorted({(cell, unit if unit in several else 99) for unit, cell in zip(units, cells, strict=True)})
    of_record = [pairs.index((cell, unit if unit in several else 99)) for unit, cell in zip(units, cells, strict=True)]
    base = np.array([cell for cell, _ in pairs], dtype=np.int32)
    unit = np.array([-1 if unit == 99 else sorted(several).index(unit) for _, unit in pairs])
    rows = np.bincount(of_record, minlength=len(pairs)).astype(np.int64)
    return of_record, unit_cells(base, unit, rows) if several else None


def filled(table: tuple[list[int], list[int], list[float]]) -> tuple[FirstAnswers, dict[str, FloatArray], FloatArray]:
    """First answers, and the noise and the rest that filling finds for them."""
    units, cells, omega = table
    of_record, found = cells_of(units, cells)
    cell = np.array(of_record, dtype=np.int32)
    answers = FirstAnswers.of(EMP, cell, np.array(omega), TERMS, 2.0**53, units=found)
    rows = answers.rows(4.0)
    filling = fill(rows, PARTITIONS, TERMS, Portions({"total": 0.4, "group": 0.5}))
    prices = {query: np.where(each.by_psi, each.precision, -each.precision) for query, each in filling.noise.items()}
    return answers, prices, answers.by_record(filling.left * rows.second_share)


@given(tables())
def test_a_unit_pays_for_all_its_records_at_once_and_never_more_than_its_pool(
    table: tuple[list[int], list[int], list[float]],
) -> None:
    units, cells, _ = table
    answers, prices, second = filled(table)
    order = np.lexsort((np.array(table[2]), np.array(cells_of(units, cells)[0])))
    members = {unit: units.count(unit) for unit in units}
    paid: dict[int, float] = defaultdict(float)
    moved: dict[tuple[int, str, int], list[float]] = defaultdict(list)
    for record, place in enumerate(order):
        unit, omega = units[place], answers.omega[record : record + 1]
        reach = float(answers.each.reach(omega, float(members[unit]), tau=4.0)[0])
        paid[unit] += float(second[record])
        for partition in PARTITIONS:
            moved[unit, partition.query, int(partition.of_cell[cells[place]])].append(reach)
    for (unit, query, group), reaches in moved.items():
        price = float(prices[query][group])
        paid[unit] += price * len(reaches) ** 2 if price > 0 else -price * sum(reaches) ** 2
    assert max(paid.values()) <= TERMS.pool * (1 + 1e-9)
    # Somebody pays all of it: what is left after the tables goes to second answers.
    assert max(paid.values()) == pytest.approx(TERMS.pool)


def test_two_records_of_a_unit_cost_four_times_what_one_does_and_in_two_groups_twice() -> None:
    cell = np.array([0, 1], dtype=np.int32)
    parts = UnitParts(np.zeros(2, dtype=np.int32), cell, np.ones(2), np.full(2, 3.0))
    together, apart = np.zeros(2, dtype=np.int32), cell
    price, nobody = np.full(2, 0.5), np.zeros(2, dtype=bool)
    assert parts.paid(together, nobody, price).tolist() == [0.5 * (3 + 3) ** 2]
    assert parts.paid(apart, nobody, price).tolist() == [0.5 * (3**2 + 3**2)]
    assert parts.paid(together, ~nobody, price).tolist() == [0.5 * 2**2]
    assert parts.shares.tolist() == [0.5, 0.5]
    assert [each.tolist() for each in parts.costs(together)] == [[36.0, 36.0], [4.0, 4.0]]
    assert [each.tolist() for each in parts.costs(apart)] == [[18.0, 18.0], [2.0, 2.0]]


def test_the_share_of_a_part_is_half_by_reach_and_half_by_number() -> None:
    parts = UnitParts(
        np.zeros(2, dtype=np.int32), np.arange(2, dtype=np.int32), np.array([9.0, 1.0]), np.array([1.0, 3.0])
    )
    assert parts.shares.tolist() == pytest.approx([(0.25 + 0.9) / 2, (0.75 + 0.1) / 2])
    assert parts.whole(3).tolist() == [4.0, 4.0, 1.0]


def test_records_that_are_units_by_themselves_are_accounted_for_as_without_units() -> None:
    cell, omega = np.array([0, 0, 1, 2, 3, 4, 4], dtype=np.int32), np.array([3.0, 9, 2, 5, 7, 1, 30])
    alone = FirstAnswers.of(EMP, cell, omega, TERMS, 2.0**53)
    base = np.arange(6, dtype=np.int32)  # a cell of its own for two records of one unit, far from all others
    unit = np.array([-1, -1, -1, -1, -1, 0])
    rows = np.array([2, 1, 1, 1, 2, 2])
    with_unit = FirstAnswers.of(
        EMP,
        np.append(cell, [5, 5]).astype(np.int32),
        np.append(omega, [4.0, 4.0]),
        TERMS,
        2.0**53,
        units=unit_cells(base, unit, rows),
    )
    here, there = alone.rows(4.0), with_unit.rows(4.0)
    apart = [QueryGroups("cell", np.arange(count, dtype=np.int32), count) for count in (5, 6)]
    one, other = (fill(rows, [p], TERMS, Portions({})) for rows, p in zip((here, there), apart, strict=True))
    assert other.noise["cell"].precision[:5].tolist() == one.noise["cell"].precision.tolist()
    assert other.left[:7].tolist() == one.left.tolist()
