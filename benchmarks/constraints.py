"""What the constraints of the microdata do to totals: the demonstration state, released again and again with seeds.

    python benchmarks/constraints.py [--replicates 30] [--attribute m1emp]

For the state, the counties, county × NAICS-5, and its smallest quarter: bias and mean absolute error of totals, also in
percent of the mean true total, for the best fit, the same with negatives cut off, the non-negative fit, the whole
numbers made of it, and the fit and the non-negative fit with the true county totals fixed. Then the time of each on a
state of New Jersey's size and on a nation's, of made-up numbers.
"""

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from gedp import fit_microdata
from gedp.arrays import FloatArray
from gedp.confidential.run import plan_run, run
from gedp.microdata.constraints.nonnegative import fit_nonnegative
from gedp.microdata.constraints.reduced import Reduced
from gedp.microdata.constraints.rounding import Kept, round_rows
from gedp.microdata.solve import Measurement
from gedp.noise.entropy import SeededEntropy
from gedp.partitions import Partition
from gedp.policy.examples import find_spec
from gedp_lab.synth.demo import make_demo

BY = {"state": [], "county": ["cnty"], "county x NAICS-5": ["cnty", "naics5"]}
SMALL = "the smallest quarter of these"


def replicate(folder: Path, attribute: str, seed: int) -> dict[str, dict[str, FloatArray]]:
    """The errors of all group totals, by grouping and way of fitting."""
    spec = find_spec("paper-equal")
    spec = replace(spec, data=replace(spec.data, synthetic=True))
    plan = plan_run(spec, replace=True, entropy=SeededEntropy(seed))
    release = run(plan)
    truth = pq.read_table(folder / "establishments.parquet")
    counties = truth.group_by("cnty").aggregate([(attribute, "sum")]).rename_columns(["cnty", attribute])
    free = fit_microdata(release, attributes=[attribute])
    bounded = fit_microdata(release, attributes=[attribute], nonnegative=True)
    whole = fit_microdata(release, attributes=[attribute], nonnegative=True, whole=True)
    held = fit_microdata(release, attributes=[attribute], fixed=counties)
    both = fit_microdata(release, attributes=[attribute], nonnegative=True, fixed=counties)
    values = {
        "best fit": free.fits[attribute].values,
        "negatives cut off": np.maximum(free.fits[attribute].values, 0),
        "non-negative": bounded.fits[attribute].values,
        "non-negative, whole": whole.fits[attribute].values,
        "counties fixed": held.fits[attribute].values,
        "counties fixed, non-negative": both.fits[attribute].values,
    }
    order = {key: place for place, key in enumerate(truth["primary_key"].to_pylist())}
    places = [order[key] for key in release.identity(["primary_key"])["primary_key"].to_pylist()]
    exact = truth[attribute].to_numpy()[places]
    errors: dict[str, dict[str, FloatArray]] = {}
    for name, by in BY.items():
        groups = free.public_rows.cells(by)
        wanted = groups.sums(exact)
        errors[name] = {"truth": wanted.astype(np.float64)}
        for way, each in values.items():
            errors[name][way] = groups.sums(each) - wanted
    finest = errors[list(BY)[-1]]
    small = np.argsort(finest["truth"], kind="stable")[: len(finest["truth"]) // 4]
    errors[SMALL] = {way: each[small] for way, each in finest.items()}
    return errors


def effects(replicates: int, attribute: str) -> None:
    """Prints the table of biases and errors."""
    with tempfile.TemporaryDirectory() as name:
        make_demo(Path(name))
        found = [replicate(Path(name), attribute, seed) for seed in range(replicates)]
    print(f"{attribute}, {replicates} releases of the demonstration state")
    for by in found[0]:
        size = found[0][by]["truth"].mean()
        print(f"\n{by}: {len(found[0][by]['truth']):,} groups of {size:,.1f} in the mean")
        for way in list(found[0][by])[1:]:
            off = np.array([each[by][way] for each in found])
            means = off.mean(axis=1)
            bias, doubt = means.mean(), means.std(ddof=1) / np.sqrt(replicates)
            print(
                f"  {way:30} bias {bias:+10.2f} ± {doubt:6.2f} ({bias / size:+8.3%})   "
                f"mean absolute error {np.abs(off).mean():9.2f} ({np.abs(off).mean() / size:7.3%})"
            )


def dummy_data(rows: int, counties: int, industries: int, share: float) -> tuple[Reduced, FloatArray]:
    """A problem with the paper's queries over so many establishments, and its truth."""
    rng = np.random.default_rng(0)
    occupied = np.flatnonzero(rng.random(counties * industries) < share)
    county, industry = (codes.astype(np.int32) for codes in np.divmod(occupied, industries))
    cells = len(occupied)
    of_row = np.sort(np.concatenate([np.arange(cells), rng.integers(0, cells, rows - cells)])).astype(np.int32)
    of_rows = Partition(of_row, cells)
    truth = np.floor(rng.lognormal(1, 1.5, rows))

    def answers(sums: FloatArray, mu: float) -> tuple[FloatArray, FloatArray]:
        sigma = 0.5 / mu
        noisy = (np.sqrt(sums) + sigma * rng.normal(size=len(sums))) ** 2 - sigma**2
        return noisy, 2 * sigma**2 * (2 * sums + sigma**2)

    def measured(groups: Partition, mu: float) -> Measurement:
        return Measurement(groups, *answers(of_rows.of_groups(groups).sums(truth), mu))

    single = measured(Partition.single(cells), 0.611)
    coarser = (measured(Partition.whole(cells), 0.179), measured(Partition(county, counties), 0.525))
    last = measured(Partition(industry, industries), 0.525)
    units = answers(truth, 0.611)
    return Reduced(*units, of_rows, (single.answers, single.variances), (*coarser, last)), truth


def times() -> None:
    """Prints how long the non-negative fit and the rounding take."""
    print()
    for name, size in (
        ("New Jersey's size", (252_000, 21, 700, 0.9)),
        ("a nation's size", (9_350_000, 3_200, 700, 0.325)),
    ):
        problem, _ = dummy_data(*size)
        began = time.perf_counter()
        fit = fit_nonnegative(problem)
        fitted = time.perf_counter()
        rounded = round_rows(fit.values, problem.cells, [Kept(each.groups) for each in problem.measurements])
        print(
            f"{name}: {size[0]:,} rows, {problem.cells.count:,} cells: non-negative {fitted - began:.1f} s "
            f"({fit.steps} steps, {(fit.values == 0).mean():.0%} zeros), whole {time.perf_counter() - fitted:.1f} s "
            f"(largest deviation {rounded.deviation:.4f})"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicates", type=int, default=30)
    parser.add_argument("--attribute", default="m1emp")
    arguments = parser.parse_args()
    effects(arguments.replicates, arguments.attribute)
    times()
