"""Monthly employment of county x NAICS-4 cells: the paper's Algorithms "Employment for County by NAICS-4" and
"Month 2 Employment".

Two departures, both in `docs/synthetic-data-cbp.md`: as printed, the county adjustment adds the missing
employment to modelled cells that already hold an estimate of it, so that a county ends up with too much;
`adjust_to_county` makes them add up to it instead, unless `as_printed`. And a modelled month 1 below zero is
raised to zero before month 2 is drawn, whose variance is otherwise undefined.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from gedp.arrays import BoolArray, FloatArray, IntArray
from gedp.errors import GedpError
from gedp_lab.synth.cbp.divide import group_sum
from gedp_lab.synth.cbp.donors import donors_among
from gedp_lab.synth.cbp.regression import FitSummary, Labels, OutlierRule, PredictionNoise, columns_at, fit_regression

Imputation = Literal["donors", "regression"]
ETA_NAICS4 = 1.69


@dataclass(frozen=True)
class EmploymentInput:
    """County x NAICS-4 cells that QWI and the imputed CBP share; NaN where QWI withholds a figure."""

    state: Labels
    sector: Labels
    county: IntArray  # index into the county arrays
    establishments: FloatArray
    emp: FloatArray  # QWI, beginning of the quarter
    emp_end: FloatArray  # QWI, end of the quarter
    emp_stable: FloatArray  # QWI, employed through the whole quarter
    imputed_emp: FloatArray  # imputed CBP, month 3
    county_emp: FloatArray  # per county: QWI, all industries
    county_emp_elsewhere: FloatArray  # per county: QWI's published cells of industries outside CBP
    least_m3: FloatArray | float = 0.0  # what the size classes of CBP allow in month 3, where they are used
    most_m3: FloatArray | float = np.inf


@dataclass(frozen=True)
class EmploymentOptions:
    """`impute`: withheld figures come from donors, or from a regression, as in the paper. `noise`: add the error
    of a single prediction of the regression, or only that of the fitted mean. `as_printed`: the county
    adjustment of the paper to the letter.
    """

    eta: float = ETA_NAICS4
    impute: Imputation = "donors"
    noise: PredictionNoise = "prediction"
    as_printed: bool = False
    outliers: OutlierRule = field(default_factory=OutlierRule)

    def __post_init__(self) -> None:
        if not 0 < self.eta < np.inf:
            raise GedpError("eta: must be a number above 0.")


@dataclass(frozen=True)
class Employment:
    """Employment of the three months, and where month 1 came from the model."""

    m1: FloatArray
    m2: FloatArray
    m3: FloatArray
    modelled: BoolArray
    fit: FitSummary | None  # none if imputed from donors


def month_two(eta: float, m1: FloatArray, m3: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Algorithm "Month 2 Employment": midway between the months, with normal noise of variance
    2 eta |m3 - m1| / (m3 + m1); where that is not positive, 1, or 0 if a month has nobody."""
    total = m1 + m3
    nobody = total == 0
    variance = 2 * eta * np.abs(m3 - m1) / np.where(nobody, 1.0, total)
    drawn = (m1 + m3) / 2 + rng.standard_normal(len(m1)) * np.sqrt(variance)
    floor = np.where((m1 == 0) | (m3 == 0), 0.0, 1.0)
    result: FloatArray = np.where(nobody, 0.0, np.where(drawn <= 0, floor, drawn))
    return result


def stable_floor(month: FloatArray, emp_stable: FloatArray) -> FloatArray:
    """A month employs at least those who work the whole quarter, where published, and never fewer than 0."""
    return np.maximum(month, np.where(np.isnan(emp_stable), 0.0, emp_stable))


def adjust_to_county(
    m1: FloatArray,
    emp: FloatArray,
    county: IntArray,
    county_emp: FloatArray,
    county_emp_elsewhere: FloatArray,
    *,
    as_printed: bool = False,
) -> FloatArray:
    """Modelled cells share what the county's published total leaves after its published cells: in
    proportion to the model, equally where the model says 0 for all. A county whose total is withheld is
    left alone. `emp` is as published, without the floor of stable employment that `m1` has; NaN where modelled.

    As printed in the paper, that remainder is added to what the model said rather than replacing it, and
    published cells of industries outside CBP are not taken off first.
    """
    counties, modelled = len(county_emp), np.isnan(emp)
    published = group_sum(np.where(modelled, 0.0, emp), county, counties)
    from_model = group_sum(np.where(modelled, m1, 0.0), county, counties)
    cells = group_sum(modelled.astype(np.float64), county, counties)
    remainder = county_emp - published
    if not as_printed:
        remainder = np.maximum(remainder - county_emp_elsewhere, 0.0)
    share = np.where(
        from_model[county] != 0,
        m1 / np.where(from_model == 0, 1.0, from_model)[county],
        1.0 / np.maximum(cells, 1.0)[county],
    )
    kept = m1 if as_printed else 0.0
    adjusted = kept + remainder[county] * share
    result: FloatArray = np.maximum(np.where(modelled & ~np.isnan(county_emp)[county], adjusted, m1), 0.0)
    return result


def _from_regression(
    cells: EmploymentInput, m3: FloatArray, modelled: BoolArray, rng: np.random.Generator, options: EmploymentOptions
) -> tuple[FloatArray, FitSummary]:
    """Draws of month 1 from a linear model in month 3, establishments, state and sector, fitted where QWI publishes
    both ends of the quarter."""
    both = ~modelled & ~np.isnan(cells.emp_end)
    numbers = {"month 3": m3, "establishments": cells.establishments}
    labels = {"state": cells.state, "sector": cells.sector}
    model = fit_regression(
        "employment", cells.emp[both], columns_at(numbers, both), columns_at(labels, both), options.outliers
    )
    drawn = model.draw(columns_at(numbers, modelled), columns_at(labels, modelled), options.noise, rng)
    return np.maximum(drawn, 0.0), model.summary


def _from_donors(cells: EmploymentInput, m3: FloatArray, modelled: BoolArray, rng: np.random.Generator) -> FloatArray:
    """Month 1 by the ratio of month 1 to month 3 of a donor for which QWI publishes both."""
    both = ~modelled & ~np.isnan(cells.emp_end)
    donors = donors_among("month 1", both, cells.sector, m3, cells.emp)
    given: FloatArray = m3[modelled] * donors.give(cells.sector[modelled], m3[modelled], rng)
    return given


def employment_naics4(
    cells: EmploymentInput, rng: np.random.Generator, options: EmploymentOptions | None = None
) -> Employment:
    """Algorithm "Employment for County by NAICS-4".

    Month 3 is QWI's end of quarter, or the imputed CBP, and never outside what the size classes allow. Month 1
    is QWI's beginning of quarter, or imputed from month 3.
    """
    options = options or EmploymentOptions()
    m3 = np.where(np.isnan(cells.emp_end), cells.imputed_emp, cells.emp_end).clip(cells.least_m3, cells.most_m3)
    modelled = np.isnan(cells.emp)
    m1 = cells.emp.copy()
    if options.impute == "donors":
        fit = None
        m1[modelled] = _from_donors(cells, m3, modelled, rng)
    else:
        m1[modelled], fit = _from_regression(cells, m3, modelled, rng, options)
    m2 = month_two(options.eta, m1, m3, rng)
    m1, m2, m3 = (stable_floor(month, cells.emp_stable) for month in (m1, m2, m3))
    m1 = adjust_to_county(
        m1,
        cells.emp,
        cells.county,
        cells.county_emp,
        cells.county_emp_elsewhere,
        as_printed=options.as_printed,
    )
    return Employment(m1, m2, m3, modelled, fit)
