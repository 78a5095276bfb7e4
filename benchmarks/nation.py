"""The whole national release by the paper's way and by individual accounting, beside plain group-bys by DuckDB.

    python benchmarks/nation.py [--data DIR] [--runs 1] [--example paper-equal]

9.35 million synthetic establishments, 4 attributes, 5 queries: the answers alone, and the whole release with microdata
and report. DuckDB makes the same sums by plain group-bys and copies the columns that a release holds. Every contestant
is a process of its own, started in turn, reading and writing included; the machine disturbs all alike, so what counts
is how many times DuckDB's time each takes, by the clock and in time of all cores together.
"""

import argparse
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from measure import DUCKDB, GEDP, QCEW, Taken, establishments, plain_queries, spec_for, taken

from gedp.policy.examples import find_spec

DUCK, ANSWERS, RELEASE = "DuckDB, group-bys and copy", "answers alone", "whole release"
AIMS = {f"paper-equal, {ANSWERS}": 2, f"paper-equal, {RELEASE}": 5}
AIM_GIGABYTES = 4
OUT = "out"  # made anew each time: to replace a release takes longer, since the one before is checked first
EXAMPLES = ("paper-equal", "individual")


def contestants(source: Path, folder: Path, examples: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The program and its arguments, by name."""
    specs = {}
    for example in dict.fromkeys((EXAMPLES[0], *examples)):
        (folder / example).mkdir()
        specs[example] = spec_for(source, folder / example, counties_by_state=False, example=example)
    spec = find_spec(str(specs[EXAMPLES[0]]))
    released = ", ".join([*([spec.data.id] if spec.data.id else []), *spec.data.public, *spec.policy.attributes])
    plain = json.dumps(plain_queries(specs[EXAMPLES[0]], folder / "copy.parquet", released))
    found: dict[str, tuple[str, ...]] = {DUCK: (DUCKDB, plain)}
    for example in examples:
        run = (GEDP, "run", str(specs[example]), "--out", str(folder / OUT))
        found[f"{example}, {ANSWERS}"] = (*run, "--answers-only")
        found[f"{example}, {RELEASE}"] = run
    return found


def show(results: dict[str, list[Taken]]) -> None:
    """Prints the best of every contestant, and how many times DuckDB's."""
    print(f"{'':30}{'seconds':>10}{'times':>8}{'all cores':>12}{'times':>8}{'peak':>10}")
    best = {what: min(costs, key=lambda cost: cost.seconds) for what, costs in results.items()}
    for what, cost in best.items():
        times, of_cores = cost.seconds / best[DUCK].seconds, cost.cpu_seconds / best[DUCK].cpu_seconds
        said = ""
        if what in AIMS:
            is_met = times <= AIMS[what] and cost.gigabytes < AIM_GIGABYTES
            said = f"   aim: {AIMS[what]} times, under {AIM_GIGABYTES} GB: {'met' if is_met else 'NOT met'}"
        print(
            f"{what:30}{cost.seconds:>10.1f}{times:>8.1f}{cost.cpu_seconds:>12.1f}{of_cores:>8.1f}"
            f"{cost.gigabytes:>7.2f} GB{said}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gedp-benchmark")
    parser.add_argument("--qcew", type=Path, default=QCEW)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--example", choices=EXAMPLES, action="append", help="Default: both.")
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    source = establishments(options.data, options.qcew, None)
    print(f"best of {options.runs} in turn; load of the machine before: {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(dir=options.data) as text:
        entries = contestants(source, Path(text), options.example or EXAMPLES)
        results: dict[str, list[Taken]] = {what: [] for what in entries}
        for _ in range(options.runs):
            for what, (program, *arguments) in entries.items():
                shutil.rmtree(Path(text) / OUT, ignore_errors=True)
                results[what].append(taken(program, *arguments))
    show(results)


if __name__ == "__main__":
    main()
