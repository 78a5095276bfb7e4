"""Establishments and employment by NAICS-3 and nine size classes, on synthetic states made from the QCEW.

For the paper's rule and for individual accounting at the same total price: mean absolute errors of numbers and sums by
class as fitted, beside what the identity answers alone would give (every establishment counted in the class of its own
noisy value), how often 95% intervals hold the truth, and whether numbers add up to the public ones.
Run from the project root, with as many releases as there is time for:

    python benchmarks/classes.py --states NJ --replicates 5
"""

import argparse
import time
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import gedp
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.measure import rehearse
from gedp.confidential.table import open_table_of
from gedp.microdata import fit_microdata
from gedp.noise.entropy import SeededEntropy
from gedp.policy import COUNT, Spec
from gedp_lab.reproduce.context import Context

SHARED = Path(__file__).parents[2] / "shared" / "data"
EDGES = [0, 5, 10, 20, 50, 100, 250, 500, 1000]
TABLES: dict[str, tuple[list[str], float]] = {
    "state": ([], 0.179),
    "naics5": (["naics5"], 0.525),
    "county": (["cnty"], 0.525),
    "county x naics5": (["cnty", "naics5"], 0.611),
}
BY = ["naics3", "size"]
Errors = list[dict[str, Any]]


def spec_of(*, individual: bool) -> Spec:
    """The paper's prices for one attribute and μ = 0.5 for either table by classes; or the same as one pool."""
    tables: list[dict[str, Any]] = [{"name": name, "by": by, "mu": mu} for name, (by, mu) in TABLES.items()]
    identity = {"name": "identity", "by": "establishment", "mu": 0.611}
    sizes = {"name": "sizes", "by": BY, "count": True, "mu": {COUNT: 0.5, "m3emp": 0.5}}
    queries = [identity, *tables, sizes]
    total = sum(mu**2 for _, mu in TABLES.values()) + 0.611**2 + 2 * 0.5**2
    if individual:
        queries = [{key: value for key, value in query.items() if key != "mu"} for query in queries]
        queries[-1]["importance"] = {COUNT: 1, "m3emp": 1}
    return gedp.make_spec(
        data={"public": ["cnty", "naics"], "id": "primary_key", "synthetic": True},
        groupers={"naics5": {"column": "naics", "prefix": 5}, "naics3": {"column": "naics", "prefix": 3}},
        attributes={"m3emp": {"psi": "sqrt", "gamma": 0.5}},
        classes={"size": {"attribute": "m3emp", "edges": EDGES}},
        budget={"mu": round(total**0.5 + 0.0000005, 6)},
        queries=queries,
    )


def by_class(naics: Any, values: Any) -> Mapping[str, Any]:
    """Numbers and sums by NAICS-3 and class, of values as they are."""
    labels = spec_of(individual=False).classes["size"].labels(Decimal(1))
    place = np.clip(np.searchsorted(EDGES, values.to_numpy(), side="right") - 1, 0, None)
    frame = pa.table({"naics3": naics.str[:3], "size": np.array(labels)[place], "value": values}).to_pandas()
    grouped = frame.groupby(BY)["value"]
    return {COUNT: grouped.size().astype(float), "m3emp": grouped.sum()}


def compare(path: Path, *, individual: bool, replicates: int, seed: int) -> None:
    """Prints the errors of some releases."""
    spec = spec_of(individual=individual)
    table = open_table_of(spec, LocalEngine(path))
    columns = pq.read_table(path, columns=["naics", "m3emp"]).to_pandas()
    truth = by_class(columns["naics"], columns["m3emp"])
    public = columns["naics"].str[:3].value_counts()
    found: Errors = []
    for replicate in range(replicates):
        started = time.perf_counter()
        rehearsal = rehearse(table, spec, entropy=SeededEntropy(1000 * seed + replicate))
        microdata = fit_microdata(rehearsal)
        fitted = microdata.tabulate(BY).to_pandas().set_index(BY)
        identity = rehearsal.identity().to_pandas()
        alone = by_class(identity["naics"], identity["m3emp"])
        for name, true in truth.items():
            own = fitted[fitted["attribute"] == name]
            true, other = (each.reindex(own.index, fill_value=0.0) for each in (true, alone[name]))
            noisy = own["std_error"] > 0
            held = (own["ci_low"] <= true) & (true <= own["ci_high"])
            found.append(
                {
                    "what": name,
                    "error": (own["estimate"] - true).abs().mean(),
                    "identity": (other - true).abs().mean(),
                    "held": held[noisy].mean(),
                    "wrong": float((own["estimate"] - true)[~noisy].abs().max()) if (~noisy).any() else 0.0,
                    "by size": (own["estimate"] - true).abs().groupby("size", sort=False).mean(),
                    "identity by size": (other - true).abs().groupby("size", sort=False).mean(),
                }
            )
            if name == COUNT:
                added = own["estimate"].groupby("naics3").sum()
                assert (added - public.reindex(added.index)).abs().max() < 1e-6
        print(f"  release {replicate + 1}: {time.perf_counter() - started:.0f} s", flush=True)
    show(found)


def show(found: Errors) -> None:
    """Means over releases."""
    for name in (COUNT, "m3emp"):
        own = [line for line in found if line["what"] == name]
        means = {key: float(np.mean([line[key] for line in own])) for key in ("error", "identity", "held")}
        off = max(line["wrong"] for line in own)
        print(
            f"  {name}: mean absolute error {means['error']:.2f}, identity answers alone {means['identity']:.2f}; "
            f"95% intervals hold {means['held']:.1%}; entries without noise off by {off:g}"
        )
        for key in ("by size", "identity by size"):
            sizes = sum(line[key] for line in own) / len(own)
            print(f"    {key}: " + ", ".join(f"{size} {error:.2f}" for size, error in sizes.items()))


def main() -> None:
    """Prints everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", nargs="+", default=["NJ"])
    parser.add_argument("--replicates", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, default=SHARED, help="folder of the published QCEW")
    parser.add_argument("--out", type=Path, default=Path("class-errors"))
    asked = parser.parse_args()
    context = Context(out=asked.out, data=asked.data, state_names=tuple(asked.states))
    if context.qcew is None:
        raise SystemExit(f"{asked.data} has no published QCEW")
    for state in context.states:
        for individual in (False, True):
            way = "individual accounting" if individual else "the paper's rule"
            print(f"{state.name}, {way}: {asked.replicates} releases at mu = {spec_of(individual=False).policy.mu}")
            compare(state.path, individual=individual, replicates=asked.replicates, seed=asked.seed)


if __name__ == "__main__":
    main()
