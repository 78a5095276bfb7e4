"""The legacy side by side: cells that the published QCEW leaves blank, and the error of the release there."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from gedp.errors import Fault, FaultsError
from gedp.industries import TOTAL
from gedp.lab.baselines.suppression import PublishedQcew
from gedp.lab.evaluate.groups import MICRODATA, ComparedGroups
from gedp.lab.evaluate.levels import COUNTY, STATE
from gedp.lab.evaluate.metrics import errors_of
from gedp.microdata.cells import Frame
from gedp.numbers import short_share

ERRORS = ("median_relative_withheld", "within_10_withheld", "median_relative_disclosed", "within_10_disclosed")


def error_texts(line: Mapping[str, float | None]) -> list[str]:
    """The errors of one line as they are shown: where cells are blank, and where they are disclosed."""
    found = [line[name] for name in ERRORS]
    return [short_share(math.nan if value is None else value) for value in found]


def suppression_beside(frame: Frame, comparisons: Sequence[ComparedGroups], published: Path) -> pa.Table:
    """For each level and attribute: how many cells were blanked, and the error of the release there and elsewhere."""
    if not (frame.lists_establishments and STATE in frame.public.column_names):
        fault = Fault("published", "the release has no public column state to find its cells by", "Leave it out")
        raise FaultsError(frame.source.name, [fault])
    states = tuple(frame.key(STATE)[1])
    found = cells_beside(comparisons, PublishedQcew(published), states)
    if not pa.compute.any(pa.compute.greater(found["matched"], 0)).as_py():
        raise FaultsError(str(published), [Fault("cells", "none is in the release", "Is it of the same state?")])
    return found


def cells_beside(comparisons: Sequence[ComparedGroups], published: PublishedQcew, states: tuple[str, ...]) -> pa.Table:
    """The same for comparisons of groups in these states (FIPS)."""
    cells = published.cells(states)
    found = [line for each in comparisons if each.source == MICRODATA for line in _beside(each, cells, states)]
    return pa.Table.from_pylist(found)


def _beside(each: ComparedGroups, cells: pa.Table, states: Sequence[str]) -> Iterator[dict[str, Any]]:
    """One line for a level that the QCEW publishes."""
    if each.level.agglvl is None:
        return
    at_level = cells.filter(pa.compute.equal(cells["agglvl"], each.level.agglvl))
    names = pa.compute.binary_join_element_wise(at_level["area"], at_level["industry"], " ")
    withheld = at_level["withheld"].to_numpy()
    place = {name: i for i, name in enumerate(names.to_pylist())}
    found = np.array([place.get(name, -1) for name in _published_names(each, states)], dtype=np.int64)
    line: dict[str, Any] = {
        "level": each.level.name,
        "agglvl": each.level.agglvl,
        "attribute": each.attribute,
        "published": len(withheld),
        "withheld": int(withheld.sum()),
        "share_withheld": float(withheld.mean()) if len(withheld) else None,
        "matched": int((found >= 0).sum()),
    }
    for name, wanted in (("withheld", True), ("disclosed", False)):
        part = (found >= 0) & (withheld[found] == wanted) if len(withheld) else np.zeros(len(found), dtype=bool)
        errors = errors_of(each.truth[part], each.protected[part]) if part.any() else None
        line[f"released_{name}"] = int(part.sum())
        line[f"median_relative_{name}"] = errors.median_relative if errors else None
        line[f"within_10_{name}"] = errors.within_10 if errors else None
    yield line


def _published_names(each: ComparedGroups, states: Sequence[str]) -> Iterator[str]:
    """Area and industry of every group, as the QCEW writes them."""
    columns = {key: values.to_pylist() for key, values in each.keys.items()}
    industries = [key for key in columns if key not in (STATE, COUNTY)]
    for i in range(each.groups):
        state = columns[STATE][i] if STATE in columns else states[0]
        county = columns[COUNTY][i] if COUNTY in columns else "000"
        yield f"{state}{county} {columns[industries[0]][i] if industries else TOTAL}"
