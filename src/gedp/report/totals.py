"""The main totals of a release: all together, and the largest groups of its coarsest groupings.

What the answers do not determine is not shown.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute

from gedp.arrays import IntArray
from gedp.microdata import Microdata
from gedp.microdata.tabulate import possible_lines
from gedp.normal import normal_reach
from gedp.policy import Spec

MOST_SHOWN = 18  # groups
MOST_GROUPINGS = 4
BETWEEN_KEYS = "\N{NO-BREAK SPACE}·\N{NO-BREAK SPACE}"
MOST_GROUPS = {True: 2_000, False: 60}  # that are worth tabulating, by whether the fit is solved directly


@dataclass(frozen=True)
class Amount:
    """A total as the report shows it: an estimate with its margin and relative error."""

    estimate: float
    margin: float | None  # half the width of its confidence interval; None where the answers do not say
    relative: float | None  # standard error relative to the estimate


@dataclass(frozen=True)
class TotalsByGroup:
    """The groups of one grouping, for every attribute that has errors the largest first; as many as are shown."""

    by: tuple[str, ...]
    name: str  # of the grouping, as a heading
    groups: int
    of_attribute: Mapping[str, tuple[tuple[str, Amount], ...]]
    lines: tuple[tuple[str, Mapping[str, Amount]], ...]  # all attributes of the largest groups of the first one


@dataclass(frozen=True)
class ReportedTotals:
    """What the microdata add up to, or measured groups where these do not determine microdata."""

    confidence: float
    all_together: Mapping[str, Amount]
    groupings: tuple[TotalsByGroup, ...]
    too_many: tuple[str, ...]  # groupings with too many groups to show


def main_totals(microdata: Microdata) -> ReportedTotals:
    """The totals of all attributes: all together, and by the groupings that `_groupings` finds."""
    spec = microdata.public_rows.spec
    confidence = float(spec.output.confidence)
    most = MOST_GROUPS[_is_direct(microdata)]
    counts = {by: _count(microdata, by) for by in _groupings(spec)}
    few = (by for by, count in counts.items() if 1 < count <= most)
    named = {by: " × ".join(map(microdata.release.labels.title, by)) for by in counts}
    known = (
        TotalsByGroup(by, named[by], counts[by], *found)
        for by in few
        if (found := _amounts(microdata, by, confidence))[0]
    )
    return ReportedTotals(
        confidence,
        {name: amounts[0][1] for name, amounts in _amounts(microdata, (), confidence)[0].items()},
        tuple(islice(known, MOST_GROUPINGS)),
        tuple(named[by] for by, count in counts.items() if count > most),
    )


def _is_direct(microdata: Microdata) -> bool:
    fits = (fit.cell_fit for fit in microdata.fits.values())
    return all(fit is None or fit.system.is_direct for fit in fits)


def _count(microdata: Microdata, by: tuple[str, ...]) -> int:
    """How many groups there are; 0 where no attribute can be tabulated."""
    if microdata.fits:
        return microdata.public_rows.cells(by).count
    counts = (found.count for each in microdata.measured.values() if (found := each.groups(by)) is not None)
    return next(counts, 0)


def _groupings(spec: Spec) -> list[tuple[str, ...]]:
    """Queries by one key, then the first keys of other queries, then these; each once, the coarse before the fine."""
    queries = sorted((q.by for q in spec.group_sums if q.by), key=len)
    finer = [by for by in queries if len(by) > 1]
    return list(dict.fromkeys([*(by for by in queries if len(by) == 1), *(by[:1] for by in finer), *finer]))


def _amounts(
    microdata: Microdata, by: tuple[str, ...], confidence: float
) -> tuple[dict[str, tuple[tuple[str, Amount], ...]], tuple[tuple[str, Mapping[str, Amount]], ...]]:
    """The largest groups of every attribute that has errors for them, and those of the first with all attributes."""
    names = possible_lines(microdata, by)
    if not names:
        return {}, ()
    named, table = microdata.release.labels, microdata.tabulate(by, names, confidence).arrow
    reach = normal_reach(confidence)
    found, lines = dict[str, tuple[tuple[str, Amount], ...]](), list[tuple[str, dict[str, Amount]]]()
    first: IntArray | None = None
    for name in names:
        rows = table.filter(pa.compute.equal(table["attribute"], name))
        estimates = rows["estimate"].to_numpy()
        errors = rows["std_error"].to_numpy()  # NaN where unknown
        if not np.isfinite(errors).all():
            continue
        order = np.argsort(-np.abs(estimates), kind="stable")[:MOST_SHOWN]
        largest = rows.take(pa.array(order))
        labels = [BETWEEN_KEYS.join(keys) for keys in zip(*(named.names(key, largest) for key in by), strict=True)]
        amounts = [_amount(float(estimates[i]), float(errors[i]), reach) for i in order]
        found[name] = tuple(zip(labels or [""], amounts, strict=True))
        if first is None:
            first, lines = order, [(label, {}) for label in labels or [""]]
        for (_, amounts_of), i in zip(lines, first, strict=True):
            amounts_of[name] = _amount(float(estimates[i]), float(errors[i]), reach)
    return found, tuple(lines)


def _amount(estimate: float, error: float, reach: float) -> Amount:
    if not math.isfinite(error):
        return Amount(estimate, None, None)
    return Amount(estimate, reach * error, error / abs(estimate) if estimate else None)
