"""Totals of attributes that have values of the rows, with the errors that the fit gives them."""

from gedp.estimates import ESTIMATED, EXACT, UNCONSTRAINED, Estimates
from gedp.microdata.fitted import MicrodataFit
from gedp.microdata.variances import group_variances
from gedp.partitions import Partition
from gedp.policy.keys import CONSTRAINTS


def totals_of_rows(microdata: MicrodataFit, name: str, groups: Partition) -> Estimates:
    """The totals of an attribute that has values of the rows, for any groups of rows."""
    fit, cells = microdata.fits[name], microdata.public_rows.cells_of(name)
    variance, of_cells = group_variances(fit, cells, groups), cells.inside(groups)
    is_changed = any(name in fit.constrained for name in CONSTRAINTS)  # after the fit, from which errors come
    kind = UNCONSTRAINED if is_changed else EXACT if fit.exact else ESTIMATED
    totals = groups.sums(fit.values) if of_cells is None else of_cells.sums(fit.totals)
    return Estimates.of_kind(totals, variance, kind).at(groups.asked_for)
