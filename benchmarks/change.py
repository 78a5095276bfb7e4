"""How often intervals of change from quarter to quarter hold the truth, on a synthetic state made from the QCEW.

The second quarter is made from the first: 2% of the establishments close, as many open, and the others grow or shrink.
Every pair of releases has noise of its own. Coverage is that of 95% intervals, by the true jobs of the group in the
first quarter; beside it are its standard error over pairs (groups of a pair are correlated), the share of lines that
have an interval at all, and the share that is marked as significant. The last column is what coverage would be if
errors were 5% too small. Two attributes are enough to show all kinds of lines and keep a pair to a few seconds.
Run from the project root:

    python benchmarks/change.py --state RI --pairs 200
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import gedp
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.measure import rehearse
from gedp.confidential.table import ConfidentialTable, open_table_of
from gedp.microdata import Microdata, fit_microdata
from gedp.noise.entropy import SeededEntropy
from gedp_lab.reproduce.context import Context

pd: Any = import_module("pandas")
SHARED = Path(__file__).parents[2] / "shared" / "data"
KEYS, ATTRIBUTES = ["cnty", "naics"], ["m3emp", "wage"]
GROUPINGS: Sequence[list[str]] = ([], ["cnty"], ["naics2"], ["cnty", "naics3"])
PAY = "pay"
CLOSING = 0.02
SIZES = {0: "below 20 jobs", 20: "20 to 99", 100: "100 to 999", 1000: "1,000 and more"}
SMALLER = 0.95
SPEC = gedp.make_spec(
    data={"public": KEYS, "id": "primary_key", "synthetic": True},
    groupers={f"naics{digits}": {"column": "naics", "prefix": digits} for digits in (2, 3)},
    attributes={"m3emp": {"psi": "sqrt", "gamma": 0.5}, "wage": {"psi": "log", "gamma": 0.1, "shift": 1}},
    budget={"mu": 2},
    queries=[
        {"name": "identity", "by": "establishment", "mu": 0.6},
        {"name": "state", "by": [], "mu": 0.2},
        {"name": "county", "by": ["cnty"], "mu": 0.5},
        {"name": "county x naics3", "by": ["cnty", "naics3"], "mu": 0.6},
    ],
)


def next_quarter(before: Any, seed: int) -> Any:
    """The same establishments a quarter later: some have closed, others opened, the rest changed in size and pay."""
    chance = np.random.default_rng(seed)
    after = before[chance.random(len(before)) >= CLOSING]
    opened = before.sample(frac=CLOSING, random_state=seed).assign(primary_key=lambda rows: "new" + rows["primary_key"])
    growth, pay = (np.exp(chance.normal(0.01, spread, len(after))) for spread in (0.15, 0.05))
    jobs = np.rint(after["m3emp"] * growth).astype(np.int64)
    wage = np.rint(after["wage"] * growth * pay).astype(np.int64)
    return pd.concat([after.assign(m3emp=jobs, wage=wage), opened], ignore_index=True)


def truth(rows: Any, by: list[str]) -> Any:
    """The true figures of every group."""
    keyed = rows.assign(naics2=rows["naics"].str[:2], naics3=rows["naics"].str[:3], all="")
    sums = keyed.groupby(by or ["all"])[ATTRIBUTES].sum().astype(float)
    sums[PAY] = sums["wage"] / sums["m3emp"].where(sums["m3emp"] > 0)
    return sums


def compare(new: Microdata, old: Microdata, before: Any, after: Any) -> Iterator[Any]:
    """For every figure of every group: whether intervals of its change and its percentage hold the truth."""
    for by in GROUPINGS:
        was, now = truth(before, by), truth(after, by)
        jobs = was["m3emp"]
        for line in (*ATTRIBUTES, PAY):
            is_ratio = line == PAY
            ratios = [f"{PAY} = wage / m3emp"] if is_ratio else []
            table = new.change(old, by, None if is_ratio else line, ratios=ratios).to_pandas()
            table = table.set_index(by) if by else table.set_index(pd.Index([""]))
            true = {"change": now[line] - was[line], "percent": 100 * (now[line] / was[line] - 1)}
            for what, expected in true.items():
                at = expected.reindex(table.index)
                there = table[~at.isna() & table["old"].notna() & table["estimate"].notna()]
                at = at.reindex(there.index)
                low, high, middle = (there[f"{what}{end}"] for end in ("_ci_low", "_ci_high", ""))
                yield pd.DataFrame(
                    {
                        "what": f"{what} of {line}",
                        "jobs": jobs.reindex(there.index),
                        "given": middle.notna(),
                        "held": (low <= at) & (at <= high),
                        "smaller": (middle + SMALLER * (low - middle) <= at)
                        & (at <= middle + SMALLER * (high - middle)),
                        "marked": there["significant"].fillna(False).astype(bool),
                    }
                )


def show(found: Any, pairs: int) -> None:
    """The table of coverage."""
    found["size"] = pd.cut(found["jobs"], [*SIZES, np.inf], right=False, labels=list(SIZES.values()))
    everything = found.assign(size="all groups")
    print(f"{'':22}{'groups with':16}{'lines':>9}{'given':>8}{'held':>8}{'± se':>7}{'marked':>8}{'if 5% less':>12}")
    for what in found["what"].unique():
        for size in (*SIZES.values(), "all groups"):
            source = everything if size == "all groups" else found
            lines = source[(source["what"] == what) & (source["size"] == size)]
            given = lines[lines["given"]]
            if given.empty:
                continue
            of_pair = given.groupby("pair")["held"].mean()
            error = of_pair.std() / len(of_pair) ** 0.5
            print(
                f"{what:22}{size:16}{len(lines) / pairs:9.0f}{lines['given'].mean():8.1%}{given['held'].mean():8.2%}"
                f"{error:7.2%}{given['marked'].mean():8.1%}{given['smaller'].mean():12.2%}"
            )


def fitted(table: ConfidentialTable, seed: int) -> Microdata:
    """The microdata of a release that is thrown away."""
    return fit_microdata(rehearse(table, SPEC, entropy=SeededEntropy(seed)))


def main() -> None:
    """Prints everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", default="RI")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, default=SHARED, help="folder of the published QCEW")
    parser.add_argument("--out", type=Path, default=Path("change-errors"))
    asked = parser.parse_args()
    (state,) = Context(out=asked.out, data=asked.data, state_names=(asked.state,)).states
    columns = ["primary_key", *KEYS, *ATTRIBUTES]
    before = pq.read_table(state.path, columns=columns).to_pandas().astype({"primary_key": str})
    after = next_quarter(before, asked.seed)
    paths = [asked.out / f"{state.name}-{name}.parquet" for name in ("before", "after")]
    for path, rows in zip(paths, (before, after), strict=True):
        rows.to_parquet(path, index=False)
    tables = [open_table_of(SPEC, LocalEngine(path)) for path in paths]
    print(
        f"{state.title}: {len(before):,} and {len(after):,} establishments, {asked.pairs} pairs of releases", flush=True
    )
    found, started = [], time.perf_counter()
    for pair in range(asked.pairs):
        seeds = (10_000 * asked.seed + 2 * pair + each for each in (1, 2))
        old, new = (fitted(table, seed) for table, seed in zip(tables, seeds, strict=True))
        found += [lines.assign(pair=pair) for lines in compare(new, old, before, after)]
        if (pair + 1) % 20 == 0:
            print(f"  {pair + 1} pairs: {time.perf_counter() - started:.0f} s", flush=True)
    show(pd.concat(found, ignore_index=True), asked.pairs)


if __name__ == "__main__":
    main()
