"""A small world for the tests: establishments of five counties, published as CBP, QWI and imputed CBP."""

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gedp_lab.synth.publish import PublishedFiles, publish

NAICS4 = (
    "1111 1133 2111 2211 2361 2362 2381 3111 3118 3231 3254 3331 3391 4231 4238 4441 4451 4511 4841 4931 "
    "5111 5173 5221 5241 5311 5321 5411 5413 5415 5511 5613 5617 6111 6116 6211 6221 6231 6241 7113 7139 "
    "7211 7225 8111 8121 8131 8141"
)
COUNTIES = (("44", "001"), ("44", "003"), ("44", "007"), ("34", "001"), ("34", "013"))


def make_establishments(seed: int = 5, mean_size: float = 12.0) -> pa.Table:
    """About 8,000 establishments: heavy tails, idle ones, and industries that CBP does not cover."""
    rng = np.random.default_rng(seed)
    rows: dict[str, list[object]] = {name: [] for name in ("state", "cnty", "naics")}
    for (state, county), scale in zip(COUNTIES, (2, 4, 12, 3, 8), strict=True):
        for naics4 in NAICS4.split():
            for tail in ("10", "20", "91")[: rng.integers(1, 4)]:
                count = int(np.ceil(rng.lognormal(0.8, 1.1) * scale / 2))
                rows["state"] += [state] * count
                rows["cnty"] += [county] * count
                rows["naics"] += [naics4 + tail] * count
    count = len(rows["state"])
    size = rng.lognormal(np.log(mean_size) - 1.4**2 / 2, 1.4, count)
    months = [rng.poisson(size * growth) for growth in (1.0, 1.01, 1.02)]
    pay = rng.lognormal(np.log(3000), 0.4, count)
    wage = np.rint(pay * sum(months)).astype(np.int64)
    return pa.table(
        {
            "year": np.full(count, 2016, np.int16),
            "qtr": np.full(count, 1, np.int8),
            **{name: pa.array(values, pa.string()) for name, values in rows.items()},
            "own": pa.array(["5"] * count, pa.string()),
            **{f"m{month}emp": jobs.astype(np.int64) for month, jobs in enumerate(months, start=1)},
            "wage": wage,
        }
    )


def publish_world(folder: Path, seed: int = 5) -> tuple[pa.Table, PublishedFiles]:
    """The establishments, written to `folder`, and what was published of them."""
    establishments = make_establishments(seed)
    pq.write_table(establishments, folder / "world.parquet")
    return establishments, publish(folder / "world.parquet", folder / "published", seed=seed)


def read_rows(path: Path) -> list[dict[str, str]]:
    """A CSV file as dictionaries of text."""
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def write_rows(path: Path, rows: list[dict[str, str]]) -> None:
    """Writes dictionaries of text as a CSV file."""
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def names_in(folder: Path) -> list[str]:
    """What a folder holds, hidden files too."""
    return sorted(path.name for path in folder.iterdir())
