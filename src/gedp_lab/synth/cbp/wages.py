"""Quarterly wages of county x NAICS-4 cells: the paper's Algorithms "Wage for County by NAICS-4" and "Wage
Upper Bound". Everything is in dollars: CBP's payroll was converted when it was read, QWI's earnings are
dollars a month.
"""

from dataclasses import dataclass

import numpy as np

from gedp.arrays import BoolArray, FloatArray
from gedp_lab.synth.cbp.donors import donors_among
from gedp_lab.synth.cbp.employment import Employment, EmploymentOptions
from gedp_lab.synth.cbp.regression import FitSummary, Labels, columns_at, fit_regression


@dataclass(frozen=True)
class WageInput:
    """Cells of QWI and CBP; NaN where a figure is withheld. `known` sums run over published figures only."""

    state: Labels
    sector: Labels
    earnings: FloatArray  # QWI, average monthly earnings
    payroll: FloatArray  # CBP, the cell's own
    known_naics6: FloatArray  # sum of the published payrolls of the NAICS-6 cells inside
    withheld_naics6: FloatArray  # how many NAICS-6 cells inside are withheld
    payroll_naics3: FloatArray
    known_in_naics3: FloatArray  # sum over the NAICS-4 cells of that NAICS-3
    payroll_sector: FloatArray
    known_in_sector: FloatArray  # sum over the NAICS-3 cells of that sector
    payroll_county: FloatArray
    known_in_county: FloatArray  # sum over the sectors of that county


@dataclass(frozen=True)
class Wages:
    """Wages in dollars, and where each came from."""

    wage: FloatArray
    from_payroll: BoolArray
    from_earnings: BoolArray
    from_model: BoolArray
    fit: FitSummary | None  # none if imputed from donors


def wage_upper_bound(cells: WageInput) -> FloatArray:
    """Algorithm "Wage Upper Bound": what the closest published ancestor leaves after its published children:
    NAICS-3, else the sector, else the county. Infinite where none is published."""
    bound = cells.payroll_county - cells.known_in_county
    bound = np.where(np.isnan(cells.payroll_sector), bound, cells.payroll_sector - cells.known_in_sector)
    bound = np.where(np.isnan(cells.payroll_naics3), bound, cells.payroll_naics3 - cells.known_in_naics3)
    return np.where(np.isnan(bound), np.inf, bound)


def earned(earnings: FloatArray, employment: Employment) -> FloatArray:
    """Average monthly earnings times the employment of the three months."""
    return earnings * (employment.m1 + employment.m2 + employment.m3)


def model_terms(m3: FloatArray, withheld_naics6: FloatArray) -> dict[str, FloatArray]:
    """The wage model's numbers: withheld cells M, month 3, their interaction, and month 3 squared and
    cubed.
    """
    return {
        "withheld": withheld_naics6,
        "month 3": m3,
        "month 3 x withheld": m3 * withheld_naics6,
        "month 3 squared": m3**2,
        "month 3 cubed": m3**3,
    }


def wages_naics4(
    cells: WageInput, employment: Employment, rng: np.random.Generator, options: EmploymentOptions | None = None
) -> Wages:
    """Algorithm "Wage for County by NAICS-4".

    CBP's payroll where published; else earnings times employment; else imputed from month 3. The last two are
    at least the payroll of the cell's published NAICS-6 cells and at most the upper bound; where rounding in the
    published figures puts the bounds at odds, the lower one holds.
    """
    options = options or EmploymentOptions()
    published = ~np.isnan(cells.payroll)
    from_earnings = ~published & ~np.isnan(cells.earnings)
    from_model = ~published & ~from_earnings
    wage = np.where(published, cells.payroll, earned(cells.earnings, employment))
    if options.impute == "donors":
        fit = None
        wage[from_model] = _from_donors(cells, employment.m3, published, from_model, rng)
    else:
        wage[from_model], fit = _from_regression(cells, employment.m3, published, from_model, rng, options)
    bounded = np.maximum(np.minimum(wage, wage_upper_bound(cells)), cells.known_naics6)
    return Wages(np.where(published, wage, bounded), published, from_earnings, from_model, fit)


def _from_regression(
    cells: WageInput,
    m3: FloatArray,
    published: BoolArray,
    wanted: BoolArray,
    rng: np.random.Generator,
    options: EmploymentOptions,
) -> tuple[FloatArray, FitSummary]:
    """Draws from a linear model of the square root of what the published NAICS-6 cells leave of the wage."""
    numbers = model_terms(m3, cells.withheld_naics6)
    labels = {"state": cells.state, "sector": cells.sector}
    unexplained = np.maximum(cells.payroll - cells.known_naics6, 0.0)
    model = fit_regression(
        "wage",
        np.sqrt(unexplained[published]),
        columns_at(numbers, published),
        columns_at(labels, published),
        options.outliers,
    )
    root = model.draw(columns_at(numbers, wanted), columns_at(labels, wanted), options.noise, rng)
    return root**2 + cells.known_naics6[wanted], model.summary


def _from_donors(
    cells: WageInput, m3: FloatArray, published: BoolArray, wanted: BoolArray, rng: np.random.Generator
) -> FloatArray:
    """Month 3 times a donor's payroll per job of month 3."""
    donors = donors_among("wages", published, cells.sector, m3, cells.payroll)
    given: FloatArray = m3[wanted] * donors.give(cells.sector[wanted], m3[wanted], rng)
    return given
