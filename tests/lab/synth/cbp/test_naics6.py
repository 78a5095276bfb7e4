import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.arrays import FloatArray, IntArray
from gedp_lab.synth.cbp.divide import group_sum
from gedp_lab.synth.cbp.employment import Employment
from gedp_lab.synth.cbp.naics6 import (
    Naics6Input,
    divide_wages,
    emp_scale,
    naics6_cells,
    scaled_month_three,
    within_classes,
)
from gedp_lab.synth.cbp.regression import FitSummary
from gedp_lab.synth.sizes import possible_jobs

NAN = np.nan


def cells_of(parent: list[int], imputed: list[float], payroll: list[float] | None = None) -> Naics6Input:
    return Naics6Input(
        np.array(parent), np.ones(len(parent)), np.array(imputed), np.array(payroll or [NAN] * len(parent))
    )


def employment_of(m1: list[float], m2: list[float], m3: list[float]) -> Employment:
    fit = FitSummary("employment", 1, 0, 0, 0, 0)
    return Employment(np.array(m1), np.array(m2), np.array(m3), np.zeros(len(m1), bool), fit)


def test_the_papers_example_of_emp_scale() -> None:
    # 1000 jobs in the imputed CBP, 1250 in QWI: 236115 and 236116, 700 and 300, become 875 and 375
    imputed, m3 = np.array([1000.0]), np.array([1250.0])
    assert emp_scale(imputed, m3) == pytest.approx([0.8])
    cells = cells_of([0, 0], [700.0, 300.0])
    assert scaled_month_three(cells, imputed, m3) == pytest.approx([875, 375])
    result = naics6_cells(
        cells, imputed, employment_of([1200.0], [1225.0], [1250.0]), np.array([9e6]), np.random.default_rng(0)
    )
    assert result.m3.tolist() == [875, 375]
    assert (result.m1.sum(), result.m2.sum(), result.wage.sum()) == (1200, 1225, 9_000_000)


def test_scale_is_one_where_either_source_has_nobody() -> None:
    assert emp_scale(np.array([0.0, 10, 0]), np.array([5.0, 0, 0])).tolist() == [1, 1, 1]
    cells = cells_of([0, 0], [6.0, 4.0])
    assert scaled_month_three(cells, np.array([10.0]), np.array([0.0])).tolist() == [6, 4]


def test_an_only_child_takes_everything() -> None:
    cells = cells_of([0], [3.0])
    result = naics6_cells(
        cells,
        np.array([3.0]),
        employment_of([8.0], [9.0], [10.0]),
        np.array([70_000.0]),
        np.random.default_rng(0),
    )
    assert [column.tolist() for column in (result.m1, result.m2, result.m3, result.wage)] == [
        [8],
        [9],
        [10],
        [70_000],
    ]


def test_wages_go_to_the_cells_whose_payroll_is_withheld() -> None:
    # the erratum: 100,000 - 30,000 is divided among the second and third cell; the fourth is an only child
    cells = cells_of([0, 0, 0, 1], [5.0, 3.0, 0.0, 9.0], [30_000.0, NAN, NAN, NAN])
    m3 = np.array([5.0, 3.0, 0.0, 9.0])
    wage = divide_wages(cells, m3, np.array([100_000.0, 40_000.0]), np.random.default_rng(0))
    assert wage.tolist() == [30_000, 70_000, 0, 40_000]


def test_withheld_wages_follow_month_three_on_average() -> None:
    pairs = 20_000
    parent = np.repeat(np.arange(pairs), 3)
    cells = Naics6Input(parent, np.ones(3 * pairs), np.zeros(3 * pairs), np.tile([1000.0, NAN, NAN], pairs))
    m3 = np.tile([50.0, 30.0, 10.0], pairs)
    wage = divide_wages(cells, m3, np.full(pairs, 41_000.0), np.random.default_rng(1)).reshape(-1, 3)
    assert (wage.sum(axis=1) == 41_000).all()
    assert wage.mean(axis=0) == pytest.approx([1000, 30_000, 10_000], rel=0.01)


def test_published_payroll_above_the_parents_wage_leaves_nothing_to_divide() -> None:
    cells = cells_of([0, 0], [5.0, 3.0], [30_000.0, NAN])
    wage = divide_wages(cells, np.array([5.0, 3.0]), np.array([29_000.0]), np.random.default_rng(0))
    assert wage.tolist() == [30_000, 0]


def test_every_month_and_the_wage_add_up_to_the_parent() -> None:
    rng = np.random.default_rng(9)
    parents = 300
    parent: IntArray = np.sort(rng.integers(0, parents, 1000))
    imputed: FloatArray = rng.poisson(20, 1000).astype(np.float64)
    imputed4 = group_sum(imputed, parent, parents)
    m1, m2, m3, wage = (rng.integers(1, 10**6, parents).astype(np.float64) for _ in range(4))
    cells = Naics6Input(parent, np.ones(1000), imputed, np.full(1000, NAN))
    months = Employment(m1, m2, m3, np.zeros(parents, bool), FitSummary("employment", 1, 0, 0, 0, 0))
    result = naics6_cells(cells, imputed4, months, wage, rng)
    present = np.bincount(parent, minlength=parents) > 0
    scaled = present & (imputed4 > 0)
    for made, total in ((result.m1, m1), (result.m2, m2), (result.wage, wage)):
        assert (np.bincount(parent, weights=made, minlength=parents)[present] == total[present]).all()
    assert (np.bincount(parent, weights=result.m3, minlength=parents)[scaled] == m3[scaled]).all()


def test_month_three_stays_within_the_size_classes_by_hand() -> None:
    # One parent of 40 jobs: its cells of 1-4 and of 20-49 can have 0 to 4 and 20 to 49, so 30 and 10 become 4 and 36.
    # The other has 100, but its two cells of 5-9 can hold no more than 18.
    classes = np.zeros((4, 12), np.int64)
    classes[[0, 1, 2, 3], [0, 3, 1, 1]] = 1
    m3 = np.array([30.0, 10, 50, 50])
    assert within_classes(m3, classes, np.array([0, 0, 1, 1])).tolist() == [4, 36, 9, 9]


def test_an_open_class_takes_what_there_is() -> None:
    classes = np.zeros((2, 12), np.int64)
    classes[[0, 1], [11, 0]] = 1
    assert within_classes(np.array([70_000.0, 3]), classes, np.array([0, 0])).tolist() == [70_000, 3]


@given(st.data())
def test_size_classes_hold_and_parents_are_kept_where_they_can_be(data: st.DataObject) -> None:
    parents = data.draw(st.integers(1, 4))
    group = np.sort(data.draw(st.lists(st.integers(0, parents - 1), min_size=1, max_size=10)))
    group = np.unique(group, return_inverse=True)[1]
    rows = st.lists(st.integers(0, 2), min_size=12, max_size=12)
    classes = np.array(data.draw(st.lists(rows, min_size=len(group), max_size=len(group))))
    m3 = np.array(data.draw(st.lists(st.floats(0, 9000), min_size=len(group), max_size=len(group))))
    made = within_classes(m3, classes, group)
    least, most = possible_jobs(classes)
    assert (least <= made).all()
    assert (made <= most).all()
    for parent in range(group.max() + 1):
        inside = group == parent
        wanted = round(m3[inside].sum())
        assert made[inside].sum() == min(max(wanted, least[inside].sum()), most[inside].sum())
