"""Cells to establishments: all spreads add up, and spread as they say."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gedp.arrays import IntArray
from gedp.errors import GedpError
from gedp_lab.synth.draws import BLOCK, Stream
from gedp_lab.synth.sizes import LEAST_JOBS, cbp_class, possible_jobs
from gedp_lab.synth.spreads import SPREADS, Attributes, DividedCells, SpreadSettings, draw_skewed, month2, zipf

cell = st.tuples(st.integers(1, 12), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 10**6))


def make(
    spread: str,
    cells: list[tuple[int, int, int, int, int]],
    seed: int = 3,
    *,
    settings: SpreadSettings | None = None,
    classes: IntArray | None = None,
) -> Attributes:
    estabs, *totals = (np.array(column) for column in zip(*cells, strict=True))
    way = SPREADS[spread](settings or SpreadSettings())
    draws = Stream(seed, 34).draw(way.recipe, 0, int(estabs.sum()))
    return way.divide(DividedCells(Attributes(*totals), estabs, classes), draws)


@pytest.mark.parametrize("spread", ["paper", "skewed"])
@given(cells=st.lists(cell, min_size=1, max_size=20), seed=st.integers(0, 2**32))
def test_establishments_add_up_to_their_cells(
    spread: str, cells: list[tuple[int, int, int, int, int]], seed: int
) -> None:
    made = make(spread, cells, seed)
    first = 0
    for estabs, *totals in cells:
        inside = slice(first, first + estabs)
        values = [column[inside] for column in (made.m1emp, made.m2emp, made.m3emp, made.wage)]
        assert [int(value.sum()) for value in values] == totals
        assert all((value >= 0).all() for value in values)
        jobs = values[0] + values[1] + values[2]
        if jobs.sum():
            assert not ((jobs == 0) & (values[3] > 0)).any()
        first += estabs


def month2_as_printed(eta: float, m1emp: int, m3emp: int, normal: float) -> float:
    if m1emp == m3emp == 0:
        return 0
    sigma = math.sqrt(2 * eta * abs(m3emp - m1emp) / (m3emp + m1emp))
    m2emp = m1emp + (m3emp - m1emp) / 2 + sigma * normal
    if m2emp <= 0:
        return 0 if m3emp == 0 or m1emp == 0 else 1
    return m2emp


@given(st.integers(0, 30), st.integers(0, 30), st.floats(-6, 6), st.floats(0.1, 3))
def test_month_2_is_the_papers_algorithm(m1emp: int, m3emp: int, normal: float, eta: float) -> None:
    value = month2(np.array([m1emp]), np.array([m3emp]), np.array([normal]), eta)[0]
    assert value == pytest.approx(month2_as_printed(eta, m1emp, m3emp, normal))


def test_month_2_by_hand() -> None:
    # 4 and 12 jobs: midpoint 8, variance 2 · 0.5 · 8/16 = 0.5
    assert month2(np.array([4]), np.array([12]), np.array([2.0]), 0.5)[0] == pytest.approx(8 + 2 * math.sqrt(0.5))
    # 1 and 2 jobs, far below: floor 1; 0 and 2 jobs: floor 0
    assert month2(np.array([1, 0]), np.array([2, 2]), np.array([-9.0, -9.0]), 0.5).tolist() == [1, 0]


def test_paper_spread_has_the_variation_of_its_gamma_prior() -> None:
    made = make("paper", [(4000, 4_000_000, 4_100_000, 4_200_000, 40_000_000_000)])
    share = made.m1emp / made.m1emp.mean()
    # Gamma(10) shares vary by 1/√10, and the Dirichlet adds 1/2000 to the square of that
    assert share.std() == pytest.approx(math.sqrt(0.1 + 1 / 2000), rel=0.05)
    assert np.corrcoef(made.m1emp, made.m3emp)[0, 1] > 0.98
    assert np.corrcoef(made.m3emp, made.wage)[0, 1] > 0.98


def test_skewed_spread_is_lognormal_and_months_go_together() -> None:
    made = make("skewed", [(4000, 40_000_000, 41_000_000, 42_000_000, 400_000_000_000)])
    assert np.log(made.m2emp).std() == pytest.approx(1.3, rel=0.05)
    growth = np.log(made.m3emp / made.m1emp)
    assert growth.std() == pytest.approx(0.05, rel=0.1)
    pay = made.wage / (made.m1emp + made.m2emp + made.m3emp)
    assert np.log(pay).std() == pytest.approx(0.35, rel=0.1)
    assert np.sort(made.m3emp)[-400:].sum() > 0.5 * made.m3emp.sum()  # the largest tenth hold over half


def test_equal_months_in_small_cells_hardly_move_jobs_about() -> None:
    made = make("skewed", [(6, 9, 9, 9, 10**6)] * 500)
    assert np.mean(made.m1emp != made.m3emp) < 0.1


def test_any_range_of_a_stream_is_the_same() -> None:
    stream = Stream(7, 44)
    whole = stream.draw(draw_skewed, 0, 3 * BLOCK)
    for first, count in ((0, 5), (BLOCK - 1, 2), (BLOCK, BLOCK), (10, 2 * BLOCK + 7)):
        np.testing.assert_array_equal(stream.draw(draw_skewed, first, count), whole[:, first : first + count])
    assert not np.array_equal(whole[:, :BLOCK], whole[:, BLOCK : 2 * BLOCK])
    assert not np.array_equal(Stream(8, 44).draw(draw_skewed, 0, 5), whole[:, :5])
    assert not np.array_equal(Stream(7, 34).draw(draw_skewed, 0, 5), whole[:, :5])


def test_the_gamma_prior_is_the_one_that_was_set() -> None:
    settings = SpreadSettings(gamma_shape=2, gamma_scale=50)
    made = make("paper", [(4000, 4_000_000, 4_100_000, 4_200_000, 40_000_000_000)], settings=settings)
    share = made.m1emp / made.m1emp.mean()
    # Gamma(2) shares vary by 1/√2, and the Dirichlet adds 1/(2 · 50) to the square of that
    assert share.std() == pytest.approx(math.sqrt(1 / 2 + 1 / 100), rel=0.05)


def test_the_noise_of_month_2_is_the_one_that_was_set() -> None:
    cells = [(4000, 4_000_000, 6_000_000, 8_000_000, 10**9)]
    for eta in (0.5, 5000.0):
        made = make("paper", cells, settings=SpreadSettings(eta=eta))
        middle = (made.m1emp + made.m3emp) / 2
        deviation = made.m2emp - middle * made.m2emp.sum() / middle.sum()
        variance = 2 * eta * np.mean(np.abs(made.m3emp - made.m1emp) / (made.m1emp + made.m3emp))
        assert deviation.var() == pytest.approx(variance + 1 / 12, rel=0.1)  # and what rounding adds


def test_the_size_spread_is_the_one_that_was_set() -> None:
    cells = [(4000, 40_000_000, 41_000_000, 42_000_000, 400_000_000_000)]
    made = make("skewed", cells, settings=SpreadSettings(size_spread=0.5))
    assert np.log(made.m2emp).std() == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize("name", ["gamma_shape", "gamma_scale", "eta", "size_spread"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_settings_are_positive_numbers(name: str, value: float) -> None:
    with pytest.raises(GedpError, match=name):
        SpreadSettings(**{name: value})


@st.composite
def cells_with_classes(draw: st.DrawFn) -> tuple[list[tuple[int, int, int, int, int]], IntArray]:
    """Cells whose month 3 is anything that their size classes allow."""
    counts = draw(
        st.lists(st.lists(st.integers(0, 3), min_size=12, max_size=12).filter(any), min_size=1, max_size=5).map(
            np.array
        )
    )
    least, most = possible_jobs(counts)
    cells = []
    for row, low, high in zip(counts, least, most, strict=True):
        m3emp = draw(st.integers(int(low), int(min(high, low + 60_000))))
        cells.append((int(row.sum()), draw(st.integers(0, 9000)), draw(st.integers(0, 9000)), m3emp, 10**6))
    return cells, counts


@given(cells_with_classes(), st.integers(0, 2**32))
def test_classes_are_reproduced_and_add_up(given_cells: tuple[list[tuple[int, ...]], IntArray], seed: int) -> None:
    cells, counts = given_cells
    made = make("classes", cells, seed, classes=counts)  # type: ignore[arg-type]
    first = 0
    for (estabs, *totals), row in zip(cells, counts, strict=True):
        inside = slice(first, first + estabs)
        values = [column[inside] for column in (made.m1emp, made.m2emp, made.m3emp, made.wage)]
        assert [int(value.sum()) for value in values] == totals
        assert np.bincount(cbp_class(values[2]), minlength=12).tolist() == row.tolist()
        with_a_job = int((row * np.maximum(LEAST_JOBS, 1)).sum())
        assert (values[2] == 0).sum() == max(with_a_job - totals[2], 0)
        first += estabs


def test_a_small_cell_by_class_by_hand() -> None:
    classes = np.zeros((1, 12), np.int64)
    classes[0, [0, 1, 3]] = 2, 1, 1
    made = make("classes", [(4, 30, 30, 8 + 9 + 49, 10**6)], classes=classes)  # all at the upper ends
    assert sorted(made.m3emp.tolist()) == [4, 4, 9, 49]
    made = make("classes", [(4, 30, 30, 1 + 5 + 20, 10**6)], classes=classes)  # one has to do without a job
    assert sorted(made.m3emp.tolist()) == [0, 1, 5, 20]


def test_places_in_a_cell_say_nothing_of_size() -> None:
    classes = np.array([[3000, 1000, 500, 300, 150, 40, 8, 2, 0, 0, 0, 0]])
    made = make("classes", [(5000, 60_000, 60_000, 60_000, 10**9)], classes=classes)
    correlation = np.corrcoef(np.arange(5000), np.log(made.m3emp))[0, 1]
    assert abs(correlation) < 4 / math.sqrt(5000)


def test_sizes_in_a_class_follow_zipf() -> None:
    """Of sizes a to b, those of x or more are (1/x − 1/(b + 1)) / (1/a − 1/(b + 1)); uniform ones are told apart."""
    uniform = np.random.default_rng(8).random(40_000)
    sizes = zipf(np.full(40_000, 20), np.full(40_000, 49.0), uniform)
    edges = np.arange(20, 51)
    tail = (1 / edges - 1 / 50) / (1 / 20 - 1 / 50)
    observed = np.bincount(sizes.astype(int) - 20, minlength=30)
    assert stats.chisquare(observed, 40_000 * -np.diff(tail)).pvalue > 1e-3
    flat = np.bincount(np.floor(20 + 30 * uniform).astype(int) - 20, minlength=30)
    assert stats.chisquare(flat, 40_000 * -np.diff(tail)).pvalue < 1e-9


def test_months_and_pay_follow_month_3_by_class() -> None:
    classes = np.zeros((1, 12), np.int64)
    classes[0, 8] = 400
    made = make("classes", [(400, 500_000, 490_000, 480_000, 10**10)], classes=classes)
    assert np.log(made.m3emp / made.m1emp).std() == pytest.approx(0.05, rel=0.15)
    pay = made.wage / (made.m1emp + made.m2emp + made.m3emp)
    assert np.log(pay).std() == pytest.approx(0.35, rel=0.15)


def test_division_by_class_needs_the_classes() -> None:
    with pytest.raises(GedpError, match="size classes"):
        make("classes", [(4, 10, 10, 10, 10)])
