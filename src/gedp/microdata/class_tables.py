"""Tables by classes of any grouping that the measured entries make up, with errors from the covariance of their fit.

Numbers of establishments are fitted to the public numbers, sums to the totals of the microdata, so that tables add up.
Where the microdata are non-negative or whole, so are tables by classes: groups still add up to the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from gedp.arrays import BoolArray, FloatArray, multiples
from gedp.errors import Fault, FaultsError
from gedp.estimates import EXACT, UNCONSTRAINED, Estimates
from gedp.microdata.agreement import AgreedFit, Agreement, GroupTotals
from gedp.microdata.answers import TableEntries, read_entries
from gedp.microdata.cells import PublicRows
from gedp.microdata.combinations import parts_of
from gedp.microdata.constraints.rounding import Kept, round_rows
from gedp.microdata.fitted import MicrodataFit
from gedp.microdata.row_totals import totals_of_rows
from gedp.partitions import Partition
from gedp.policy import COUNT, Spec

KEPT_CELLS = 12  # groupings of entries that are remembered


def has_classes(spec: Spec, by: Sequence[str]) -> bool:
    """Whether a grouping has classes of a confidential attribute."""
    return any(key in spec.classes for key in by)


def asked_by_class(spec: Spec, by: Sequence[str]) -> list[str]:
    """What was asked by all classes of a grouping: the number of establishments, then attributes."""
    wanted = {key for key in by if key in spec.classes}
    found = {name for query in spec.by_classes if wanted <= set(query.classes) for name in query.asked}
    return [name for name in (COUNT, *spec.policy.attributes) if name in found]


def possible_by_class(microdata: MicrodataFit, by: Sequence[str]) -> list[str]:
    """What was asked by classes that a grouping with classes can be made for."""
    return [
        name
        for name in asked_by_class(microdata.public_rows.spec, by)
        if any(all(map(each.public_rows.knows, by)) for each in _tables(microdata, name))
    ]


def require_class_keys(public_rows: PublicRows, by: Sequence[str]) -> None:
    """Rejects names that are neither classes that were asked for nor public keys, all in one error."""
    spec = public_rows.spec
    asked = {name for query in spec.by_classes for name in query.classes}
    faults = [
        Fault("by", f"no query groups by the classes {name!r}", "Name others")
        for name in by
        if name in spec.classes and name not in asked
    ]
    tables = [read_entries(public_rows, query, query.asked[0]).public_rows for query in spec.by_classes]
    plain = [name for name in by if name not in spec.classes]
    faults += [public_rows.unknown(n) for n in plain if not any(each.knows(n) for each in (public_rows, *tables))]
    if faults:
        raise FaultsError(public_rows.source.name, faults)


def class_totals(microdata: MicrodataFit, by: Sequence[str], names: Sequence[str]) -> Iterator[GroupTotals]:
    """What was asked about every group of a grouping with classes."""
    possible = possible_by_class(microdata, by)
    if refused := [name for name in names if name not in possible]:
        raise _not_determined(microdata, by, refused, possible)
    for name in names:
        fit = fit_classes(microdata, name)
        found = fit.table(by)
        if microdata.constraints.named:
            values = _constrained(microdata, fit, by, name)
            found = replace(found, totals=Estimates.of_kind(values, found.totals.variance, UNCONSTRAINED))
        yield found
        found.public_rows.forget_cells(KEPT_CELLS)


def fit_classes(microdata: MicrodataFit, name: str) -> AgreedFit:
    """All tables by classes of one thing that was asked by classes, fitted once."""
    if name not in microdata.class_fits:
        tables = _tables(microdata, name)
        answers, variances = [each.answers for each in tables], [each.variances for each in tables]
        known = [_known(microdata, each, name) for each in tables]
        exact = name == COUNT or (name in microdata.fits and microdata.fits[name].exact)
        microdata.class_fits[name] = AgreedFit(Agreement(tables), answers, variances, known, exact)
    return microdata.class_fits[name]


def _tables(microdata: MicrodataFit, name: str) -> Sequence[TableEntries]:
    """All answers by classes about one thing, read once where they were fitted."""
    if name in microdata.class_fits:
        return microdata.class_fits[name].tables
    rows = microdata.public_rows
    return [read_entries(rows, query, name) for query in rows.spec.by_classes if name in query.asked]


def _known(microdata: MicrodataFit, table: TableEntries, name: str) -> Estimates | None:
    """What public groups add up to: public numbers of establishments, or the totals of the microdata."""
    rows = microdata.public_rows
    if name in microdata.fits:
        found = totals_of_rows(microdata, name, rows.cells(table.public))
        return replace(found, variance=np.nan_to_num(found.variance))
    if name != COUNT or (table.public and not rows.lists_establishments):
        return None
    counts = rows.establishments_in(rows.cells(table.public)) if table.public else None
    known = np.array([rows.source.manifest.establishments]) if counts is None else counts
    return Estimates.of_kind(known.astype(np.float64), np.zeros(len(known)), EXACT)


def _constrained(microdata: MicrodataFit, fit: AgreedFit, by: Sequence[str], name: str) -> FloatArray:
    """Numbers of establishments or sums that are not negative, or whole units, as the microdata are."""
    if len(fit.tables) > 1:
        problem = "several tables by classes would have to stay in agreement"
        hint = "Leave out --nonnegative, --whole and --rounding whole, or make the microdata without them"
        raise FaultsError(microdata.public_rows.source.name, [Fault("constraints", problem, hint)])
    (table,), (values,) = fit.tables, fit.fitted
    groups = table.public_rows.cells(table.public)
    totals = groups.sums(values)
    attribute = microdata.public_rows.spec.policy.attributes.get(name)
    if microdata.constraints.nonnegative:
        values = nonnegative(values, table.variances > 0, table.variances, groups, totals)
    if microdata.constraints.whole:
        exactly = Decimal(1) if attribute is None else attribute.unit
        unit = float(exactly)
        units = totals / unit
        exact = np.where(np.abs(units - np.rint(units)) < 1e-6, np.rint(units), np.nan)
        rounded = round_rows(values / unit, Partition.single(len(values)), [Kept(groups, exact)])
        values = multiples(rounded.values * unit, exactly)
    return table.public_rows.cells(by).sums(values)


def nonnegative(
    values: FloatArray, free: BoolArray, variances: FloatArray, groups: Partition, totals: FloatArray
) -> FloatArray:
    """The nearest values that are not negative, with the same totals: what is cut off is shared by the others.

    Nearest in units of the noise, so that in every group a common multiple of the variances is added to those above 0.
    """
    result, positive = values, free.copy()
    while True:
        fixed = np.where(positive, 0.0, np.where(free, 0.0, values))
        missing = totals - groups.sums(fixed + np.where(positive, values, 0.0))
        weights = groups.sums(np.where(positive, variances, 0.0))
        share = np.divide(missing, weights, out=np.zeros_like(missing), where=weights > 0)
        result = np.where(positive, values + variances * share[groups.group_of], fixed)
        below = positive & (result < 0)
        if not below.any():
            return np.maximum(result, 0.0)
        positive &= ~below


def _not_determined(
    microdata: MicrodataFit, by: Sequence[str], names: Sequence[str], possible: Sequence[str]
) -> FaultsError:
    """Says what can be asked for instead; `possible` is what there is by these very keys."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_instead(microdata, by, name, possible), []).append(name)
    faults = [
        Fault("by", f"no answers determine {', '.join(of)} by {' x '.join(by)}", hint) for hint, of in alike.items()
    ]
    return FaultsError(microdata.public_rows.source.name, faults)


def _instead(microdata: MicrodataFit, by: Sequence[str], name: str, possible: Sequence[str]) -> str:
    """What to ask for in the place of a figure that no answers determine: nothing that would be rejected too."""
    spec = microdata.public_rows.spec
    if made := [" x ".join(query.by) for query in spec.by_classes if name in query.asked]:
        return f"Tables can be made by {', '.join(made)}, and by what these add up to"
    classes, public = ([key for key in by if (key in spec.classes) is classed] for classed in (True, False))
    parts = parts_of(spec, [name])
    is_known_without = all(part in microdata.attributes and microdata.allows(public, part) for part in parts)
    hints = [f"choose among these figures: {', '.join(possible)}"] if possible else []
    hints += [f"leave out {' and '.join(classes)}"] if is_known_without else []
    hint = ", or ".join(hints) or "name other keys"
    return f"{hint[0].upper()}{hint[1:]}"
