"""Tables by classes of any grouping that the measured entries make up, with errors from the covariance of their fit.

Numbers of establishments are fitted to the public numbers, sums to the totals of the microdata, so that tables add up.
Where the microdata are non-negative or whole, so are tables by classes: groups still add up to the same.
"""

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa

from gedp.arrays import BoolArray, CodeArray, FloatArray, multiples, sum_by
from gedp.errors import Fault, FaultsError
from gedp.microdata.cells import Cells, PublicRows
from gedp.microdata.class_fit import (
    ClassAnswers,
    ClassFit,
    Known,
    public_numbers,
    read_class_answers,
    require_same_groups,
)
from gedp.microdata.combinations import parts_of
from gedp.microdata.constraints.rounding import Grouping, round_rows
from gedp.microdata.fitted import MicrodataFit
from gedp.microdata.ratios import Totals
from gedp.microdata.row_totals import totals_of_rows
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
    """Refuses names that are neither classes that were asked for nor public keys, all in one error."""
    spec = public_rows.spec
    asked = {name for query in spec.by_classes for name in query.classes}
    faults = [
        Fault("by", f"no query groups by the classes {name!r}", "Name others")
        for name in by
        if name in spec.classes and name not in asked
    ]
    tables = [read_class_answers(public_rows, query, query.asked[0]).public_rows for query in spec.by_classes]
    plain = [name for name in by if name not in spec.classes]
    faults += [public_rows.unknown(n) for n in plain if not any(each.knows(n) for each in (public_rows, *tables))]
    if faults:
        raise FaultsError(public_rows.source.name, faults)


def class_totals(
    microdata: MicrodataFit, by: Sequence[str], names: Sequence[str]
) -> tuple[dict[str, pa.Array], dict[str, Totals]]:
    """The keys of every group of a grouping with classes, and what was asked about it, in the same order."""
    possible = possible_by_class(microdata, by)
    if refused := [name for name in names if name not in possible]:
        raise _not_determined(microdata, by, refused, possible)
    keys, totals = dict[str, pa.Array](), dict[str, Totals]()
    for name in names:
        fit = fit_classes(microdata, name)
        table = fit.table(by)
        values, kind = table.totals, _kind(microdata, name)
        if microdata.constraints.named:
            values, kind = _constrained(microdata, fit, by, name), "unconstrained"
        keys = keys or {key: table.public_rows.texts(key, table.groups) for key in by}
        totals[name] = Totals(values, table.variances, kind)
        table.public_rows.forget_cells(KEPT_CELLS)
    return keys, totals


def fit_classes(microdata: MicrodataFit, name: str) -> ClassFit:
    """All tables by classes of one thing that was asked by classes, fitted once."""
    if name not in microdata.class_fits:
        microdata.class_fits[name] = _fit(microdata, name)
    return microdata.class_fits[name]


def _tables(microdata: MicrodataFit, name: str) -> Sequence[ClassAnswers]:
    """The same as `_answers`, read once where they were fitted."""
    fit = microdata.class_fits.get(name)
    return _answers(microdata.public_rows, name) if fit is None else fit.tables


def _fit(microdata: MicrodataFit, name: str) -> ClassFit:
    tables = _answers(microdata.public_rows, name)
    known = [_known(microdata, each.query.public, name) for each in tables]
    for table, each in zip(tables, known, strict=True):
        require_same_groups(table, each)
    return ClassFit(tables, known)


def _answers(public_rows: PublicRows, name: str) -> list[ClassAnswers]:
    """All answers by classes about one thing."""
    queries = public_rows.spec.by_classes
    return [read_class_answers(public_rows, query, name) for query in queries if name in query.asked]


def _known(microdata: MicrodataFit, public: Sequence[str], name: str) -> Known | None:
    """What public groups add up to: public numbers of establishments, or the totals of the microdata."""
    if name == COUNT:
        return public_numbers(microdata.public_rows, public)
    if name not in microdata.fits:
        return None
    found = totals_of_rows(microdata, name, microdata.public_rows.cells(public))
    return Known(found.estimate, np.nan_to_num(found.variance))


def _kind(microdata: MicrodataFit, name: str) -> str:
    """Numbers of establishments have exact errors; sums are fitted to totals whose errors may be estimated."""
    if name == COUNT:
        return "exact"
    return "exact" if name in microdata.fits and microdata.fits[name].exact else "estimated"


def _constrained(microdata: MicrodataFit, fit: ClassFit, by: Sequence[str], name: str) -> FloatArray:
    """Numbers of establishments or sums that are not negative, or whole units, as the microdata are."""
    if len(fit.tables) > 1:
        problem = "several tables by classes would have to stay in agreement"
        hint = "Leave out --nonnegative, --whole and --rounding whole, or make the microdata without them"
        raise FaultsError(microdata.public_rows.source.name, [Fault("constraints", problem, hint)])
    (table,), (values,) = fit.tables, fit.fitted
    groups, totals = table.groups, sum_by(table.groups.of_row, fit.fitted[0], table.groups.count)
    attribute = microdata.public_rows.spec.policy.attributes.get(name)
    if microdata.constraints.nonnegative:
        values = nonnegative(values, table.variances > 0, table.variances, groups, totals)
    if microdata.constraints.whole:
        exactly = Decimal(1) if attribute is None else attribute.unit
        unit = float(exactly)
        entries, units = np.arange(len(values), dtype=np.int32), totals / unit
        exact = np.where(np.abs(units - np.rint(units)) < 1e-6, np.rint(units), np.nan)
        kept = Grouping(groups.of_row, groups.count, exact)
        values = multiples(round_rows(values / unit, entries, len(values), [kept]).values * unit, exactly)
    wanted = table.public_rows.cells(by)
    return sum_by(wanted.of_row, values, wanted.count)


def nonnegative(
    values: FloatArray, free: BoolArray, variances: FloatArray, groups: Cells, totals: FloatArray
) -> FloatArray:
    """The nearest values that are not negative, with the same totals: what is cut off is shared by the others.

    Nearest in units of the noise, so that in every group a common multiple of the variances is added to those above 0.
    """
    of_group: CodeArray = groups.of_row
    result, positive = values, free.copy()
    while True:
        fixed = np.where(positive, 0.0, np.where(free, 0.0, values))
        missing = totals - sum_by(of_group, fixed + np.where(positive, values, 0.0), groups.count)
        weights = sum_by(of_group, np.where(positive, variances, 0.0), groups.count)
        share = np.divide(missing, weights, out=np.zeros_like(missing), where=weights > 0)
        result = np.where(positive, values + variances * share[of_group], fixed)
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
    """What to ask for in the place of a figure that no answers determine: nothing that would be refused too."""
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
