from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gedp.arrays import FloatArray
from gedp.errors import GedpError
from gedp_lab.synth.cbp.employment import (
    EmploymentInput,
    EmploymentOptions,
    Imputation,
    adjust_to_county,
    employment_naics4,
    month_two,
    stable_floor,
)

NAN = np.nan


REGRESSION = EmploymentOptions(impute="regression")


class FixedNormals(np.random.Generator):
    """A source of randomness whose every standard normal is the same number."""

    def __init__(self, value: float) -> None:
        super().__init__(np.random.PCG64(0))
        self.value = value

    def standard_normal(self, size: int) -> FloatArray:  # type: ignore[override]
        return np.full(size, self.value)


def test_month_two_by_hand() -> None:
    # variance 2 * 0.5 * |30 - 10| / 40 = 0.5, so one standard deviation above the middle is 20 + sqrt(0.5)
    m2 = month_two(0.5, np.array([10.0]), np.array([30.0]), FixedNormals(1.0))
    assert m2 == pytest.approx([20 + np.sqrt(0.5)])


def test_month_two_takes_the_ratio_to_the_average() -> None:
    # the erratum: eta * difference / average, twice what the paper's text says
    rng = np.random.default_rng(1)
    draws = month_two(1.69, np.full(100_000, 40.0), np.full(100_000, 60.0), rng)
    assert draws.mean() == pytest.approx(50, abs=0.02)
    assert draws.var() == pytest.approx(2 * 1.69 * 20 / 100, rel=0.03)


@pytest.mark.parametrize(
    ("m1", "m3", "expected"),
    [(0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (1.0, 2.0, 1.0), (5.0, 5.0, 5.0)],
)
def test_month_two_far_below_zero_is_one_or_zero(m1: float, m3: float, expected: float) -> None:
    assert month_two(50.0, np.array([m1]), np.array([m3]), FixedNormals(-3.0)) == pytest.approx([expected])


def test_stable_employment_is_a_floor_where_published() -> None:
    floored = stable_floor(np.array([5.0, 5.0, -2.0]), np.array([7.0, NAN, NAN]))
    assert floored.tolist() == [7, 5, 0]


def test_county_adjustment_by_hand() -> None:
    # County 0 employs 100: 40 published, so its modelled cells, 10 and 20, share 60 as 20 and 40.
    # County 1 employs 50: 30 published, its two modelled cells say 0 and share 20 equally.
    # County 2 is withheld and left alone.
    m1 = np.array([40.0, 10, 20, 30, 0, 0, 8, 9])
    modelled = np.array([False, True, True, False, True, True, False, True])
    county = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    adjusted = adjust_to_county(m1, np.where(modelled, NAN, m1), county, np.array([100.0, 50, NAN]), np.zeros(3))
    assert adjusted == pytest.approx([40, 20, 40, 30, 10, 10, 8, 9])


def test_the_printed_adjustment_counts_the_model_twice() -> None:
    m1 = np.array([40.0, 10, 20])
    modelled = np.array([False, True, True])
    county = np.zeros(3, np.int64)
    printed = adjust_to_county(m1, np.where(modelled, NAN, m1), county, np.array([100.0]), np.zeros(1), as_printed=True)
    assert printed == pytest.approx([40, 10 + 60 * 10 / 30, 20 + 60 * 20 / 30])
    assert printed.sum() == pytest.approx(130)  # not the county's 100


def test_published_cells_outside_cbp_are_taken_off_the_county_first() -> None:
    m1 = np.array([40.0, 10, 20])
    modelled = np.array([False, True, True])
    county = np.zeros(3, np.int64)
    adjusted = adjust_to_county(m1, np.where(modelled, NAN, m1), county, np.array([100.0]), np.array([15.0]))
    assert adjusted == pytest.approx([40, 15, 30])


def test_a_county_whose_published_cells_exceed_its_total_leaves_nothing() -> None:
    adjusted = adjust_to_county(
        np.array([120.0, 10]), np.array([120, NAN]), np.zeros(2, np.int64), np.array([100.0]), np.zeros(1)
    )
    assert adjusted.tolist() == [120, 0]


def test_the_floor_of_stable_employment_takes_nothing_from_modelled_cells() -> None:
    """The county employs 10,000 and publishes 5,000, where 6,000 work the whole quarter: 5,000 are left, not 4,000."""
    m1, emp = np.array([6000.0, 300, 200]), np.array([5000, NAN, NAN])
    adjusted = adjust_to_county(m1, emp, np.zeros(3, np.int64), np.array([10_000.0]), np.zeros(1))
    assert adjusted == pytest.approx([6000, 3000, 2000])


@given(st.data())
def test_adjusted_counties_add_up(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 12))
    whole = st.integers(0, 1000).map(float)
    m1 = np.array(data.draw(st.lists(whole, min_size=count, max_size=count)))
    modelled = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    county = np.array(data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)))
    totals = np.array(data.draw(st.lists(whole, min_size=3, max_size=3)))
    adjusted = adjust_to_county(m1, np.where(modelled, NAN, m1), county, totals, np.zeros(3))
    assert (adjusted >= 0).all()
    assert (adjusted[~modelled] == m1[~modelled]).all()
    for at, total in enumerate(totals):
        inside = county == at
        published = m1[inside & ~modelled].sum()
        if (inside & modelled).any():
            assert adjusted[inside].sum() == pytest.approx(max(total, published))


def line_world() -> EmploymentInput:
    """Month 1 is exactly 2 + 0.5 month 3 + 3 establishments, so the model predicts it without error."""
    m3 = np.array([10.0, 20, 30, 40, 50, 60, 70, 80])
    establishments = np.array([1.0, 4, 2, 8, 5, 7, 1, 3])
    emp = 2 + 0.5 * m3 + 3 * establishments
    emp[[2, 5]] = NAN
    emp_end = m3.copy()
    emp_end[[5, 6]] = NAN
    return EmploymentInput(
        state=np.array(["44"] * 8),
        sector=np.array(["23"] * 8),
        county=np.zeros(8, np.int64),
        establishments=establishments,
        emp=emp,
        emp_end=emp_end,
        emp_stable=np.full(8, NAN),
        imputed_emp=m3 + 100,
        county_emp=np.array([NAN]),
        county_emp_elsewhere=np.zeros(1),
    )


def test_employment_by_hand() -> None:
    cells = line_world()
    result = employment_naics4(cells, FixedNormals(0.0), REGRESSION)
    assert result.m3.tolist() == [10, 20, 30, 40, 50, 160, 170, 80]  # imputed where QWI withholds the end
    assert result.m1[2] == pytest.approx(2 + 15 + 6)
    assert result.m1[5] == pytest.approx(2 + 80 + 21)  # predicted from the imputed month 3
    assert result.modelled.tolist() == [False, False, True, False, False, True, False, False]
    assert result.m2 == pytest.approx((result.m1 + result.m3) / 2)
    assert result.fit is not None
    assert result.fit.observations == 5
    assert result.fit.r_squared == pytest.approx(1)


def test_stable_employment_lifts_all_three_months() -> None:
    stable = np.full(8, NAN)
    stable[2] = 500.0
    result = employment_naics4(replace(line_world(), emp_stable=stable), FixedNormals(0.0), REGRESSION)
    assert [result.m1[2], result.m2[2], result.m3[2]] == [500, 500, 500]


def test_modelled_cells_share_what_the_county_leaves() -> None:
    cells = line_world()
    published = np.nansum(cells.emp)
    result = employment_naics4(replace(cells, county_emp=np.array([published + 63.0])), FixedNormals(0.0), REGRESSION)
    assert result.m1[[2, 5]] == pytest.approx(np.array([23.0, 103.0]) / 126 * 63)


def test_noise_of_a_prediction_is_wider_than_that_of_the_mean() -> None:
    rng = np.random.default_rng(11)
    cells = line_world()
    noisy = replace(cells, emp=cells.emp + rng.normal(0, 2, 8))
    one, mean = (
        employment_naics4(noisy, FixedNormals(1.0), replace(REGRESSION, noise=noise)).m1[2]
        for noise in ("prediction", "mean")
    )
    at_fit = employment_naics4(noisy, FixedNormals(0.0), REGRESSION).m1[2]
    assert one > mean > at_fit


def test_a_modelled_month_is_never_negative() -> None:
    rng = np.random.default_rng(11)
    cells = line_world()
    noisy = replace(cells, emp=cells.emp + rng.normal(0, 2, 8))
    result = employment_naics4(noisy, FixedNormals(-1000.0), REGRESSION)
    assert (result.m1 >= 0).all()
    assert (result.m2 >= 0).all()


def test_donors_give_the_ratio_of_their_sector() -> None:
    """Month 1 is half of month 3 in one sector and twice it in the other, whatever their sizes."""
    emp_end = np.array([10.0, 20, 30, 40, 50, 60])
    cells = replace(
        line_world(),
        state=np.array(["44"] * 6),
        sector=np.array(["23", "31", "23", "31", "23", "31"]),
        county=np.zeros(6, np.int64),
        establishments=np.ones(6),
        emp=np.array([5.0, 40, NAN, NAN, 25, 120]),
        emp_end=emp_end,
        emp_stable=np.full(6, NAN),
        imputed_emp=emp_end,
    )
    result = employment_naics4(cells, np.random.default_rng(0))
    assert result.m1.tolist() == [5, 40, 15, 80, 25, 120]
    assert result.fit is None


@pytest.mark.parametrize("impute", ["donors", "regression"])
def test_size_classes_bound_month_three(impute: Imputation) -> None:
    least, most = np.zeros(8), np.full(8, np.inf)
    least[0], most[1], most[5] = 12.0, 15.0, 99.0
    cells = replace(line_world(), least_m3=least, most_m3=most)
    result = employment_naics4(cells, FixedNormals(0.0), EmploymentOptions(impute=impute))
    assert result.m3.tolist() == [12, 15, 30, 40, 50, 99, 170, 80]


@pytest.mark.parametrize("eta", [0.0, -1.0, NAN, np.inf])
def test_eta_must_be_a_positive_number(eta: float) -> None:
    with pytest.raises(GedpError, match="eta"):
        EmploymentOptions(eta=eta)
