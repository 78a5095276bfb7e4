"""Tables of combinations beside the truth: as fitted, and as released."""

from collections.abc import Iterator

import numpy as np

from gedp.arrays import FloatArray
from gedp.microdata import Microdata
from gedp.policy import Combination, Query
from gedp_lab.evaluate.groups import ANSWERS, MICRODATA, ComparedGroups, compared
from gedp_lab.evaluate.levels import Level
from gedp_lab.evaluate.truth import Truth


def combination_level(query: Query) -> Level:
    """The grouping of a query for combinations."""
    return Level(" x ".join(query.by) or "all together", query.by)


def compare_combinations(microdata: Microdata, truth: Truth, query: Query) -> Iterator[ComparedGroups]:
    """Every combination of a query of whose parts the truth is known."""
    public_rows, level = microdata.public_rows, combination_level(query)
    groups = public_rows.cells(query.by)
    for asked, combination in query.combinations.items():
        if combination.coefficients.keys() <= truth.units.keys():
            fitted = microdata.tabulate(query.by, [asked]).arrow
            released = public_rows.answered(query, asked)
            released = released.take(public_rows.placed(released, query.name, query.by, groups).group_of)
            sums = {name: truth.sums(name, groups) for name in combination.coefficients}
            for source, rows in ((MICRODATA, fitted), (ANSWERS, released)):
                yield compared(level, asked, source, rows, _combined(combination, sums))


def _combined(combination: Combination, sums: dict[str, FloatArray]) -> FloatArray:
    total: FloatArray = np.add.reduce([float(c) * sums[name] for name, c in combination.coefficients.items()])
    return total
