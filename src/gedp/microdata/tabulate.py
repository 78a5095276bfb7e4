"""Tables of any grouping from the microdata, with errors from the covariance of the fit."""

from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

from gedp.arrays import sum_by
from gedp.errors import DomainError, Fault, FaultsError
from gedp.microdata.cells import Cells, PublicRows
from gedp.microdata.fit import Microdata
from gedp.microdata.ratios import Estimates, Ratio, Totals, estimate, parse_ratios
from gedp.microdata.variances import group_variances
from gedp.policy.model import CONSTRAINTS


def tabulate(
    microdata: Microdata,
    by: str | Sequence[str],
    attributes: str | Sequence[str] | None = None,
    confidence: float | None = None,
    ratios: Sequence[str | Ratio] = (),
) -> pa.Table:
    """Estimate, standard error, coefficient of variation and confidence interval for every group that occurs.

    Without `attributes` there are all of them that this grouping can be made for, or none where there are ratios. Where
    the microdata have values of the rows it can be any grouping, else one whose groups are made of measured groups; the
    others are refused.

    `variance_kind` says whether the errors are exact, estimated (some variance depends on the truth, and was taken at
    the fitted value), delta (approximate, for a ratio), unconstrained (values were bounded or rounded, and the errors
    are those from before), or unknown: then there are none, since cells were divided by public weights or the
    denominator of a ratio is not clearly different from 0.
    """
    by = list(dict.fromkeys([by] if isinstance(by, str) else by))
    require_keys(microdata.public_rows, by)
    asked = _asked(microdata, by, attributes, ratios)
    confidence = _confidence(microdata, confidence)
    needed = _needed(microdata, asked)
    if refused := [name for name in needed if not microdata.allows(by, name)]:
        raise _not_determined(microdata, by, refused)
    keys, totals = _grouped(microdata, by, needed)
    parts = []
    for ratio in asked:
        found = estimate(ratio, totals, confidence)
        names = pa.array([ratio.name] * len(found.estimate), pa.string())
        parts.append(pa.table({**keys, "attribute": names, **found.columns()}))
    return pa.concat_tables(parts)


def require_keys(public_rows: PublicRows, by: Sequence[str]) -> None:
    """Refuses names that are not public columns or groupings, all in one error; what they allow is seen later."""
    if public_rows.has_rows:
        public_rows.keys(by)
        return
    whole = PublicRows(
        public_rows.source,
        public_rows.spec,
        True,
        True,
        [pa.table({name: [""] for name in public_rows.spec.data.public})],
    )
    faults = [whole.unknown(name) for name in by if not whole.knows(name)]
    if faults:
        raise FaultsError(public_rows.source.name, faults)


def _asked(
    microdata: Microdata, by: Sequence[str], attributes: str | Sequence[str] | None, ratios: Sequence[str | Ratio]
) -> list[Ratio]:
    """The lines of the table, attributes first."""
    attributes = [attributes] if isinstance(attributes, str) else attributes
    wanted = attributes or ()
    if attributes is None and not ratios:
        possible = [name for name in microdata.attributes if microdata.allows(by, name)]
        wanted = possible or microdata.attributes  # none: all are refused below
    plain = [Ratio(name, {name: 1.0}) for name in dict.fromkeys(wanted)]
    parsed = iter(parse_ratios([item for item in ratios if isinstance(item, str)]))
    asked = [*plain, *(next(parsed) if isinstance(item, str) else item for item in ratios)]
    if not asked:
        raise DomainError("there is no attribute or ratio to make a table of")
    if repeated := [name for name, times in Counter(ratio.name for ratio in asked).items() if times > 1]:
        raise DomainError(f"more than one line would be called {', '.join(repeated)}. Choose other names")
    return asked


def _grouped(
    microdata: Microdata, by: Sequence[str], names: Sequence[str]
) -> tuple[dict[str, pa.Array], dict[str, Totals]]:
    """The keys of every group, and the totals of every attribute in the same order."""
    public_rows, totals = microdata.public_rows, dict[str, Totals]()
    of_rows = [name for name in names if name in microdata.fits]
    groups = public_rows.cells(by) if of_rows else None
    for name in of_rows:
        totals[name] = _totals(microdata, name, public_rows.cells(by))
    for name in (name for name in names if name in microdata.measured):
        measured = microdata.measured[name]
        table = measured.table(by)
        totals[name] = Totals(table.totals, table.variances, "exact" if measured.exact else "estimated")
        if groups is None:
            public_rows, groups = table.public_rows, table.groups
        if table.groups.count != groups.count:
            problem = Fault("tables", f"they do not have the same groups by {_named(by)}", "Get a fresh copy")
            raise FaultsError(public_rows.source.name, [problem])
    return {key: _texts(public_rows, key, groups) for key in by if groups is not None}, totals


def _not_determined(microdata: Microdata, by: Sequence[str], names: Sequence[str]) -> FaultsError:
    """Says which tables can be made instead."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(", ".join(microdata.measured[name].groupings()), []).append(name)
    faults = []
    for measured, of in alike.items():
        hint = (
            f"Tables can be made by {measured}, and by what these add up to; a query by establishment would allow any"
        )
        faults.append(Fault("by", f"no answers determine {', '.join(of)} by {_named(by)}", hint))
    return FaultsError(microdata.public_rows.source.name, faults)


def _named(by: Sequence[str]) -> str:
    return " x ".join(by) or "the total"


def estimate_groups(
    microdata: Microdata, groups: Cells, ratios: Sequence[Ratio], confidence: float | None = None
) -> list[Estimates]:
    """Each ratio for every group of rows."""
    confidence = _confidence(microdata, confidence)
    needed = _needed(microdata, ratios)
    if without := [name for name in needed if name in microdata.measured]:
        problem = f"{', '.join(without)}: the answers determine no rows to add up, only tables of measured groups"
        raise FaultsError(
            microdata.public_rows.source.name, [Fault("attribute", problem, "Tabulate by such a grouping")]
        )
    totals = {name: _totals(microdata, name, groups) for name in needed}
    return [estimate(ratio, totals, confidence) for ratio in ratios]


def _confidence(microdata: Microdata, confidence: float | None) -> float:
    confidence = float(microdata.public_rows.spec.output.confidence) if confidence is None else confidence
    if not 0 < confidence < 1:
        raise DomainError("a confidence is between 0 and 1")
    return confidence


def _needed(microdata: Microdata, ratios: Sequence[Ratio]) -> list[str]:
    """The attributes in some ratios, each once."""
    needed = list(dict.fromkeys(name for ratio in ratios for name in ratio.attributes))
    unknown = [name for name in needed if name not in microdata.attributes]
    if unknown:
        raise DomainError(f"not fitted: {', '.join(unknown)}. There are: {', '.join(microdata.attributes)}")
    return needed


def _totals(microdata: Microdata, name: str, groups: Cells) -> Totals:
    fit, public_rows = microdata.fits[name], microdata.public_rows
    variance = group_variances(fit, public_rows.cells_of(name), groups)
    is_changed = any(name in fit.constrained for name in CONSTRAINTS)  # after the fit, from which errors come
    kind = "unconstrained" if is_changed else "exact" if fit.exact else "estimated"
    return Totals(sum_by(groups.of_row, fit.values, groups.count), variance, kind)


def _texts(public_rows: PublicRows, key: str, groups: Cells) -> pa.Array:
    return pa.array(public_rows.key(key)[1], pa.string()).take(pa.array(groups.codes[key]))
