"""What individual accounting gains over the paper's workflows, on synthetic states at the paper's total budget.

For employment, wages, and wages in thousands (γ = 50·√1000 on dollars): mean absolute errors as ratios to a workflow
of the paper and to the best of its workflows and `auto`, coverage of 95% intervals, and the bias of the state total.
Run from the project root, with as many releases as there is time for:

    python benchmarks/individual.py --states RI NJ --replicates 34
    python benchmarks/individual.py --states RI --replicates 200 --workflow individual --case jobs
"""

import argparse
import math
import time
from dataclasses import replace
from pathlib import Path

from gedp_lab.compare import Comparison, compare
from gedp_lab.reproduce.compared import IN_THOUSANDS, JOBS, WAGES, equal_spec
from gedp_lab.reproduce.context import Context

SHARED = Path(__file__).parents[2] / "shared" / "data"
LEVELS = {
    "state": (),
    "county": ("cnty",),
    "NAICS-3": ("naics3",),
    "NAICS-5": ("naics5",),
    "county x NAICS-3": ("cnty", "naics3"),
    "county x NAICS-5": ("cnty", "naics5"),
}
CASES = {"jobs": (JOBS, None), "wages": (WAGES, None), "thousands": (WAGES, IN_THOUSANDS)}
WORKFLOWS = ("psi", "pnc", "auto", "individual", "floors")


def main() -> None:
    """Prints everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", nargs="+", default=["RI", "NJ"])
    parser.add_argument("--case", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--workflow", nargs="+", default=list(WORKFLOWS))
    parser.add_argument("--replicates", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--data", type=Path, default=SHARED, help="folder of the published QCEW")
    parser.add_argument("--out", type=Path, default=Path("individual-gain"))
    asked = parser.parse_args()
    context = Context(out=asked.out, data=asked.data, state_names=tuple(asked.states))
    if context.qcew is None:
        raise SystemExit(f"{asked.data} has no published QCEW")
    for state in context.states:
        for case in asked.case:
            attribute, gamma = CASES[case]
            spec = equal_spec(gamma)
            started = time.perf_counter()
            found = compare(
                replace(spec, data=replace(spec.data, synthetic=True)),
                state.path,
                out=asked.out / "-".join([state.name, case, str(asked.seed), *asked.workflow]),
                replicates=asked.replicates,
                workflows=asked.workflow,
                attributes=[attribute],
                by=list(LEVELS.values()),
                seed=100 * asked.seed + int(state.fips),
                workers=asked.workers,
            )
            seconds = time.perf_counter() - started
            print(f"\n{state.name} {case}: {found.replicates} releases, {seconds:.0f} s")
            print_comparison(found, attribute)


def print_comparison(found: Comparison, attribute: str) -> None:
    """A line for every workflow and measure, a column for every grouping."""
    names, levels = found.order.workflows, found.order.levels
    print(f"{'':32}" + "".join(f"{name:>18}" for name in levels) + f"{'geometric mean':>18}")
    errors = {name: [found.line(name, attribute, level).mean_absolute for level in levels] for name in names}
    best = (
        [min(errors[name][place] for name in names if name in ("psi", "pnc", "auto")) for place in range(len(levels))]
        if {"psi", "pnc", "auto"} & set(names)
        else None
    )
    for name in names:
        print_line(f"{name}: mean absolute error", errors[name], ",.0f" if errors[name][-1] > 100 else ".2f")
        for other in ("pnc", "auto"):
            if other in names and name != other:
                ratios = [a / b for a, b in zip(errors[name], errors[other], strict=True)]
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                print_line(f"{name} / {other}", [*ratios, mean], ".3f")
        if best and name in ("individual", "floors"):
            print_line(f"{name} / best", [a / b for a, b in zip(errors[name], best, strict=True)], ".3f")
    for name in names:
        lines = [found.line(name, attribute, level) for level in levels]
        print_line(f"{name}: coverage, %", [100 * (line.coverage or math.nan) for line in lines], ".1f")
        off = [line.bias / line.bias_se if line.bias_se else math.nan for line in lines]
        print_line(f"{name}: bias in standard errors", off, "+.1f")
    for name in names:
        line = found.line(name, attribute, levels[0])
        print(
            f"{name}: state total off by {line.bias:+,.1f} ± {line.bias_se or math.nan:,.1f}; {line.seconds:.1f} s each"
        )


def print_line(name: str, numbers: list[float], form: str) -> None:
    """One line of the table."""
    print(f"{name:32}" + "".join(f"{format(number, form):>18}" for number in numbers))


if __name__ == "__main__":
    main()
