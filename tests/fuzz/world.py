"""The folder that every case starts from: a confidential table with canaries, its spec, a release of it, its ledger."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import uvicorn

from gedp.ledger import store
from tests.fuzz.tables import csv_text, table
from tests.helpers import runs
from tests.helpers.runs import changed, gedp, write_case

#: Noise so large that no answer begins like a canary, and still such that everything can be fitted.
SPEC = changed(
    runs.SPEC,
    ("prefix = 2 }\n", 'prefix = 2 }\nsector = { column = "naics", map = "map.csv" }\n'),
    ("gamma = 0.5", "gamma = 9000"),
    ("gamma = 0.1", "gamma = 0.2"),
    ("mu = 1\n", "mu = 3\n"),
    ('name = "naics2 x county"\nby = ["naics2", "cnty"]', 'name = "sectors"\nby = ["sector"]'),
    (
        "[output]",
        """[[queries]]
name = "clipped"
by = ["naics2"]
mu = { wage = 0.1 }
mechanism = "pnc"

[microdata]
weights = "quasi"

[output]""",
    ),
)
MAP = "1111,farm\n1122,farm\n2222,power\n2361,building\n"
FIXED = "cnty,emp\n001,900000000000\n003,900000000000\n"


def fast() -> None:
    """Ledgers that do not wait for the disk, as if power never failed; servers that end as soon as they listen."""
    store.SYNCHRONOUS = "OFF"
    setattr(uvicorn.Server, "main_loop", _no_loop)  # noqa: B010 - a method of somebody else's class


async def _no_loop(_server: uvicorn.Server) -> None:
    """Instead of waiting for requests."""


def make(folder: Path, spec: str = SPEC) -> None:
    """Makes it, with releases in the ledger, the first of them in `first` and the last in `out`."""
    write_case(folder, table=table())
    (folder / "t.csv").write_text(csv_text(table()), encoding="utf-8")
    for name, text in (("spec.toml", spec), ("map.csv", MAP), ("fixed.csv", FIXED)):
        (folder / name).write_text(text, encoding="utf-8")
    pq.write_table(pa.table({"naics2": ["11", "22"], "wage": [1e12, 2e12]}), folder / "fixed.parquet")
    ended = gedp("run", "spec.toml", "--out", "first", "--answers-only", folder=folder)
    assert ended.code == 0, ended
    for _ in range(10):  # noise this large is more than some draws let a fit cope with
        ended = gedp("run", "spec.toml", "--force", folder=folder)
        if ended.code == 0:
            return
    raise AssertionError(ended)
