"""Tables made of a release, by the code of `gedp tabulate`; very large ones are rejected."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gedp.arrays import IntArray
from gedp.desk.question import Question
from gedp.desk.source import MadeTable
from gedp.errors import Fault, FaultsError
from gedp.microdata import Microdata
from gedp.microdata.cells import Cells
from gedp.microdata.class_tables import has_classes
from gedp.microdata.ratios import parse_ratios
from gedp.microdata.tabulate import possible_lines
from gedp.policy import COUNT
from gedp.publication.figures import establishments
from gedp.publication.quality import Quality, coefficients
from gedp.publication.ratios import differences

MOST_GROUPS = 20_000  # of a table
MOST_NUMBERS = 20_000_000  # groups of a table times unknowns of the fit: about 20 seconds
KEPT_CELLS = 12  # groupings whose rows are remembered


def make_table(microdata: Microdata, quality: Quality, question: Question) -> MadeTable:
    """The table of a question; rejects one with very many groups."""
    require_small(microdata, question)
    lines = microdata.tabulate(*asked_of(question)).arrow
    counts = sizes(microdata, question)
    microdata.public_rows.forget_cells(KEPT_CELLS)
    return MadeTable(lines, counts, flags(microdata, quality, question.ratios, lines))


def asked_of(question: Question) -> tuple[Any, ...]:
    """A question as `tabulate` and `change` take it."""
    asked = list(question.attributes) or None
    return question.by, asked, question.confidence, question.ratios, question.filter


def require_small(microdata: Microdata, question: Question) -> None:
    """Rejects a table with very many groups, or of what is no figure."""
    _require_classes(microdata, question)
    groups = _groups(microdata, question)
    if groups is not None and groups.count > (most := most_groups(microdata)):
        hint = "Choose coarser groups or a filter here, or use the command `gedp tabulate`, which has no limit"
        problem = f"the table would have {groups.count:,} groups, and at most {most:,} are made at a time"
        raise FaultsError("request", [Fault("rows", problem, hint)])


def sizes(microdata: Microdata, question: Question) -> IntArray | None:
    """The number of establishments in every group, where these are listed."""
    has_groups = _groups(microdata, question) is not None
    return establishments(microdata, question.by, question.filter) if has_groups else None


def can_make(microdata: Microdata, question: Question) -> bool:
    """Whether a table by one key is small enough, and its attributes can be had."""
    groups = _groups(microdata, question)
    is_small = groups is None or groups.count <= most_groups(microdata)
    return is_small and set(question.attributes) <= set(possible_lines(microdata, question.by))


def most_groups(microdata: Microdata) -> int:
    """The most groups that a table may have here: fewer where each takes longer."""
    fits = (fit.cell_fit for fit in microdata.fits.values())
    unknowns = max((fit.system.size for fit in fits if fit is not None), default=1)
    return min(MOST_GROUPS, MOST_NUMBERS // max(unknowns, 1))


def _groups(microdata: Microdata, question: Question) -> Cells | None:
    """The groups of the rows; None where there are no rows or no such keys, which `tabulate` says better."""
    public_rows, keys = microdata.public_rows, [*question.by, *question.filter]
    if not microdata.fits or not all(map(public_rows.knows, keys)):
        return None
    return public_rows.cells(question.by, question.filter)


def _require_classes(microdata: Microdata, question: Question) -> None:
    """Rejects numbers of establishments of public groups as a figure with an error: they have none."""
    spec = microdata.public_rows.spec
    if COUNT in question.attributes and spec.by_classes and not has_classes(spec, [*question.by, *question.filter]):
        problem = "establishments are a figure by classes alone; those of public groups stand beside every line"
        raise FaultsError("request", [Fault("attribute", problem, "Choose classes as rows, columns or filter")])


def flags(microdata: Microdata, quality: Quality, ratios: Sequence[str], lines: pa.Table) -> list[str]:
    """The class of every line; none of a difference, which may well be 0, so that it has no relative error."""
    estimate, error = (np.asarray(lines[name].to_numpy(), dtype=np.float64) for name in ("estimate", "std_error"))
    without = differences(parse_ratios(ratios), microdata.public_rows.spec)
    found = quality.flags(coefficients(estimate, error))
    names = lines["attribute"].to_pylist()
    return ["" if name in without else flag for name, flag in zip(names, found, strict=True)]
