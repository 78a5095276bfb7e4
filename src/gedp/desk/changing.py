"""What changed since an earlier release, as a desk offers it: by the code of `gedp tabulate --against`."""

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from gedp.desk.making import KEPT_CELLS, asked_of, flags, require_small, sizes
from gedp.desk.question import Question
from gedp.desk.source import ChangeMarks, ChangeOffer, MadeTable
from gedp.errors import Fault, FaultsError
from gedp.microdata import Microdata
from gedp.microdata.comparable import are_comparable, require_comparable
from gedp.microdata.comparing import CHANGE, NOT_AFTER, NOTE, PERCENT
from gedp.microdata.ratios import parse_ratios
from gedp.publication.changes import FLAGS, flags_of, name_of_release, variance_kinds_of, with_closed
from gedp.publication.quality import Quality

WITHHELD = "withheld"  # which nothing is here
NO_PERCENTAGE = "no percentage"


def offered_changes(
    new: Microdata, old: Microdata, keys: Iterable[str], attributes: Iterable[str], ratios: Mapping[str, str]
) -> ChangeOffer:
    """Those of the keys and figures of both that mean the same in both; rejects releases that cannot be compared."""
    require_comparable(new, old, (), ())
    alike = [name for name in attributes if are_comparable(new, old, (), [name])]
    if not alike:
        hint = "Name an earlier release of the same statistics"
        raise FaultsError("desk", [Fault("against", "the releases have no figure in common", hint)])
    divided = [ratio.name for ratio in parse_ratios(list(ratios)) if set(ratio.attributes) <= set(alike)]
    return ChangeOffer(
        name_of_release(old.release.manifest),
        tuple(key for key in keys if are_comparable(new, old, [key], ())),
        (*alike, *divided),
        {name: said for name, said in FLAGS.items() if name != WITHHELD},
    )


def said_of_changes(since: str, *, has_seeds: bool) -> str:
    """What changes are, for readers."""
    said = (
        f"Changes are since {since}. The noise of both releases was drawn separately, so the errors of changes allow "
        "for both. A change is significant if 0 is outside its interval; of many that are none, some are so by chance."
    )
    return f"{said} Errors of changes hold if each of the releases had a seed of its own." if has_seeds else said


def make_changes(new: Microdata, old: Microdata, quality: Quality, question: Question) -> MadeTable:
    """The table of a question with what changed; rejects one with very many groups."""
    for each in (new, old):
        require_small(each, question)
    lines = new.change(old, *asked_of(question)).arrow
    classes = zip(lines[NOTE].to_pylist(), flags(new, quality, question.ratios, lines), strict=True)
    shown = ["" if note == NOT_AFTER else flag for note, flag in classes]
    groups = lines.num_rows // max(len(lines["attribute"].unique()), 1)
    counts = with_closed(sizes(new, question), groups)
    for each in (new, old):
        each.public_rows.forget_cells(KEPT_CELLS)
    return MadeTable(lines, counts, shown, {kind: _marks(lines, kind) for kind in (CHANGE, PERCENT)})


def _marks(lines: pa.Table, kind: str) -> ChangeMarks:
    """Significance stands beside the change; beside a percentage, why there is none."""
    found = flags_of(lines, kind, np.zeros(lines.num_rows, dtype=np.bool_))
    if kind == PERCENT:
        found = [flag if flag == NO_PERCENTAGE else "" for flag in found]
    return ChangeMarks(found, variance_kinds_of(lines, kind))
