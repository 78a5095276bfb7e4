"""What earlier quarters add to tables of the newest: `gedp.sharpen` on synthetic series, beside the truth.

Makes four quarters of a state (New Jersey from three published ones, any other from one), draws releases of all of them
with a modest spec, and prints for every table and attribute: mean absolute error sharpened over direct, bias and
coverage of 95% intervals, direct and sharpened, by size of group. Run from the project root:

    python benchmarks/series.py --state NJ --replicates 3
"""

import argparse
import tempfile
import time
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import gedp
from gedp.confidential.engines.local import LocalEngine
from gedp.confidential.measure import rehearse
from gedp.confidential.table import open_table_of
from gedp.industries import sector_of
from gedp.microdata import Microdata, fit_microdata
from gedp.noise.entropy import SeededEntropy
from gedp.policy import Spec
from gedp.sharpening import sharpen
from gedp_lab.synth.qcew.read import read_quarters
from gedp_lab.synth.series.write import write_series
from gedp_lab.synth.states import state_fips

pd: Any = import_module("pandas")
SHARED = Path(__file__).parents[2] / "shared" / "data"
ATTRIBUTES = {"m3emp": ("sqrt", 0.5), "wage": ("sqrt", 50)}
LEVELS: list[tuple[list[str], list[str]]] = [
    (["cnty", "sector"], ["sector"]),
    (["cnty", "naics3"], ["naics3"]),
    (["cnty", "naics3"], []),
    (["cnty", "naics"], ["naics"]),
]
Z = 1.959964
EDGES = (0, 10, 100, 1000, 10_000, np.inf)  # jobs in month 3


def spec_of(mu: float) -> Spec:
    """Establishments, counties and industries, each at the same price."""
    tables: dict[str, Any] = {"county": ["cnty"], "industry": ["naics4"], "county x industry": ["cnty", "naics4"]}
    queries = [{"name": "identity", "by": "establishment", "mu": mu}]
    queries += [{"name": name, "by": by, "mu": mu} for name, by in tables.items()]
    return gedp.make_spec(
        data={"public": ["cnty", "naics"], "id": "primary_key", "synthetic": True},
        groupers={"naics4": {"column": "naics", "prefix": 4}},
        attributes={name: {"psi": psi, "gamma": gamma} for name, (psi, gamma) in ATTRIBUTES.items()},
        budget={"mu": round((4 * len(ATTRIBUTES)) ** 0.5 * mu + 0.001, 3)},
        queries=queries,
    )


def compare(files: list[Path], mu: float, replicates: int, seed: int) -> None:
    """Prints what came out over some releases of every quarter."""
    spec = spec_of(mu)
    truth = with_sectors(pq.read_table(files[-1]).to_pandas())
    found: dict[tuple[str, str], list[Any]] = {}
    for replicate in range(replicates):
        started = time.perf_counter()
        fits = [fitted(path, spec, 1000 * seed + 10 * replicate + quarter) for quarter, path in enumerate(files)]
        for by, within in LEVELS:
            sharp = sharpen(fits[-1], fits[-2::-1], by, within=within)
            for name in ATTRIBUTES:
                lines = sharp.table.arrow.to_pandas()
                lines = lines[lines["attribute"] == name].set_index(by)
                lines["truth"] = truth.groupby(by)[name].sum()
                lines["jobs"] = truth.groupby(by)["m3emp"].sum()
                found.setdefault((f"{','.join(by)} within {','.join(within) or 'all'}", name), []).append(
                    (lines.reset_index(), sharp.steps[name])
                )
        print(f"  replicate {replicate + 1}: {time.perf_counter() - started:.0f} s", flush=True)
    for (level, name), tables in found.items():
        show(level, name, tables)


def fitted(path: Path, spec: Spec, seed: int) -> Microdata:
    """The microdata of a rehearsed release."""
    return fit_microdata(rehearse(open_table_of(spec, LocalEngine(path)), spec, entropy=SeededEntropy(seed)))


def with_sectors(truth: Any) -> Any:
    """The true rows with the sectors as tables have them."""
    sectors = {code: sector_of(code) for code in truth["naics"].unique()}
    return truth.assign(sector=truth["naics"].map(sectors))


def show(level: str, name: str, tables: list[Any]) -> None:
    """Prints one table and attribute: all groups, and those of each size."""
    steps = "; ".join(
        f"s = {step.variance**0.5:.3g}, p = {step.exponent:g}, {step.contradicted} of {step.predicted} contradict"
        for step in tables[0][1]
    )
    print(f"{name} by {level} ({steps})")
    for least, most in ((0, np.inf), *pairwise(EDGES)):
        lines = pd.concat([lines[(lines["jobs"] >= least) & (lines["jobs"] < most)] for lines, _ in tables])
        if len(lines) < 5 * len(tables):
            continue
        direct, sharp = (measures(lines, prefix) for prefix in ("direct_", ""))
        print(
            f"  {f'{least:,}+' if most < np.inf or least else 'all':>8} jobs: {len(lines) // len(tables):>6,} groups, "
            f"mean abs. error ratio {sharp[0] / direct[0]:.3f}, rms ratio {sharp[1] / direct[1]:.3f}, "
            f"bias {direct[2]:+.2%} -> {sharp[2]:+.2%}, coverage {direct[3]:.1%} -> {sharp[3]:.1%}"
        )


def measures(lines: Any, prefix: str) -> tuple[float, float, float, float]:
    """Mean absolute error, root mean square, sum of errors over sum of truth, and share of 95% intervals that hold."""
    off, true = (lines[f"{prefix}estimate"] - lines["truth"]).to_numpy(), lines["truth"].to_numpy()
    held = np.abs(off) <= Z * lines[f"{prefix}std_error"].to_numpy()
    return float(np.abs(off).mean()), float(np.sqrt(np.mean(off**2))), float(off.sum() / true.sum()), float(held.mean())


def main() -> None:
    """Prints everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", default="NJ")
    parser.add_argument("--mu", type=float, default=0.25, help="price of every query and attribute")
    parser.add_argument("--replicates", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, default=SHARED, help="folder of the published QCEW")
    asked = parser.parse_args()
    name = "qcew_2016_nj_q1_q2_q3.parquet" if asked.state == "NJ" else "qcew_2016q1.parquet"
    if not (asked.data / name).exists():
        raise SystemExit(f"{asked.data} has no {name}")
    with tempfile.TemporaryDirectory() as folder:
        published = read_quarters([asked.data / name], states=state_fips([asked.state]))
        made = write_series(published, Path(folder) / "series", quarters=4, seed=asked.seed)
        files = [Path(folder) / "series" / f"{quarter.period}.parquet" for quarter in made.quarters]
        for newest in sorted({len(published), len(files)} - {1}):
            quarters = files[:newest]
            kind = "published" if newest == len(published) else "extrapolated"
            print(f"{asked.state}: {', '.join(path.stem for path in quarters)} (the last {kind}), mu = {asked.mu}")
            compare(quarters, asked.mu, asked.replicates, asked.seed)


if __name__ == "__main__":
    main()
