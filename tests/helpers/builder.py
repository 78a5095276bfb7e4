"""One small register for all tests, and specs about it: name what is asked for, and replace any part by keyword.

`spec_of()` asks for establishments and for two tables of sums. `spec_of("classes", accounting="individual")` also asks
for a table by classes, without prices. `spec_of(budget={"mu": 1})` has another budget. `table_of(300)` has more rows.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

import gedp
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.measure import rehearse
from gedp.confidential.table import open_table_of
from gedp.noise.entropy import SeededEntropy
from gedp.noise.sums import SumGrid
from gedp.release.rehearsal import Rehearsal
from tests.helpers.runs import small_table

Sections = Mapping[str, Any]

#: Jobs alone, for specs that need one attribute.
JOBS: Sections = {"emp": {"psi": "sqrt", "gamma": 0.5}}
#: What every spec has, unless it is given: see `gedp.make_spec`.
SECTIONS: Sections = {
    "data": {"public": ["cnty", "naics"], "id": "key", "synthetic": True},
    "groupers": {"naics2": {"column": "naics", "prefix": 2}},
    "attributes": {
        **JOBS,
        "wage": {"psi": "log", "gamma": 0.1, "shift": 1, "unit": 0.01},
    },
    "budget": {"mu": 20},
    "queries": [
        {"name": "identity", "by": "establishment", "mu": 3},
        {"name": "county", "by": ["cnty"], "mu": 1},
        {"name": "cells", "by": ["naics2", "cnty"], "mu": 1},
    ],
}

#: What each kind of query adds to these.
KINDS: Mapping[str, Sections] = {
    "sums": {},
    "classes": {
        "classes": {"size": {"attribute": "emp", "edges": [0, 1, 100, 1000, 5000]}},
        "queries": [
            {"name": "sizes", "by": ["cnty", "size"], "count": True, "mu": 0.5},
            {
                "name": "wages",
                "by": ["size", "naics2"],
                "count": True,
                "mu": {"establishments": 0.2, "wage": 0.4, "emp": 0.6},
            },
        ],
    },
    "combinations": {
        "combinations": {"cost": "wage + 500 * emp", "third": "(wage - emp) / 3"},
        "queries": [
            {"name": "combined", "by": ["cnty"], "mu": {"cost": 0.5, "third": 0.4}},
            {"name": "costs", "by": ["naics2", "cnty"], "mu": {"cost": 0.3}},
        ],
    },
    "split": {"attributes": {"profit": {"psi": "sqrt", "gamma": 5, "split": True}}},
    "signed": {"attributes": {"profit": {"psi": "sqrt", "gamma": 5, "signed": True}}},
}
ACCOUNTING = ("prices", "individual")
#: Every kind under either accounting; the program admits them all.
CASES = [(kind, accounting) for kind in KINDS for accounting in ACCOUNTING]


def spec_of(*kinds: str, accounting: str = "prices", **sections: Any) -> gedp.Spec:
    """A spec about the register, with what these kinds add; a section that is given stands in place of the usual one.

    Of `data` only the keys that are given are replaced, and left out where they are None. In `queries`, a name stands
    for the usual query of that name. Under individual accounting every price becomes an importance.
    """
    made = dict(SECTIONS)
    for kind in kinds:
        for name, more in KINDS[kind].items():
            made[name] = [*made[name], *more] if name == "queries" else {**made.get(name, {}), **more}
    usual = {query["name"]: query for query in made["queries"]}
    made |= sections
    data = {**SECTIONS["data"], **made["data"]}
    made["data"] = {key: value for key, value in data.items() if value is not None}
    queries = [usual[query] if isinstance(query, str) else query for query in made["queries"]]
    made["queries"] = [without_price(query) for query in queries] if accounting == "individual" else queries
    return gedp.make_spec(**made)


def without_price(query: Sections) -> dict[str, Any]:
    """A query whose price is its importance."""
    return {"importance" if key == "mu" else key: value for key, value in query.items()}


def table_of(rows: int = 60, **columns: Any) -> pa.Table:
    """The register: the same rows for the same number of them, with other columns where given; None leaves one out."""
    profit = np.random.default_rng([rows, 1]).integers(-5000, 5000, rows)
    small = small_table(rows)
    made = {**{name: small[name] for name in small.column_names}, "profit": profit, **columns}
    return pa.table({name: column for name, column in made.items() if column is not None})


def rehearsed(spec: gedp.Spec, table: pa.Table | LocalEngine | None = None, seed: int = 1) -> Rehearsal:
    """Answers about a table, or about that of an engine, in memory."""
    if isinstance(table, LocalEngine):
        opened = open_table_of(spec, table)
    else:
        opened = gedp.open_table(spec, table_of() if table is None else table)
    return rehearse(opened, spec, entropy=SeededEntropy(seed))


@contextmanager
def without_noise() -> Iterator[None]:
    """Answers by classes and of combinations as they would be if nobody drew anything."""

    def exactly(grid: SumGrid, sums: Any, entropy: object) -> Any:
        return grid.to_steps(sums) * grid.step

    with patch.object(SumGrid, "noisy", exactly):
        yield
