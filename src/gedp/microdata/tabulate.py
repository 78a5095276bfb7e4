"""Tables of any grouping from the microdata, with errors from the covariance of the fit."""

from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

from gedp.errors import DomainError
from gedp.microdata.cells import Cells
from gedp.microdata.fit import Microdata
from gedp.microdata.ratios import Estimates, Ratio, Totals, estimate, parse_ratios
from gedp.microdata.solve import sum_by
from gedp.microdata.variances import group_variances


def tabulate(
    microdata: Microdata,
    by: str | Sequence[str],
    attributes: str | Sequence[str] | None = None,
    confidence: float | None = None,
    ratios: Sequence[str | Ratio] = (),
) -> pa.Table:
    """Estimate, standard error, coefficient of variation and confidence interval for every group that occurs.

    Without `attributes` there are all of them, or none where there are ratios. `variance_kind` says whether the errors
    are exact, estimated (some variance depends on the truth, and was taken at the fitted value), delta (approximate,
    for a ratio), unconstrained (values were bounded or rounded, and the errors are those from before), or unknown: then
    there are none, since cells were divided by public weights or the denominator of a ratio is not clearly different
    from 0.
    """
    by = [by] if isinstance(by, str) else by
    attributes = [attributes] if isinstance(attributes, str) else attributes
    wanted = (() if ratios else tuple(microdata.fits)) if attributes is None else attributes
    plain = [Ratio(name, {name: 1.0}) for name in dict.fromkeys(wanted)]
    parsed = iter(parse_ratios([item for item in ratios if isinstance(item, str)]))
    asked = [*plain, *(next(parsed) if isinstance(item, str) else item for item in ratios)]
    if not asked:
        raise DomainError("there is no attribute or ratio to make a table of")
    if repeated := [name for name, times in Counter(ratio.name for ratio in asked).items() if times > 1]:
        raise DomainError(f"more than one line would be called {', '.join(repeated)}. Choose other names")
    groups = microdata.frame.cells(by)
    keys = {key: _texts(microdata, key, groups) for key in by}
    parts = []
    for ratio, found in zip(asked, estimate_groups(microdata, groups, asked, confidence), strict=True):
        names = pa.array([ratio.name] * groups.count, pa.string())
        parts.append(pa.table({**keys, "attribute": names, **found.columns()}))
    return pa.concat_tables(parts)


def estimate_groups(
    microdata: Microdata, groups: Cells, ratios: Sequence[Ratio], confidence: float | None = None
) -> list[Estimates]:
    """Each ratio for every group of rows."""
    confidence = float(microdata.frame.spec.output.confidence) if confidence is None else confidence
    if not 0 < confidence < 1:
        raise DomainError("a confidence is between 0 and 1")
    asked = list(dict.fromkeys(name for ratio in ratios for name in ratio.attributes))
    unknown = [name for name in asked if name not in microdata.fits]
    if unknown:
        raise DomainError(f"not fitted: {', '.join(unknown)}. There are: {', '.join(microdata.fits)}")
    totals = {name: _totals(microdata, name, groups) for name in asked}
    return [estimate(ratio, totals, confidence) for ratio in ratios]


def _totals(microdata: Microdata, name: str, groups: Cells) -> Totals:
    fit, frame = microdata.fits[name], microdata.frame
    variance = group_variances(fit, frame.cells_of(name), groups)
    is_bounded = bool(fit.constrained.keys() & {"nonnegative", "whole"})
    kind = "unconstrained" if is_bounded else "exact" if fit.exact else "estimated"
    return Totals(sum_by(groups.of_row, fit.values, groups.count), variance, kind)


def _texts(microdata: Microdata, key: str, groups: Cells) -> pa.Array:
    return pa.array(microdata.frame.key(key)[1], pa.string()).take(pa.array(groups.codes[key]))
