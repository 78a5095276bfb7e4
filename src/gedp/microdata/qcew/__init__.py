"""The layout of the Quarterly Census of Employment and Wages, by aggregation level.

Nothing else in this room knows it. `Microdata.tabulate_qcew` and `gedp tabulate --agglvl` lead here.
"""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from gedp.microdata.cells import PublicRows
from gedp.microdata.fitted import MicrodataFit
from gedp.microdata.qcew.areas import find_layout, tabulate_areas
from gedp.microdata.qcew.sizes import is_by_size, tabulate_sizes

__all__ = ["needed_attributes", "tabulate_qcew"]


def tabulate_qcew(
    microdata: MicrodataFit, level: int, confidence: float | None = None, names: Mapping[str, str] | None = None
) -> pa.Table:
    """One line for every area, industry and, by size, class of an aggregation level; `names` as in `find_layout`."""
    tabulate = tabulate_sizes if is_by_size(level) else tabulate_areas
    return tabulate(microdata, level, confidence, names)


def needed_attributes(
    public_rows: PublicRows, level: int, names: Mapping[str, str] | None = None
) -> Sequence[str] | None:
    """The attributes that have to be fitted for a level; None for all."""
    return None if is_by_size(level) else find_layout(public_rows, level, names).attributes
