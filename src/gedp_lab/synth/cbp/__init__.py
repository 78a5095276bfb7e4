"""County x NAICS-6 cells from County Business Patterns, Quarterly Workforce Indicators and the imputed CBP.

Reading order: codes, csvfile, county_patterns and workforce (the three layouts), inputs (their checks),
gather (the joins), divide and regression (tools), employment, wages and naics6 (the paper's algorithms),
route (all of it).
"""

from gedp_lab.synth.cbp.employment import EmploymentOptions
from gedp_lab.synth.cbp.inputs import Sources, read_sources
from gedp_lab.synth.cbp.regression import FitSummary, OutlierRule
from gedp_lab.synth.cbp.route import Provenance, RouteResult, cells_from_sources

__all__ = [
    "EmploymentOptions",
    "FitSummary",
    "OutlierRule",
    "Provenance",
    "RouteResult",
    "Sources",
    "cells_from_sources",
    "read_sources",
]
