"""Two releases beside each other: the figures of every group with their change since an earlier release.

A line has the columns of a plain table for the later release, the figure of the earlier one, and what changed. Groups
that only one of them has are listed too, without a change.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute

from gedp.errors import DomainError, Fault, FaultsError
from gedp.estimates import Figures, figure_columns
from gedp.microdata.changes import difference, is_clearly_positive, is_significant, percentage
from gedp.microdata.comparable import require_comparable
from gedp.microdata.fitted import MicrodataFit
from gedp.microdata.request import TableRequest
from gedp.microdata.tabulate import tabulate
from gedp.release.estimated import FORMULA, formulas_of

OLD, CHANGE, PERCENT = "old", "change", "percent"
SIGNIFICANT, CHANGE_KIND, NOTE = "significant", "change_variance_kind", "note"
#: The columns of a table of changes after those of a plain table.
COLUMNS = (
    *figure_columns(OLD)[:2],
    *figure_columns(CHANGE),
    *figure_columns(PERCENT),
    *(SIGNIFICANT, CHANGE_KIND, NOTE),
)
#: What a line says that has no change or no percentage.
NOT_BEFORE, NOT_AFTER = "not in the earlier release", "not in the later release"
NO_ERROR = "no change: a figure has no error"
NO_BASE = "no percentage: the earlier figure is not clearly above 0"


def change(new: MicrodataFit, old: MicrodataFit, request: TableRequest) -> pa.Table:
    """The table of `tabulate` for a new release, and for every figure what changed since an old one.

    Without attributes and ratios there are those that both releases can have by this grouping. The confidence is
    that of the new release unless another is given.
    """
    require_free_keys(request, COLUMNS)
    require_comparable(new, old, request.keys, request.names)
    asked = replace(request, confidence=new.confidence(request.confidence))
    after, before = shared_lines([tabulate(each, asked) for each in (new, old)])
    return beside(after, before, request.by)


def beside(new: pa.Table, old: pa.Table, by: Sequence[str]) -> pa.Table:
    """The lines of two tables of the same attributes that belong together, with their changes."""
    of_new, of_old = ({line: place for place, line in enumerate(_lines(each, by))} for each in (new, old))
    order = {name: place for place, name in enumerate(new["attribute"].unique().to_pylist())}
    lines = sorted(dict.fromkeys([*of_new, *of_old]), key=lambda line: order[line[0]])
    after, before = (
        table.take(pa.array([places.get(line) for line in lines], pa.int64()))
        for table, places in ((new, of_new), (old, of_old))
    )
    texts = [pa.array(column, pa.string()) for column in zip(*lines, strict=True)]
    named = dict(zip(("attribute", *by), texts, strict=True))
    if FORMULA in new.column_names:  # also of groups that only the earlier release has
        formulas = formulas_of(new)
        named[FORMULA] = pa.array([formulas.get(line[0]) for line in lines], pa.string())
    columns = {name: named.get(name, after[name]) for name in new.column_names}
    return pa.table({**columns, **_changes(after, before)})


def shared_lines(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """The lines of attributes and ratios that all tables have."""
    found = [table["attribute"].unique().to_pylist() for table in tables]
    shared = [name for name in found[0] if all(name in each for each in found)]
    if not shared:
        there_are = " | ".join(map(", ".join, found))
        raise DomainError(f"the releases have no attribute in common by these keys. There are: {there_are}")
    wanted = pa.array(shared, pa.string())
    return [table.filter(pa.compute.is_in(table["attribute"], value_set=wanted)) for table in tables]


def require_free_keys(request: TableRequest, own: Sequence[str]) -> None:
    """Rejects keys that are called like one of our own columns."""
    hint = "Make a map or a prefix of it with another name"
    faults = [Fault("by", f"{key!r} is also the name of a column of changes", hint) for key in request.by if key in own]
    if faults:
        raise FaultsError("table", faults)


def _changes(after: pa.Table, before: pa.Table) -> dict[str, pa.Array | pa.ChunkedArray]:
    """The columns about the earlier figures and what changed."""
    new, old = Figures.of(after), Figures.of(before)
    changed, percent = difference(new, old), percentage(new, old)
    has_none = np.isnan(changed.estimate)
    without = [pa.compute.is_null(table["variance_kind"]).to_pylist() for table in (after, before)]  # a line of its own
    return {
        **dict(zip(figure_columns(OLD)[:2], (before["estimate"], before["std_error"]), strict=True)),
        **changed.columns(CHANGE),
        **percent.columns(PERCENT),
        SIGNIFICANT: pa.array(is_significant(changed), mask=has_none),
        CHANGE_KIND: pa.compute.if_else(pa.array(np.isfinite(changed.variance)), changed.kinds, None),
        NOTE: pa.array(map(_note, *without, has_none, is_clearly_positive(old)), pa.string()),
    }


def _note(is_gone: bool, is_new: bool, has_none: bool, has_base: bool) -> str | None:
    if is_gone or is_new:
        return NOT_AFTER if is_gone else NOT_BEFORE
    return NO_ERROR if has_none else None if has_base else NO_BASE


def _lines(table: pa.Table, by: Sequence[str]) -> Iterable[tuple[str, ...]]:
    return zip(*(table[name].to_pylist() for name in ("attribute", *by)), strict=True)
