"""The whole route: CBP, QWI and the imputed CBP to a table of county x NAICS-6 cells."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gedp.arrays import BoolArray, IntArray
from gedp.progress import NextStep, silent
from gedp_lab.synth.cbp.employment import Employment, EmploymentOptions, employment_naics4
from gedp_lab.synth.cbp.gather import Gathered, gather
from gedp_lab.synth.cbp.inputs import Sources
from gedp_lab.synth.cbp.naics6 import Naics6Cells, naics6_cells
from gedp_lab.synth.cbp.regression import FitSummary
from gedp_lab.synth.cbp.wages import Wages, wages_naics4
from gedp_lab.synth.cells import CELL_SCHEMA, CLASS_SCHEMA
from gedp_lab.synth.sizes import CBP_CLASSES

PRIVATE = "5"


@dataclass(frozen=True)
class Provenance:
    """How many county x NAICS-4 cells of the wanted states got their figures from where, and what CBP has there
    that QWI lacks."""

    naics4_cells: int
    month1_published: int
    month1_modelled: int
    month3_published: int
    month3_imputed: int
    wage_from_payroll: int
    wage_from_earnings: int
    wage_from_model: int
    left_out_cells: int
    left_out_establishments: int


@dataclass(frozen=True)
class RouteResult:
    """Cells in CELL_SCHEMA (or CLASS_SCHEMA, where the sources have size classes), the fits of the two regressions,
    and where the figures came from."""

    cells: pa.Table
    fitted_states: tuple[str, ...]  # FIPS, those that the imputation learned from
    employment_fit: FitSummary | None  # neither is there if withheld figures came from donors
    wage_fit: FitSummary | None
    provenance: Provenance


def cells_from_sources(
    sources: Sources,
    *,
    seed: int = 0,
    options: EmploymentOptions | None = None,
    progress: NextStep = silent,
) -> RouteResult:
    """Runs the paper's algorithms one after the other, on all states of the sources, and keeps the cells of the
    wanted ones. The same sources and seed give the same cells, whichever states are wanted."""
    options = options or EmploymentOptions()
    for_employment, for_wages, for_naics6 = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(3))
    progress("joining the sources")
    gathered = gather(sources)
    progress("employment by county and NAICS-4")
    employment = employment_naics4(gathered.employment, for_employment, options)
    progress("wages by county and NAICS-4")
    wages = wages_naics4(gathered.wages, employment, for_wages, options)
    progress("dividing into NAICS-6")
    imputed = gathered.employment.imputed_emp
    figures = naics6_cells(gathered.naics6, imputed, employment, wages.wage, for_naics6)
    cells = _cell_table(gathered, figures)
    fitted = np.unique(gathered.employment.state)
    wanted = sources.states or tuple(fitted.tolist())
    return RouteResult(
        cells.filter(pc.is_in(cells["state"], pa.array(wanted))),
        tuple(fitted.tolist()),
        employment.fit,
        wages.fit,
        _provenance(gathered, employment, wages, wanted),
    )


def _cell_table(gathered: Gathered, figures: Naics6Cells) -> pa.Table:
    keys = gathered.naics6_keys
    columns: dict[str, pa.Array | pa.ChunkedArray | IntArray] = {
        "state": keys["state"],
        "cnty": keys["cnty"],
        "naics": keys["naics"],
        "own": pa.array([PRIVATE] * keys.num_rows, pa.string()),
        "estabs": gathered.naics6.establishments.astype(np.int64),
        "m1emp": figures.m1,
        "m2emp": figures.m2,
        "m3emp": figures.m3,
        "wage": figures.wage,
    }
    classes = gathered.naics6.classes
    if classes is None:
        return pa.table([columns[name] for name in CELL_SCHEMA.names], schema=CELL_SCHEMA)
    columns |= dict(zip(CBP_CLASSES, classes.T, strict=True))
    return pa.table([columns[name] for name in CLASS_SCHEMA.names], schema=CLASS_SCHEMA)


def _provenance(gathered: Gathered, employment: Employment, wages: Wages, states: Sequence[str]) -> Provenance:
    wanted = np.isin(gathered.employment.state, states)

    def count(cells: BoolArray) -> int:
        return int((cells & wanted).sum())

    withheld = np.isnan(gathered.employment.emp_end)
    return Provenance(
        naics4_cells=count(wanted),
        month1_published=count(~employment.modelled),
        month1_modelled=count(employment.modelled),
        month3_published=count(~withheld),
        month3_imputed=count(withheld),
        wage_from_payroll=count(wages.from_payroll),
        wage_from_earnings=count(wages.from_earnings),
        wage_from_model=count(wages.from_model),
        left_out_cells=gathered.left_out_cells,
        left_out_establishments=gathered.left_out_establishments,
    )
