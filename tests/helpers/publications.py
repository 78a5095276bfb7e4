"""Small publications in the manner of the QCEW: known cells rolled up to every level by a plain loop."""

from collections import defaultdict
from collections.abc import Iterable

import pyarrow as pa

from gedp.industries import depth_of, parent_of
from gedp_lab.synth.qcew.sources import TEXT, WHOLE

Values = tuple[int, ...]  # establishments, three months, wages
Key = tuple[str, str]  # area, industry
Publication = dict[Key, tuple[bool, Values]]  # (disclosed, values)
Cells = dict[Key, Values]


def ancestors(code: str) -> Iterable[str]:
    step: str | None = code
    while step is not None:
        yield step
        step = parent_of(step)


def roll_up(cells: Cells) -> dict[Key, Values]:
    """Every level of counties and of their states."""
    sums: dict[Key, list[int]] = defaultdict(lambda: [0] * 5)
    for (area, naics), values in cells.items():
        for code in ancestors(naics):
            for where in (area, area[:2] + "000"):
                sums[where, code] = [a + b for a, b in zip(sums[where, code], values, strict=True)]
    return {key: tuple(values) for key, values in sums.items()}


def to_rows(publication: Publication, own: str = "5") -> pa.Table:
    columns: dict[str, list[object]] = {name: [] for name in (*TEXT, *WHOLE)}
    for (area, code), (disclosed, values) in publication.items():
        depth = depth_of(code)
        assert depth is not None
        shown = values if disclosed else (values[0], 0, 0, 0, 0)
        level = (51 if area.endswith("000") else 71) + depth
        cell = (area, own, code, "" if disclosed else "N", level, *shown)
        for name, value in zip(columns, cell, strict=True):
            columns[name].append(value)
    return pa.table({name: pa.array(v, pa.string() if name in TEXT else pa.int64()) for name, v in columns.items()})
