from dataclasses import replace

import numpy as np
import pytest

from gedp.arrays import FloatArray
from gedp_lab.synth.cbp.employment import Employment
from gedp_lab.synth.cbp.regression import FitSummary
from gedp_lab.synth.cbp.wages import WageInput, earned, model_terms, wage_upper_bound, wages_naics4
from tests.lab.synth.cbp.test_employment import REGRESSION, FixedNormals

NAN = np.nan


def cells_like(count: int, **changed: FloatArray) -> WageInput:
    """Cells with nothing published above or inside them but what is given."""
    columns = {name: np.full(count, NAN) for name in WageInput.__dataclass_fields__ if "known" not in name}
    columns |= {name: np.zeros(count) for name in WageInput.__dataclass_fields__ if "known" in name}
    columns |= {"withheld_naics6": np.zeros(count)}
    labels = {"state": np.array(["44"] * count), "sector": np.array(["23"] * count)}
    return WageInput(**(columns | labels | changed))


def employment_of(m1: FloatArray, m2: FloatArray, m3: FloatArray) -> Employment:
    return Employment(m1, m2, m3, np.zeros(len(m1), bool), FitSummary("employment", 1, 0, 0, 0, 0))


def test_upper_bounds_by_hand() -> None:
    # In turn: NAICS-3 published (it wins over the sector), the sector, the county, nothing.
    cells = cells_like(
        4,
        payroll_naics3=np.array([90e3, NAN, NAN, NAN]),
        known_in_naics3=np.array([70e3, 5e3, 5e3, 5e3]),
        payroll_sector=np.array([500e3, 500e3, NAN, NAN]),
        known_in_sector=np.array([100e3, 100e3, 3e3, 3e3]),
        payroll_county=np.array([900e3, 900e3, 900e3, NAN]),
        known_in_county=np.array([600e3, 600e3, 600e3, 0]),
    )
    assert wage_upper_bound(cells).tolist() == [20e3, 400e3, 300e3, np.inf]


def test_earnings_times_the_jobs_of_three_months() -> None:
    employment = employment_of(np.array([10.0]), np.array([11.0]), np.array([12.0]))
    assert earned(np.array([4000.0]), employment).tolist() == [132_000]


def test_terms_of_the_wage_model() -> None:
    terms = model_terms(np.array([10.0]), np.array([3.0]))
    assert [float(column[0]) for column in terms.values()] == [3, 10, 30, 100, 1000]


def square_world() -> tuple[WageInput, Employment]:
    """Twelve published cells with sqrt(payroll - known) = 50 + 4 M + 2 m3 + 0.5 m3 M, and three withheld."""
    m3 = np.array([3.0, 8, 15, 21, 30, 44, 52, 60, 75, 81, 90, 97, 20, 20, 20])
    withheld = np.array([0.0, 1, 2, 0, 1, 3, 2, 0, 1, 2, 3, 1, 2, 2, 2])
    known = np.array([0.0, 500, 800, 0, 200, 0, 100, 0, 0, 300, 0, 0, 1000, 1000, 1000])
    root = 50 + 4 * withheld + 2 * m3 + 0.5 * m3 * withheld
    payroll = root**2 + known
    payroll[12:] = NAN
    earnings = np.full(15, NAN)
    earnings[13:] = [500.0, 10.0]
    cells = cells_like(15, earnings=earnings, payroll=payroll, known_naics6=known, withheld_naics6=withheld)
    return cells, employment_of(m3, m3, m3)


def test_wages_by_hand() -> None:
    cells, employment = square_world()
    result = wages_naics4(cells, employment, FixedNormals(0.0), REGRESSION)
    assert result.wage[:12] == pytest.approx(cells.payroll[:12])
    assert result.wage[12] == pytest.approx((50 + 8 + 40 + 20) ** 2 + 1000)  # the model
    assert result.wage[13] == pytest.approx(500 * 60)  # earnings x 20 jobs x 3 months
    assert result.wage[14] == pytest.approx(1000)  # 10 x 60 is below the published NAICS-6 cells
    assert result.from_payroll.tolist() == [True] * 12 + [False] * 3
    assert result.from_model.tolist() == [False] * 12 + [True, False, False]
    assert result.from_earnings.tolist() == [False] * 13 + [True, True]
    assert result.fit is not None
    assert result.fit.observations == 12
    assert result.fit.r_squared == pytest.approx(1)


def test_the_upper_bound_holds_where_payroll_is_withheld_and_only_there() -> None:
    cells, employment = square_world()
    bounded = replace(cells, payroll_county=np.full(15, 6000.0))
    result = wages_naics4(bounded, employment, FixedNormals(0.0), REGRESSION)
    assert result.wage[:12] == pytest.approx(cells.payroll[:12])
    assert result.wage[12:].tolist() == [6000, 6000, 1000]


def test_bounds_at_odds_leave_the_lower_one() -> None:
    cells, employment = square_world()
    result = wages_naics4(replace(cells, payroll_county=np.full(15, 900.0)), employment, FixedNormals(0.0), REGRESSION)
    assert result.wage[12:].tolist() == [1000, 1000, 1000]


def test_noise_enters_before_squaring() -> None:
    rng = np.random.default_rng(4)
    cells, employment = square_world()
    noisy = replace(cells, payroll=cells.payroll * rng.uniform(0.9, 1.1, 15))
    low, mid, high = (
        wages_naics4(noisy, employment, FixedNormals(z), REGRESSION).wage[12] - 1000 for z in (-1.0, 0.0, 1.0)
    )
    assert np.sqrt(high) - np.sqrt(mid) == pytest.approx(np.sqrt(mid) - np.sqrt(low))
    assert high > mid > low


def test_donors_give_their_pay_per_job() -> None:
    """Every published cell pays 1,000 per job of month 3, so the withheld one does; bounds hold as before."""
    cells, employment = square_world()
    alike = replace(cells, payroll=np.where(np.isnan(cells.payroll), NAN, 1000 * employment.m3))
    result = wages_naics4(alike, employment, np.random.default_rng(0))
    assert result.wage[12] == pytest.approx(20_000)
    assert result.wage[13:] == pytest.approx([30_000, 1000])
    assert result.fit is None
    low = wages_naics4(replace(alike, payroll_county=np.full(15, 6000.0)), employment, np.random.default_rng(0))
    assert low.wage[12] == 6000
