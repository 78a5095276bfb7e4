"""Combinations measured as one query, beside their parts at equal prices, on synthetic states made from the QCEW.

For each combination there are three releases with the same identity answers and the same tables by county: one that
asks for the combination by NAICS-3 as one query, one that asks for its parts at the same total price, in equal shares,
and one that asks for neither. Errors by NAICS-3 are given as released (noise alone) and as fitted (with all answers of
the release), and how often 95% intervals of fitted figures hold the truth.
Run from the project root, with as many releases as there is time for:

    python benchmarks/combinations.py --states RI --replicates 5
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import gedp
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.measure import rehearse
from gedp.confidential.table import open_table_of
from gedp.microdata import fit_microdata
from gedp.noise.entropy import SeededEntropy
from gedp.policy import Spec
from gedp_lab.reproduce.context import Context

SHARED = Path(__file__).parents[2] / "shared" / "data"
BY = ["naics3"]
PRICE = 0.5
COMBINATIONS = {
    "mean": "(m1emp + m2emp + m3emp) / 3",
    "change": "m3emp - m1emp",
    "surplus": "wage - 13 * 500 * m3emp",
    "cost": "wage + 500 * m3emp",
}
EMPLOYMENT = {"psi": "sqrt", "gamma": 0.5}
ATTRIBUTES = {"m1emp": EMPLOYMENT, "m2emp": EMPLOYMENT, "m3emp": EMPLOYMENT, "wage": {"psi": "sqrt", "gamma": 50}}
WAYS = ("one query", "parts", "neither")


def coefficients_of(name: str) -> Mapping[str, float]:
    """The attributes of a combination, with their coefficients."""
    return {part: float(c) for part, c in spec_of(name, "one query").combinations[name].coefficients.items()}


def spec_of(name: str, way: str) -> Spec:
    """What a release asks for."""
    parts = [part for part in ATTRIBUTES if part in COMBINATIONS[name]]
    asked: dict[str, list[dict[str, Any]]] = {
        "one query": [{"name": "asked", "by": BY, "mu": {name: PRICE}}],
        "parts": [{"name": "asked", "by": BY, "mu": dict.fromkeys(parts, round(PRICE / len(parts) ** 0.5, 6))}],
        "neither": [],
    }
    return gedp.make_spec(
        data={"public": ["cnty", "naics"], "id": "primary_key", "synthetic": True},
        groupers={"naics3": {"column": "naics", "prefix": 3}},
        attributes={part: ATTRIBUTES[part] for part in parts},
        combinations={name: COMBINATIONS[name]},
        budget={"mu": 10},
        queries=[
            {"name": "identity", "by": "establishment", "mu": 0.611},
            {"name": "county", "by": ["cnty"], "mu": 0.525},
            *asked[way],
        ],
    )


def compare(path: Path, name: str, *, replicates: int, seed: int) -> None:
    """Prints the errors of some releases of every way."""
    coefficients = coefficients_of(name)
    columns = pq.read_table(path, columns=["naics", *coefficients]).to_pandas()
    values = sum(c * columns[part] for part, c in coefficients.items())
    truth = values.groupby(columns["naics"].str[:3]).sum()
    for way in WAYS:
        spec = spec_of(name, way)
        table = open_table_of(spec, LocalEngine(path))
        released, fitted, held = [], [], []
        for replicate in range(replicates):
            rehearsal = rehearse(table, spec, entropy=SeededEntropy(1000 * seed + replicate))
            if way != "neither":
                answers = rehearsal.tables["asked"].to_pandas().pivot(index=BY, columns="attribute", values="estimate")
                of = {name: 1.0} if way == "one query" else coefficients
                noisy = sum(c * answers[part] for part, c in of.items())
                released.append((noisy - truth).abs().mean())
            own = fit_microdata(rehearsal).tabulate(BY, [name]).to_pandas().set_index(BY[0])
            fitted.append((own["estimate"] - truth).abs().mean())
            held.append(((own["ci_low"] <= truth) & (truth <= own["ci_high"])).mean())
        noise = f"{np.mean(released):12,.1f}" if released else " " * 12
        print(
            f"  {name:8} {way:10} released {noise}  fitted {np.mean(fitted):12,.1f}  held {np.mean(held):.1%}",
            flush=True,
        )


def main() -> None:
    """Prints everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", nargs="+", default=["RI"])
    parser.add_argument("--replicates", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, default=SHARED, help="folder of the published QCEW")
    parser.add_argument("--out", type=Path, default=Path("combination-errors"))
    asked = parser.parse_args()
    context = Context(out=asked.out, data=asked.data, state_names=tuple(asked.states))
    if context.qcew is None:
        raise SystemExit(f"{asked.data} has no published QCEW")
    for state in context.states:
        print(f"{state.name}: {asked.replicates} releases, mean absolute errors by {BY[0]} at mu = {PRICE}")
        for name in COMBINATIONS:
            compare(state.path, name, replicates=asked.replicates, seed=asked.seed)


if __name__ == "__main__":
    main()
